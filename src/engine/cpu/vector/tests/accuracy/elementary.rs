//! Elementary functions of twice the digits: Taylor series of small arguments, and steps of Newton's method from the standard
//! library's results.

use super::wide::{LN_2, LN_10, PI, Wide};

/// The first 1,280 binary digits of 2/π after the point.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// exp(x) − 1 for |x| up to 0.4.
fn exp_m1_of_small(x: Wide) -> Wide {
    let mut sum = Wide::from(0.0);
    for n in (1..28).rev() {
        sum = (sum + 1.0) * x / f64::from(n);
    }
    sum
}

/// 2ⁿ exp(x).
fn exp_times_power(x: Wide, n: i32) -> Wide {
    if x.high.is_nan() || x.high > 1e3 {
        return x.high.exp().into();
    }
    if x.high < -1e3 {
        return Wide::from(0.0);
    }
    let k = (x.high / LN_2.high).round();
    (exp_m1_of_small(x - LN_2 * k) + 1.0).times_power_of_two(k as i32 + n)
}

pub(super) fn exp(x: Wide) -> Wide {
    exp_times_power(x, 0)
}

pub(super) fn exp2(x: f64) -> Wide {
    if x.is_nan() || x.abs() > 1200.0 {
        return x.exp2().into();
    }
    let k = x.round();
    (exp_m1_of_small(LN_2 * (x - k)) + 1.0).times_power_of_two(k as i32)
}

pub(super) fn exp_m1(x: Wide) -> Wide {
    if x.high == 0.0 || x.high.is_nan() {
        x
    } else if x.high.abs() < 0.35 {
        exp_m1_of_small(x)
    } else {
        exp(x) - 1.0
    }
}

/// ln(1 + x).
pub(super) fn ln_1p(x: Wide) -> Wide {
    let first = x.high.ln_1p();
    if x.high == 0.0 || !first.is_finite() {
        return first.into();
    }
    if !(-0.5..1.0).contains(&x.high) {
        return ln(x + 1.0);
    }
    // exp(ln(1 + x) − first) − 1.
    let over = exp_m1(Wide::from(-first));
    let rest = x + over * (x + 1.0);
    rest - rest.square() * 0.5 + Wide::from(first)
}

pub(super) fn ln(x: Wide) -> Wide {
    if x.high.is_nan() || x.high <= 0.0 || x.high.is_infinite() {
        return x.high.ln().into();
    }
    let k = if (0.75..1.5).contains(&x.high) { 0 } else { x.exponent() };
    let scaled = x.times_power_of_two(-k);
    let (scaled, k) = if scaled.high > 1.5 { (scaled * 0.5, k + 1) } else { (scaled, k) };
    ln_1p(scaled - 1.0) + LN_2 * f64::from(k)
}

pub(super) fn log2(x: f64) -> Wide {
    let whole = x.log2();
    if whole == whole.round() && whole.exp2() == x { whole.into() } else { ln(x.into()) / LN_2 }
}

pub(super) fn log10(x: f64) -> Wide {
    ln(x.into()) / LN_10
}

/// The sine and the cosine of an angle up to π/2.
pub(super) fn sin_cos_of_small(x: Wide) -> (Wide, Wide) {
    let minus_square = -x.square();
    let (mut sine, mut cosine) = (Wide::from(1.0), Wide::from(1.0));
    for n in (1..18).rev() {
        let n = f64::from(n);
        cosine = cosine * minus_square / ((2.0 * n - 1.0) * 2.0 * n) + 1.0;
        sine = sine * minus_square / (2.0 * n * (2.0 * n + 1.0)) + 1.0;
    }
    (sine * x, cosine)
}

/// An angle of at least ½ as n π/2 + r with |r| ≤ π/4: the last two digits of n, and r. The product with 2/π is computed
/// exactly, except for multiples of 4 and for digits of no importance (Payne and Hanek).
fn reduced(x: f64) -> (u64, Wide) {
    let (mantissa, exponent) = (x.to_bits() << 12 >> 12 | 1 << 52, Wide::from(x).exponent() - 52);
    // The digit of 2/π that makes 2 of the last digit of the mantissa.
    let first = exponent - 1;
    let digit = |at: i32| match usize::try_from(at - 1) {
        Ok(at) if at < 1280 => TWO_OVER_PI[at / 64] >> (63 - at % 64) & 1,
        _ => 0,
    };
    // 256 digits, the lowest part first, times the mantissa.
    let mut carry = 0u128;
    let parts: [u64; 4] = std::array::from_fn(|part| {
        let start = first + 192 - 64 * part as i32;
        let window = (0..64).fold(0u64, |bits, at| bits << 1 | digit(start + at));
        carry += u128::from(window) * u128::from(mantissa);
        let low = carry as u64;
        carry >>= 64;
        low
    });
    let quadrant = parts[3] >> 62;
    // The part after the point; from ½ on it belongs to the next whole number.
    let above = parts[3] >> 61 & 1 == 1;
    let mut fraction = parts;
    fraction[3] = parts[3] << 2 >> 2;
    if above {
        fraction = fraction.map(|part| !part);
        fraction[3] = fraction[3] << 2 >> 2;
    }
    let halves = fraction.iter().rev().flat_map(|part| [part >> 32, part & 0xffff_ffff]).enumerate();
    let size = halves.fold(Wide::from(0.0), |sum, (at, half)| sum + half as f64 * 2f64.powi(-30 - 32 * at as i32));
    let size = size * PI * 0.5;
    if above { ((quadrant + 1) % 4, -size) } else { (quadrant, size) }
}

/// The sine and the cosine of any angle.
pub(super) fn sin_cos(x: f64) -> (Wide, Wide) {
    if !x.is_finite() {
        return (Wide::NAN, Wide::NAN);
    }
    if x.abs() < 0.5 {
        return sin_cos_of_small(x.into());
    }
    let (quadrant, angle) = reduced(x.abs());
    let (sine, cosine) = sin_cos_of_small(angle);
    let (sine, cosine) = match quadrant {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    };
    (if x < 0.0 { -sine } else { sine }, cosine)
}

/// The angle of the point (b, a), which is finite and not (0, 0).
pub(super) fn atan2(a: Wide, b: Wide) -> Wide {
    let first = a.high.atan2(b.high);
    if a.high == 0.0 && b.high > 0.0 {
        return a;
    }
    let size = if a.high.abs() > b.high.abs() { a } else { b }.exponent();
    let (a, b) = (a.times_power_of_two(-size), b.times_power_of_two(-size));
    if a.high.abs() < 1e-280 && b.high > 0.0 {
        return (a / b).times_power_of_two(0);
    }
    let (sine, cosine) = sin_cos(first);
    let rest = (a * cosine - b * sine) / (b * cosine + a * sine);
    Wide::from(first) + rest
}

/// A number of less than full precision among the operands keeps only so many digits of the angle.
pub(super) fn atan(x: f64) -> Wide {
    if x.abs() < 1e-150 || !x.is_finite() { Wide::from(x.atan()) } else { atan2(x.into(), Wide::from(1.0)) }
}

/// The cosine of an angle whose sine is x.
fn complement(x: f64) -> Wide {
    ((Wide::from(1.0) - x) * (Wide::from(1.0) + x)).sqrt()
}

pub(super) fn asin(x: f64) -> Wide {
    match x.abs() {
        ..1e-150 => x.into(),
        ..=1.0 => atan2(x.into(), complement(x)),
        _ => Wide::NAN,
    }
}

pub(super) fn acos(x: f64) -> Wide {
    match x {
        1.0 => Wide::from(0.0),
        -1.0..=1.0 => atan2(complement(x), x.into()),
        _ => Wide::NAN,
    }
}

pub(super) fn sinh(x: f64) -> Wide {
    let size = x.abs();
    if size > 40.0 {
        return exp_times_power(size.into(), -1).signed(x);
    }
    let over = exp_m1(size.into());
    ((over + over / (over + 1.0)) * 0.5).signed(x)
}

pub(super) fn cosh(x: f64) -> Wide {
    let size = x.abs();
    if size > 40.0 {
        return exp_times_power(size.into(), -1);
    }
    let over = exp_m1(size.into());
    over.square() / (over + 1.0) * 0.5 + 1.0
}

pub(super) fn tanh(x: f64) -> Wide {
    if x.abs() > 50.0 {
        return Wide::from(1.0).signed(x);
    }
    let over = exp_m1(Wide::from(2.0 * x.abs()));
    (over / (over + 2.0)).signed(x)
}

pub(super) fn asinh(x: f64) -> Wide {
    let size = Wide::from(x.abs());
    let result = match size.high {
        ..1e-150 => size,
        ..1e20 => {
            let square = size.square();
            ln_1p(size + square / ((square + 1.0).sqrt() + 1.0))
        }
        _ => ln(size) + LN_2,
    };
    result.signed(x)
}

pub(super) fn acosh(x: f64) -> Wide {
    match x {
        1.0..1e20 => {
            let over = Wide::from(x) - 1.0;
            ln_1p(over + (over * 2.0 + over.square()).sqrt())
        }
        1e20.. => ln(x.into()) + LN_2,
        _ => Wide::NAN,
    }
}

pub(super) fn atanh(x: f64) -> Wide {
    match x.abs() {
        ..1e-150 => x.into(),
        ..1.0 => {
            let size = Wide::from(x.abs());
            (ln_1p(size * 2.0 / (Wide::from(1.0) - size)) * 0.5).signed(x)
        }
        _ => x.atanh().into(),
    }
}

pub(super) fn sigmoid(x: f64) -> Wide {
    if x < 0.0 {
        // Where it vanishes, the quotient of the exponential itself.
        let small = exp(x.into());
        return small / (small + 1.0);
    }
    Wide::from(1.0) / (exp(Wide::from(-x)) + 1.0)
}

pub(super) fn softplus(x: f64) -> Wide {
    ln_1p(exp(Wide::from(-x.abs()))) + if x > 0.0 { x } else { 0.0 }
}

pub(super) fn cbrt(x: f64) -> Wide {
    if x == 0.0 || !x.is_finite() {
        return x.into();
    }
    let third = Wide::from(x).exponent().div_euclid(3);
    let scaled = Wide::from(x).times_power_of_two(-3 * third);
    let root = Wide::from(scaled.high.cbrt());
    (root - (root * root * root - scaled) / (root.square() * 3.0)).times_power_of_two(third)
}

pub(super) fn pow(a: f64, b: f64) -> Wide {
    // Special bases and exponents are exact, and so are infinite results.
    if !(a > 0.0 && a.is_finite() && b.is_finite()) {
        return a.powf(b).into();
    }
    let product = ln(a.into()) * b;
    if product.high.is_nan() || product.high.abs() > 1e3 { a.powf(b).into() } else { exp(product) }
}

pub(super) fn hypot(a: f64, b: f64) -> Wide {
    if a == 0.0 || b == 0.0 || !(a.is_finite() && b.is_finite()) {
        return a.hypot(b).into();
    }
    let size = Wide::from(a.abs().max(b.abs())).exponent();
    let scaled = |x: f64| Wide::from(x).times_power_of_two(-size).square();
    (scaled(a) + scaled(b)).sqrt().times_power_of_two(size)
}

pub(super) fn logaddexp(a: f64, b: f64) -> Wide {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == high {
        return Wide::from(high) + LN_2;
    }
    if !(low.is_finite() && high.is_finite()) {
        return if a.is_nan() || b.is_nan() { Wide::NAN } else { high.into() };
    }
    ln_1p(exp(Wide::from(low) - high)) + high
}

/// The angle of a point of floats.
pub(super) fn angle(a: f64, b: f64) -> Wide {
    if a == 0.0 || b == 0.0 || !(a.is_finite() && b.is_finite()) {
        a.atan2(b).into()
    } else {
        atan2(a.into(), b.into())
    }
}
