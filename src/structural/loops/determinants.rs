//! Determinants and cofactors with their derivatives: programs on pivots, or on singular values.

use super::LoopWriter;
use super::spectral::orders;
use crate::array::Array;
use crate::operation::{Binary, Comparison, MatrixOperation, Reduction, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value};
use crate::term::{NodeId, Op};

/// 1 for an even order, −1 for an odd one.
fn sign(order: &[usize]) -> f64 {
    let turned = |(at, &number): (usize, &usize)| order[at + 1..].iter().filter(|&&other| other < number).count();
    if order.iter().enumerate().map(turned).sum::<usize>() % 2 == 0 { 1.0 } else { -1.0 }
}

/// Determinants of matrices.
struct Determinants {
    /// A product of pivots, [count].
    product: NodeId,
    /// −1 or 1.
    sign: NodeId,
    /// The logarithm of the absolute value.
    logarithm: NodeId,
    /// Whether all numbers that the product is made of are of full precision.
    is_precise: NodeId,
}

impl LoopWriter {
    /// The product of all elements along an axis, of which there are some: halves are multiplied again and again.
    fn product_along(&mut self, a: NodeId, axis: usize) -> NodeId {
        self.products_along(a, axis).pop().expect("the product is the last")
    }

    /// The product of all elements along an axis, and before it all products that it is made of.
    fn products_along(&mut self, a: NodeId, axis: usize) -> Vec<NodeId> {
        let (mut product, mut last) = (a, None);
        let mut all = Vec::new();
        loop {
            let shape = self.shape(product);
            let (extent, half) = (shape[axis], shape[axis] / 2);
            if extent % 2 == 1 {
                let own = self.cut(product, axis, extent - 1, 1);
                last = Some(last.map_or(own, |last| self.binary(Binary::Mul, last, own)));
                all.extend(last);
            }
            if half == 0 {
                let rest: Shape = shape[..axis].iter().chain(&shape[axis + 1..]).copied().collect();
                all.push(self.graph.add(Op::Reshape(rest), &[last.expect("the last of an odd number")]));
                return all;
            }
            let (first, second) = (self.cut(product, axis, 0, half), self.cut(product, axis, half, half));
            product = self.binary(Binary::Mul, first, second);
            all.push(product);
        }
    }

    /// The determinants of triangular factors and the order of their rows.
    fn determinants_of_factors(&mut self, packed: NodeId) -> Determinants {
        let (factors, order) = self.unpacked(packed);
        let diagonal = self.diagonal(factors);
        let products = self.products_along(diagonal, 1);
        let sign_of_rows = self.sign_of_order(order);
        let product = self.binary(Binary::Mul, products[products.len() - 1], sign_of_rows);
        let (least, most) = if self.dtype == DType::F32 {
            (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX))
        } else {
            (f64::MIN_POSITIVE, f64::MAX)
        };
        let precise: Vec<NodeId> = products
            .into_iter()
            .map(|product| {
                let size = self.unary(Unary::Abs, product);
                let (least, most) = (self.number(size, least), self.number(size, most));
                let is_large = self.compare(Comparison::GreaterEqual, size, least);
                let is_small = self.compare(Comparison::LessEqual, size, most);
                let is_precise = self.binary(Binary::And, is_large, is_small);
                match self.shape(is_precise).len() {
                    1 => is_precise,
                    _ => self.graph.add(Op::Reduce(Reduction::Min, Axes::from_slice(&[1])), &[is_precise]),
                }
            })
            .collect();
        let is_precise = precise.into_iter().reduce(|all, own| self.binary(Binary::And, all, own)).expect("a product");
        let signs = self.sign(diagonal);
        let sign = self.product_along(signs, 1);
        let sign = self.binary(Binary::Mul, sign, sign_of_rows);
        let sizes = self.unary(Unary::Abs, diagonal);
        let logarithms = self.unary(Unary::Ln, sizes);
        let logarithm = self.sum(logarithms, 1);
        Determinants { product, sign, logarithm, is_precise }
    }

    /// −1 or 1, whether rows in this order are an odd or an even number of exchanges away: [count].
    fn sign_of_order(&mut self, order: NodeId) -> NodeId {
        let n = self.shape(order)[1];
        let value = |writer: &mut LoopWriter, x: f64| {
            writer.graph.add(Op::Constant(Array::full(&[writer.count], Value::from_f64(writer.dtype, x))), &[])
        };
        let one = value(self, 1.0);
        if n == 1 {
            return one;
        }
        // Whether a row stands before one that it followed: for each pair of rows.
        let shape = [self.count, n, n];
        let (own, other) = (self.along(order, &shape, &[0, 1]), self.along(order, &shape, &[0, 2]));
        let is_turned = self.compare(Comparison::Greater, own, other);
        let (place, places) = (self.position(&shape, 1), self.position(&shape, 2));
        let is_before = self.compare(Comparison::Less, place, places);
        let is_turned = self.binary(Binary::And, is_turned, is_before);
        let turned = self.graph.add(Op::Cast(DType::I64), &[is_turned]);
        let turned = self.sum_axes(turned, 1..3);
        let whole = |writer: &mut LoopWriter, x: i64| {
            writer.graph.add(Op::Constant(Array::full(&[writer.count], Value::I64(x))), &[])
        };
        let (two, zero) = (whole(self, 2), whole(self, 0));
        let rest = self.binary(Binary::Rem, turned, two);
        let is_even = self.compare(Comparison::Equal, rest, zero);
        let minus = value(self, -1.0);
        self.select(is_even, one, minus)
    }

    /// The determinant, by the pivots: their product, or the exponential of the sum of their logarithms where numbers on the way to
    /// that are out of range.
    pub(super) fn determinant(&mut self, factors: NodeId) -> NodeId {
        if self.shape(factors)[1] == 0 {
            let one = Value::from_f64(self.dtype, 1.0);
            return self.graph.add(Op::Constant(Array::full(&[self.count, 1, 1], one)), &[]);
        }
        let of = self.determinants_of_factors(factors);
        let size = self.unary(Unary::Exp, of.logarithm);
        let scaled = self.binary(Binary::Mul, of.sign, size);
        let determinant = self.select(of.is_precise, of.product, scaled);
        self.graph.add(Op::Reshape(Shape::from_slice(&[self.count, 1, 1])), &[determinant])
    }

    /// The derivative of the cofactors of A along matrices. Where A is far from singular, it is |A| A⁻ᵀ R, with Mᵢ = A⁻¹ Eᵢ and with S the
    /// identity. Otherwise, with A = U S Vᵀ and Mᵢ = Uᵀ Eᵢ V, it is |U| |V| U R Vᵀ. Each matrix is judged by itself.
    ///
    /// The derivative of |S| along k + 1 matrices is the sum, over rows r₀, .., rₖ that all differ and over permutations π, of the sign of π,
    /// times the product of all Mᵢ[rᵢ, r_π(i)], times the product of the elements of S in other rows. R is the gradient of that by the
    /// last matrix.
    pub(super) fn cofactors(&mut self, a: NodeId, factors: NodeId, moved: &[NodeId]) -> NodeId {
        let n = self.shape(a)[1];
        if moved.len() >= n {
            return self.graph.add(Op::Constant(Array::zeros(&Type::new(self.dtype, &[self.count, n, n]))), &[]);
        }
        let are_regular = self.are_regular(a, factors, moved.len() + 1);
        let all = self.graph.add(Op::Reduce(Reduction::Min, Axes::from_slice(&[0])), &[are_regular]);
        let captures = [&[a, factors, are_regular], moved].concat();
        self.branch(all, &captures, &LoopWriter::cofactors_by_inverse, &LoopWriter::cofactors_by_both)
    }

    /// Which matrices are not nearly singular: the order of a derivative costs no more than a quarter of the digits. Pivots are judged
    /// beside the largest of all, or each beside the largest element of its own row.
    fn are_regular(&mut self, a: NodeId, factors: NodeId, order: usize) -> NodeId {
        let (factors, rows) = self.unpacked(factors);
        let pivots = self.diagonal(factors);
        let pivots = self.unary(Unary::Abs, pivots);
        let sizes = self.unary(Unary::Abs, a);
        let largest = self.graph.add(Op::Reduce(Reduction::Max, Axes::from_slice(&[2])), &[sizes]);
        let own = self.ordered(largest, rows);
        let shape = self.shape(pivots);
        let extreme = |writer: &mut LoopWriter, reduction: Reduction, a: NodeId| {
            writer.graph.add(Op::Reduce(reduction, Axes::from_slice(&[1])), &[a])
        };
        let most = extreme(self, Reduction::Max, pivots);
        let most = self.along(most, &shape, &[0]);
        let bounded = [own, most].map(|beside| {
            let bound = self.multiple(beside, self.dtype.epsilon().powf(0.25 / order as f64));
            let is_large = self.compare(Comparison::Greater, pivots, bound);
            extreme(self, Reduction::Min, is_large)
        });
        self.binary(Binary::Or, bounded[0], bounded[1])
    }

    /// Of matrices of which some are nearly singular: these alone have singular values.
    fn cofactors_by_both(&mut self, captures: &[NodeId]) -> NodeId {
        if self.count == 1 {
            return self.cofactors_by_values(captures);
        }
        let shape = self.shape(captures[0]);
        let are_regular = self.along(captures[2], &shape, &[0]);
        // A matrix of NaN has no singular values, and takes no time to have none.
        let nan = self.number(captures[0], f64::NAN);
        let others = self.select(are_regular, nan, captures[0]);
        let by_values = self.cofactors_by_values(&[&[others], &captures[1..]].concat());
        let by_inverse = self.cofactors_by_inverse(captures);
        self.select(are_regular, by_inverse, by_values)
    }

    /// Mᵢ are times a unit, the largest element of A, if that or the determinant is far from 1: |A| over a power of the unit is then
    /// applied as two factors, of which neither leaves the range of numbers unless the result does.
    fn cofactors_by_inverse(&mut self, captures: &[NodeId]) -> NodeId {
        let (a, factors, moved) = (captures[0], captures[1], &captures[3..]);
        let of = self.determinants_of_factors(factors);
        let sizes = self.unary(Unary::Abs, a);
        let largest = self.graph.add(Op::Reduce(Reduction::Max, Axes::from_slice(&[1, 2])), &[sizes]);
        let moderate = if self.dtype == DType::F32 { 1e2 } else { 1e19 };
        let (low, high) = (self.number(largest, 1.0 / moderate), self.number(largest, moderate));
        let is_large = self.compare(Comparison::GreaterEqual, largest, low);
        let is_small = self.compare(Comparison::LessEqual, largest, high);
        let is_moderate = self.binary(Binary::And, is_large, is_small);
        let is_moderate = self.binary(Binary::And, is_moderate, of.is_precise);
        let one = self.number(largest, 1.0);
        let unit = self.select(is_moderate, one, largest);
        let inner: Vec<NodeId> = moved
            .iter()
            .map(|&moved| {
                let inner = self.solve_general(factors, moved);
                self.times_each(inner, unit)
            })
            .collect();
        let logarithm = self.unary(Unary::Ln, largest);
        let power = self.multiple(logarithm, moved.len() as f64);
        let logarithm = self.binary(Binary::Sub, of.logarithm, power);
        let half = self.multiple(logarithm, 0.5);
        let root = self.unary(Unary::Exp, half);
        let signed = self.binary(Binary::Mul, of.sign, root);
        let first = self.select(is_moderate, of.product, signed);
        let second = self.select(is_moderate, one, root);
        let shape = self.axes_of_rows(captures[0], moved.len());
        let one = Value::from_f64(self.dtype, 1.0);
        let ones = self.graph.add(Op::Constant(Array::full(&shape, one)), &[]);
        let others = self.unless_twice(ones, &shape);
        let gradient = self.gradient_of_determinant(&inner, others, &shape);
        let result = self.solve_general_transposed(factors, gradient);
        let result = self.times_each(result, first);
        self.times_each(result, second)
    }

    fn cofactors_by_values(&mut self, captures: &[NodeId]) -> NodeId {
        let (a, moved) = (captures[0], &captures[3..]);
        let n = self.shape(a)[1];
        let packed = self.graph.add(Op::Matrix(MatrixOperation::Svd), &[a]);
        let (u, values, v) = (self.part(packed, 0, n), self.single_row(packed, n), self.part(packed, n + 1, n));
        let inner: Vec<NodeId> = moved.iter().map(|&moved| self.inside(u, moved, v)).collect();
        let shape = self.axes_of_rows(a, moved.len());
        let others = self.products_of_others(values, &shape);
        let others = self.unless_twice(others, &shape);
        let gradient = self.gradient_of_determinant(&inner, others, &shape);
        let result = self.outside(u, gradient, v);
        let orthogonal = self.product((u, false), (v, true));
        let factors = self.graph.add(Op::Matrix(MatrixOperation::Lu), &[orthogonal]);
        let of = self.determinants_of_factors(factors);
        self.times_each(result, of.sign)
    }

    /// An axis of rows for each of k + 1 matrices.
    fn axes_of_rows(&self, a: NodeId, k: usize) -> Vec<usize> {
        [self.count].into_iter().chain(std::iter::repeat_n(self.shape(a)[1], k + 1)).collect()
    }

    /// Matrices times a number each.
    fn times_each(&mut self, a: NodeId, factors: NodeId) -> NodeId {
        let shape = self.shape(a);
        let factors = self.along(factors, &shape, &[0]);
        self.binary(Binary::Mul, a, factors)
    }

    /// R, as [`LoopWriter::cofactors`] says, of the products of other rows' elements.
    fn gradient_of_determinant(&mut self, inner: &[NodeId], others: NodeId, shape: &[usize]) -> NodeId {
        let (n, k) = (shape[1], inner.len());
        // Of permutations that end with the same number, the gradient has the same rows and columns.
        let mut gradients = Vec::new();
        for end in 0..=k {
            let orders = orders(k + 1).into_iter().filter(|order| order[k] == end);
            let terms: Vec<NodeId> = orders
                .map(|order| {
                    let factors: Vec<NodeId> =
                        (0..k).map(|at| self.along(inner[at], shape, &[0, at + 1, order[at] + 1])).collect();
                    let term = factors.into_iter().fold(others, |product, x| self.binary(Binary::Mul, product, x));
                    if sign(&order) < 0.0 { self.graph.add(Op::Unary(Unary::Neg), &[term]) } else { term }
                })
                .collect();
            let terms = self.total(terms);
            let sums = self.sum_axes(terms, (1..k + 1).filter(|&axis| axis != end + 1));
            gradients.push(match end == k {
                true => {
                    let square = [self.count, n, n];
                    let (row, column) = (self.position(&square, 1), self.position(&square, 2));
                    let is_diagonal = self.compare(Comparison::Equal, row, column);
                    let sums = self.along(sums, &square, &[0, 1]);
                    let zero = self.number(sums, 0.0);
                    self.select(is_diagonal, sums, zero)
                }
                false => self.transposed(sums),
            });
        }
        self.total(gradients)
    }

    /// The product of all values but those in some rows, for the rows that are the positions along the axes of a shape.
    fn products_of_others(&mut self, values: NodeId, shape: &[usize]) -> NodeId {
        let n = shape[1];
        let rows = shape.len() - 1;
        let whole = [shape, &[n]].concat();
        let own = self.position(&whole, rows + 1);
        let is_left_out: Vec<NodeId> = (1..=rows)
            .map(|axis| {
                let row = self.position(&whole, axis);
                self.compare(Comparison::Equal, own, row)
            })
            .collect();
        let is_left_out = self.any(is_left_out).expect("there is a row");
        let values = self.along(values, &whole, &[0, rows + 1]);
        let one = self.number(values, 1.0);
        let kept = self.select(is_left_out, one, values);
        self.product_along(kept, rows + 1)
    }

    /// Numbers for rows that are the positions along the axes of a shape, but 0 where two of these are the same.
    fn unless_twice(&mut self, numbers: NodeId, shape: &[usize]) -> NodeId {
        let rows = shape.len() - 1;
        let pairs = (1..=rows).flat_map(|first| (first + 1..=rows).map(move |second| (first, second)));
        let is_twice: Vec<NodeId> = pairs
            .map(|(first, second)| {
                let (first, second) = (self.position(shape, first), self.position(shape, second));
                self.compare(Comparison::Equal, first, second)
            })
            .collect();
        match self.any(is_twice) {
            Some(is_twice) => {
                let zero = self.number(numbers, 0.0);
                self.select(is_twice, zero, numbers)
            }
            None => numbers,
        }
    }

    fn any(&mut self, masks: Vec<NodeId>) -> Option<NodeId> {
        masks.into_iter().reduce(|any, mask| self.binary(Binary::Or, any, mask))
    }
}
