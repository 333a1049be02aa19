//! The instance of dependence: which elements of the input every element of an array may depend on.

use super::array::{Sparsity, SparsityArray};
use super::dependence::dependent;
use super::run::run;
use super::{custom, loops};
use crate::algebra::{Algebra, CustomFunction, ForwardArray, NestedArray, Operands, Pullback};
use crate::array::{Array, available};
use crate::concrete::Concrete;
use crate::dual::{self, Dual, DualArray, Tangent, TangentArray};
use crate::evaluate::Failure;
use crate::shape::{DType, Shape};
use crate::term::{Body, Op, Scan, Sweeps};
use std::sync::Arc;

/// The results of a sub-program. Panics at the caller's line where there was no memory.
#[track_caller]
fn several(results: Result<Vec<SparsityArray>, Failure>) -> Vec<SparsityArray> {
    match results {
        Ok(arrays) => arrays,
        Err(Failure { operation, problem }) => available(Err(problem), || operation),
    }
}

impl Algebra for Sparsity {
    type Array = SparsityArray;
    type Nested = Dual<Sparsity>;
    type Forward = Tangent<Sparsity>;

    fn dtype(a: &SparsityArray) -> DType {
        a.ty.dtype
    }
    fn shape(a: &SparsityArray) -> Shape {
        a.ty.shape.clone()
    }

    fn constant(value: Array) -> SparsityArray {
        SparsityArray::known(value)
    }
    #[track_caller]
    fn bind(op: &Op, operands: Operands<Sparsity>) -> SparsityArray {
        // A result of known arrays is known.
        let elements: Option<Operands<Concrete>> = operands.iter().map(|operand| operand.known.clone()).collect();
        match elements {
            Some(elements) => SparsityArray::known(Concrete::bind(op, elements)),
            None => dependent(op, &operands),
        }
    }

    #[track_caller]
    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<SparsityArray>,
        inputs: Vec<SparsityArray>,
        captures: Vec<SparsityArray>,
    ) -> Vec<SparsityArray> {
        several(loops::scan(run, scan, carries, &inputs, captures))
    }
    #[track_caller]
    fn branch(
        condition: SparsityArray,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<SparsityArray>,
    ) -> Vec<SparsityArray> {
        several(loops::branch(run, &condition, then, otherwise, captures))
    }
    #[track_caller]
    fn custom<F: CustomFunction>(function: &F, inputs: Vec<SparsityArray>) -> Vec<SparsityArray> {
        several(custom::custom(&custom::AnyFunction(function), inputs))
    }
    #[track_caller]
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<SparsityArray>) -> Vec<SparsityArray> {
        several(loops::sweeps(run, sweeps, &operands))
    }

    fn lift(a: SparsityArray) -> NestedArray<Self> {
        DualArray { primal: a, delta: None }
    }
    fn lift_forward(a: SparsityArray) -> ForwardArray<Self> {
        TangentArray { primal: a, tangent: None }
    }
    fn vjp(
        f: &dyn Fn(Vec<NestedArray<Self>>) -> Vec<NestedArray<Self>>,
        at: Vec<SparsityArray>,
    ) -> (Vec<SparsityArray>, Pullback<Self>) {
        dual::vjp::<Sparsity>(f, at)
    }
    fn jvp(
        f: &dyn Fn(Vec<ForwardArray<Self>>) -> Vec<ForwardArray<Self>>,
        at: Vec<SparsityArray>,
        tangents: Vec<Option<SparsityArray>>,
    ) -> (Vec<SparsityArray>, Vec<Option<SparsityArray>>) {
        dual::jvp::<Sparsity>(f, at, tangents)
    }

    fn known(a: &SparsityArray) -> Option<Array> {
        a.known.clone()
    }
}
