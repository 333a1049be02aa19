//! Operations of programs as those of StableHLO: an arm for each.

use super::elementwise::{self, is_nan};
use super::loops::WriteBody;
use super::writer::{Handle, ModuleWriter};
use super::{indexing, loops, matrix, sweeps, views};
use crate::error::Result;
use crate::operation::{Comparison, Contraction, Extreme, Label, Order, StableHlo};
use crate::shape::{Axes, DType, Type, Value};
use crate::structural::sparse_written_out;
use crate::term::Op;

/// The outputs of an operation; `differ` says whether its positions are known to differ, and `body` writes the bodies inside of it.
pub(super) fn operation(
    writer: &mut ModuleWriter,
    body: WriteBody,
    op: &Op,
    operands: &[&Handle],
    differ: bool,
) -> Result<Vec<Handle>> {
    let one = match op {
        Op::Constant(array) => writer.constant(array),
        Op::Iota(n) => writer.iota(&[*n], 0),
        Op::Unary(op) => elementwise::unary(writer, *op, operands[0]),
        Op::Binary(op) => elementwise::binary(writer, *op, operands[0], operands[1]),
        Op::Compare(op) => writer.compare(*op, operands[0], operands[1]),
        Op::Select => writer.select(operands[0], operands[1], operands[2]),
        Op::Cast(dtype) => elementwise::cast(writer, operands[0], *dtype),
        Op::View(map) => views::view(writer, operands[0], map)?,
        Op::Accumulate(map) => views::accumulate(writer, operands[0], map)?,
        Op::Reshape(shape) => writer.reshape(operands[0], shape),
        Op::Concatenate(axis) => writer.concatenate(operands, *axis),
        Op::Gather => indexing::gather(writer, operands[0], &operands[1..]),
        Op::Scatter(extents) => indexing::scatter(writer, operands[0], &operands[1..], extents)?,
        Op::ScatterSet => indexing::scatter_set(writer, operands[0], operands[1], &operands[2..], differ)?,
        Op::Reduce(reduction, axes) => writer.reduce(*reduction, operands[0], axes),
        Op::ArgReduce(extreme, axis) => arg_reduce(writer, *extreme, operands[0], *axis)?,
        Op::ArgSort(order, axis) => arg_sort(writer, *order, operands[0], *axis)?,
        Op::Contract(contraction) => contract(writer, contraction, operands[0], operands[1]),
        Op::Matrix(op) => return matrix::matrix(writer, body, *op, operands),
        Op::Sparse(op) => {
            let types: Vec<Type> = operands.iter().map(|operand| operand.ty.clone()).collect();
            let arguments: Vec<Handle> = operands.iter().map(|&operand| operand.clone()).collect();
            return body(writer, &sparse_written_out(op, &types), &arguments);
        }
        Op::Alias | Op::Mark => operands[0].clone(),
        Op::Scan(scan) => return loops::scan(writer, body, scan, operands),
        Op::Branch(branch) => return loops::branch(writer, body, branch, operands),
        Op::Sweeps(all) => return sweeps::sweeps(writer, body, all, operands),
        Op::Custom(custom) => {
            let arguments: Vec<Handle> = operands.iter().map(|&operand| operand.clone()).collect();
            return body(writer, &custom.value, &arguments);
        }
        Op::Parameter(_) | Op::Output(_) => unreachable!("parameters come first, and outputs are looked up"),
        Op::Extra(never) => match *never {},
    };
    Ok(vec![one])
}

/// A sum of products. Labels of both operands are batches if the result has them, and summed otherwise.
fn contract(writer: &mut ModuleWriter, contraction: &Contraction, a: &Handle, b: &Handle) -> Handle {
    let Contraction { left, right, result } = contraction;
    let at = |labels: &[Label], label: Label| labels.iter().position(|&other| other == label);
    let shared = |in_result: bool| {
        let labels = left.iter().filter(|&&label| result.contains(&label) == in_result);
        labels.filter_map(|&label| Some((at(left, label)?, at(right, label)?))).unzip::<usize, usize, Axes, Axes>()
    };
    let (batch, summed) = (shared(true), shared(false));
    let dot = writer.dot([a, b], [&batch.0, &batch.1], [&summed.0, &summed.1]);
    // The labels in the order in which they result.
    let mut labels: Vec<Label> = batch.0.iter().map(|&axis| left[axis]).collect();
    labels.extend(left.iter().filter(|&&label| at(right, label).is_none()));
    labels.extend(right.iter().filter(|&&label| at(left, label).is_none()));
    let permutation: Axes = result.iter().filter_map(|&label| at(&labels, label)).collect();
    writer.transpose(&dot, &permutation)
}

/// The position of the first extreme along an axis, or of the first NaN; 0 when the axis is empty.
fn arg_reduce(writer: &mut ModuleWriter, extreme: Extreme, a: &Handle, axis: usize) -> Result<Handle> {
    if ModuleWriter::is_empty(&a.ty) {
        let mut ty = Type { dtype: DType::I64, shape: a.ty.shape.clone() };
        ty.shape.remove(axis);
        return Ok(writer.zeros(&ty));
    }
    let (better, worst) = match extreme {
        Extreme::Max => (Comparison::Greater, f64::NEG_INFINITY),
        Extreme::Min => (Comparison::Less, f64::INFINITY),
    };
    let worst = match (a.ty.dtype, extreme) {
        (DType::Bool, Extreme::Max) => Value::Bool(false),
        (DType::Bool, Extreme::Min) => Value::Bool(true),
        (dtype, _) => Value::from_f64(dtype, worst),
    };
    let positions = writer.iota(&a.ty.shape, axis);
    let (start, last) = (writer.splat(worst, &[]), writer.filled(DType::I64, &[], i64::MAX));
    let results = writer.reduce_together(&[a, &positions], &[&start, &last], axis, |writer, operands| {
        let [x, i, y, j] = operands else { unreachable!("two elements of two arrays") };
        let (x_nan, y_nan) = (is_nan(writer, x), is_nan(writer, y));
        // The second wins where it is better or the only NaN, or as good and earlier.
        let larger = writer.compare(better, y, x);
        let x_number = writer.elementwise("not", &[&x_nan]);
        let larger = writer.elementwise("and", &[&larger, &x_number]);
        let only = writer.elementwise("and", &[&y_nan, &x_number]);
        let wins = writer.elementwise("or", &[&larger, &only]);
        let equal = writer.compare(Comparison::Equal, x, y);
        let neither = writer.elementwise("and", &[&x_nan, &y_nan]);
        let tie = writer.elementwise("or", &[&equal, &neither]);
        let earlier = writer.compare(Comparison::Less, j, i);
        let tie = writer.elementwise("and", &[&tie, &earlier]);
        let wins = writer.elementwise("or", &[&wins, &tie]);
        Ok(vec![writer.select(&wins, y, x), writer.select(&wins, j, i)])
    })?;
    Ok(results[1].clone())
}

/// The positions along an axis in the order of their elements, NaN last.
fn arg_sort(writer: &mut ModuleWriter, order: Order, a: &Handle, axis: usize) -> Result<Handle> {
    let positions = writer.iota(&a.ty.shape, axis);
    if ModuleWriter::is_empty(&a.ty) {
        return Ok(positions);
    }
    let before = match order {
        Order::Ascending => Comparison::Less,
        Order::Descending => Comparison::Greater,
    };
    let results = writer.sort(&[a, &positions], axis, |writer, operands| {
        let (x, y) = (&operands[0], &operands[1]);
        let comes_before = writer.compare(before, x, y);
        if !x.ty.dtype.is_float() {
            return Ok(vec![comes_before]);
        }
        let (x_number, y_nan) = (writer.compare(Comparison::Equal, x, x), is_nan(writer, y));
        let rest = writer.elementwise("and", &[&x_number, &y_nan]);
        Ok(vec![writer.elementwise("or", &[&comes_before, &rest])])
    })?;
    Ok(results[1].clone())
}
