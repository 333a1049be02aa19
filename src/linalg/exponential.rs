//! The exponential of matrices.

use super::{checked, column_sum_norm, lu, squares};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::tensor::{Float, RDyn, Rank, Tensor, eye, scalar, while_loop, zeros};

/// The coefficients of the approximant of degree 13.
const COEFFICIENTS: [f64; 14] = [
    64_764_752_532_480_000.0,
    32_382_376_266_240_000.0,
    7_771_770_303_897_600.0,
    1_187_353_796_428_800.0,
    129_060_195_264_000.0,
    10_559_470_521_600.0,
    670_442_572_800.0,
    33_522_128_640.0,
    1_323_241_920.0,
    40_840_800.0,
    960_960.0,
    16_380.0,
    182.0,
    1.0,
];

/// The largest norm of a matrix whose approximant is exact to rounding.
const LARGEST_NORM: f64 = 5.371_920_351_148_152;

/// The exponential of each square matrix, Σ Aᵏ / k!: by Padé's approximant of degree 13 of A / 2ˢ, squared s times (Higham, 2005).
///
/// ```
/// use deltaray::linalg::expm;
/// use deltaray::prelude::*;
///
/// // A turn by a quarter.
/// let quarter = std::f64::consts::FRAC_PI_2;
/// let turn = expm(&Matrix::from([[0.0, -quarter], [quarter, 0.0]]));
/// assert!((turn - Matrix::from([[0.0, -1.0], [1.0, 0.0]])).abs().lt(1e-12).all().item());
/// ```
///
/// Errors are relative to the norm of A, so that what comes of small elements beside large ones may have no right digit: of the diagonal
/// matrix of −10³⁰⁰ and −1, the second element is 1 instead of 0.37.
///
/// Each matrix has an s of its own, by its [`column_sum_norm`]; the loop takes as many steps as the largest of them. Derivatives, of
/// every order, are those of these products and of one solution. A matrix with NaN or infinities has NaN for its exponential, and
/// one that is too large infinities or NaN. The exponential of a symmetric matrix is more precise by
/// [`spectral_function`](super::spectral_function).
///
/// # Panics
///
/// When the matrices are not square; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn expm<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    let result = squares(&shape).and_then(|(batch, n)| {
        let a = a.clone().into_dyn();
        let number = |x: f64| scalar::<A, E>(E::from_number(x));
        // How often the matrix is halved: as often as its norm until that is small.
        let norm = column_sum_norm(&a).into_dyn();
        let is_large = norm.gt(&number(LARGEST_NORM)) & norm.lt(&number(f64::INFINITY));
        let halvings = (&norm / number(LARGEST_NORM)).log2().ceil();
        let halvings = is_large.select(halvings, zeros(batch));
        let whole = |x: &Tensor<A, E, RDyn>| x.insert_axis(batch.len()).insert_axis(batch.len() + 1);
        let small = a * whole(&(-&halvings).exp2());
        let first = approximant(&small, &eye(n).into_dyn().broadcast_to(&shape[..]))?;
        let count = halvings.cast::<i64>();
        let is_left = |count: &Tensor<A, i64, RDyn>| count.gt(0);
        let (result, _) = while_loop(
            (first, count),
            |(_, count)| is_left(count).any(),
            |(x, count)| {
                let is_own = is_left(&count).insert_axis(batch.len()).insert_axis(batch.len() + 1);
                (is_own.select(x.matmul(&x), x), count - 1)
            },
        );
        Ok(result)
    });
    checked("expm", &shape, result)
}

/// Padé's approximant (V − U)⁻¹ (V + U), where U has the odd powers, and V the even ones.
#[track_caller]
fn approximant<A: Algebra, E: Float>(
    a: &Tensor<A, E, RDyn>,
    identity: &Tensor<A, E, RDyn>,
) -> Result<Tensor<A, E, RDyn>, String> {
    let second = a.matmul(a);
    let fourth = second.matmul(&second);
    let powers = [identity.clone(), second.clone(), fourth.clone(), fourth.matmul(&second)];
    // The sum of every other coefficient from a number on, times even powers up to the sixth.
    let sum = |start: usize| {
        let even = |high: usize, low: usize| {
            let terms = powers[low..].iter().enumerate().map(|(at, power)| {
                let coefficient = COEFFICIENTS[start + 2 * (low + at) + high];
                power * scalar::<A, E>(E::from_number(coefficient))
            });
            terms.reduce(|sum, term| sum + term).expect("powers up to the sixth")
        };
        powers[3].matmul(&even(6, 1)) + even(0, 0)
    };
    let (odd, even) = (a.matmul(&sum(1)), sum(0));
    lu(&(&even - &odd)).solution(&(even + odd))
}
