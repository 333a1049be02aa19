//! The instances: reverse mode and forward mode over any algebra.

use super::array::{Dual, DualArray};
use super::cotangent::Cotangent;
use super::delta::Delta;
use super::derivative::WithDerivative;
use super::tangent::{Direction, Tangent, TangentArray};
use super::transpose::transpose;
use super::{branches, custom, forward, loops, recompute, rules, sweeps};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, CustomFunction, Operands, Pullback, StoredFunction};
use crate::array::Array;
use crate::error::Error;
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Shape, Type};
use crate::term::{Body, Op, Scan, Sweeps};
use crate::trace;
use smallvec::smallvec;
use std::sync::Arc;

/// The methods that both instances hand to the rules: all but loops and conditionals.
macro_rules! delegate {
    ($array:ident, $derivative:ident: $rules:ty, $apart:expr) => {
        fn dtype(a: &Self::Array) -> DType {
            A::dtype(&a.primal)
        }
        fn shape(a: &Self::Array) -> Shape {
            A::shape(&a.primal)
        }
        fn same_shape(a: &Self::Array, b: &Self::Array) -> bool {
            A::same_shape(&a.primal, &b.primal)
        }

        fn constant(value: Array) -> Self::Array {
            $array { primal: A::constant(value), $derivative: None }
        }
        #[track_caller]
        fn bind(op: &Op, operands: Operands<Self>) -> Self::Array {
            if operands.iter().any(|operand| A::node(&operand.primal).is_some()) {
                return trace::traced::<Self>(op, operands);
            }
            let apart: fn(Self::Array) -> WithDerivative<A, $rules> = $apart;
            rules::apply::<A, $rules>(op, operands.into_iter().map(apart)).into()
        }
        // Arithmetic on numbers skips the list of operands, which would take a quarter of the time.
        #[track_caller]
        fn unary(op: Unary, a: Self::Array) -> Self::Array {
            match A::node(&a.primal) {
                Some(_) => Self::bind(&Op::Unary(op), smallvec![a]),
                None => rules::unary::<A, $rules>(op, $apart(a)).into(),
            }
        }
        #[track_caller]
        fn binary(op: Binary, a: Self::Array, b: Self::Array) -> Self::Array {
            match A::node(&a.primal).or_else(|| A::node(&b.primal)) {
                Some(_) => Self::bind(&Op::Binary(op), smallvec![a, b]),
                None => rules::binary::<A, $rules>(op, $apart(a), $apart(b)).into(),
            }
        }
        #[track_caller]
        fn scatter_onto(target: Self::Array, updates: Self::Array, indices: Vec<Self::Array>) -> Self::Array {
            if [&target, &updates].into_iter().chain(&indices).any(|array| A::node(&array.primal).is_some()) {
                let extents = Shape::from_slice(&A::shape(&target.primal)[..indices.len()]);
                return Self::binary(Binary::Add, target, Self::scatter(updates, indices, &extents));
            }
            let indices = indices.into_iter().map(|index| index.primal).collect();
            rules::scatter_onto::<A, $rules>($apart(target), $apart(updates), indices).into()
        }
        #[track_caller]
        fn accumulate_onto(target: Self::Array, updates: Self::Array, map: &AffineMap) -> Self::Array {
            if [&target, &updates].into_iter().any(|array| A::node(&array.primal).is_some()) {
                return Self::binary(Binary::Add, target, Self::accumulate(updates, map));
            }
            rules::accumulate_onto::<A, $rules>($apart(target), $apart(updates), map).into()
        }
        fn are_distinct(positions: &[Self::Array]) -> bool {
            let positions: Vec<A::Array> = positions.iter().map(|position| position.primal.clone()).collect();
            A::are_distinct(&positions)
        }

        fn lift(a: Self::Array) -> crate::dual::DualArray<Self> {
            crate::dual::DualArray { primal: a, delta: None }
        }
        fn lift_forward(a: Self::Array) -> crate::dual::TangentArray<Self> {
            crate::dual::TangentArray { primal: a, tangent: None }
        }
        #[track_caller]
        fn vjp(
            f: &dyn Fn(Vec<crate::dual::DualArray<Self>>) -> Vec<crate::dual::DualArray<Self>>,
            at: Vec<Self::Array>,
        ) -> (Vec<Self::Array>, Pullback<Self>) {
            crate::dual::vjp::<Self>(f, at)
        }
        #[track_caller]
        fn jvp(
            f: &dyn Fn(Vec<crate::dual::TangentArray<Self>>) -> Vec<crate::dual::TangentArray<Self>>,
            at: Vec<Self::Array>,
            tangents: Vec<Option<Self::Array>>,
        ) -> (Vec<Self::Array>, Vec<Option<Self::Array>>) {
            crate::dual::jvp::<Self>(f, at, tangents)
        }

        fn known(a: &Self::Array) -> Option<crate::array::Array> {
            A::known(&a.primal)
        }
        fn node(a: &Self::Array) -> Option<u64> {
            A::node(&a.primal)
        }
        fn with_node(a: Self::Array, node: u64) -> Self::Array {
            $array { primal: A::with_node(a.primal, node), $derivative: None }
        }
        fn note_read(a: &Self::Array) {
            A::note_read(&a.primal);
        }
        fn without_node(a: Self::Array) -> Self::Array {
            $array { primal: A::without_node(a.primal), $derivative: None }
        }
        fn literal(a: &Self::Array) -> Option<crate::array::Array> {
            if a.$derivative.is_none() { A::literal(&a.primal) } else { None }
        }
        fn slice_of(variable: &Self::Array, array: &Self::Array) {
            A::slice_of(&variable.primal, &array.primal);
        }
        fn range(a: &Self::Array) -> (i64, i64) {
            A::range(&a.primal)
        }
        #[track_caller]
        fn fail(error: Error, placeholder: Type) -> Self::Array {
            $array { primal: A::fail(error, placeholder), $derivative: None }
        }
    };
}
impl<A: Algebra> Algebra for Dual<A> {
    type Array = DualArray<A>;
    type Nested = Dual<Dual<A>>;
    type Forward = Tangent<Dual<A>>;

    delegate!(DualArray, delta: Delta<A>, Into::into);

    fn identity(a: &DualArray<A>) -> Option<(usize, u64)> {
        match &a.delta {
            None => A::identity(&a.primal),
            Some(delta) => Some((delta.address(), A::identity(&a.primal).map_or(0, |(buffer, ty)| buffer as u64 ^ ty))),
        }
    }

    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<DualArray<A>>,
        inputs: Vec<DualArray<A>>,
        captures: Vec<DualArray<A>>,
    ) -> Vec<DualArray<A>> {
        loops::scan_dual(scan, carries, inputs, captures)
    }

    fn branch(
        condition: DualArray<A>,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<DualArray<A>>,
    ) -> Vec<DualArray<A>> {
        branches::branch_dual(condition.primal, then, otherwise, captures)
    }

    fn custom<F: CustomFunction>(function: &F, inputs: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
        custom::custom_dual(function, inputs)
    }

    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
        sweeps::sweeps_dual(sweeps, operands)
    }

    fn recompute(f: &StoredFunction<Self>, at: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
        recompute::recompute_dual(f, at)
    }
}

/// The values of `f` at a point, and its pullback there (the wrapper of P 6.5).
///
/// The pullback may be called many times; where nothing arrives, and for integer and boolean inputs, it returns zeros.
pub fn vjp<A: Algebra>(
    f: &dyn Fn(Vec<DualArray<A>>) -> Vec<DualArray<A>>,
    at: Vec<A::Array>,
) -> (Vec<A::Array>, Pullback<A>) {
    let types: Vec<Type> = at.iter().map(A::type_of).collect();
    let inputs: Vec<Option<Delta<A>>> = types.iter().map(|ty| ty.dtype.is_float().then(Delta::input)).collect();
    let arguments = at.into_iter().zip(&inputs).map(|(primal, input)| DualArray { primal, delta: input.clone() });
    let (values, deltas): (Vec<A::Array>, Vec<Option<Delta<A>>>) =
        f(arguments.collect()).into_iter().map(|array| (array.primal, array.delta)).unzip();
    let pullback = move |cotangents: Vec<Option<A::Array>>| {
        debug_assert_eq!(cotangents.len(), deltas.len());
        let outputs = deltas
            .iter()
            .zip(cotangents)
            .filter_map(|(delta, cotangent)| Some((delta.clone()?, Cotangent { array: cotangent?, marked: false })));
        let (gradient, _) = transpose(outputs.collect(), &inputs);
        let or_zeros = |(part, ty): (Option<Cotangent<A>>, &Type)| part.map_or_else(|| A::zeros(ty), |c| c.array);
        gradient.into_iter().zip(&types).map(or_zeros).collect()
    };
    (values, Box::new(pullback))
}

impl<A: Algebra, const MARKED: bool> Algebra for Tangent<A, MARKED> {
    type Array = TangentArray<A>;
    type Nested = Dual<Self>;
    type Forward = Tangent<Self>;

    delegate!(TangentArray, tangent: Direction<A>, TangentArray::apart::<MARKED>);

    fn identity(a: &TangentArray<A>) -> Option<(usize, u64)> {
        if a.tangent.is_none() { A::identity(&a.primal) } else { None }
    }

    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<TangentArray<A>>,
        inputs: Vec<TangentArray<A>>,
        captures: Vec<TangentArray<A>>,
    ) -> Vec<TangentArray<A>> {
        forward::scan_tangent::<A>(scan, carries, inputs, captures, MARKED)
    }

    fn branch(
        condition: TangentArray<A>,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<TangentArray<A>>,
    ) -> Vec<TangentArray<A>> {
        forward::branch_tangent::<A>(condition.primal, then, otherwise, captures, MARKED)
    }

    fn custom<F: CustomFunction>(function: &F, inputs: Vec<TangentArray<A>>) -> Vec<TangentArray<A>> {
        custom::custom_tangent::<A, F>(function, inputs, MARKED)
    }

    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<TangentArray<A>>) -> Vec<TangentArray<A>> {
        sweeps::sweeps_tangent::<A>(sweeps, operands, MARKED)
    }
}

/// The values of `f` at a point, and their tangents along the inputs' tangents; `None` is zero, and tangents of integers
/// and booleans are ignored.
#[allow(clippy::type_complexity)]
pub fn jvp<A: Algebra>(
    f: &dyn Fn(Vec<TangentArray<A>>) -> Vec<TangentArray<A>>,
    at: Vec<A::Array>,
    tangents: Vec<Option<A::Array>>,
) -> (Vec<A::Array>, Vec<Option<A::Array>>) {
    debug_assert_eq!(at.len(), tangents.len());
    let inputs = at.into_iter().zip(tangents).map(|(primal, tangent)| {
        debug_assert!(tangent.as_ref().is_none_or(|tangent| A::shape(tangent) == A::shape(&primal)));
        let tangent = tangent.filter(|_| A::dtype(&primal).is_float());
        TangentArray { primal, tangent }
    });
    f(inputs.collect()).into_iter().map(|output| (output.primal, output.tangent)).unzip()
}
