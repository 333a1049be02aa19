//! Bulk programs run on plain arrays, as far as there is memory: the interpretation of [`crate::term::interpret`], but that
//! it ends with an error where another operation could not have its result.

use crate::algebra::Operands;
use crate::concrete::memory::{self, OutOfMemory};
use crate::concrete::recurrence::run_recurrence;
use crate::concrete::scalar::Scalar;
use crate::concrete::sweeps::run_sweeps;
use crate::concrete::{
    Array, Concrete, Data, Read, contract, elementwise, for_data, for_pair, gather, reduce, sort, structure, view,
};
use crate::shape::{Shape, Type, Value};
use crate::term::interpret::{self, Positions, Slot};
use crate::term::{Body, Never, Node, Op, Scan, print};

/// The failure that ended a program: the operation, by its printed name, and the array that there was no memory for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) operation: String,
    pub(crate) problem: OutOfMemory,
}

/// Runs a bulk program: the values of its results.
///
/// # Errors
///
/// The first operation for which there is no memory.
pub(crate) fn run(body: &Body, arguments: Vec<Array>) -> Result<Vec<Array>, Failure> {
    // The program's operations do not belong to a closure that is being traced.
    let arguments = arguments.into_iter().map(Read::read).collect();
    let evaluate = |node: &Node, args: Operands<Concrete>| match &node.op {
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
            Ok(Slot::One(result))
        }
    };
    interpret::run::<Concrete, Never, Failure>(body, arguments, evaluate, Some(&InPlace))
}

/// Parts of arrays, read and added where they are.
struct InPlace;

impl InPlace {
    fn add(positions: &Positions, target: Array, args: Operands<Concrete>) -> Result<Array, OutOfMemory> {
        let mut args = args.into_iter();
        let updates = args.next().expect("the arena is well formed");
        let mut indices: Vec<Array> = args.collect();
        match positions {
            Positions::Affine(map) => {
                return for_pair!(target, updates, (target, updates) => view::accumulate_onto(target, updates, map));
            }
            Positions::Computed => {}
            Positions::Permuted(axes) => {
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

    fn gather(axes: &[usize], source: Array, indices: Operands<Concrete>) -> Result<Array, OutOfMemory> {
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

impl interpret::Parts<Concrete, Never, Failure> for InPlace {
    fn add(
        &self,
        node: &Node,
        positions: &Positions,
        target: Array,
        operands: Operands<Concrete>,
    ) -> Result<Array, Failure> {
        InPlace::checked(node, InPlace::add(positions, target, operands))
    }

    fn gather(
        &self,
        node: &Node,
        axes: &[usize],
        source: Array,
        indices: Operands<Concrete>,
    ) -> Result<Array, Failure> {
        InPlace::checked(node, InPlace::gather(axes, source, indices))
    }
}

/// Whether a rank-0 boolean is true.
pub(super) fn is_true(condition: &Array) -> bool {
    condition.element(0) == Value::Bool(true)
}

/// One operation without a sub-program.
pub(crate) fn apply(op: &Op, args: Operands<Concrete>) -> Result<Array, OutOfMemory> {
    let mut args = args.into_iter();
    let mut next = || args.next().expect("the arena is well formed");
    match op {
        Op::Constant(array) => Ok(array.clone()),
        Op::Iota(n) => structure::iota(*n),
        Op::Unary(op) => elementwise::unary(*op, next()),
        Op::Binary(op) => elementwise::binary(*op, next(), next()),
        Op::Compare(op) => elementwise::compare(*op, next(), next()),
        Op::Select => elementwise::select(next(), next(), next()),
        Op::Cast(dtype) => elementwise::cast(next(), *dtype),
        Op::View(map) => for_data!(next(), data => view::view(data, map)),
        Op::Accumulate(map) => for_data!(next(), data => view::accumulate(data, map)),
        Op::Reshape(shape) => Ok(for_data!(next(), data => structure::reshape(data, shape))),
        Op::Concatenate(axis) => structure::concatenate(*axis, args.collect()),
        Op::Gather => {
            let a = next();
            let indices: Vec<Array> = args.collect();
            for_data!(a, data => gather::gather(data, &indices))
        }
        Op::Scatter(extents) => {
            let updates = next();
            let indices: Vec<Array> = args.collect();
            for_data!(updates, updates => gather::scatter(updates, &indices, extents))
        }
        Op::ScatterSet => {
            let (target, updates) = (next(), next());
            let indices: Vec<Array> = args.collect();
            for_pair!(target, updates, (target, updates) => gather::scatter_set(target, updates, &indices))
        }
        Op::Reduce(op, axes) => for_data!(next(), data => reduce::reduce(*op, data, axes)),
        Op::ArgReduce(op, axis) => for_data!(&next(), data => reduce::arg_reduce(*op, data, *axis)),
        Op::ArgSort(order, axis) => for_data!(&next(), data => sort::arg_sort(*order, data, *axis)),
        Op::Contract(spec) => contract::contract_arrays(spec, next(), next()),
        Op::Alias | Op::Mark => Ok(next()),
        Op::Parameter(_)
        | Op::Output(_)
        | Op::Scan(_)
        | Op::Branch(_)
        | Op::Sweeps(_)
        | Op::Custom(_)
        | Op::Extra(_) => {
            unreachable!("handled by the caller")
        }
    }
}

/// Runs a loop.
pub(super) fn run_scan(
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
pub(super) fn run_step_by_step(
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
            let slice = for_data!(input, data => structure::outer_slice(data, position));
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

/// Writes one slice of a loop's output, whose buffer is made at the first slice that its one value does not fit.
pub(super) fn write_slice<T: Scalar>(
    output: &mut Data<T>,
    slice: &Data<T>,
    position: usize,
) -> Result<(), OutOfMemory> {
    if let (Data::Uniform(_, x), Data::Uniform(_, y)) = (&*output, slice)
        && x.same_bits(*y)
    {
        return Ok(());
    }
    if let Data::Uniform(shape, x) = output {
        let shape: Shape = shape.clone();
        *output = Data::from_vec(&shape, memory::filled(&shape, *x)?);
    }
    if let Data::Dense(buffer) = output {
        structure::write_outer_slice(buffer.as_slice_mut(), slice, position);
    }
    Ok(())
}
