//! The derivative of systems of equations with banded matrices, whose rule is that of all systems: Ẋ = A⁻¹ (Ḃ − Ȧ X).

use super::derivative::{Derivative, Scaling, WithDerivative, sum};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::array::Array;
use crate::operation::{Contraction, Label, Labels, MatrixOperation};
use crate::shape::{Shape, Type, Value};
use crate::term::Op;
use smallvec::{SmallVec, smallvec};

/// A X = B, of the bands below the diagonal of A, those from its diagonal on, and B. Ȧ X is the sum over bands of a band of Ȧ times
/// the rows of X that it meets: time and memory are in proportion to the elements of the bands.
#[track_caller]
pub(super) fn solve<A: Algebra, D: Derivative<A>>(
    op: MatrixOperation,
    (lower, dlower): WithDerivative<A, D>,
    (upper, dupper): WithDerivative<A, D>,
    (b, db): WithDerivative<A, D>,
) -> WithDerivative<A, D> {
    let fixed: Operands<A> = smallvec![lower.clone(), upper.clone()];
    let x = A::matrix(op, smallvec![lower.clone(), upper.clone(), b]);
    let moved = (dlower.is_some() || dupper.is_some()).then(|| {
        let types = [A::type_of(&lower), A::type_of(&upper)];
        let bands = Bands::of(&types);
        let derivative = D::concatenate(bands.axes(), vec![dlower, dupper], &types);
        bands.product::<A, D>(op == MatrixOperation::SolveBandedTransposed, derivative, &x)
    });
    (x, sum::<A, D>(db, moved).map(|side| side.linear(Op::Matrix(op), fixed).shared()))
}

/// Banded matrices along axes of these extents: column i of the bands has elements of row i.
struct Bands {
    batch: Shape,
    lower: usize,
    upper: usize,
    n: usize,
}

impl Bands {
    fn of([lower, upper]: &[Type; 2]) -> Bands {
        let axes = lower.rank() - 2;
        Bands {
            batch: Shape::from_slice(&lower.shape[..axes]),
            lower: lower.shape[axes],
            upper: upper.shape[axes] - 1,
            n: lower.shape[axes + 1],
        }
    }

    fn axes(&self) -> usize {
        self.batch.len()
    }

    fn width(&self) -> usize {
        self.lower + 1 + self.upper
    }

    /// A read of matrices of `source` at rows and columns that are sums of the last axes of the result, with zeros outside.
    fn read(&self, source: [usize; 2], result: &[usize], row: &[i64], column: &[i64], offset: [i64; 2]) -> AffineMap {
        let axes = self.axes();
        let along = |axis: usize| (0..axes + result.len()).map(|other| i64::from(other == axis)).collect();
        let last = |coefficients: &[i64]| -> SmallVec<[i64; 4]> {
            std::iter::repeat_n(0, axes).chain(coefficients.iter().copied()).collect()
        };
        let rows: Vec<SmallVec<[i64; 4]>> = (0..axes).map(along).chain([last(row), last(column)]).collect();
        let offsets: SmallVec<[i64; 4]> = std::iter::repeat_n(0, axes).chain(offset).collect();
        let shape = |extents: &[usize]| -> Shape { self.batch.iter().chain(extents).copied().collect() };
        AffineMap::new(&shape(&source), &shape(result), &rows, &offsets)
    }

    /// −Ȧ X, or −Ȧᵀ X, of the derivative of the bands of A.
    fn product<A: Algebra, D: Derivative<A>>(&self, is_transposed: bool, derivative: D, x: &A::Array) -> D {
        let (axes, n, width) = (self.axes(), self.n, self.width());
        let columns = A::shape(x)[axes + 1];
        let below = if is_transposed { self.upper } else { self.lower } as i64;
        // The bands of the matrix that is meant, without what is beside it.
        let bands = match is_transposed {
            true => {
                let last = width as i64 - 1;
                derivative.view(&self.read([width, n], &[width, n], &[-1, 0], &[1, 1], [last, -below]))
            }
            false => {
                let along = AffineMap::new(&[n], &[width, n], &[smallvec![1, 1]], &[-below]);
                let inside = A::view(A::constant(Array::full(&[n], Value::Bool(true))), &along);
                let shape: Shape = self.batch.iter().copied().chain([width, n]).collect();
                derivative.mask(A::view(inside, &AffineMap::broadcast(&[width, n], &shape, &[axes, axes + 1])))
            }
        };
        let windows = self.read([n, columns], &[width, n, columns], &[1, 1, 0], &[0, 0, 1], [-below, 0]);
        let windows = A::view(x.clone(), &windows);
        let labels = |own: &[usize]| -> Labels {
            (0..axes).chain(own.iter().map(|label| axes + label)).map(|label| label as Label).collect()
        };
        let spec = Contraction { left: labels(&[0, 1]), right: labels(&[0, 1, 2]), result: labels(&[1, 2]) };
        let product = bands.contract_left(&spec, windows);
        let minus = Array::full(&A::shape(x), Value::from_f64(A::dtype(x), -1.0));
        product.scale(A::constant(minus), Scaling::Product)
    }
}
