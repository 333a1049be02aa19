//! Linear algebra: the dialect's own operations, or loops.

use super::loops::WriteBody;
use super::writer::{Handle, ModuleWriter, tensor, types};
use crate::error::Result;
use crate::operation::{Comparison, MatrixOperation, StableHlo, Triangle};
use crate::shape::{Axes, Type};
use crate::structural::written_out;

/// An operation on matrices: the dialect's own, or loops.
pub(super) fn matrix(
    writer: &mut ModuleWriter,
    body: WriteBody,
    op: MatrixOperation,
    operands: &[&Handle],
) -> Result<Vec<Handle>> {
    let a = operands[0];
    let rank = a.ty.rank();
    match op {
        _ if operands.iter().any(|operand| ModuleWriter::is_empty(&operand.ty)) => {}
        MatrixOperation::Solve(triangle) => return Ok(vec![writer.triangular_solve(triangle, a, operands[1])]),
        MatrixOperation::Cholesky => {
            let permutation: Axes = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
            let turned = writer.transpose(a, &permutation);
            let half = writer.number(a, 0.5);
            let halves = [a, &turned].map(|a| writer.elementwise("multiply", &[a, &half]));
            let symmetric = writer.elementwise("add", &[&halves[0], &halves[1]]);
            let factor = writer.cholesky(&symmetric);
            let (row, column) = (writer.iota(&a.ty.shape, rank - 2), writer.iota(&a.ty.shape, rank - 1));
            let is_lower = writer.compare(Comparison::GreaterEqual, &row, &column);
            let zero = writer.zeros(&a.ty);
            return Ok(vec![writer.select(&is_lower, &factor, &zero)]);
        }
        _ => {}
    }
    let types: Vec<Type> = operands.iter().map(|operand| operand.ty.clone()).collect();
    let arguments: Vec<Handle> = operands.iter().map(|&operand| operand.clone()).collect();
    body(writer, &written_out(op, &types), &arguments)
}

impl ModuleWriter {
    /// The lower factors of symmetric matrices; what is above the diagonal is anything.
    fn cholesky(&mut self, a: &Handle) -> Handle {
        let text = format!("stablehlo.cholesky {}, lower = true : {}", a.name, tensor(&a.ty));
        self.define(a.ty.clone(), &text)
    }

    /// The solution of systems of equations with triangular matrices.
    fn triangular_solve(&mut self, triangle: Triangle, a: &Handle, b: &Handle) -> Handle {
        let Triangle { is_lower, is_transposed, has_unit_diagonal } = triangle;
        let transpose = if is_transposed { "TRANSPOSE" } else { "NO_TRANSPOSE" };
        let text = format!(
            "\"stablehlo.triangular_solve\"({}, {}) <{{left_side = true, lower = {is_lower}, \
             transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = {has_unit_diagonal}}}> : ({}) -> {}",
            a.name,
            b.name,
            types(&[a, b]),
            tensor(&b.ty)
        );
        self.define(b.ty.clone(), &text)
    }
}
