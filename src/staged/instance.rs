//! The algebra of terms.

use super::custom;
use super::range;
use crate::affine::AffineMap;
use crate::algebra::{Algebra, CapturedBody, CustomFunction, Operands, Pullback};
use crate::array::Array;
use crate::dual::{self, Dual, DualArray, Tangent, TangentArray};
use crate::error::Error;
use crate::shape::{DType, Shape, Type};
use crate::simplify::simplify;
use crate::term::distinct::are_distinct;
use crate::term::interpret::interpret;
use crate::term::{Body, Branch, Build, Op, Scan, Sweeps, Widened};
use crate::trace::{
    self, ClosedBody, Scope, StagedArray, StagedTerms, close, fresh, node, outputs, placeholder, session,
};
use crate::vectorise::vectorise;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

/// The algebra whose arrays are terms. Functions run once, on variables.
#[derive(Clone, Debug)]
pub struct Staged;

/// The nodes of a body with these arrays for its parameters and captures.
#[track_caller]
fn inlined(body: &Body<Build>, arguments: Vec<StagedArray>) -> Vec<StagedArray> {
    let mut arrays = arguments;
    for inner in &body.nodes[body.arity()..] {
        let args = inner.args.iter().map(|&arg| arrays[arg as usize].clone()).collect();
        let array = node(inner.op.clone(), args);
        arrays.push(array);
    }
    body.results.iter().map(|&result| arrays[result as usize].clone()).collect()
}

/// Runs a function on aliases of a point, and closes its results over them. Nodes older than the first alias are captures, so
/// nothing is substituted and nothing can escape.
#[track_caller]
fn close_over_aliases(
    f: &dyn Fn(Vec<StagedArray>) -> Vec<StagedArray>,
    at: &[StagedArray],
) -> (Arc<Body>, Vec<StagedArray>) {
    let first = fresh();
    // A closure would hide the user's line.
    let mut aliases: Vec<StagedArray> = Vec::with_capacity(at.len());
    for point in at {
        aliases.push(node(Op::Alias, smallvec![point.clone()]));
    }
    let mut results = f(aliases.clone());
    session::check_results(&mut results, Location::caller());
    let ClosedBody { body, captures } = close(&aliases, &results, &|node| node.id > first);
    (Arc::new(simplify(&vectorise(&body))), captures)
}

impl Algebra for Staged {
    type Array = StagedArray;
    type Nested = Staged;
    type Forward = Staged;

    fn dtype(a: &StagedArray) -> DType {
        a.ty().dtype
    }
    fn shape(a: &StagedArray) -> Shape {
        a.ty().shape.clone()
    }
    fn constant(value: Array) -> StagedArray {
        trace::constant(value)
    }
    #[track_caller]
    fn bind(op: &Op, operands: Operands<Staged>) -> StagedArray {
        trace::bind(op, operands)
    }
    fn identity(a: &StagedArray) -> Option<(usize, u64)> {
        Some((Arc::as_ptr(&a.0) as usize, a.identity()))
    }

    fn are_distinct(positions: &[StagedArray]) -> bool {
        are_distinct(&StagedTerms, positions)
    }

    #[track_caller]
    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<StagedArray>,
        inputs: Vec<StagedArray>,
        captures: Vec<StagedArray>,
    ) -> Vec<StagedArray> {
        let source = Scan {
            body: Widened::default().of(&scan.body),
            carries: scan.carries,
            inputs: scan.inputs,
            length: scan.length,
            reverse: scan.reverse,
        };
        Self::scan_source(source, carries, inputs, captures)
    }
    #[track_caller]
    fn branch(
        condition: StagedArray,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<StagedArray>,
    ) -> Vec<StagedArray> {
        let mut known = Widened::default();
        let branch = Branch { then: known.of(then), otherwise: known.of(otherwise) };
        let mut args = smallvec![condition];
        args.extend(captures);
        outputs(Op::Branch(Arc::new(branch)), args)
    }

    #[track_caller]
    fn custom<F: CustomFunction>(function: &F, inputs: Vec<StagedArray>) -> Vec<StagedArray> {
        let custom = match function.bulk() {
            Some(custom) => {
                let mut known = Widened::default();
                custom.map(|body| known.of(body))
            }
            None => match custom::trace(function, &inputs) {
                Some(custom) => custom,
                // An error was recorded.
                None => return function.value::<Staged>(inputs),
            },
        };
        outputs(Op::Custom(Arc::new(custom)), inputs.into())
    }

    #[track_caller]
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<StagedArray>) -> Vec<StagedArray> {
        outputs(Op::Sweeps(Arc::new(sweeps.widen())), operands.into())
    }

    fn lift(a: StagedArray) -> StagedArray {
        a
    }
    fn lift_forward(a: StagedArray) -> StagedArray {
        a
    }

    #[track_caller]
    fn vjp(
        f: &dyn Fn(Vec<StagedArray>) -> Vec<StagedArray>,
        at: Vec<StagedArray>,
    ) -> (Vec<StagedArray>, Pullback<Staged>) {
        let (body, captures) = close_over_aliases(f, &at);
        let on_duals = |mut inputs: Vec<DualArray<Staged>>| {
            inputs.extend(captures.iter().map(|capture| DualArray { primal: capture.clone(), delta: None }));
            interpret::<Dual<Staged>>(&body, inputs)
        };
        dual::vjp::<Staged>(&on_duals, at)
    }
    #[track_caller]
    fn jvp(
        f: &dyn Fn(Vec<StagedArray>) -> Vec<StagedArray>,
        at: Vec<StagedArray>,
        tangents: Vec<Option<StagedArray>>,
    ) -> (Vec<StagedArray>, Vec<Option<StagedArray>>) {
        let (body, captures) = close_over_aliases(f, &at);
        let on_tangents = |mut inputs: Vec<TangentArray<Staged>>| {
            inputs.extend(captures.iter().map(|capture| TangentArray { primal: capture.clone(), tangent: None }));
            interpret::<Tangent<Staged>>(&body, inputs)
        };
        dual::jvp::<Staged>(&on_tangents, at, tangents)
    }

    #[track_caller]
    fn trace_body(
        parameters: &[Type],
        lazy: bool,
        f: &mut dyn FnMut(Vec<StagedArray>) -> Vec<StagedArray>,
    ) -> Option<CapturedBody<Staged>> {
        let first = fresh();
        let scope = Scope::open();
        let variables = scope.variables(parameters);
        let mut results = f(variables.clone());
        session::check_results(&mut results, Location::caller());
        let ClosedBody { body, captures } = match lazy {
            true => close(&variables, &results, &|node| node.id > first),
            false => scope.close(&variables, &results),
        };
        Some((Arc::new(body), captures))
    }
    fn slice_of(variable: &StagedArray, array: &StagedArray) {
        if variable.ty().dtype.is_integer() {
            session::declare_source(variable, array);
        }
    }
    fn range(a: &StagedArray) -> (i64, i64) {
        range::range(a)
    }
    #[track_caller]
    fn build(build: Build, captures: Vec<StagedArray>) -> StagedArray {
        node(Op::Extra(build), captures.into())
    }
    #[track_caller]
    fn scan_source(
        scan: Scan<Build>,
        carries: Vec<StagedArray>,
        inputs: Vec<StagedArray>,
        captures: Vec<StagedArray>,
    ) -> Vec<StagedArray> {
        let args = carries.into_iter().chain(inputs).chain(captures).collect();
        outputs(Op::Scan(Arc::new(scan)), args)
    }
    #[track_caller]
    fn sweeps_source(sweeps: Sweeps<Build>, operands: Vec<StagedArray>) -> Vec<StagedArray> {
        outputs(Op::Sweeps(Arc::new(sweeps)), operands.into())
    }
    #[track_caller]
    fn cond_source(
        condition: StagedArray,
        (then, then_captures): CapturedBody<Staged>,
        (otherwise, otherwise_captures): CapturedBody<Staged>,
    ) -> Vec<StagedArray> {
        if !is_worth_skipping(&then) && !is_worth_skipping(&otherwise) {
            let (yes, no) = (inlined(&then, then_captures), inlined(&otherwise, otherwise_captures));
            let mut chosen = Vec::with_capacity(yes.len());
            for (yes, no) in yes.into_iter().zip(no) {
                let shape = yes.ty().shape.clone();
                let mask = match shape.is_empty() {
                    true => condition.clone(),
                    false => Self::view(condition.clone(), &AffineMap::broadcast(&[], &shape, &[])),
                };
                chosen.push(Self::select(mask, yes, no));
            }
            return chosen;
        }
        let mut captures: Vec<StagedArray> = Vec::new();
        let mut known = HashMap::new();
        let mut positions = |side: &[StagedArray]| -> Vec<usize> {
            let position = |capture: &StagedArray| {
                *known.entry(capture.0.id).or_insert_with(|| {
                    captures.push(capture.clone());
                    captures.len() - 1
                })
            };
            side.iter().map(position).collect()
        };
        let (then_positions, otherwise_positions) = (positions(&then_captures), positions(&otherwise_captures));
        let types: Vec<Type> = captures.iter().map(|capture| capture.ty().clone()).collect();
        let branch = Branch {
            then: Arc::new(then.with_captures(&types, &then_positions)),
            otherwise: Arc::new(otherwise.with_captures(&types, &otherwise_positions)),
        };
        let mut args: SmallVec<[StagedArray; 3]> = smallvec![condition];
        args.extend(captures);
        outputs(Op::Branch(Arc::new(branch)), args)
    }

    fn fail(error: Error, ty: Type) -> StagedArray {
        session::record(error);
        placeholder(&ty)
    }
}

/// The fewest elements of an array for which a write or a reduction keeps the sides of a conditional as bodies: a selection would
/// go through all of them.
const WHOLE: usize = 64;

/// Whether a side of a conditional holds a loop, a contraction or linear algebra, or writes into or reduces an array that is not
/// small, so that it pays to run it only where it is chosen. A factorisation that fails there would also reach the gradient: a
/// factor that is NaN is an operand of products, which no mark protects.
fn is_worth_skipping(body: &Body<Build>) -> bool {
    body.nodes.iter().any(|node| match &node.op {
        Op::Scan(_) | Op::Branch(_) | Op::Sweeps(_) | Op::Contract(_) | Op::Matrix(_) | Op::Sparse(_) => true,
        Op::ScatterSet | Op::Scatter(_) => node.ty().size() >= WHOLE,
        Op::Reduce(..) => body.node(node.args[0]).ty().size() >= WHOLE,
        Op::Extra(build) => is_worth_skipping(&build.body),
        Op::Custom(custom) => is_worth_skipping(&custom.value),
        _ => false,
    })
}
