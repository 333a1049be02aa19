//! The instance of the array type class.

use crate::affine::AffineMap;
use crate::algebra::{Algebra, Contraction, Extreme, ForwardArray, NestedArray, Pullback, Reduction};
use crate::concrete::scalar::Scalar;
use crate::concrete::{Array, Data, contract, elementwise, for_data, for_pair, gather, reduce, structure, view};
use crate::dual::{self, Dual, DualArray, Tangent, TangentArray};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Shape, Type, Value};
use crate::term::interpret::interpret;
use crate::term::{Body, Branch, Never, Op, Scan, infer};
use std::sync::Arc;

/// The algebra of plain arrays: every operation runs at once, in place where it may.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Concrete;

/// The types that shape inference gives for an operation; nothing in builds without debug assertions.
fn expected(op: impl FnOnce() -> Op<Never>, operands: &[&[Array]]) -> Option<Vec<Type>> {
    if !cfg!(debug_assertions) {
        return None;
    }
    let types: Vec<Type> = operands.iter().flat_map(|arrays| arrays.iter().map(Array::ty)).collect();
    let operands: Vec<&[Type]> = types.iter().map(std::slice::from_ref).collect();
    match infer::outputs(&op(), &operands) {
        Ok(types) => Some(types.to_vec()),
        Err(problem) => panic!("operands that do not fit reached the arrays: {problem}"),
    }
}

/// The result, checked against what was expected.
fn one(expected: Option<Vec<Type>>, result: Array) -> Array {
    debug_assert_eq!(expected, Some(vec![result.ty()]));
    result
}

/// Several results, checked against what was expected.
fn several(expected: Option<Vec<Type>>, results: Vec<Array>) -> Vec<Array> {
    debug_assert_eq!(expected, Some(results.iter().map(Array::ty).collect()));
    results
}

impl Algebra for Concrete {
    type Array = Array;
    type Nested = Dual<Concrete>;
    type Forward = Tangent<Concrete>;

    fn dtype(a: &Array) -> DType {
        a.dtype()
    }

    fn shape(a: &Array) -> Shape {
        Shape::from_slice(a.shape())
    }

    fn constant(value: Array) -> Array {
        value
    }

    fn iota(n: usize) -> Array {
        structure::iota(n)
    }

    fn unary(op: Unary, a: Array) -> Array {
        let expected = expected(|| Op::Unary(op), &[std::slice::from_ref(&a)]);
        one(expected, elementwise::unary(op, a))
    }

    fn binary(op: Binary, a: Array, b: Array) -> Array {
        let expected = expected(|| Op::Binary(op), &[std::slice::from_ref(&a), std::slice::from_ref(&b)]);
        one(expected, elementwise::binary(op, a, b))
    }

    fn compare(op: Comparison, a: Array, b: Array) -> Array {
        let expected = expected(|| Op::Compare(op), &[std::slice::from_ref(&a), std::slice::from_ref(&b)]);
        one(expected, elementwise::compare(op, a, b))
    }

    fn select(mask: Array, yes: Array, no: Array) -> Array {
        let operands = [std::slice::from_ref(&mask), std::slice::from_ref(&yes), std::slice::from_ref(&no)];
        let expected = expected(|| Op::Select, &operands);
        one(expected, elementwise::select(mask, yes, no))
    }

    fn cast(a: Array, dtype: DType) -> Array {
        let expected = expected(|| Op::Cast(dtype), &[std::slice::from_ref(&a)]);
        one(expected, elementwise::cast(a, dtype))
    }

    fn view(a: Array, map: &AffineMap) -> Array {
        let expected = expected(|| Op::View(map.clone()), &[std::slice::from_ref(&a)]);
        one(expected, for_data!(a, data => view::view(data, map)))
    }

    fn accumulate(a: Array, map: &AffineMap) -> Array {
        let expected = expected(|| Op::Accumulate(map.clone()), &[std::slice::from_ref(&a)]);
        one(expected, for_data!(a, data => view::accumulate(data, map)))
    }

    fn reshape(a: Array, shape: &[usize]) -> Array {
        let expected = expected(|| Op::Reshape(Shape::from_slice(shape)), &[std::slice::from_ref(&a)]);
        one(expected, for_data!(a, data => structure::reshape(data, shape)))
    }

    fn concatenate(axis: usize, parts: Vec<Array>) -> Array {
        let expected = expected(|| Op::Concatenate(axis), &[&parts]);
        one(expected, structure::concatenate(axis, parts))
    }

    fn gather(a: Array, indices: Vec<Array>) -> Array {
        let expected = expected(|| Op::Gather, &[std::slice::from_ref(&a), &indices]);
        one(expected, for_data!(a, data => gather::gather(data, &indices)))
    }

    fn scatter(updates: Array, indices: Vec<Array>, extents: &[usize]) -> Array {
        let expected =
            expected(|| Op::Scatter(Shape::from_slice(extents)), &[std::slice::from_ref(&updates), &indices]);
        one(expected, for_data!(updates, updates => gather::scatter(updates, &indices, extents)))
    }

    fn reduce(op: Reduction, a: Array, axes: &[usize]) -> Array {
        let expected = expected(|| Op::Reduce(op, axes.into()), &[std::slice::from_ref(&a)]);
        one(expected, for_data!(a, data => reduce::reduce(op, data, axes)))
    }

    fn arg_reduce(op: Extreme, a: Array, axis: usize) -> Array {
        let expected = expected(|| Op::ArgReduce(op, axis), &[std::slice::from_ref(&a)]);
        one(expected, for_data!(&a, data => reduce::arg_reduce(op, data, axis)))
    }

    fn contract(spec: &Contraction, a: Array, b: Array) -> Array {
        let operands = [std::slice::from_ref(&a), std::slice::from_ref(&b)];
        let expected = expected(|| Op::Contract(spec.clone()), &operands);
        one(
            expected,
            match (a, b) {
                (Array::F32(a), Array::F32(b)) => contract::contract(spec, a, b),
                (Array::F64(a), Array::F64(b)) => contract::contract(spec, a, b),
                (Array::I32(a), Array::I32(b)) => contract::contract(spec, a, b),
                (Array::I64(a), Array::I64(b)) => contract::contract(spec, a, b),
                _ => unreachable!("operands are numbers of one type"),
            },
        )
    }

    fn scatter_onto(target: Array, updates: Array, indices: Vec<Array>) -> Array {
        let expected = cfg!(debug_assertions).then(|| vec![target.ty()]);
        one(expected, for_pair!(target, updates, (target, updates) => gather::scatter_onto(target, updates, &indices)))
    }

    fn accumulate_onto(target: Array, updates: Array, map: &AffineMap) -> Array {
        let expected = cfg!(debug_assertions).then(|| vec![target.ty()]);
        one(expected, for_pair!(target, updates, (target, updates) => view::accumulate_onto(target, updates, map)))
    }

    fn scan(scan: &Arc<Scan>, carries: Vec<Array>, inputs: Vec<Array>, captures: Vec<Array>) -> Vec<Array> {
        let expected = expected(|| Op::Scan(scan.clone()), &[&carries, &inputs, &captures]);
        several(expected, run_scan(scan, carries, &inputs, &captures))
    }

    fn branch(condition: Array, then: &Arc<Body>, otherwise: &Arc<Body>, captures: Vec<Array>) -> Vec<Array> {
        let branch = || Op::Branch(Arc::new(Branch { then: then.clone(), otherwise: otherwise.clone() }));
        let expected = expected(branch, &[std::slice::from_ref(&condition), &captures]);
        let chosen = if condition.element(0) == Value::Bool(true) { then } else { otherwise };
        several(expected, interpret::<Concrete>(chosen, captures))
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
        Some(a.clone())
    }
}

/// Runs a loop; outputs are written slice by slice into buffers for the whole.
fn run_scan(scan: &Scan, mut carries: Vec<Array>, inputs: &[Array], captures: &[Array]) -> Vec<Array> {
    let slices: Vec<Type> = scan.body.result_types().skip(scan.carries).cloned().collect();
    let mut outputs: Vec<Array> = slices
        .iter()
        .map(|ty| {
            let mut shape = ty.shape.clone();
            shape.insert(0, scan.length);
            Array::full(&shape, Value::from_i64(ty.dtype, 0))
        })
        .collect();
    for step in 0..scan.length {
        let position = if scan.reverse { scan.length - 1 - step } else { step };
        let mut arguments = std::mem::take(&mut carries);
        arguments.extend(inputs.iter().map(|input| for_data!(input, data => structure::outer_slice(data, position))));
        arguments.extend(captures.iter().cloned());
        let mut results = interpret::<Concrete>(&scan.body, arguments).into_iter();
        carries = results.by_ref().take(scan.carries).collect();
        for (output, slice) in outputs.iter_mut().zip(results) {
            for_pair!(output, &slice, (output, slice) => write_slice(output, slice, position));
        }
    }
    carries.extend(outputs);
    carries
}

/// Writes one slice of a loop's output, whose buffer is made at the first slice that its one value does not fit.
fn write_slice<T: Scalar>(output: &mut Data<T>, slice: &Data<T>, position: usize) {
    if let (Data::Uniform(_, x), Data::Uniform(_, y)) = (&*output, slice)
        && x.same_bits(*y)
    {
        return;
    }
    if let Data::Uniform(shape, x) = output {
        let shape = shape.clone();
        *output = Data::from_vec(&shape, vec![*x; crate::shape::size(&shape)]);
    }
    if let Data::Dense(buffer) = output {
        structure::write_outer_slice(buffer.as_slice_mut().expect("standard layout"), slice, position);
    }
}
