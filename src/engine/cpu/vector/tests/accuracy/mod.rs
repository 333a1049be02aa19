//! How far results may be from the exact ones: a bound for every operation on floats, which eager arrays and the kernels of every
//! set of instructions keep in both types, over dense ranges and at points that are hard.

mod derivatives;
mod elementary;
mod gamma;
mod points;
mod references;
mod wide;

use super::*;
use crate::operation::{BINARY_ROWS, UNARY_ROWS};
use crate::shape::DType;
use points::HARD_POINTS;
use std::f64::consts::FRAC_PI_2;
use std::ptr::null;
use wide::Wide;

/// The bounds, in units of the last place of the exact result: they hold for both types, eagerly and compiled.
fn bound(op: Unary) -> f64 {
    match op {
        Unary::Neg | Unary::Abs | Unary::Sign | Unary::Relu | Unary::StopGradient => 0.0,
        Unary::Floor | Unary::Ceil | Unary::Round => 0.0,
        // The nearest float to a quotient or root; references have few digits where they nearly vanish.
        Unary::Recip | Unary::Sqrt => 0.6,
        Unary::Cbrt => 1.0,
        Unary::Exp | Unary::Exp2 | Unary::Ln | Unary::Log2 => 1.5,
        Unary::Expm1 | Unary::Ln1p | Unary::Sinh | Unary::Cosh => 2.0,
        Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => 2.0,
        Unary::Asinh | Unary::Acosh | Unary::Atanh | Unary::Softplus | Unary::Erf => 2.0,
        Unary::Sigmoid => 3.0,
        // Bounds of the standard library and of `libm`; the kernels have 2.
        Unary::Log10 | Unary::Tanh | Unary::Erfc => 3.0,
        Unary::Lgamma => 4.0,
        // 3 for positive arguments.
        Unary::Digamma => 6.0,
        // One less for positive arguments.
        Unary::Polygamma(order) => f64::from(order) + 4.0,
        // A product of so many factors.
        Unary::Powi(n) => 1.0 + 0.75 * f64::from(n.unsigned_abs()),
        Unary::Not | Unary::BitNot => unreachable!("{op:?} takes no floats"),
    }
}

/// As [`bound`], of operations that are no single instruction.
fn pair_bound(op: Binary) -> Option<f64> {
    match op {
        Binary::Pow | Binary::Atan2 | Binary::Hypot | Binary::Xlogy => Some(2.0),
        Binary::LogAddExp => Some(3.0),
        _ => None,
    }
}

/// Whether an angle is so large that it is reduced by the standard library, whose results next to multiples of π/2 may be off by
/// some units.
fn is_beyond_reduction<T: Float>(op: Unary, x: T) -> bool {
    matches!(op, Unary::Sin | Unary::Cos | Unary::Tan) && x.wide().abs() > 1e9
}

/// A size of which a unit is the measure where the result is smaller: next to zeros of the gamma functions that are not at 1 and 2,
/// results are as exact as the terms that cancel there.
fn scale(op: Unary, x: f64) -> f64 {
    match op {
        Unary::Lgamma if x < 0.0 => 1.0,
        Unary::Digamma if x < 0.0 => references::unary(op, 1.0 - x).high.abs().max(1.0),
        Unary::Polygamma(order) if x < 0.0 && order.is_multiple_of(2) => references::unary(op, 0.5).high.abs(),
        _ => 0.0,
    }
}

/// Whether results that are smaller than numbers of full precision may be 0.
fn may_vanish(op: Unary) -> bool {
    matches!(op, Unary::Exp | Unary::Exp2 | Unary::Softplus | Unary::Sigmoid)
}

/// Floats of either type.
trait Float: Tested {
    const MANTISSA: i32;
    const LEAST: f64;
    const MOST: f64;
    fn wide(self) -> f64;
    fn from_wide(x: f64) -> Self;
    /// Any float: the bits of this number.
    fn any(bits: u64) -> Self;
    /// The next floats, so many steps above or below.
    fn stepped(self, steps: i64) -> Self;

    /// The distance from the exact result in units of its last place, or of the scale's.
    fn units(self, exact: Wide, scale: f64) -> f64 {
        let found = self.wide();
        let nearest = Self::from_wide(exact.high).wide();
        let size = exact.high.abs().max(scale).max(Self::LEAST).min(Self::MOST);
        let unit = Wide::from(2.0).times_power_of_two(Wide::from(size).exponent() - 1 - Self::MANTISSA).high;
        let beyond = |finite: f64| (Self::MOST - finite.abs()) / unit + 1.0;
        if found.is_nan() || nearest.is_nan() {
            return if found.is_nan() && nearest.is_nan() { 0.0 } else { f64::INFINITY };
        }
        match (found.is_infinite(), nearest.is_infinite()) {
            (true, true) if found == nearest => 0.0,
            (true, false) if found.is_sign_negative() == exact.high.is_sign_negative() => beyond(exact.high),
            (false, true) if found.is_sign_negative() == exact.high.is_sign_negative() => beyond(found),
            (false, false) => ((found - exact.high) - exact.low).abs() / unit,
            _ => f64::INFINITY,
        }
    }
}

macro_rules! float {
    ($t:ident, $bits:ident, $mantissa:literal) => {
        impl Float for $t {
            const MANTISSA: i32 = $mantissa;
            const LEAST: f64 = $t::MIN_POSITIVE as f64;
            const MOST: f64 = $t::MAX as f64;
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn from_wide(x: f64) -> $t {
                x as $t
            }
            fn any(bits: u64) -> $t {
                $t::from_bits((bits >> (64 - $bits::BITS)) as $bits)
            }
            fn stepped(self, steps: i64) -> $t {
                $t::from_bits((self.to_bits() as i64 + steps) as $bits)
            }
        }
    };
}

float!(f32, u32, 23);
float!(f64, u64, 52);

/// Arguments of all sizes, most of them where functions bend, next to their zeros and to the ends of their ranges.
fn arguments<T: Float>(count: usize, seed: u64) -> Vec<T> {
    let mut random = Random(seed);
    let argument = |at: usize| {
        let sign = 1.0f64.copysign(random.within(-1.0, 1.0));
        let near = T::from_wide(match at % 12 {
            0 => random.within(-110.0, 110.0),
            1 => random.within(-20.0, 20.0),
            2 => sign * (1.0 + random.within(-0.1, 0.1)),
            3 => sign * random.within(-40.0, 40.0).exp2(),
            4 => (1.0 + sign * random.within(-55.0, 0.0).exp2()) * 1.0f64.copysign(random.within(-1.0, 1.0)),
            5 => return T::any(random.bits()),
            6 | 7 => sign * random.within(0.0, 31.0).exp2().round() * FRAC_PI_2,
            8 => random.within(-760.0, 760.0),
            9 => random.within(-12.0, 4.0),
            10 => random.within(0.0, 12.0).round() * sign + random.within(-50.0, -1.0).exp2(),
            _ => random.within(-2.0, 2.0),
        });
        match at % 12 {
            6 | 7 => near.stepped((random.bits() % 5) as i64 - 2),
            _ => near,
        }
    };
    (0..count).map(argument).collect()
}

/// Every kernel for these types, after the table's function.
fn instances(eager: bool) -> impl Iterator<Item = Option<Instructions>> {
    eager.then_some(None).into_iter().chain(Instructions::available().map(Some))
}

/// Checks an operation at these arguments, whose exact results are given, and says how far off the worst result is.
fn check<T: Float>(op: Unary, arguments: &[T], exact: impl Fn(usize) -> Wide) -> f64 {
    let parameter = op.parameter().unwrap_or(0);
    let eager: Vec<T> = arguments.iter().map(|&x| T::unary(op, x)).collect();
    let mut worst = 0.0f64;
    let exact: Vec<(Wide, f64)> = (0..arguments.len()).map(|at| (exact(at), scale(op, arguments[at].wide()))).collect();
    for isa in instances(true) {
        let found = match isa {
            None => eager.clone(),
            Some(isa) => {
                let (kernel, count) = (unary(isa, op, T::DTYPE), arguments.len());
                let (a, b) = (arguments.as_ptr().cast(), (&raw const parameter).cast());
                // SAFETY: the operand and the result have this many elements, and the parameter is one.
                result_of(count, |out| unsafe { kernel(out, a, b, null(), count) })
            }
        };
        for (at, &found) in found.iter().enumerate() {
            let (exact, scale) = exact[at];
            if may_vanish(op) && found.wide() == 0.0 && exact.high < T::LEAST {
                continue;
            }
            let units = found.units(exact, scale);
            let place = (op, T::DTYPE, isa, arguments[at]);
            let bound = bound(op).max(if is_beyond_reduction(op, arguments[at]) { 16.0 } else { 0.0 });
            assert!(units <= bound, "{place:?}: {found:?} is {units:.2} units from {:?}", exact.high);
            worst = worst.max(units);
        }
    }
    worst
}

/// As [`check`], of two operands.
fn check_pairs<T: Float>(op: Binary, bound: f64, a: &[T], b: &[T]) -> f64 {
    let count = a.len();
    let mut worst = 0.0f64;
    let exact: Vec<Wide> = (0..count).map(|at| references::binary(op, a[at].wide(), b[at].wide()).unwrap()).collect();
    for isa in instances(true) {
        let found: Vec<T> = match isa {
            None => (0..count).map(|at| T::binary(op, a[at], b[at])).collect(),
            Some(isa) => {
                let kernel = binary(isa, op, T::DTYPE, OperandForm::Run, OperandForm::Run);
                // SAFETY: the operands and the result have this many elements.
                result_of(count, |out| unsafe { kernel(out, a.as_ptr().cast(), b.as_ptr().cast(), null(), count) })
            }
        };
        for (at, &found) in found.iter().enumerate() {
            let (a, b) = (a[at].wide(), b[at].wide());
            // Next to its zero, the sum is as exact as the larger of its terms.
            let scale = match op {
                Binary::LogAddExp if a.is_finite() && b.is_finite() => a.max(b).abs().max((exact[at] - a.max(b)).high),
                _ => 0.0,
            };
            let units = found.units(exact[at], scale);
            let place = (op, T::DTYPE, isa, a, b);
            assert!(units <= bound, "{place:?}: {found:?} is {units:.2} units from {:?}", exact[at].high);
            worst = worst.max(units);
        }
    }
    worst
}

/// Rows of the table on floats, some with a parameter.
fn rows() -> impl Iterator<Item = Unary> {
    let with_parameter = [1, 2, 3].map(Unary::Polygamma).into_iter().chain([2, 3, 17, -1, -3].map(Unary::Powi));
    UNARY_ROWS.iter().copied().filter(|op| op.domain().accepts(DType::F64)).chain(with_parameter)
}

/// A power with factors below full precision differs from that of real numbers.
fn is_in_range<T: Float>(op: Unary, x: T) -> bool {
    match op {
        Unary::Powi(n) => {
            let size = n.unsigned_abs() as f64 * x.wide().abs().log2();
            size.abs() < -T::LEAST.log2() - 2.0
        }
        // Among numbers of that size the function has nothing but poles.
        Unary::Polygamma(_) => x.wide() > -1e15 && (x.wide().abs() > 1e-9),
        _ => true,
    }
}

fn tables<T: Float>(count: usize) {
    for op in rows() {
        let arguments: Vec<T> = arguments(count, 1).into_iter().filter(|&x| is_in_range(op, x)).collect();
        let mut worst = 0.0f64;
        for part in arguments.chunks(10_000) {
            worst = worst.max(check(op, part, |at| references::unary(op, part[at].wide())));
        }
        println!("{:?} {op:?}: {worst:.3}", T::DTYPE);
    }
    for (op, bound) in BINARY_ROWS.iter().filter_map(|&op| Some((op, pair_bound(op)?))) {
        let (a, b): (Vec<T>, Vec<T>) = (arguments(count, 2), arguments(count + 5, 3));
        let mut worst = 0.0f64;
        for start in (0..count).step_by(10_000) {
            let end = (start + 10_000).min(count);
            worst = worst.max(check_pairs(op, bound, &a[start..end], &b[start + 5..end + 5]));
        }
        println!("{:?} {op:?}: {worst:.3}", T::DTYPE);
    }
}

#[test]
fn singles_are_within_their_bounds() {
    tables::<f32>(400);
}

#[test]
fn doubles_are_within_their_bounds() {
    tables::<f64>(400);
}

#[test]
fn hard_points_are_within_the_bounds() {
    for &(op, points) in HARD_POINTS {
        let doubles: Vec<f64> = points.iter().map(|point| point.0).collect();
        check(op, &doubles, |at| Wide { high: points[at].1, low: points[at].2 });
        let singles: Vec<_> = points.iter().filter(|point| f64::from(point.0 as f32) == point.0).collect();
        let arguments: Vec<f32> = singles.iter().map(|point| point.0 as f32).collect();
        check(op, &arguments, |at| Wide { high: singles[at].1, low: singles[at].2 });
    }
}

/// The references were computed by mpmath.
#[test]
fn references_are_exact_at_hard_points() {
    for &(op, points) in HARD_POINTS {
        for &(x, high, low) in points {
            let found = references::unary(op, x);
            let difference = (found - Wide { high, low }).high.abs();
            // Next to zeros as exact as the terms that cancel.
            let size = high.abs().max(1e-4 * scale(op, x)).max(if op == Unary::Digamma { 1e-4 } else { 0.0 });
            assert!(difference <= 1e-25 * size, "{op:?} at {x:?}: {found:?} instead of {high:?} and {low:?}");
        }
    }
}

#[test]
#[ignore = "takes minutes in optimised code"]
fn singles_are_within_their_bounds_over_dense_ranges() {
    tables::<f32>(600_000);
    // All floats with a stride: the functions of doubles are exact enough to check those of singles.
    for op in rows() {
        let every: Vec<f32> =
            (0..=u32::MAX).step_by(1013).map(f32::from_bits).filter(|&x| is_in_range(op, x)).collect();
        for part in every.chunks(10_000) {
            check(op, part, |at| f64::unary(op, f64::from(part[at])).into());
        }
    }
}

#[test]
#[ignore = "takes minutes in optimised code"]
fn doubles_are_within_their_bounds_over_dense_ranges() {
    tables::<f64>(600_000);
}
