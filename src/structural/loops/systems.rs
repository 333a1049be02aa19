//! The derivatives of the Cholesky and LU factors, and their transposes, as products and systems of equations with the factors
//! (Murray, arXiv 1602.07527).

use super::LoopWriter;
use crate::operation::{Binary, Comparison, Triangle};
use crate::term::{NodeId, Op};

impl LoopWriter {
    /// X = L Φ(L⁻¹ S L⁻ᵀ), where Φ takes the lower triangle, and half of the diagonal.
    pub(super) fn cholesky_forward_of_systems(&mut self, l: NodeId, s: NodeId) -> NodeId {
        let symmetric = self.symmetric(s);
        let half = self.triangular(Triangle::LOWER, l, symmetric);
        let half = self.transposed(half);
        let inner = self.triangular(Triangle::LOWER, l, half);
        let (zero, one_half) = (self.number(l, 0.0), self.number(l, 0.5));
        let halves = self.binary(Binary::Mul, inner, one_half);
        let scaled = self.triangle(Comparison::Equal, halves, inner);
        let [scaled, factor] = [scaled, l].map(|a| self.triangle(Comparison::GreaterEqual, a, zero));
        let product = self.product((factor, false), (scaled, false));
        self.triangle(Comparison::GreaterEqual, product, zero)
    }

    /// 2 Y = L⁻ᵀ M L⁻¹, where the symmetric M has the lower triangle of Lᵀ Z.
    pub(super) fn cholesky_adjoint_of_systems(&mut self, l: NodeId, z: NodeId) -> NodeId {
        let zero = self.number(l, 0.0);
        let [factor, z] = [l, z].map(|a| self.triangle(Comparison::GreaterEqual, a, zero));
        let product = self.product((factor, true), (z, false));
        let inner = self.mirrored(product);
        let right = self.triangular(Triangle::LOWER.transposed(), l, inner);
        let right = self.transposed(right);
        let twice = self.triangular(Triangle::LOWER.transposed(), l, right);
        let half = self.number(twice, 0.5);
        let halves = self.binary(Binary::Mul, twice, half);
        self.mirrored(halves)
    }

    /// X with X₋ U + L X₊ = P S, where X₋ is what is below the diagonal of X, and X₊ the rest of it. With W = L⁻¹ P S and N, which is
    /// what is below the diagonal of W U⁻¹, X₋ is L N and X₊ the rest of W - N U. Rows below the square follow from X₊.
    pub(super) fn lu_forward_of_systems(&mut self, packed: NodeId, s: NodeId) -> NodeId {
        let (factors, order) = self.unpacked(packed);
        let ordered = self.ordered(s, order);
        let [_, m, n] = self.shape(s)[..] else { unreachable!("matrices along an axis") };
        let k = m.min(n);
        let LuFactors { square, lower, upper } = self.lu_factors(factors);
        let side = self.part(ordered, 0, k);
        let w = self.triangular(Triangle::LOWER.unit(), square, side);
        let square_w = self.columns(w, k);
        let inner = self.right_solved(square, square_w);
        let inner = self.strictly_lower(inner);
        let below = self.product((lower, false), (inner, false));
        let below = self.binary(Binary::Add, below, inner);
        let product = self.product((inner, false), (upper, false));
        let rest = self.binary(Binary::Sub, w, product);
        let below = self.columns(below, n);
        let top = self.triangle(Comparison::Greater, below, rest);
        if m == k {
            return top;
        }
        let above = self.upper(rest);
        let rows = self.part(factors, k, m - k);
        let product = self.product((rows, false), (above, false));
        let side = self.part(ordered, k, m - k);
        let side = self.binary(Binary::Sub, side, product);
        let bottom = self.right_solved(square, side);
        self.graph.add(Op::Concatenate(1), &[top, bottom])
    }

    /// Y such that P Y Uᵀ has what is below the diagonal of Z, and Lᵀ P Y the rest of it: the transpose of
    /// [`Self::lu_forward_of_systems`].
    pub(super) fn lu_adjoint_of_systems(&mut self, packed: NodeId, z: NodeId) -> NodeId {
        let (factors, order) = self.unpacked(packed);
        let [_, m, n] = self.shape(z)[..] else { unreachable!("matrices along an axis") };
        let k = m.min(n);
        let LuFactors { square, lower, upper } = self.lu_factors(factors);
        let top = self.part(z, 0, k);
        let mut rest = self.upper(top);
        let bottom = (m > k).then(|| {
            let side = self.part(z, k, m - k);
            let side = self.transposed(side);
            let solution = self.triangular(Triangle::UPPER, square, side);
            let solution = self.transposed(solution);
            let rows = self.part(factors, k, m - k);
            let product = self.product((rows, true), (solution, false));
            let product = self.upper(product);
            rest = self.binary(Binary::Sub, rest, product);
            solution
        });
        let below = self.columns(top, k);
        let below = self.strictly_lower(below);
        let product = self.product((lower, true), (below, false));
        let below = self.binary(Binary::Add, below, product);
        let product = self.product((rest, false), (upper, true));
        let inner = self.binary(Binary::Sub, below, product);
        let inner = self.strictly_lower(inner);
        // The last column of that is 0, whatever the last pivot is.
        let inner = self.transposed(inner);
        let regular = self.with_last_pivot_one(square);
        let inner = self.triangular(Triangle::UPPER, regular, inner);
        let inner = self.transposed(inner);
        let inner = self.columns(inner, n);
        let side = self.binary(Binary::Add, rest, inner);
        let top = self.triangular(Triangle::LOWER.unit().transposed(), square, side);
        let result = bottom.map_or(top, |bottom| self.graph.add(Op::Concatenate(1), &[top, bottom]));
        self.placed(result, order)
    }

    fn lu_factors(&mut self, factors: NodeId) -> LuFactors {
        let [_, m, n] = self.shape(factors)[..] else { unreachable!("matrices along an axis") };
        let top = self.part(factors, 0, m.min(n));
        let square = self.columns(top, m.min(n));
        LuFactors { square, lower: self.strictly_lower(square), upper: self.upper(top) }
    }

    /// B U⁻¹, of a matrix whose upper triangle is U.
    fn right_solved(&mut self, square: NodeId, b: NodeId) -> NodeId {
        let turned = self.transposed(b);
        let solution = self.triangular(Triangle::UPPER.transposed(), square, turned);
        self.transposed(solution)
    }

    fn with_last_pivot_one(&mut self, square: NodeId) -> NodeId {
        let shape = self.shape(square);
        let (row, column) = (self.position(&shape, 1), self.position(&shape, 2));
        let sum = self.binary(Binary::Add, row, column);
        let last = self.number(sum, (2 * shape[1]) as f64 - 2.0);
        let is_last = self.compare(Comparison::Equal, sum, last);
        let one = self.number(square, 1.0);
        self.select(is_last, one, square)
    }

    /// So many columns of matrices from the first on, with zeros after their own.
    fn columns(&mut self, a: NodeId, columns: usize) -> NodeId {
        self.cut(a, 2, 0, columns)
    }

    fn strictly_lower(&mut self, a: NodeId) -> NodeId {
        let zero = self.number(a, 0.0);
        self.triangle(Comparison::Greater, a, zero)
    }

    fn upper(&mut self, a: NodeId) -> NodeId {
        let zero = self.number(a, 0.0);
        self.triangle(Comparison::Greater, zero, a)
    }

    /// The elements of matrices whose row compares like this with their column, and others in the places of the rest.
    fn triangle(&mut self, comparison: Comparison, a: NodeId, others: NodeId) -> NodeId {
        let shape = self.shape(a);
        let (row, column) = (self.position(&shape, 1), self.position(&shape, 2));
        let is_own = self.compare(comparison, row, column);
        self.select(is_own, a, others)
    }

    /// Symmetric matrices, given what is on and below the diagonal.
    fn mirrored(&mut self, a: NodeId) -> NodeId {
        let turned = self.transposed(a);
        self.triangle(Comparison::GreaterEqual, a, turned)
    }
}

/// The factors of the square part of packed ones.
struct LuFactors {
    /// Both of them in one matrix.
    square: NodeId,
    /// The strictly lower triangle of that.
    lower: NodeId,
    /// The upper triangle, of all columns.
    upper: NodeId,
}
