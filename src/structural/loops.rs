//! Operations of linear algebra written out as loops over columns, for languages and devices without code of their own for them.

mod banded;
mod derivatives;
mod determinants;
mod differences;
mod rotations;
mod sparse;
mod spectral;
mod systems;

#[cfg(feature = "opencl")]
pub(crate) use rotations::sweeps;
pub(crate) use sparse::sparse_written_out;

use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Comparison, Extreme, MatrixOperation, Reduction, Triangle, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value, size};
use crate::term::{Body, Branch, Graph, NodeId, Op, Scan};
use std::sync::Arc;

/// Up to so many columns, loops over these take less time than systems of equations for derivatives of the Cholesky factor.
const SMALL: usize = 8;

/// The program that computes an operation on operands of these types. Its loops have a step for each column, or each row of a
/// right side, in which all matrices take part.
pub(crate) fn written_out(op: MatrixOperation, operands: &[Type]) -> Body {
    written(op, operands, false)
}

/// As [`written_out`], in terms of products and systems of equations as far as possible, for engines with kernels for these.
#[cfg(feature = "opencl")]
pub(crate) fn written_as_systems(op: MatrixOperation, operands: &[Type]) -> Body {
    written(op, operands, true)
}

fn written(op: MatrixOperation, operands: &[Type], as_systems: bool) -> Body {
    let batch = &operands[0].shape[..operands[0].rank() - 2];
    let (count, dtype) = (size(batch), operands[0].dtype);
    let matrices: Vec<[usize; 2]> =
        operands.iter().map(|ty| [ty.shape[ty.rank() - 2], ty.shape[ty.rank() - 1]]).collect();
    let mut graph = Graph::new(operands, 0);
    let flat: Vec<NodeId> = (0..)
        .zip(&matrices)
        .map(|(id, [rows, columns])| graph.add(Op::Reshape(Shape::from_slice(&[count, *rows, *columns])), &[id]))
        .collect();
    let mut writer = LoopWriter { graph, count, dtype };
    let is_small = matrices[0][0] <= SMALL;
    let result = match op {
        MatrixOperation::Solve(triangle) => writer.solve(triangle, flat[0], flat[1]),
        MatrixOperation::Cholesky => writer.cholesky(flat[0]),
        MatrixOperation::CholeskyForward if as_systems && !is_small => {
            writer.cholesky_forward_of_systems(flat[0], flat[1])
        }
        MatrixOperation::CholeskyAdjoint if as_systems && !is_small => {
            writer.cholesky_adjoint_of_systems(flat[0], flat[1])
        }
        MatrixOperation::LuForward if as_systems => writer.lu_forward_of_systems(flat[0], flat[1]),
        MatrixOperation::LuAdjoint if as_systems => writer.lu_adjoint_of_systems(flat[0], flat[1]),
        MatrixOperation::CholeskyForward => writer.cholesky_forward(flat[0], flat[1]),
        MatrixOperation::CholeskyAdjoint => writer.cholesky_adjoint(flat[0], flat[1]),
        MatrixOperation::Lu => writer.lu(flat[0]),
        MatrixOperation::LuForward => writer.lu_forward(flat[0], flat[1]),
        MatrixOperation::LuAdjoint => writer.lu_adjoint(flat[0], flat[1]),
        MatrixOperation::Qr | MatrixOperation::FullQr => writer.qr(flat[0], op == MatrixOperation::FullQr),
        MatrixOperation::QrTriangle => {
            let packed = writer.qr(flat[0], false);
            writer.cut(packed, 1, matrices[0][0], matrices[0][1])
        }
        MatrixOperation::Eigh | MatrixOperation::EighValues => writer.eigh(flat[0], op == MatrixOperation::Eigh),
        MatrixOperation::Svd | MatrixOperation::SvdValues => writer.svd(flat[0], op == MatrixOperation::Svd),
        MatrixOperation::SolveGeneral => writer.solve_general(flat[1], flat[2]),
        MatrixOperation::SolveGeneralTransposed => writer.solve_general_transposed(flat[1], flat[2]),
        MatrixOperation::SolvePositive => writer.solve_positive(flat[1], flat[2]),
        MatrixOperation::SolveBanded => writer.solve_banded(false, &flat),
        MatrixOperation::SolveBandedTransposed => writer.solve_banded(true, &flat),
        MatrixOperation::InversePositive => {
            let identity = writer.identity(matrices[0][0]);
            writer.solve_positive(flat[1], identity)
        }
        MatrixOperation::LogDeterminant => {
            let diagonal = writer.diagonal(flat[1]);
            let logarithms = writer.graph.add(Op::Unary(Unary::Ln), &[diagonal]);
            let twice = writer.binary(Binary::Add, logarithms, logarithms);
            let sum = writer.sum(twice, 1);
            writer.graph.add(Op::Reshape(Shape::from_slice(&[count, 1, 1])), &[sum])
        }
        MatrixOperation::PseudoInverse => writer.pseudo_inverse(flat[0], as_systems),
        MatrixOperation::InverseDifferences => writer.inverses(flat[0], Binary::Sub),
        MatrixOperation::InverseSums => writer.inverses(flat[0], Binary::Add),
        MatrixOperation::Unique => flat[0],
        MatrixOperation::Spectral { function, .. } => writer.spectral(function, flat[1], &flat[2..]),
        MatrixOperation::Cofactors { .. } => writer.cofactors(flat[0], flat[1], &flat[2..]),
        MatrixOperation::Determinant => writer.determinant(flat[1]),
    };
    let extents = op.result(&matrices).expect("operands fit");
    let shape: Shape = batch.iter().copied().chain(extents).collect();
    let result = writer.graph.add(Op::Reshape(shape), &[result]);
    writer.graph.finish(&[result])
}

/// Writes operations on several matrices, whose axis is the first.
struct LoopWriter {
    graph: Graph,
    count: usize,
    dtype: DType,
}

impl LoopWriter {
    fn shape(&self, id: NodeId) -> Shape {
        self.graph.ty(id).shape.clone()
    }

    fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Binary(op), &[a, b])
    }

    fn compare(&mut self, comparison: Comparison, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Compare(comparison), &[a, b])
    }

    fn select(&mut self, mask: NodeId, yes: NodeId, no: NodeId) -> NodeId {
        self.graph.add(Op::Select, &[mask, yes, no])
    }

    /// A number in each element of an array like another one.
    fn number(&mut self, like: NodeId, x: f64) -> NodeId {
        let ty = self.graph.ty(like).clone();
        self.graph.add(Op::Constant(Array::full(&ty.shape, Value::from_f64(ty.dtype, x))), &[])
    }

    /// The operand along these axes of a shape, repeated along the others.
    fn along(&mut self, a: NodeId, shape: &[usize], axes: &[usize]) -> NodeId {
        let map = AffineMap::broadcast(&self.shape(a), shape, axes);
        if map.is_identity() { a } else { self.graph.add(Op::View(map), &[a]) }
    }

    /// So many positions along an axis from one on. There are zeros after the last one.
    fn cut(&mut self, a: NodeId, axis: usize, start: usize, extent: usize) -> NodeId {
        let map = AffineMap::along(&self.shape(a), axis, start as i64, 1, extent);
        if map.is_identity() { a } else { self.graph.add(Op::View(map), &[a]) }
    }

    /// The position along an axis.
    fn position(&mut self, shape: &[usize], axis: usize) -> NodeId {
        let iota = self.graph.add(Op::Iota(shape[axis]), &[]);
        self.along(iota, shape, &[axis])
    }

    /// Whether positions along an axis compare like this with a number.
    fn compared(&mut self, comparison: Comparison, shape: &[usize], axis: usize, step: NodeId) -> NodeId {
        let (position, step) = (self.position(shape, axis), self.along(step, shape, &[]));
        self.compare(comparison, position, step)
    }

    fn transposed(&mut self, a: NodeId) -> NodeId {
        let map = AffineMap::transpose(&self.shape(a), &[0, 2, 1]);
        self.graph.add(Op::View(map), &[a])
    }

    /// The row of each matrix at a number, or the element of each row of numbers.
    fn row(&mut self, a: NodeId, step: NodeId) -> NodeId {
        let which = self.graph.add(Op::Iota(self.count), &[]);
        let step = self.along(step, &[self.count], &[]);
        self.graph.add(Op::Gather, &[a, which, step])
    }

    /// The column of each matrix at a number.
    fn column(&mut self, a: NodeId, step: NodeId) -> NodeId {
        let turned = self.transposed(a);
        self.row(turned, step)
    }

    /// One row times one column of each matrix, elementwise: an outer product.
    fn outer(&mut self, column: NodeId, row: NodeId) -> NodeId {
        let shape = [self.count, self.shape(column)[1], self.shape(row)[1]];
        let (column, row) = (self.along(column, &shape, &[0, 1]), self.along(row, &shape, &[0, 2]));
        self.binary(Binary::Mul, column, row)
    }

    fn sum(&mut self, a: NodeId, axis: usize) -> NodeId {
        self.graph.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[axis])), &[a])
    }

    /// A loop over so many steps: its last carries, and its outputs. The step is given the carries, the number of the step and
    /// the captures, and results in the carries and the outputs.
    fn repeat(
        &mut self,
        (length, reverse): (usize, bool),
        carries: &[NodeId],
        captures: &[NodeId],
        step: &dyn Fn(&mut LoopWriter, &[NodeId], NodeId, &[NodeId]) -> Vec<NodeId>,
    ) -> Vec<NodeId> {
        let number = Type::new(DType::I64, &[]);
        let ty = |&id: &NodeId| self.graph.ty(id).clone();
        let types: Vec<Type> = carries.iter().map(ty).chain([number]).chain(captures.iter().map(ty)).collect();
        let mut inner = LoopWriter { graph: Graph::new(&types, captures.len()), count: self.count, dtype: self.dtype };
        let parameters: Vec<NodeId> = (0..types.len() as NodeId).collect();
        let (own, rest) = parameters.split_at(carries.len());
        let results = step(&mut inner, own, rest[0], &rest[1..]);
        let (outputs, body) = (results.len(), inner.graph.finish(&results));
        if length == 0 {
            let stacked = body.result_types().skip(carries.len()).map(|ty| {
                let shape: Shape = [0].into_iter().chain(ty.shape.iter().copied()).collect();
                Op::Constant(Array::zeros(&Type { dtype: ty.dtype, shape }))
            });
            let stacked: Vec<Op> = stacked.collect();
            let outputs = stacked.into_iter().map(|op| self.graph.add(op, &[]));
            return carries.iter().copied().chain(outputs.collect::<Vec<NodeId>>()).collect();
        }
        let scan = Scan { body: Arc::new(body), carries: carries.len(), inputs: 1, length, reverse };
        let steps = self.graph.add(Op::Iota(length), &[]);
        let operands = [carries, &[steps], captures].concat();
        let node = self.graph.add(Op::Scan(Arc::new(scan)), &operands);
        (0..outputs).map(|position| self.graph.add(Op::Output(position), &[node])).collect()
    }

    /// The results of one of two sides. Both are given the captures.
    fn branch(
        &mut self,
        condition: NodeId,
        captures: &[NodeId],
        then: &dyn Fn(&mut LoopWriter, &[NodeId]) -> NodeId,
        otherwise: &dyn Fn(&mut LoopWriter, &[NodeId]) -> NodeId,
    ) -> NodeId {
        let types: Vec<Type> = captures.iter().map(|&id| self.graph.ty(id).clone()).collect();
        let parameters: Vec<NodeId> = (0..types.len() as NodeId).collect();
        let new = || LoopWriter { graph: Graph::new(&types, types.len()), count: self.count, dtype: self.dtype };
        let [mut yes, mut no] = [new(), new()];
        let (result, other) = (then(&mut yes, &parameters), otherwise(&mut no, &parameters));
        let branch =
            Branch { then: Arc::new(yes.graph.finish(&[result])), otherwise: Arc::new(no.graph.finish(&[other])) };
        let node = self.graph.add(Op::Branch(Arc::new(branch)), &[&[condition], captures].concat());
        self.graph.add(Op::Output(0), &[node])
    }

    /// Stacked rows, of each step those of all matrices, as matrices.
    fn matrices_of_rows(&mut self, rows: NodeId) -> NodeId {
        let map = AffineMap::transpose(&self.shape(rows), &[1, 0, 2]);
        self.graph.add(Op::View(map), &[rows])
    }

    /// A system of equations with triangular matrices, which are written out in turn.
    fn triangular(&mut self, triangle: Triangle, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Matrix(MatrixOperation::Solve(triangle)), &[a, b])
    }

    fn solve_positive(&mut self, lower: NodeId, b: NodeId) -> NodeId {
        let inner = self.triangular(Triangle::LOWER, lower, b);
        self.triangular(Triangle::LOWER.transposed(), lower, inner)
    }

    /// Both factors of packed ones, and the order of rows.
    fn unpacked(&mut self, packed: NodeId) -> (NodeId, NodeId) {
        let shape = self.shape(packed);
        let n = shape[2] - 1;
        let [factors, order] = [(0, n), (n, 1)].map(|(start, extent)| self.cut(packed, 2, start, extent));
        let order = self.graph.add(Op::Reshape(Shape::from_slice(&shape[..2])), &[order]);
        (factors, self.graph.add(Op::Cast(DType::I64), &[order]))
    }

    /// Rows in another order.
    fn ordered(&mut self, a: NodeId, order: NodeId) -> NodeId {
        let shape = self.shape(order);
        let which = self.position(&shape, 0);
        self.graph.add(Op::Gather, &[a, which, order])
    }

    /// Rows, or numbers, at these places, which are all different.
    fn placed(&mut self, a: NodeId, places: NodeId) -> NodeId {
        let shape = self.shape(places);
        let which = self.position(&shape, 0);
        self.graph.add(Op::Scatter(shape), &[a, which, places])
    }

    fn solve_general(&mut self, packed: NodeId, b: NodeId) -> NodeId {
        let (factors, order) = self.unpacked(packed);
        let moved = self.ordered(b, order);
        let inner = self.triangular(Triangle::LOWER.unit(), factors, moved);
        self.triangular(Triangle::UPPER, factors, inner)
    }

    fn solve_general_transposed(&mut self, packed: NodeId, b: NodeId) -> NodeId {
        let (factors, order) = self.unpacked(packed);
        let inner = self.triangular(Triangle::UPPER.transposed(), factors, b);
        let moved = self.triangular(Triangle::LOWER.unit().transposed(), factors, inner);
        self.placed(moved, order)
    }

    /// Substitution, forwards or backwards: each row of the solution is taken out of the rows that follow.
    fn solve(&mut self, triangle: Triangle, a: NodeId, b: NodeId) -> NodeId {
        let n = self.shape(a)[1];
        let a = if triangle.is_transposed { self.transposed(a) } else { a };
        let is_upper = triangle.is_lower == triangle.is_transposed;
        let results = self.repeat((n, is_upper), &[b], &[a], &|writer, carries, step, captures| {
            let (rest, a) = (carries[0], captures[0]);
            let mut row = writer.row(rest, step);
            let column = writer.column(a, step);
            if !triangle.has_unit_diagonal {
                let diagonal = writer.row(column, step);
                let shape = writer.shape(row);
                let diagonal = writer.along(diagonal, &shape, &[0]);
                row = writer.binary(Binary::Div, row, diagonal);
            }
            let comparison = if is_upper { Comparison::Less } else { Comparison::Greater };
            let shape = writer.shape(rest);
            let follows = writer.compared(comparison, &shape, 1, step);
            let product = writer.outer(column, row);
            let changed = writer.binary(Binary::Sub, rest, product);
            vec![writer.select(follows, changed, rest), row]
        });
        self.matrices_of_rows(results[1])
    }

    /// The symmetric part of each matrix. Halves are added, since a sum may overflow.
    fn symmetric(&mut self, a: NodeId) -> NodeId {
        let (turned, half) = (self.transposed(a), self.number(a, 0.5));
        let halves = [a, turned].map(|a| self.binary(Binary::Mul, a, half));
        self.binary(Binary::Add, halves[0], halves[1])
    }

    /// Column by column, each taken out of the rest.
    fn cholesky(&mut self, a: NodeId) -> NodeId {
        let symmetric = self.symmetric(a);
        let n = self.shape(a)[1];
        let results = self.repeat((n, false), &[symmetric], &[], &|writer, carries, step, _| {
            let rest = carries[0];
            let column = writer.column(rest, step);
            let diagonal = writer.row(column, step);
            let root = writer.graph.add(Op::Unary(Unary::Sqrt), &[diagonal]);
            let shape = writer.shape(column);
            let root = writer.along(root, &shape, &[0]);
            let scaled = writer.binary(Binary::Div, column, root);
            let is_below = writer.compared(Comparison::GreaterEqual, &shape, 1, step);
            let zero = writer.number(scaled, 0.0);
            let column = writer.select(is_below, scaled, zero);
            let product = writer.outer(column, column);
            vec![writer.binary(Binary::Sub, rest, product), column]
        });
        let columns = self.matrices_of_rows(results[1]);
        // A pivot that is not a positive number leaves NaN in the diagonal.
        let lower = self.transposed(columns);
        let shape = self.shape(lower);
        let diagonal = self.diagonal(lower);
        let sums = self.sum(diagonal, 1);
        let is_number = {
            let difference = self.binary(Binary::Sub, sums, sums);
            let zero = self.number(difference, 0.0);
            self.compare(Comparison::Equal, difference, zero)
        };
        let (is_number, nan) = (self.along(is_number, &shape, &[0]), self.number(lower, f64::NAN));
        self.select(is_number, lower, nan)
    }

    /// Column by column: the row with the largest element comes to the diagonal, and is taken out of those below.
    fn lu(&mut self, a: NodeId) -> NodeId {
        let [count, m, n] = self.shape(a)[..] else { unreachable!("matrices along an axis") };
        let order = self.position(&[count, m], 1);
        let results = self.repeat((m.min(n), false), &[a, order], &[], &|writer, carries, step, _| {
            let (rest, order) = (carries[0], carries[1]);
            let column = writer.column(rest, step);
            let size = writer.graph.add(Op::Unary(Unary::Abs), &[column]);
            let is_left = writer.compared(Comparison::GreaterEqual, &[count, m], 1, step);
            let never = writer.number(size, -1.0);
            let size = writer.select(is_left, size, never);
            let pivot = writer.graph.add(Op::ArgReduce(Extreme::Max, 1), &[size]);
            // The rows in their new order: the pivot's and this one change places.
            let (pivot, own) = (writer.along(pivot, &[count, m], &[0]), writer.along(step, &[count, m], &[]));
            let place = writer.position(&[count, m], 1);
            let (is_own, is_pivot) =
                (writer.compare(Comparison::Equal, place, own), writer.compare(Comparison::Equal, place, pivot));
            let rows = writer.select(is_pivot, own, place);
            let rows = writer.select(is_own, pivot, rows);
            let which = writer.position(&[count, m], 0);
            let rest = writer.graph.add(Op::Gather, &[rest, which, rows]);
            let order = writer.graph.add(Op::Gather, &[order, which, rows]);
            let (column, row) = (writer.column(rest, step), writer.row(rest, step));
            let diagonal = writer.row(column, step);
            let diagonal = writer.along(diagonal, &[count, m], &[0]);
            let zero = writer.number(diagonal, 0.0);
            let is_zero = writer.compare(Comparison::Equal, diagonal, zero);
            let ratio = writer.binary(Binary::Div, column, diagonal);
            let factors = writer.select(is_zero, column, ratio);
            let product = writer.outer(factors, row);
            vec![writer.eliminated(rest, factors, product, step), order]
        });
        let order = self.graph.add(Op::Cast(self.dtype), &[results[1]]);
        let order = self.graph.add(Op::Reshape(Shape::from_slice(&[count, m, 1])), &[order]);
        self.graph.add(Op::Concatenate(2), &[results[0], order])
    }

    /// Matrices after a step of elimination: this column below the diagonal, and what is beside that with a product taken out of it.
    fn eliminated(&mut self, rest: NodeId, column: NodeId, product: NodeId, step: NodeId) -> NodeId {
        let shape = self.shape(rest);
        let changed = self.binary(Binary::Sub, rest, product);
        let below = self.compared(Comparison::Greater, &shape, 1, step);
        let right = self.compared(Comparison::Greater, &shape, 2, step);
        let at = self.compared(Comparison::Equal, &shape, 2, step);
        let column = self.along(column, &shape, &[0, 1]);
        let changed = self.select(right, changed, rest);
        let changed = self.select(at, column, changed);
        self.select(below, changed, rest)
    }

    /// Column by column, a reflection that takes what is below the diagonal to 0.
    fn qr(&mut self, a: NodeId, is_full: bool) -> NodeId {
        let [count, m, n] = self.shape(a)[..] else { unreachable!("matrices along an axis") };
        let identity = self.identity(m);
        let unit = self.unit_of_norms(a);
        let units = self.along(unit, &[count, m, n], &[0]);
        let a = self.binary(Binary::Mul, a, units);
        let results = self.repeat((m.min(n), false), &[a, identity], &[], &|writer, carries, step, _| {
            let (rest, q) = (carries[0], carries[1]);
            let shape = [count, m];
            let column = writer.column(rest, step);
            let first = writer.row(column, step);
            let below = writer.compared(Comparison::Greater, &shape, 1, step);
            let at = writer.compared(Comparison::Equal, &shape, 1, step);
            let zero = writer.number(column, 0.0);
            let size = writer.graph.add(Op::Unary(Unary::Abs), &[column]);
            let below_sizes = writer.select(below, size, zero);
            let largest = writer.graph.add(Op::Reduce(Reduction::Max, Axes::from_slice(&[1])), &[below_sizes]);
            let none = writer.number(first, 0.0);
            let is_done = writer.compare(Comparison::Equal, largest, none);
            // Scaled, so that no square is out of the range of numbers, and differences of small numbers are precise.
            let first_size = writer.graph.add(Op::Unary(Unary::Abs), &[first]);
            let unit = writer.binary(Binary::Max, largest, first_size);
            let one = writer.number(first, 1.0);
            let unit = writer.select(is_done, one, unit);
            let units = writer.along(unit, &shape, &[0]);
            let scaled = writer.binary(Binary::Div, column, units);
            let squares = writer.binary(Binary::Mul, scaled, scaled);
            let follows = writer.compared(Comparison::GreaterEqual, &shape, 1, step);
            let squares = writer.select(follows, squares, zero);
            let sum = writer.sum(squares, 1);
            let norm = writer.graph.add(Op::Unary(Unary::Sqrt), &[sum]);
            let negative = writer.graph.add(Op::Unary(Unary::Neg), &[norm]);
            let is_positive = writer.compare(Comparison::Greater, first, none);
            let norm = writer.select(is_positive, negative, norm);
            let first = writer.binary(Binary::Div, first, unit);
            let distance = writer.binary(Binary::Sub, first, norm);
            let safe = writer.select(is_done, one, distance);
            let distances = writer.along(safe, &shape, &[0]);
            let vector = writer.binary(Binary::Div, scaled, distances);
            let vector = writer.select(below, vector, zero);
            let ones = writer.number(column, 1.0);
            let vector = writer.select(at, ones, vector);
            let divisor = writer.select(is_done, one, norm);
            let scale = writer.binary(Binary::Div, distance, divisor);
            let scale = writer.graph.add(Op::Unary(Unary::Neg), &[scale]);
            let scale = writer.select(is_done, none, scale);
            let changed = writer.reflected(vector, scale, rest);
            // Elements that a reflection takes to 0 are 0 exactly.
            let whole = [count, m, n];
            let (is_below, is_own) = (
                writer.compared(Comparison::Greater, &whole, 1, step),
                writer.compared(Comparison::Equal, &whole, 2, step),
            );
            let is_gone = writer.binary(Binary::And, is_below, is_own);
            let zeros = writer.number(changed, 0.0);
            let changed = writer.select(is_gone, zeros, changed);
            let turned = writer.transposed(q);
            let turned = writer.reflected(vector, scale, turned);
            vec![changed, writer.transposed(turned)]
        });
        let k = if is_full { m } else { m.min(n) };
        let (q, r) = (self.cut(results[1], 2, 0, k), self.cut(results[0], 1, 0, k));
        let r = self.transposed(r);
        let units = self.along(unit, &[count, n, k], &[0]);
        let r = self.binary(Binary::Div, r, units);
        self.graph.add(Op::Concatenate(1), &[q, r])
    }

    /// A factor for each matrix, [count], to multiply it by before norms of its columns are computed. Norms may be larger than elements, and
    /// differences twice as large, so large elements are made smaller.
    fn unit_of_norms(&mut self, a: NodeId) -> NodeId {
        let sizes = self.graph.add(Op::Unary(Unary::Abs), &[a]);
        let largest = self.graph.add(Op::Reduce(Reduction::Max, Axes::from_slice(&[1, 2])), &[sizes]);
        let precision = self.dtype.epsilon();
        let most = if self.dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
        let bound = self.number(largest, precision * most);
        let is_large = self.compare(Comparison::Greater, largest, bound);
        let (less, one) = (self.number(largest, precision), self.number(largest, 1.0));
        self.select(is_large, less, one)
    }

    /// Matrices after reflections I − t v vᵀ.
    fn reflected(&mut self, vector: NodeId, scale: NodeId, a: NodeId) -> NodeId {
        let shape = self.shape(a);
        let vectors = self.along(vector, &shape, &[0, 1]);
        let product = self.binary(Binary::Mul, vectors, a);
        let sums = self.sum(product, 1);
        let sums_shape = self.shape(sums);
        let scale = self.along(scale, &sums_shape, &[0]);
        let sums = self.binary(Binary::Mul, sums, scale);
        let product = self.outer(vector, sums);
        self.binary(Binary::Sub, a, product)
    }
}
