//! Bulk programs run on plain arrays, as far as there is memory: the interpretation of [`crate::term::interpret`], but that
//! it ends with an error where another operation could not have its result.

use super::apply::{apply, is_true};
use super::failure::Failure;
use super::recurrence::run_recurrence;
use super::sweeps;
use crate::array::memory::OutOfMemory;
use crate::array::structure::{outer_slice, write_slice};
use crate::array::{Array, ReadArrays, for_data, for_pair, gather, view};
use crate::shape::{Shape, Type, Value};
use crate::term::interpret::{self, NodeValue, UpdatePositions};
use crate::term::{Arrays, Body, Never, Node, Op, Scan, Sweeps, print};

/// Runs a bulk program: the values of its results.
///
/// # Errors
///
/// The first operation for which there is no memory.
pub(crate) fn run(body: &Body, arguments: Vec<Array>) -> Result<Vec<Array>, Failure> {
    // The program's operations do not belong to a closure that is being traced.
    let arguments: Vec<Array> = arguments.into_iter().map(ReadArrays::read).collect();
    debug_assert!(arguments.iter().enumerate().all(|(at, array)| array.ty() == *body.parameter_type(at)));
    let evaluate = |node: &Node, args: Arrays<Array>| match &node.op {
        Op::Scan(scan) => {
            let mut args = args.into_iter();
            let carries = args.by_ref().take(scan.carries).collect();
            let inputs: Vec<Array> = args.by_ref().take(scan.inputs).collect();
            let captures: Vec<Array> = args.collect();
            Ok(interpret::several(run_scan(scan, carries, &inputs, &captures)?))
        }
        Op::Branch(branch) => {
            let mut args = args.into_iter();
            let condition = args.next().expect("a branch has a condition");
            let side = if is_true(&condition) { &branch.then } else { &branch.otherwise };
            Ok(interpret::several(run(side, args.collect())?))
        }
        Op::Custom(custom) => Ok(interpret::several(run(&custom.value, args.into_vec())?)),
        Op::Sweeps(sweeps) => Ok(interpret::several(run_sweeps(sweeps, args.into_vec())?)),
        op => {
            let result = apply(op, args).map_err(|problem| Failure { operation: print::name(op), problem })?;
            debug_assert_eq!(result.ty(), *node.ty());
            Ok(NodeValue::One(result))
        }
    };
    interpret::run::<Array, Never, Failure>(body, arguments, &evaluate, Some(&InPlace))
}

/// Runs a loop with several sweeps.
pub(crate) fn run_sweeps(sweeps: &Sweeps, operands: Vec<Array>) -> Result<Vec<Array>, Failure> {
    sweeps::run_sweeps(run, sweeps, operands)
}

/// Parts of arrays, read and added where they are.
struct InPlace;

impl InPlace {
    fn add(positions: &UpdatePositions, target: Array, args: Arrays<Array>) -> Result<Array, OutOfMemory> {
        let mut args = args.into_iter();
        let updates = args.next().expect("the arena is well formed");
        let mut indices: Vec<Array> = args.collect();
        match positions {
            UpdatePositions::Affine(map) => {
                return for_pair!(target, updates, (target, updates) => view::accumulate_onto(target, updates, map));
            }
            UpdatePositions::Computed => {}
            UpdatePositions::Permuted(axes) => {
                let all =
                    gather::grid(&indices, &updates.shape()[indices.first().map_or(0, |index| index.shape().len())..])?;
                indices = target.shape().iter().map(|_| Array::full(&[], Value::I64(0))).collect();
                for (&axis, index) in axes.iter().zip(all) {
                    indices[axis] = index;
                }
            }
        }
        for_pair!(target, updates, (target, updates) => gather::scatter_onto(target, updates, &indices))
    }

    fn gather(axes: &[usize], source: Array, indices: Arrays<Array>) -> Result<Array, OutOfMemory> {
        let mut inner = Shape::from_elem(0, axes.len());
        for (&axis, &extent) in axes.iter().zip(source.shape()) {
            inner[axis] = extent;
        }
        let all = gather::grid(&indices, &inner[indices.len()..])?;
        let indices: Vec<Array> = axes.iter().map(|&axis| all[axis].clone()).collect();
        for_data!(source, data => gather::gather(data, &indices))
    }

    fn checked(node: &Node, result: Result<Array, OutOfMemory>) -> Result<Array, Failure> {
        debug_assert!(result.as_ref().ok().is_none_or(|array| array.ty() == *node.ty()));
        result.map_err(|problem| Failure { operation: print::name(&node.op), problem })
    }
}

impl interpret::PartialAccess<Array, Never, Failure> for InPlace {
    fn add(
        &self,
        node: &Node,
        positions: &UpdatePositions,
        target: Array,
        operands: Arrays<Array>,
    ) -> Result<Array, Failure> {
        InPlace::checked(node, InPlace::add(positions, target, operands))
    }

    fn gather(&self, node: &Node, axes: &[usize], source: Array, indices: Arrays<Array>) -> Result<Array, Failure> {
        InPlace::checked(node, InPlace::gather(axes, source, indices))
    }
}

/// Runs a loop.
pub(crate) fn run_scan(
    scan: &Scan,
    carries: Vec<Array>,
    inputs: &[Array],
    captures: &[Array],
) -> Result<Vec<Array>, Failure> {
    match run_recurrence(scan, &carries, inputs, captures) {
        Some(result) => result.map_err(|problem| Failure { operation: "scan".into(), problem }),
        None => run_step_by_step(scan, carries, inputs, captures),
    }
}

/// Runs a loop with an array for each value of a step; outputs are written slice by slice into buffers for the whole.
pub(crate) fn run_step_by_step(
    scan: &Scan,
    mut carries: Vec<Array>,
    inputs: &[Array],
    captures: &[Array],
) -> Result<Vec<Array>, Failure> {
    let failure = |problem| Failure { operation: "scan".into(), problem };
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
        for input in inputs {
            let slice = for_data!(input, data => outer_slice(data, position));
            arguments.push(slice.map_err(failure)?);
        }
        arguments.extend(captures.iter().cloned());
        let mut results = run(&scan.body, arguments)?.into_iter();
        carries = results.by_ref().take(scan.carries).collect();
        for (output, slice) in outputs.iter_mut().zip(results) {
            for_pair!(output, &slice, (output, slice) => write_slice(output, slice, position)).map_err(failure)?;
        }
    }
    carries.extend(outputs);
    Ok(carries)
}
