//! The derivatives of the Cholesky and LU factors, and their transposes: those of the loops over columns which compute the factors.

use super::LoopWriter;
use crate::operation::{Binary, Comparison};
use crate::term::NodeId;

impl LoopWriter {
    /// The lower triangular X with X Lᵀ + L Xᵀ = S: column by column, each taken out of the rest of S.
    pub(super) fn cholesky_forward(&mut self, l: NodeId, s: NodeId) -> NodeId {
        let symmetric = self.symmetric(s);
        let n = self.shape(l)[1];
        let results = self.repeat((n, false), &[symmetric], &[l], &|writer, carries, step, captures| {
            let rest = carries[0];
            let (column, factor) = (writer.column(rest, step), writer.column(captures[0], step));
            let shape = writer.shape(column);
            let (own, diagonal) = (writer.row(column, step), writer.row(factor, step));
            let is_below = writer.compared(Comparison::GreaterEqual, &shape, 1, step);
            let zero = writer.number(column, 0.0);
            let factor = writer.select(is_below, factor, zero);
            let half = writer.number(own, 0.5);
            let half = writer.binary(Binary::Mul, own, half);
            let half = writer.binary(Binary::Div, half, diagonal);
            let (half, diagonal) = (writer.along(half, &shape, &[0]), writer.along(diagonal, &shape, &[0]));
            let scaled = writer.binary(Binary::Mul, factor, half);
            let moved = writer.binary(Binary::Sub, column, scaled);
            let quotient = writer.binary(Binary::Div, moved, diagonal);
            let x = writer.select(is_below, quotient, zero);
            let product = writer.outer(x, factor);
            let turned = writer.transposed(product);
            let both = writer.binary(Binary::Add, product, turned);
            vec![writer.binary(Binary::Sub, rest, both), x]
        });
        let columns = self.matrices_of_rows(results[1]);
        self.transposed(columns)
    }

    /// The symmetric Y for which 2 Y L has the lower triangle of Z: column by column from the last on, each by those after it.
    pub(super) fn cholesky_adjoint(&mut self, l: NodeId, z: NodeId) -> NodeId {
        let n = self.shape(l)[1];
        let zeros = self.number(z, 0.0);
        let results = self.repeat((n, true), &[zeros], &[l, z], &|writer, carries, step, captures| {
            let known = carries[0];
            let (factor, column) = (writer.column(captures[0], step), writer.column(captures[1], step));
            let shape = writer.shape(column);
            let whole = writer.shape(known);
            let diagonal = writer.row(factor, step);
            let diagonals = writer.along(diagonal, &shape, &[0]);
            let is_below = writer.compared(Comparison::Greater, &shape, 1, step);
            let zero = writer.number(column, 0.0);
            let factor = writer.select(is_below, factor, zero);
            let factors = writer.along(factor, &whole, &[0, 2]);
            let product = writer.binary(Binary::Mul, known, factors);
            let sums = writer.sum(product, 2);
            let rest = writer.binary(Binary::Sub, column, sums);
            let quotient = writer.binary(Binary::Div, rest, diagonals);
            let below = writer.select(is_below, quotient, zero);
            // The diagonal depends on the elements below it.
            let product = writer.binary(Binary::Mul, below, factor);
            let sum = writer.sum(product, 1);
            let own = writer.row(column, step);
            let own = writer.binary(Binary::Sub, own, sum);
            let own = writer.binary(Binary::Div, own, diagonal);
            let own = writer.along(own, &shape, &[0]);
            let is_own = writer.compared(Comparison::Equal, &shape, 1, step);
            let found = writer.select(is_own, own, below);
            let mut changed = known;
            for (axis, across) in [(2, 1), (1, 2)] {
                let is_here = writer.compared(Comparison::Equal, &whole, axis, step);
                let found = writer.along(found, &whole, &[0, across]);
                changed = writer.select(is_here, found, changed);
            }
            vec![changed]
        });
        let half = self.number(z, 0.5);
        self.binary(Binary::Mul, results[0], half)
    }

    /// X with X₋ U + L X₊ = P S, where X₋ is what is below the diagonal of X, and X₊ the rest of it: column by column, each taken out of
    /// the rest of P S.
    pub(super) fn lu_forward(&mut self, packed: NodeId, s: NodeId) -> NodeId {
        let (factors, order) = self.unpacked(packed);
        let ordered = self.ordered(s, order);
        let [_, m, n] = self.shape(s)[..] else { unreachable!("matrices along an axis") };
        let results = self.repeat((m.min(n), false), &[ordered], &[factors], &|writer, carries, step, captures| {
            let rest = carries[0];
            let (column, row) = (writer.column(rest, step), writer.row(rest, step));
            let (factor, upper) = (writer.column(captures[0], step), writer.row(captures[0], step));
            let shape = writer.shape(column);
            let [own, diagonal] = [column, factor].map(|column| {
                let own = writer.row(column, step);
                writer.along(own, &shape, &[0])
            });
            let product = writer.binary(Binary::Mul, factor, own);
            let moved = writer.binary(Binary::Sub, column, product);
            let found = writer.binary(Binary::Div, moved, diagonal);
            let products = [(found, upper), (factor, row)].map(|(column, row)| writer.outer(column, row));
            let product = writer.binary(Binary::Add, products[0], products[1]);
            vec![writer.eliminated(rest, found, product, step)]
        });
        results[0]
    }

    /// Y such that P Y Uᵀ has what is below the diagonal of Z, and Lᵀ P Y the rest of it: column and row by column and row from the last
    /// on, each by those after it.
    pub(super) fn lu_adjoint(&mut self, packed: NodeId, z: NodeId) -> NodeId {
        let (factors, order) = self.unpacked(packed);
        let zeros = self.number(z, 0.0);
        let [_, m, n] = self.shape(z)[..] else { unreachable!("matrices along an axis") };
        let results = self.repeat((m.min(n), true), &[zeros], &[factors, z], &|writer, carries, step, captures| {
            let [factors, z] = captures[..] else { unreachable!("two captures") };
            let mut known = carries[0];
            let (whole, diagonal) = (writer.shape(known), writer.row(factors, step));
            let diagonal = writer.row(diagonal, step);
            // The column below the diagonal, then the row from there on.
            for (axis, comparison) in [(1, Comparison::Greater), (2, Comparison::GreaterEqual)] {
                let (side, factor, own) = match axis {
                    1 => (writer.column(z, step), writer.row(factors, step), 2),
                    _ => (writer.row(z, step), writer.column(factors, step), 1),
                };
                let (shape, factor_shape) = (writer.shape(side), writer.shape(factor));
                let follows = writer.compared(Comparison::Greater, &factor_shape, 1, step);
                let zero = writer.number(factor, 0.0);
                let factor = writer.select(follows, factor, zero);
                let factor = writer.along(factor, &whole, &[0, own]);
                let product = writer.binary(Binary::Mul, known, factor);
                let sums = writer.sum(product, own);
                let mut found = writer.binary(Binary::Sub, side, sums);
                if axis == 1 {
                    let diagonals = writer.along(diagonal, &shape, &[0]);
                    found = writer.binary(Binary::Div, found, diagonals);
                }
                let found = writer.along(found, &whole, &[0, axis]);
                let is_here = writer.compared(Comparison::Equal, &whole, own, step);
                let is_new = writer.compared(comparison, &whole, axis, step);
                let is_new = writer.binary(Binary::And, is_here, is_new);
                known = writer.select(is_new, found, known);
            }
            vec![known]
        });
        self.placed(results[0], order)
    }
}
