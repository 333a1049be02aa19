//! The direct interpretation of source programs, builds and all, in an eager algebra: the meaning that passes must keep.

use crate::affine::AffineMap;
use crate::array;
use crate::shape::{Shape, Type, Value, size};
use crate::term::interpret::{NodeValue, apply_source, fit, run, several};
use crate::term::interpreter::{Arrays, Interpreter};
use crate::term::op::{Body, Node};
use crate::term::op::{Build, Op, Scan};
use crate::term::op::{Steps, Sweeps};
use smallvec::smallvec;
use std::convert::Infallible;

/// Runs a source program on the arrays of an eager algebra: the values of its results.
///
/// A `build` runs its body once for every element, a loop once for every step; a conditional runs one side. Slow, and the
/// reference for everything faster. The arguments are the parameters and captures, of the types that the body declares.
pub fn interpret_source<A: Interpreter>(body: &Body<Build>, arguments: Vec<A::Array>) -> Vec<A::Array> {
    let evaluate = |node: &Node<Build>, args: Arrays<A::Array>| {
        Ok(match &node.op {
            Op::Extra(build) => NodeValue::One(run_build::<A>(build, &args)),
            Op::Scan(scan) => several(run_scan::<A>(scan, args.into_vec())),
            Op::Branch(branch) => {
                let mut args = args.into_iter();
                let holds = args.next().and_then(|condition| A::holds(&condition));
                let chosen = holds.expect("an eager algebra knows the value of a condition");
                let side = if chosen { &branch.then } else { &branch.otherwise };
                several(interpret_source::<A>(side, args.collect()))
            }
            Op::Custom(custom) => several(A::custom_source(custom, args.into_vec())),
            Op::Sweeps(sweeps) => several(run_sweeps::<A>(sweeps, args.into_vec())),
            op => NodeValue::One(apply_source::<A>(op, args)),
        })
    };
    debug_assert!(fit::<A, Build>(&arguments, body));
    let result = run::<A::Array, Build, Infallible>(body, arguments, &evaluate, None);
    match result {
        Ok(values) => values,
        Err(never) => match never {},
    }
}

pub(crate) fn run_build<A: Interpreter>(build: &Build, captures: &[A::Array]) -> A::Array {
    let element = build.body.result_types().next().expect("a build's body has one result");
    let mut shape = Shape::from_slice(&build.extents);
    shape.extend_from_slice(&element.shape);
    let count = size(&build.extents);
    let elements = (0..count).map(|element| {
        let mut arguments = Vec::with_capacity(build.body.arity());
        let mut rest = element;
        for &extent in build.extents.iter().rev() {
            arguments.push(A::constant(array::Array::full(&[], Value::I64((rest % extent) as i64))));
            rest /= extent;
        }
        arguments.reverse();
        arguments.extend_from_slice(captures);
        interpret_source::<A>(&build.body, arguments).remove(0)
    });
    let stacked = stack::<A>(elements.collect(), element);
    reshape::<A>(stacked, &shape)
}

/// The same elements in another shape.
fn reshape<A: Interpreter>(array: A::Array, shape: &[usize]) -> A::Array {
    A::bind(&Op::Reshape(Shape::from_slice(shape)), smallvec![array])
}

/// The part of an array at a position of its outermost axis.
fn slice<A: Interpreter>(array: &A::Array, position: usize) -> A::Array {
    let map = AffineMap::pick(&A::shape(array), 0, position as i64);
    A::bind(&Op::View(map), smallvec![array.clone()])
}

/// Arrays of one type under a new outer axis.
pub(crate) fn stack<A: Interpreter>(elements: Vec<A::Array>, ty: &Type) -> A::Array {
    let mut unit = Shape::from_elem(1, 1);
    unit.extend_from_slice(&ty.shape);
    if elements.is_empty() {
        unit[0] = 0;
        return A::constant(array::Array::zeros(&Type { dtype: ty.dtype, shape: unit }));
    }
    A::bind(&Op::Concatenate(0), elements.into_iter().map(|element| reshape::<A>(element, &unit)).collect())
}

pub(crate) fn run_scan<A: Interpreter>(scan: &Scan<Build>, operands: Vec<A::Array>) -> Vec<A::Array> {
    let mut carries = operands;
    let operands = carries.split_off(scan.carries);
    let (inputs, captures) = operands.split_at(scan.inputs);
    let types: Vec<Type> = scan.body.result_types().skip(scan.carries).cloned().collect();
    let mut outputs: Vec<Vec<A::Array>> = vec![Vec::new(); types.len()];
    for step in 0..scan.length {
        let at = if scan.reverse { scan.length - 1 - step } else { step };
        let mut arguments = std::mem::take(&mut carries);
        for input in inputs {
            arguments.push(slice::<A>(input, at));
        }
        arguments.extend_from_slice(captures);
        carries = interpret_source::<A>(&scan.body, arguments);
        for (stacked, slice) in outputs.iter_mut().zip(carries.drain(scan.carries..)) {
            stacked.push(slice);
        }
    }
    for (mut slices, ty) in outputs.into_iter().zip(&types) {
        if scan.reverse {
            slices.reverse();
        }
        carries.push(stack::<A>(slices, ty));
    }
    carries
}

/// All sweeps of a loop, with everything kept.
pub(crate) fn run_sweeps<A: Interpreter>(sweeps: &Sweeps<Build>, operands: Vec<A::Array>) -> Vec<A::Array> {
    let mut operands = operands;
    let captures = &operands.split_off(sweeps.captures());
    let mut operands = operands.into_iter();
    let mut kept: Vec<Vec<Vec<A::Array>>> = Vec::new();
    let mut results = Vec::new();
    let mut count = match &sweeps.steps {
        Steps::Count(count) => Some(*count),
        Steps::While(_) => None,
    };
    for (at, sweep) in sweeps.sweeps.iter().enumerate() {
        let mut carries: Vec<A::Array> = operands.by_ref().take(sweep.carries).collect();
        let inputs: Vec<A::Array> = operands.by_ref().take(sweep.inputs).collect();
        let mut tape: Vec<Vec<A::Array>> = Vec::new();
        let mut outputs: Vec<Vec<A::Array>> = vec![Vec::new(); sweep.outputs()];
        let mut made = 0;
        while match (count, &sweeps.steps) {
            (None, Steps::While(condition)) => {
                let arguments = carries.iter().chain(captures).cloned().collect();
                let holds = A::holds(&interpret_source::<A>(condition, arguments)[0]);
                holds.expect("an eager algebra knows the value of a condition")
            }
            (count, _) => made < count.expect("the first sweep counts the steps"),
        } {
            let step =
                if at.is_multiple_of(2) { made } else { count.expect("the first sweep counts the steps") - 1 - made };
            let mut arguments = std::mem::take(&mut carries);
            for input in &inputs {
                let length = A::shape(input)[0];
                let position = if sweeps.reverse { length - 1 - step } else { step };
                arguments.push(slice::<A>(input, position));
            }
            arguments.extend(sweep.reads.iter().map(|&(from, position)| {
                let steps = &kept[from];
                let row = if from.is_multiple_of(2) { step } else { steps.len() - 1 - step };
                steps[row][position].clone()
            }));
            arguments.extend_from_slice(captures);
            carries = interpret_source::<A>(&sweep.body, arguments);
            let mut rest = carries.split_off(sweep.carries);
            let slices = rest.split_off(sweep.keeps);
            tape.push(rest);
            for (stacked, slice) in outputs.iter_mut().zip(slices) {
                stacked.push(slice);
            }
            made += 1;
        }
        count = Some(made);
        kept.push(tape);
        results.extend(carries);
        let types: Vec<Type> = sweep.body.result_types().skip(sweep.carries + sweep.keeps).cloned().collect();
        for (mut slices, ty) in outputs.into_iter().zip(&types) {
            // In the order of the slices, which may be the reverse of the order of steps.
            if at.is_multiple_of(2) == sweeps.reverse {
                slices.reverse();
            }
            results.push(stack::<A>(slices, ty));
        }
    }
    results
}
