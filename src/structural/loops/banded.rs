//! Systems of equations with banded matrices: the rows that meet in a step, as a window that moves along the diagonal.

use super::LoopWriter;
use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Extreme, Unary};
use crate::shape::Shape;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

impl LoopWriter {
    /// An affine read of each matrix: rows and columns of the source, each by coefficients of those of the result and an offset.
    /// There are zeros outside.
    fn read(&mut self, a: NodeId, result: [usize; 2], row: [i64; 3], column: [i64; 3]) -> NodeId {
        let coefficients = |[row, column, _]: [i64; 3]| SmallVec::from_slice(&[0, row, column]);
        let rows = [SmallVec::from_slice(&[1, 0, 0]), coefficients(row), coefficients(column)];
        let result = [self.count, result[0], result[1]];
        let map = AffineMap::new(&self.shape(a), &result, &rows, &[0, row[2], column[2]]);
        self.graph.add(Op::View(map), &[a])
    }

    /// The row of each matrix at a number, by itself.
    fn one_row(&mut self, a: NodeId, step: NodeId) -> NodeId {
        let row = self.row(a, step);
        let shape = Shape::from_slice(&[self.count, 1, self.shape(row)[1]]);
        self.graph.add(Op::Reshape(shape), &[row])
    }

    fn stacked(&mut self, parts: &[NodeId]) -> NodeId {
        let parts: Vec<NodeId> = parts.iter().copied().filter(|&part| self.shape(part)[1] > 0).collect();
        if let [part] = parts[..] { part } else { self.graph.add(Op::Concatenate(1), &parts) }
    }

    /// The solution, of the bands below the diagonal, those from the diagonal on, and the right sides.
    pub(super) fn solve_banded(&mut self, is_transposed: bool, operands: &[NodeId]) -> NodeId {
        let [lower, upper, b] = operands[..] else { unreachable!("three operands") };
        let ([_, lowest, n], [_, rest, _]) = (self.extents(lower), self.extents(upper));
        let width = lowest + rest;
        let (bands, last) = (self.stacked(&[lower, upper]), width as i64 - 1);
        // From bands with a row's elements at its number to those with a column's, and back, which leaves out what is beside A. Of
        // these, the ones in the middle are the bands of the transpose.
        let below = lowest as i64;
        let by_columns = self.read(bands, [width, n], [-1, 0, last], [1, 1, below - last]);
        let (by_rows, below) = match is_transposed {
            true => (by_columns, rest - 1),
            false => (self.read(by_columns, [width, n], [-1, 0, last], [1, 1, -below]), lowest),
        };
        let rows = self.transposed(by_rows);
        let [_, _, count] = self.extents(b);
        let (first, next) = (below as i64, below as i64 + 1);
        let window = self.read(rows, [below + 1, width], [1, 0, 0], [-1, 1, first]);
        let sides = self.read(b, [below + 1, count], [1, 0, 0], [0, 1, 0]);
        let coming = self.read(rows, [n, width], [1, 0, next], [0, 1, 0]);
        let coming_sides = self.read(b, [n, count], [1, 0, next], [0, 1, 0]);
        let captures = [coming, coming_sides];
        let eliminated = self.repeat((n, false), &[window, sides], &captures, &|writer, carries, step, captures| {
            let (window, sides) = writer.pivoted(carries[0], carries[1]);
            let (column, row, side) = (writer.first(window, 2), writer.first(window, 1), writer.first(sides, 1));
            let diagonal = writer.first(column, 1);
            let shape = writer.shape(column);
            let diagonal = writer.along(diagonal, &shape, &[0]);
            let zero = writer.number(diagonal, 0.0);
            let is_zero = writer.compare(Comparison::Equal, diagonal, zero);
            let ratio = writer.binary(Binary::Div, column, diagonal);
            let factors = writer.select(is_zero, zero, ratio);
            let moved = [(window, row, captures[0], 1), (sides, side, captures[1], 0)].map(|(all, own, coming, by)| {
                let product = writer.outer(factors, own);
                let changed = writer.binary(Binary::Sub, all, product);
                let extent = writer.shape(all)[2];
                let rest = writer.read(changed, [below, extent], [1, 0, 1], [0, 1, by]);
                let coming = writer.one_row(coming, step);
                writer.stacked(&[rest, coming])
            });
            vec![moved[0], moved[1], row, side]
        });
        // The rows of the solution that a row needs, the next one first.
        let known = self.read(b, [width - 1, count], [1, 0, n as i64], [0, 1, 0]);
        let captures = [eliminated[2], eliminated[3]];
        let results = self.repeat((n, true), &[known], &captures, &|writer, carries, step, captures| {
            let [row, side] = [captures[0], captures[1]].map(|all| writer.graph.add(Op::Gather, &[all, step]));
            let diagonal = writer.first(row, 1);
            let known = carries[0];
            let shape = writer.shape(known);
            let factors = AffineMap::along(&writer.shape(row), 1, 1, 1, width - 1);
            let factors = writer.graph.add(Op::View(factors), &[row]);
            let factors = writer.along(factors, &shape, &[0, 1]);
            let products = writer.binary(Binary::Mul, factors, known);
            let sum = writer.sum(products, 1);
            let left = writer.binary(Binary::Sub, side, sum);
            let shape = writer.shape(left);
            let diagonal = writer.along(diagonal, &shape, &[0]);
            let x = writer.binary(Binary::Div, left, diagonal);
            let one = writer.graph.add(Op::Reshape(Shape::from_slice(&[writer.count, 1, count])), &[x]);
            // Without a row that is known, none is carried on.
            let following = match width {
                1 => known,
                _ => {
                    let others = writer.read(known, [width - 2, count], [1, 0, 0], [0, 1, 0]);
                    writer.stacked(&[one, others])
                }
            };
            vec![following, x]
        });
        self.matrices_of_rows(results[1])
    }

    fn extents(&self, a: NodeId) -> [usize; 3] {
        let shape = self.shape(a);
        [shape[0], shape[1], shape[2]]
    }

    /// The first position along an axis.
    fn first(&mut self, a: NodeId, axis: usize) -> NodeId {
        let map = AffineMap::pick(&self.shape(a), axis, 0);
        self.graph.add(Op::View(map), &[a])
    }

    /// Windows, and right sides, in which the row with the largest first element has changed places with the first one.
    fn pivoted(&mut self, window: NodeId, sides: NodeId) -> (NodeId, NodeId) {
        let column = self.first(window, 2);
        let shape = self.shape(column);
        let sizes = self.graph.add(Op::Unary(Unary::Abs), &[column]);
        let pivot = self.graph.add(Op::ArgReduce(Extreme::Max, 1), &[sizes]);
        let pivot = self.along(pivot, &shape, &[0]);
        let (which, place) = (self.position(&shape, 0), self.position(&shape, 1));
        let (none, one) = (self.number(place, 0.0), self.number(place, 1.0));
        let (is_first, is_pivot) =
            (self.compare(Comparison::Less, place, one), self.compare(Comparison::Equal, place, pivot));
        let rows = self.select(is_pivot, none, place);
        let rows = self.select(is_first, pivot, rows);
        let [window, sides] = [window, sides].map(|all| self.graph.add(Op::Gather, &[all, which, rows]));
        (window, sides)
    }
}
