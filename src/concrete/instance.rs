//! The instance of the array type class.

use crate::affine::AffineMap;
use crate::algebra::{Algebra, ForwardArray, NestedArray, Operands, Pullback};
use crate::array::{Array, OutOfMemory, ReadArrays, Traced, available, elementwise, for_pair, gather, view};
use crate::dual::{self, Dual, DualArray, Tangent, TangentArray};
use crate::evaluate::{self, Failure, run_sweeps};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Shape, Type, Value, copied_shape, same_shape};
use crate::term::{Body, Branch, Op, Scan, Sweeps, infer, print};
use crate::trace;
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The algebra of plain arrays: every operation runs at once, in place where it may.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Concrete;

/// An operation being run, for messages, and, in builds with debug assertions, the types that shape inference gives for its
/// results.
struct CheckedCall<F> {
    op: F,
    expected: Option<SmallVec<[Type; 2]>>,
}

impl<F: Fn() -> Op> CheckedCall<F> {
    fn new(op: F, operands: &[&[Array]]) -> CheckedCall<F> {
        if !cfg!(debug_assertions) {
            return CheckedCall { op, expected: None };
        }
        let types: SmallVec<[Type; 4]> = operands.iter().flat_map(|arrays| arrays.iter().map(Array::ty)).collect();
        let operands: SmallVec<[&[Type]; 4]> = types.iter().map(std::slice::from_ref).collect();
        match infer::outputs(&op(), &operands) {
            Ok(types) => CheckedCall { op, expected: Some(types.into_iter().collect()) },
            Err(problem) => panic!("operands that do not fit reached the arrays: {problem}"),
        }
    }

    /// The one result. Panics at the caller's line where there was no memory for it.
    #[track_caller]
    fn one(self, result: Result<Array, OutOfMemory>) -> Array {
        let array = available(result, || print::name(&(self.op)()));
        self.checked(array)
    }

    /// The one result, for which there was memory.
    #[inline]
    fn checked(self, array: Array) -> Array {
        debug_assert_eq!(self.expected, Some(smallvec![array.ty()]));
        array
    }

    /// Several results, of a sub-program. Panics at the caller's line where there was no memory for one, or on the way.
    #[track_caller]
    fn several(self, results: Result<Vec<Array>, Failure>) -> Vec<Array> {
        let arrays = match results {
            Ok(arrays) => arrays,
            Err(Failure { operation, problem }) => available(Err(problem), || operation),
        };
        debug_assert_eq!(self.expected, Some(arrays.iter().map(Array::ty).collect()));
        arrays
    }
}

impl Algebra for Concrete {
    type Array = Array;
    type Nested = Dual<Concrete>;
    type Forward = Tangent<Concrete>;

    fn dtype(a: &Array) -> DType {
        a.dtype()
    }

    fn shape(a: &Array) -> Shape {
        copied_shape(a.shape())
    }

    fn same_shape(a: &Array, b: &Array) -> bool {
        same_shape(a.shape(), b.shape())
    }

    fn constant(value: Array) -> Array {
        value
    }

    #[track_caller]
    fn bind(op: &Op, operands: Operands<Concrete>) -> Array {
        if operands.iter().any(Array::is_traced) {
            return trace::traced::<Concrete>(op, operands);
        }
        let call = CheckedCall::new(|| op.clone(), &[&operands]);
        call.one(evaluate::apply(op, operands))
    }

    // Elementwise operations on numbers do without the list of operands, which takes as long as they do.
    #[track_caller]
    fn unary(op: Unary, mut a: Array) -> Array {
        if a.is_traced() {
            return Self::bind(&Op::Unary(op), smallvec![a]);
        }
        let call = CheckedCall::new(|| Op::Unary(op), &[std::slice::from_ref(&a)]);
        if elementwise::unary_in_place(op, &mut a) {
            return call.checked(a);
        }
        call.one(elementwise::unary(op, a))
    }

    #[track_caller]
    fn binary(op: Binary, mut a: Array, b: Array) -> Array {
        if a.is_traced() || b.is_traced() {
            return Self::bind(&Op::Binary(op), smallvec![a, b]);
        }
        let call = CheckedCall::new(|| Op::Binary(op), &[std::slice::from_ref(&a), std::slice::from_ref(&b)]);
        if elementwise::binary_in_place(op, &mut a, &b) {
            return call.checked(a);
        }
        call.one(elementwise::binary(op, a, b))
    }

    #[track_caller]
    fn compare(op: Comparison, a: Array, b: Array) -> Array {
        if a.is_traced() || b.is_traced() {
            return Self::bind(&Op::Compare(op), smallvec![a, b]);
        }
        let call = CheckedCall::new(|| Op::Compare(op), &[std::slice::from_ref(&a), std::slice::from_ref(&b)]);
        call.one(elementwise::compare(op, a, b))
    }

    #[track_caller]
    fn select(mask: Array, yes: Array, no: Array) -> Array {
        if mask.is_traced() || yes.is_traced() || no.is_traced() {
            return Self::bind(&Op::Select, smallvec![mask, yes, no]);
        }
        let operands = [std::slice::from_ref(&mask), std::slice::from_ref(&yes), std::slice::from_ref(&no)];
        let call = CheckedCall::new(|| Op::Select, &operands);
        call.one(elementwise::select(mask, yes, no))
    }

    #[track_caller]
    fn scatter_onto(target: Array, updates: Array, indices: Vec<Array>) -> Array {
        let ty = target.ty();
        if target.is_traced() || updates.is_traced() || indices.iter().any(Array::is_traced) {
            let extents = Shape::from_slice(&ty.shape[..indices.len()]);
            return Self::binary(Binary::Add, target, Self::scatter(updates, indices, &extents));
        }
        let result = for_pair!(target, updates, (target, updates) => gather::scatter_onto(target, updates, &indices));
        let result = available(result, || "scatter".into());
        debug_assert_eq!(ty, result.ty());
        result
    }

    #[track_caller]
    fn accumulate_onto(target: Array, updates: Array, map: &AffineMap) -> Array {
        let ty = target.ty();
        if target.is_traced() || updates.is_traced() {
            return Self::binary(Binary::Add, target, Self::accumulate(updates, map));
        }
        let result = for_pair!(target, updates, (target, updates) => view::accumulate_onto(target, updates, map));
        let result = available(result, || "accumulate".into());
        debug_assert_eq!(ty, result.ty());
        result
    }

    #[track_caller]
    fn scan(scan: &Arc<Scan>, carries: Vec<Array>, inputs: Vec<Array>, captures: Vec<Array>) -> Vec<Array> {
        let read = |arrays: Vec<Array>| arrays.into_iter().map(ReadArrays::read).collect::<Vec<_>>();
        let (carries, inputs, captures) = (read(carries), read(inputs), read(captures));
        let call = CheckedCall::new(|| Op::Scan(scan.clone()), &[&carries, &inputs, &captures]);
        call.several(evaluate::run_scan(scan, carries, &inputs, &captures))
    }

    #[track_caller]
    fn branch(condition: Array, then: &Arc<Body>, otherwise: &Arc<Body>, captures: Vec<Array>) -> Vec<Array> {
        let condition = condition.read();
        let branch = || Op::Branch(Arc::new(Branch { then: then.clone(), otherwise: otherwise.clone() }));
        let call = CheckedCall::new(branch, &[std::slice::from_ref(&condition), &captures]);
        let chosen = if evaluate::is_true(&condition) { then } else { otherwise };
        call.several(evaluate::run(chosen, captures))
    }

    #[track_caller]
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<Array>) -> Vec<Array> {
        let operands: Vec<Array> = operands.into_iter().map(ReadArrays::read).collect();
        let call = CheckedCall::new(|| Op::Sweeps(sweeps.clone()), &[&operands]);
        call.several(run_sweeps(sweeps, operands))
    }

    fn lift(a: Array) -> NestedArray<Self> {
        DualArray { primal: a, delta: None }
    }

    fn lift_forward(a: Array) -> ForwardArray<Self> {
        TangentArray { primal: a, tangent: None }
    }

    fn vjp(
        f: &dyn Fn(Vec<NestedArray<Self>>) -> Vec<NestedArray<Self>>,
        at: Vec<Array>,
    ) -> (Vec<Array>, Pullback<Self>) {
        dual::vjp::<Concrete>(f, at)
    }

    fn jvp(
        f: &dyn Fn(Vec<ForwardArray<Self>>) -> Vec<ForwardArray<Self>>,
        at: Vec<Array>,
        tangents: Vec<Option<Array>>,
    ) -> (Vec<Array>, Vec<Option<Array>>) {
        dual::jvp::<Concrete>(f, at, tangents)
    }

    fn known(a: &Array) -> Option<Array> {
        Some(a.read().clone())
    }

    fn range(a: &Array) -> (i64, i64) {
        let element = if a.is_traced() { None } else { a.only().and_then(Value::to_integer) };
        element.map_or((i64::MIN, i64::MAX), |value| (value, value))
    }

    #[inline]
    fn node(a: &Array) -> Option<u64> {
        if let Array::Traced(traced) = a { Some(traced.node) } else { None }
    }
    fn with_node(a: Array, node: u64) -> Array {
        Array::Traced(Box::new(Traced { value: Self::without_node(a), node, is_read: trace::is_read() }))
    }
    fn note_read(a: &Array) {
        if let Array::Traced(traced) = a {
            traced.note_read();
        }
    }
    fn without_node(a: Array) -> Array {
        if let Array::Traced(traced) = a { traced.value } else { a }
    }
    fn literal(a: &Array) -> Option<Array> {
        (!a.is_traced() && a.uniform().is_some()).then(|| a.clone())
    }
    fn identity(a: &Array) -> Option<(usize, u64)> {
        let mut hasher = std::hash::DefaultHasher::new();
        a.ty().hash(&mut hasher);
        a.buffer().map(|buffer| (buffer, hasher.finish()))
    }
}
