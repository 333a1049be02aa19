//! Eigenvalues and singular values by Jacobi's rotations, of as many pairs of columns at once as there are.

use super::LoopWriter;
use crate::affine::AffineMap;
use crate::array::{Array, Data};
use crate::operation::{Binary, CLUSTER, Comparison, Contraction, Extreme, MatrixOperation, Reduction, Unary};
use crate::shape::{Axes, DType, Shape, Type};
use crate::term::{NodeId, Op};

/// All pairs are rotated so many times, and once more for each doubling of the columns: the angles that remain square each time,
/// once they are small.
const SWEEPS: usize = 8;

/// How many times all pairs of so many columns are rotated.
pub(crate) fn sweeps(columns: usize) -> usize {
    SWEEPS + columns.max(2).ilog2() as usize
}

/// For each step of a sweep, the column that each column is paired with, by the rounds of a tournament; one that has no partner is
/// paired with itself.
fn partners(n: usize) -> Vec<i64> {
    let players = n.next_multiple_of(2);
    let mut pairs = Vec::new();
    for round in 0..players.saturating_sub(1) {
        let mut row: Vec<i64> = (0..n as i64).collect();
        // The last player stays, and the others move round.
        let at = |place: usize| if place == 0 { players - 1 } else { (round + place - 1) % (players - 1) };
        for place in 0..players / 2 {
            let (first, second) = (at(place), at(players - 1 - place));
            if first < n && second < n {
                (row[first], row[second]) = (second as i64, first as i64);
            }
        }
        pairs.extend(row);
    }
    pairs
}

/// Cosines and sines by which columns meet their partners.
struct Rotation {
    partner: NodeId,
    cosine: NodeId,
    sine: NodeId,
}

impl LoopWriter {
    /// Steps over all pairs, several times: the partners of the columns, as rows of a table.
    fn schedule(&mut self, n: usize) -> (usize, NodeId) {
        let round = partners(n);
        let all: Vec<i64> = round.iter().copied().cycle().take(round.len() * sweeps(n)).collect();
        let steps = all.len().checked_div(n).unwrap_or(0);
        let table = Array::I64(Data::from_vec(&[steps, n], all));
        (steps, self.graph.add(Op::Constant(table), &[]))
    }

    /// The rotation that makes pairs orthogonal, given for each column its own number and what it has in common with its partner, each
    /// [count, n]. Both columns of a pair turn by the very same numbers: where rounding leaves one of them a sine of another sign, the
    /// pair would not stay orthogonal.
    fn rotation(&mut self, partner: NodeId, own: NodeId, common: NodeId) -> Rotation {
        let shape = self.shape(own);
        let n = shape[1];
        let place = self.position(&[n], 0);
        let first = self.binary(Binary::Min, place, partner);
        let (other, common) = (self.of_columns(own, partner), self.of_columns(common, first));
        let is_first = self.compare(Comparison::Less, place, partner);
        let is_first = self.along(is_first, &shape, &[1]);
        let is_alone = self.compare(Comparison::Equal, place, partner);
        let is_alone = self.along(is_alone, &shape, &[1]);
        let zero = self.number(own, 0.0);
        let one = self.number(own, 1.0);
        let is_done = self.compare(Comparison::Equal, common, zero);
        let is_done = self.binary(Binary::Or, is_done, is_alone);
        let (low, high) = (self.select(is_first, own, other), self.select(is_first, other, own));
        let difference = self.binary(Binary::Sub, high, low);
        let twice = self.binary(Binary::Add, common, common);
        let twice = self.select(is_done, one, twice);
        let slope = self.binary(Binary::Div, difference, twice);
        let square = self.binary(Binary::Mul, slope, slope);
        let square = self.binary(Binary::Add, square, one);
        let length = self.graph.add(Op::Unary(Unary::Sqrt), &[square]);
        let size = self.graph.add(Op::Unary(Unary::Abs), &[slope]);
        let length = self.binary(Binary::Add, length, size);
        let tangent = self.binary(Binary::Div, one, length);
        let negative = self.graph.add(Op::Unary(Unary::Neg), &[tangent]);
        let is_negative = self.compare(Comparison::Less, slope, zero);
        let tangent = self.select(is_negative, negative, tangent);
        let tangent = self.select(is_done, zero, tangent);
        let square = self.binary(Binary::Mul, tangent, tangent);
        let square = self.binary(Binary::Add, square, one);
        let length = self.graph.add(Op::Unary(Unary::Sqrt), &[square]);
        let cosine = self.binary(Binary::Div, one, length);
        let sine = self.binary(Binary::Mul, cosine, tangent);
        let negative = self.graph.add(Op::Unary(Unary::Neg), &[sine]);
        let sine = self.select(is_first, negative, sine);
        Rotation { partner, cosine, sine }
    }

    /// The numbers of other columns, of each matrix: [count, n].
    fn of_columns(&mut self, numbers: NodeId, columns: NodeId) -> NodeId {
        let shape = self.shape(numbers);
        let (which, columns) = (self.position(&shape, 0), self.along(columns, &shape, &[1]));
        self.graph.add(Op::Gather, &[numbers, which, columns])
    }

    /// The columns of other numbers, of each matrix.
    fn columns_at(&mut self, a: NodeId, columns: NodeId) -> NodeId {
        let turned = self.transposed(a);
        let rows = self.rows_at(turned, columns);
        self.transposed(rows)
    }

    fn rows_at(&mut self, a: NodeId, rows: NodeId) -> NodeId {
        let shape = [self.count, self.shape(rows)[0]];
        let (which, rows) = (self.position(&shape, 0), self.along(rows, &shape, &[1]));
        self.graph.add(Op::Gather, &[a, which, rows])
    }

    /// Columns after a rotation.
    fn rotated(&mut self, a: NodeId, rotation: &Rotation) -> NodeId {
        let shape = self.shape(a);
        let other = self.columns_at(a, rotation.partner);
        let cosine = self.along(rotation.cosine, &shape, &[0, 2]);
        let sine = self.along(rotation.sine, &shape, &[0, 2]);
        let (own, other) = (self.binary(Binary::Mul, a, cosine), self.binary(Binary::Mul, other, sine));
        self.binary(Binary::Add, own, other)
    }

    pub(super) fn identity(&mut self, n: usize) -> NodeId {
        let shape = [self.count, n, n];
        let (row, column) = (self.position(&shape, 1), self.position(&shape, 2));
        let same = self.compare(Comparison::Equal, row, column);
        self.graph.add(Op::Cast(self.dtype), &[same])
    }

    /// The diagonal of each matrix: [count, n].
    pub(super) fn diagonal(&mut self, a: NodeId) -> NodeId {
        let shape = self.shape(a);
        let n = shape[1].min(shape[2]);
        let map = AffineMap::broadcast(&shape, &[self.count, n], &[0, 1, 1]);
        self.graph.add(Op::View(map), &[a])
    }

    /// Matrices over the size of their largest element, and that size: [count].
    fn scaled(&mut self, a: NodeId) -> (NodeId, NodeId) {
        let sizes = self.graph.add(Op::Unary(Unary::Abs), &[a]);
        let largest = self.graph.add(Op::Reduce(Reduction::Max, Axes::from_slice(&[1, 2])), &[sizes]);
        let (zero, one) = (self.number(largest, 0.0), self.number(largest, 1.0));
        let is_zero = self.compare(Comparison::Equal, largest, zero);
        let unit = self.select(is_zero, one, largest);
        let shape = self.shape(a);
        let units = self.along(unit, &shape, &[0]);
        (self.binary(Binary::Div, a, units), unit)
    }

    /// Columns turned so that the largest element of each, the first of several, is positive: the factors, [count, n].
    fn signs(&mut self, a: NodeId) -> NodeId {
        let sizes = self.graph.add(Op::Unary(Unary::Abs), &[a]);
        let turned = self.transposed(sizes);
        let places = self.graph.add(Op::ArgReduce(Extreme::Max, 2), &[turned]);
        let shape = self.shape(places);
        let columns = self.transposed(a);
        let (which, own) = (self.position(&shape, 0), self.position(&shape, 1));
        let elements = self.graph.add(Op::Gather, &[columns, which, own, places]);
        self.sign(elements)
    }

    /// −1 for negative numbers, and else 1.
    pub(super) fn sign(&mut self, a: NodeId) -> NodeId {
        let (zero, one, minus) = (self.number(a, 0.0), self.number(a, 1.0), self.number(a, -1.0));
        let is_negative = self.compare(Comparison::Less, a, zero);
        self.select(is_negative, minus, one)
    }

    /// The columns times a number each.
    pub(super) fn times(&mut self, a: NodeId, factors: NodeId) -> NodeId {
        let shape = self.shape(a);
        let factors = self.along(factors, &shape, &[0, 2]);
        self.binary(Binary::Mul, a, factors)
    }

    /// Values times the size of the matrix, as a row of each: [count, 1, n]. NaN and infinities inside make all NaN.
    fn row_of(&mut self, values: NodeId, unit: NodeId) -> NodeId {
        let shape = self.shape(values);
        let units = self.along(unit, &shape, &[0]);
        let values = self.binary(Binary::Mul, values, units);
        self.graph.add(Op::Reshape(Shape::from_slice(&[self.count, 1, shape[1]])), &[values])
    }

    /// The result, or NaN for the matrices whose size is not finite.
    fn unless_infinite(&mut self, a: NodeId, unit: NodeId) -> NodeId {
        let difference = self.binary(Binary::Sub, unit, unit);
        let zero = self.number(difference, 0.0);
        let is_finite = self.compare(Comparison::Equal, difference, zero);
        let shape = self.shape(a);
        let (is_finite, nan) = (self.along(is_finite, &shape, &[0]), self.number(a, f64::NAN));
        self.select(is_finite, a, nan)
    }

    /// Eigenvectors above a row of eigenvalues, or that row alone.
    pub(super) fn eigh(&mut self, a: NodeId, has_vectors: bool) -> NodeId {
        let symmetric = self.symmetric(a);
        let (symmetric, unit) = self.scaled(symmetric);
        let n = self.shape(a)[1];
        let identity = self.identity(n);
        let (steps, table) = self.schedule(n);
        let results =
            self.repeat((steps, false), &[symmetric, identity], &[table], &|writer, carries, step, captures| {
                let partner = writer.graph.add(Op::Gather, &[captures[0], step]);
                let own = writer.diagonal(carries[0]);
                let shape = writer.shape(own);
                let (which, partners) = (writer.position(&shape, 0), writer.along(partner, &shape, &[1]));
                let place = writer.position(&shape, 1);
                let common = writer.graph.add(Op::Gather, &[carries[0], which, place, partners]);
                let rotation = writer.rotation(partner, own, common);
                let columns = writer.rotated(carries[0], &rotation);
                let turned = writer.transposed(columns);
                let both = writer.rotated(turned, &rotation);
                vec![both, writer.rotated(carries[1], &rotation)]
            });
        let values = self.diagonal(results[0]);
        let order = self.ranks(values, Comparison::Less);
        let values = self.placed(values, order);
        let row = self.row_of(values, unit);
        if !has_vectors {
            return self.unless_infinite(row, unit);
        }
        let vectors = self.sorted_columns(results[1], order);
        let signs = self.signs(vectors);
        let vectors = self.times(vectors, signs);
        let all = self.graph.add(Op::Concatenate(1), &[vectors, row]);
        self.unless_infinite(all, unit)
    }

    /// How many values of its row come before each one, of equal ones those that stand before it: its place in their order.
    fn ranks(&mut self, values: NodeId, before: Comparison) -> NodeId {
        let row = self.shape(values);
        let shape = [row[0], row[1], row[1]];
        let (own, other) = (self.along(values, &shape, &[0, 1]), self.along(values, &shape, &[0, 2]));
        let (place, places) = (self.position(&shape, 1), self.position(&shape, 2));
        let (is_before, is_equal) = (self.compare(before, other, own), self.compare(Comparison::Equal, other, own));
        let stands_before = self.compare(Comparison::Less, places, place);
        let is_tie = self.binary(Binary::And, is_equal, stands_before);
        let counts = self.binary(Binary::Or, is_before, is_tie);
        let counts = self.graph.add(Op::Cast(DType::I64), &[counts]);
        self.sum(counts, 2)
    }

    fn sorted_columns(&mut self, a: NodeId, ranks: NodeId) -> NodeId {
        let rows = self.transposed(a);
        let rows = self.placed(rows, ranks);
        self.transposed(rows)
    }

    /// V S⁺ Uᵀ, of vectors and values that are an operation of their own or written out.
    pub(super) fn pseudo_inverse(&mut self, a: NodeId, has_operation: bool) -> NodeId {
        let [count, m, n] = self.shape(a)[..] else { unreachable!("matrices along an axis") };
        let k = m.min(n);
        if k == 0 {
            let shape = [count, n, m];
            return self.graph.add(Op::Constant(Array::zeros(&Type::new(self.dtype, &shape))), &[]);
        }
        // Values that are out of the range of numbers have inverses that are not.
        let (values, unit, [u, v]) = match has_operation {
            true => self.singular_as_operation(a),
            false => {
                let (values, unit, vectors) = self.singular(a, true);
                (values, unit, vectors.expect("they are asked for"))
            }
        };
        let largest = self.cut(values, 1, 0, 1);
        let largest = self.graph.add(Op::Reshape(Shape::from_slice(&[count])), &[largest]);
        let factor = self.number(largest, self.dtype.epsilon() * m.max(n) as f64);
        let bound = self.binary(Binary::Mul, largest, factor);
        let bound = self.along(bound, &[count, k], &[0]);
        let is_nothing = self.compare(Comparison::LessEqual, values, bound);
        let (zero, one) = (self.number(values, 0.0), self.number(values, 1.0));
        let safe = self.select(is_nothing, one, values);
        let inverse = self.binary(Binary::Div, one, safe);
        let units = self.along(unit, &[count, k], &[0]);
        let inverse = self.binary(Binary::Div, inverse, units);
        let inverse = self.select(is_nothing, zero, inverse);
        let scaled = self.times(v, inverse);
        let product = Contraction::new(&[0, 1, 2], &[0, 3, 2], &[0, 1, 3]);
        let product = self.graph.add(Op::Contract(product), &[scaled, u]);
        self.unless_infinite(product, unit)
    }

    /// 1 over differences, or sums, of values, and 0 where these are as good as 0.
    pub(super) fn inverses(&mut self, values: NodeId, op: Binary) -> NodeId {
        let n = self.shape(values)[2];
        let row = self.graph.add(Op::Reshape(Shape::from_slice(&[self.count, n])), &[values]);
        let shape = [self.count, n, n];
        let (own, other) = (self.along(row, &shape, &[0, 2]), self.along(row, &shape, &[0, 1]));
        let differences = self.binary(op, own, other);
        let sizes = self.graph.add(Op::Unary(Unary::Abs), &[row]);
        let largest = self.graph.add(Op::Reduce(Reduction::Max, Axes::from_slice(&[1])), &[sizes]);
        let factor = self.number(largest, CLUSTER * self.dtype.epsilon() * n as f64);
        let bound = self.binary(Binary::Mul, largest, factor);
        let bound = self.along(bound, &shape, &[0]);
        let sizes = self.graph.add(Op::Unary(Unary::Abs), &[differences]);
        let is_apart = self.compare(Comparison::Greater, sizes, bound);
        let (zero, one) = (self.number(differences, 0.0), self.number(differences, 1.0));
        let safe = self.select(is_apart, differences, one);
        let inverse = self.binary(Binary::Div, one, safe);
        self.select(is_apart, inverse, zero)
    }

    /// Left vectors above a row of singular values above right vectors, or that row alone.
    pub(super) fn svd(&mut self, a: NodeId, has_vectors: bool) -> NodeId {
        let (values, unit, vectors) = self.singular(a, has_vectors);
        let row = self.row_of(values, unit);
        let all = match vectors {
            Some([u, v]) => self.graph.add(Op::Concatenate(1), &[u, row, v]),
            None => row,
        };
        self.unless_infinite(all, unit)
    }

    /// Singular values over the size of the matrix, that size, and both kinds of vectors, by [`MatrixOperation::Svd`].
    fn singular_as_operation(&mut self, a: NodeId) -> (NodeId, NodeId, [NodeId; 2]) {
        let [count, m, n] = self.shape(a)[..] else { unreachable!("matrices along an axis") };
        let (scaled, unit) = self.scaled(a);
        let all = self.graph.add(Op::Matrix(MatrixOperation::Svd), &[scaled]);
        let [u, values, v] = [(0, m), (m, 1), (m + 1, n)].map(|(start, extent)| self.part(all, start, extent));
        let values = self.graph.add(Op::Reshape(Shape::from_slice(&[count, m.min(n)])), &[values]);
        (values, unit, [u, v])
    }

    /// Singular values over the size of the matrix, [count, k], that size, and, if they are asked for, left and right vectors.
    fn singular(&mut self, a: NodeId, has_vectors: bool) -> (NodeId, NodeId, Option<[NodeId; 2]>) {
        let [count, m, n] = self.shape(a)[..] else { unreachable!("matrices along an axis") };
        let tall = if m < n { self.transposed(a) } else { a };
        let (scaled, unit) = self.scaled(tall);
        let k = m.min(n);
        let identity = self.identity(k);
        let (steps, table) = self.schedule(k);
        let results = self.repeat((steps, false), &[scaled, identity], &[table], &|writer, carries, step, captures| {
            let partner = writer.graph.add(Op::Gather, &[captures[0], step]);
            let others = writer.columns_at(carries[0], partner);
            let square = writer.binary(Binary::Mul, carries[0], carries[0]);
            let own = writer.sum(square, 1);
            let product = writer.binary(Binary::Mul, carries[0], others);
            let common = writer.sum(product, 1);
            let rotation = writer.rotation(partner, own, common);
            vec![writer.rotated(carries[0], &rotation), writer.rotated(carries[1], &rotation)]
        });
        let squares = self.binary(Binary::Mul, results[0], results[0]);
        let squares = self.sum(squares, 1);
        let values = self.graph.add(Op::Unary(Unary::Sqrt), &[squares]);
        let order = self.ranks(values, Comparison::Greater);
        let values = self.placed(values, order);
        if !has_vectors {
            return (values, unit, None);
        }
        let (work, right) = (self.sorted_columns(results[0], order), self.sorted_columns(results[1], order));
        // Columns that are 0 have no direction: reflections complete them.
        let factors = self.qr(work, false);
        let long = m.max(n);
        let (left, r) = (self.part(factors, 0, long), self.part(factors, long, k));
        let diagonal = self.diagonal(r);
        let signs = self.sign(diagonal);
        let left = self.times(left, signs);
        let signs = self.signs(left);
        let (left, right) = (self.times(left, signs), self.times(right, signs));
        let (u, v) = if m < n { (right, left) } else { (left, right) };
        debug_assert_eq!(count, self.count);
        (values, unit, Some([u, v]))
    }
}
