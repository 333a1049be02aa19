//! The error and gamma functions of twice the digits.

use super::elementary::{exp, ln, ln_1p, sin_cos_of_small};
use super::wide::{PI, Wide, series};
use std::sync::LazyLock;

pub(super) const TWO_OVER_ROOT_PI: Wide = Wide { high: std::f64::consts::FRAC_2_SQRT_PI, low: 1.533545961316588e-17 };
const EULER: Wide = Wide { high: 0.5772156649015329, low: -4.942915152430645e-18 };
const HALF_LN_TAU: Wide = Wide { high: 0.9189385332046728, low: -3.8782941580672414e-17 };

/// Numerators and denominators of the Bernoulli numbers B₂, B₄, ..
const BERNOULLI: [(f64, f64); 16] = [
    (1.0, 6.0),
    (-1.0, 30.0),
    (1.0, 42.0),
    (-1.0, 30.0),
    (5.0, 66.0),
    (-691.0, 2730.0),
    (7.0, 6.0),
    (-3617.0, 510.0),
    (43867.0, 798.0),
    (-174611.0, 330.0),
    (854513.0, 138.0),
    (-236364091.0, 2730.0),
    (8553103.0, 6.0),
    (-23749461029.0, 870.0),
    (8615841276005.0, 14322.0),
    (-7709321041217.0, 510.0),
];

/// From where asymptotic series have all digits.
const ASYMPTOTIC: f64 = 30.0;

/// 2/√π exp(−x²) Σ 2ⁿ x²ⁿ⁺¹ / (2n + 1)!!, in which nothing cancels.
pub(super) fn erf(x: f64) -> Wide {
    if x.abs() > 6.5 || x == 0.0 || x.is_nan() {
        return if x == 0.0 || x.is_nan() { x.into() } else { Wide::from(1.0).signed(x) };
    }
    if x.abs() > 3.0 {
        return (Wide::from(1.0) - erfc(x.abs())).signed(x);
    }
    let square = Wide::from(x).square();
    let (mut term, mut sum) = (Wide::from(x), Wide::from(x));
    for n in 1..100 {
        term = term * square * 2.0 / f64::from(2 * n + 1);
        sum = sum + term;
        if term.high.abs() < 1e-34 * sum.high.abs() {
            break;
        }
    }
    TWO_OVER_ROOT_PI * exp(-square) * sum
}

/// 1 − erf(x); of large x the continued fraction of Laplace.
pub(super) fn erfc(x: f64) -> Wide {
    if x.is_nan() || x <= 3.0 {
        return Wide::from(1.0) - erf(x);
    }
    if x > 40.0 {
        return Wide::from(0.0);
    }
    let mut fraction = Wide::from(x);
    for n in (1..100).rev() {
        fraction = Wide::from(0.5 * f64::from(n)) / fraction + x;
    }
    // The quotient first: the exponential may be of less than full precision.
    let square = Wide::from(x).square();
    let factor = TWO_OVER_ROOT_PI * 0.5 / fraction;
    exp(ln(factor) - square)
}

/// (ζ(k) − 1) / k for k from 2 on, by the formula of Euler and Maclaurin.
static ZETA: LazyLock<Vec<Wide>> = LazyLock::new(|| {
    let power = |n: f64, k: i32| (0..k).fold(Wide::from(1.0), |product, _| product / n);
    let zeta = |k: i32| {
        let n = 20.0;
        let mut sum = (2..20).rev().fold(Wide::from(0.0), |sum, at| sum + power(f64::from(at), k));
        sum = sum + power(n, k - 1) / f64::from(k - 1) + power(n, k) * 0.5;
        // B₂ⱼ / (2j)! k (k + 1) .. (k + 2j − 2) / nᵏ⁺²ʲ⁻¹.
        let mut term = power(n, k + 1) * f64::from(k) * 0.5;
        for (at, (above, below)) in BERNOULLI.iter().enumerate() {
            sum = sum + term * *above / *below;
            let j = 2.0 * (at as f64 + 1.0);
            let k = f64::from(k);
            term = term * (k + j - 1.0) * (k + j) / ((j + 1.0) * (j + 2.0) * n * n);
        }
        sum / f64::from(k)
    };
    (2..60).map(zeta).collect()
});

/// ln Γ(2 + x) for |x| up to ½.
fn ln_gamma_near_two(x: Wide) -> Wide {
    let minus = -x;
    x * (Wide::from(1.0) - EULER) + series(minus, &ZETA) * minus.square()
}

/// ln Γ(x) for positive x.
fn ln_gamma_of_positive(x: Wide) -> Wide {
    let over = x - 1.0;
    match x.high {
        ..0.4 => ln_gamma_of_positive(x + 1.0) - ln(x),
        ..1.5 => ln_gamma_near_two(over) - ln_1p(over),
        ..2.5 => ln_gamma_near_two(over - 1.0),
        _ => {
            let (mut at, mut product) = (x, Wide::from(1.0));
            while at.high < ASYMPTOTIC {
                product = product * at;
                at = at + 1.0;
            }
            let inverse_square = Wide::from(1.0) / at.square();
            let mut sum = Wide::from(0.0);
            for (n, (above, below)) in BERNOULLI.iter().enumerate().rev() {
                let divisor = (2 * n + 1) as f64 * (2 * n + 2) as f64 * below;
                sum = sum * inverse_square + Wide::from(*above) / divisor;
            }
            let ln_at = ln(at);
            // For the largest arguments the product overflows before the difference does.
            let whole = at * (ln_at - 1.0) - ln_at * 0.5;
            whole + HALF_LN_TAU + sum / at - ln(product)
        }
    }
}

/// The sine and cosine of πx, where x is not whole.
fn sin_cos_pi(x: f64) -> (Wide, Wide) {
    let whole = x.round();
    let (sine, cosine) = sin_cos_of_small(PI * (x - whole));
    if whole.rem_euclid(2.0) == 1.0 { (-sine, -cosine) } else { (sine, cosine) }
}

fn is_pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// ln |Γ(x)|.
pub(super) fn lgamma(x: f64) -> Wide {
    if x.is_nan() {
        Wide::NAN
    } else if is_pole(x) || x.is_infinite() {
        Wide::INFINITY
    } else if x > 0.0 {
        ln_gamma_of_positive(x.into())
    } else if x > -1e-20 {
        -ln(Wide::from(-x))
    } else {
        ln(PI) - ln(sin_cos_pi(x).0.abs()) - ln_gamma_of_positive(Wide::from(1.0) - x)
    }
}

/// The derivative of order `order` of the digamma function for positive x.
fn polygamma_of_positive(order: u32, x: Wide) -> Wide {
    let power = |x: Wide, n: u32| (0..n).fold(Wide::from(1.0), |product, _| product * x);
    let factorial = (1..=order).fold(1.0, |product, n| product * f64::from(n));
    let (mut at, mut sum) = (x, Wide::from(0.0));
    while at.high < ASYMPTOTIC {
        sum = sum + Wide::from(factorial) / power(at, order + 1);
        at = at + 1.0;
    }
    let square = at.square();
    if order == 0 {
        let mut series = Wide::from(0.0);
        for (n, (above, below)) in BERNOULLI.iter().enumerate().rev() {
            series = (series + Wide::from(*above) / (below * 2.0 * (n + 1) as f64)) / square;
        }
        return ln(at) - Wide::from(0.5) / at - series - sum;
    }
    let m = f64::from(order);
    // The power itself may be out of the range of numbers where its inverse is not.
    let leading = (0..order).fold(Wide::from(factorial / m), |quotient, _| quotient / at);
    let (mut series, mut term) = (leading + leading * (0.5 * m) / at, leading);
    for (n, (above, below)) in BERNOULLI.iter().enumerate() {
        let two_n = 2.0 * (n + 1) as f64;
        term = term * ((two_n + m - 1.0) * (two_n + m - 2.0)) / (two_n * (two_n - 1.0)) / square;
        series = series + term * *above / *below;
    }
    let size = sum + series;
    if order % 2 == 1 { size } else { -size }
}

/// ψ⁽ᵐ⁾(x) = (−1)ᵐ ψ⁽ᵐ⁾(1 − x) − π dᵐ/dxᵐ cot(πx) for negative x.
pub(super) fn polygamma(order: u32, x: f64) -> Wide {
    if x.is_nan() || x == f64::NEG_INFINITY {
        return Wide::NAN;
    }
    if is_pole(x) {
        let at_pole = if order % 2 == 1 { f64::INFINITY } else { f64::NAN };
        return (if order == 0 && x == 0.0 { f64::NEG_INFINITY } else { at_pole }).into();
    }
    if x == f64::INFINITY {
        return if order == 0 { Wide::INFINITY } else { Wide::from(0.0) };
    }
    if x > 0.0 {
        return polygamma_of_positive(order, x.into());
    }
    if order == 0 && x > -1e-40 {
        return Wide::from(-1.0) / x;
    }
    let (sine, cosine) = sin_cos_pi(x);
    let cotangent = cosine / sine;
    // The derivative of a polynomial of the cotangent, whose own is −(1 + cot²).
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..order {
        let mut next = vec![0.0; polynomial.len() + 1];
        for (power, coefficient) in polynomial.iter().enumerate().skip(1) {
            next[power - 1] -= power as f64 * coefficient;
            next[power + 1] -= power as f64 * coefficient;
        }
        polynomial = next;
    }
    let coefficients: Vec<Wide> = polynomial.into_iter().map(Wide::from).collect();
    let scale = (0..=order).fold(Wide::from(1.0), |product, _| product * PI);
    let mirrored = polygamma_of_positive(order, Wide::from(1.0) - x);
    (if order.is_multiple_of(2) { mirrored } else { -mirrored }) - series(cotangent, &coefficients) * scale
}
