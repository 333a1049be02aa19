//! Functions of symmetric matrices with their derivatives: programs on eigenvalues and vectors.

use super::LoopWriter;
use crate::array::Array;
use crate::operation::{Binary, CLUSTER, Comparison, Contraction, Reduction, SpectralFunction};
use crate::shape::{Axes, Shape, Type};
use crate::term::{NodeId, Op};

/// All orders of the numbers below one.
pub(super) fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |order: &Vec<usize>, at: usize| [&order[..at], &[last], &order[at..]].concat();
    orders(last).iter().flat_map(|order| (0..count).map(move |at| insert(order, at))).collect()
}

impl LoopWriter {
    /// The product of two matrices, where either may be transposed.
    pub(super) fn product(&mut self, (a, a_turned): (NodeId, bool), (b, b_turned): (NodeId, bool)) -> NodeId {
        let left = if a_turned { [0, 2, 1] } else { [0, 1, 2] };
        let right = if b_turned { [0, 3, 2] } else { [0, 2, 3] };
        self.graph.add(Op::Contract(Contraction::new(&left, &right, &[0, 1, 3])), &[a, b])
    }

    /// Uᵀ E V.
    pub(super) fn inside(&mut self, u: NodeId, moved: NodeId, v: NodeId) -> NodeId {
        let right = self.product((moved, false), (v, false));
        self.product((u, true), (right, false))
    }

    /// U M Vᵀ.
    pub(super) fn outside(&mut self, u: NodeId, inner: NodeId, v: NodeId) -> NodeId {
        let left = self.product((u, false), (inner, false));
        self.product((left, false), (v, true))
    }

    /// Some rows of each matrix.
    pub(super) fn part(&mut self, a: NodeId, start: usize, rows: usize) -> NodeId {
        self.cut(a, 1, start, rows)
    }

    /// One row of each matrix: [count, n].
    pub(super) fn single_row(&mut self, a: NodeId, at: usize) -> NodeId {
        let row = self.part(a, at, 1);
        let n = self.shape(a)[2];
        self.graph.add(Op::Reshape(Shape::from_slice(&[self.count, n])), &[row])
    }

    pub(super) fn sum_axes(&mut self, a: NodeId, axes: impl Iterator<Item = usize>) -> NodeId {
        let axes: Axes = axes.collect();
        if axes.is_empty() { a } else { self.graph.add(Op::Reduce(Reduction::Sum, axes), &[a]) }
    }

    /// The sum of some arrays of one shape.
    pub(super) fn total(&mut self, arrays: Vec<NodeId>) -> NodeId {
        arrays.into_iter().reduce(|sum, array| self.binary(Binary::Add, sum, array)).expect("an array")
    }

    /// Dᵏ f(A)[E₁, .., Eₖ] of the eigenvectors V and eigenvalues λ of A. With Mᵢ = Vᵀ Eᵢ V it is V R Vᵀ, where the element of R in row
    /// i₀ and column iₖ is the sum, over orders of the matrices and over i₁, .., of f[λ_i₀, .., λ_iₖ] M₁[i₀, i₁] ⋯ Mₖ[iₖ₋₁, iₖ].
    pub(super) fn spectral(&mut self, function: SpectralFunction, packed: NodeId, moved: &[NodeId]) -> NodeId {
        let (n, k) = (self.shape(packed)[2], moved.len());
        if n == 0 {
            return self.graph.add(Op::Constant(Array::zeros(&Type::new(self.dtype, &[self.count, 0, 0]))), &[]);
        }
        let (vectors, values) = (self.part(packed, 0, n), self.single_row(packed, n));
        let values = if function.is_of_positive() { self.not_negative(values) } else { values };
        let shape: Vec<usize> = [self.count].into_iter().chain(std::iter::repeat_n(n, k + 1)).collect();
        let points = (0..=k).map(|at| self.along(values, &shape, &[0, at + 1])).collect();
        let differences = self.divided_difference(function, points);
        if k == 0 {
            let scaled = self.times(vectors, differences);
            return self.product((scaled, false), (vectors, true));
        }
        let inner: Vec<NodeId> = moved
            .iter()
            .map(|&moved| {
                let moved = self.symmetric(moved);
                self.inside(vectors, moved, vectors)
            })
            .collect();
        // An order and the one backwards have results that are each other's transposes.
        let half = orders(k).into_iter().filter(|order| order[0] <= order[k - 1]);
        let products: Vec<NodeId> = half
            .map(|order| {
                let factors: Vec<NodeId> =
                    (0..k).map(|at| self.along(inner[order[at]], &shape, &[0, at + 1, at + 2])).collect();
                factors.into_iter().reduce(|product, x| self.binary(Binary::Mul, product, x)).expect("a factor")
            })
            .collect();
        let products = self.total(products);
        let terms = self.binary(Binary::Mul, differences, products);
        let mut sums = self.sum_axes(terms, 2..k + 1);
        if k > 1 {
            let turned = self.transposed(sums);
            sums = self.binary(Binary::Add, sums, turned);
        }
        self.outside(vectors, sums, vectors)
    }

    /// Ascending values, of which those that rounding made negative are 0; or NaN for all of a row whose first is truly negative.
    fn not_negative(&mut self, values: NodeId) -> NodeId {
        let shape = self.shape(values);
        let one = |writer: &mut LoopWriter, at: usize| {
            let part = writer.cut(values, 1, at, 1);
            writer.graph.add(Op::Reshape(Shape::from_slice(&[writer.count])), &[part])
        };
        let (first, last) = (one(self, 0), one(self, shape[1] - 1));
        let bound = self.number(last, -CLUSTER * self.dtype.epsilon() * shape[1] as f64);
        let bound = self.binary(Binary::Mul, last, bound);
        let is_negative = self.compare(Comparison::Less, first, bound);
        let (is_negative, nan) = (self.along(is_negative, &shape, &[0]), self.number(values, f64::NAN));
        let zero = self.number(values, 0.0);
        let is_below = self.compare(Comparison::Less, values, zero);
        let values = self.select(is_below, zero, values);
        self.select(is_negative, nan, values)
    }
}
