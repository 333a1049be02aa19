//! The meaning of elementwise operations, element by element.

use super::{Cell, Watch};
use deltaray::operation::{Binary, Comparison, Unary};
use deltaray::shape::DType;

/// Closer than this to a singularity of a function, rounding errors grow large.
const SINGULAR: f64 = 0.02;

/// A float of an element type.
pub(super) fn rounded(dtype: DType, x: f64, exact: bool) -> Cell {
    Cell::Float(if dtype == DType::F32 { x as f32 as f64 } else { x }, exact)
}

/// An integer of an element type.
fn wrapped(dtype: DType, n: i64) -> Cell {
    Cell::Whole(if dtype == DType::I32 { n as i32 as i64 } else { n })
}

/// Whether sums and products of such numbers are exact in any order.
fn simple(x: f64) -> bool {
    x.fract() == 0.0 && x.abs() < 1e6
}

impl Watch {
    /// A value at `x` has a jump at distance `distance`.
    pub(super) fn jump(&mut self, distance: f64, exact: bool) {
        if distance.abs() < self.margin && !exact {
            self.fragile_value = true;
            self.fragile_derivative = true;
        }
    }

    /// A derivative at `x` has a jump at distance `distance`.
    fn kink(&mut self, distance: f64, exact: bool) {
        if distance.abs() < self.margin && !exact {
            self.fragile_derivative = true;
        }
    }

    /// A function is singular at distance `distance`.
    fn singular(&mut self, distance: f64) {
        if distance < SINGULAR {
            self.fragile_value = true;
            self.fragile_derivative = true;
        }
    }
}

pub(super) fn unary(op: Unary, dtype: DType, a: Cell, watch: &mut Watch) -> Cell {
    match a {
        Cell::Whole(n) => wrapped(
            dtype,
            match op {
                Unary::Not => i64::from(n == 0),
                Unary::Neg => n.wrapping_neg(),
                Unary::Abs => n.wrapping_abs(),
                Unary::Sign => n.signum(),
                Unary::Relu => n.max(0),
                Unary::BitNot => -1 - n,
                other => unreachable!("{other:?} of integers"),
            },
        ),
        Cell::Float(x, exact) => {
            let (y, exact) = float_unary(op, x, exact, watch);
            rounded(dtype, y, exact)
        }
    }
}

fn float_unary(op: Unary, x: f64, exact: bool, watch: &mut Watch) -> (f64, bool) {
    let y = match op {
        Unary::Neg => return (-x, exact),
        Unary::Abs => {
            watch.kink(x, exact);
            watch.decide(if x == 0.0 { 0 } else { x.signum() as i64 });
            return (x.abs(), exact);
        }
        Unary::Sign => {
            watch.jump(x, exact);
            watch.decide(if x == 0.0 { 0 } else { x.signum() as i64 });
            return (if x == 0.0 { 0.0 } else { x.signum() }, true);
        }
        Unary::Relu => {
            watch.kink(x, exact);
            watch.decide(i64::from(x > 0.0));
            return (x.max(0.0), exact);
        }
        Unary::Floor | Unary::Ceil => {
            watch.jump(x - x.round(), exact);
            let y = if op == Unary::Floor { x.floor() } else { -(-x).floor() };
            watch.decide(y as i64);
            return (y, true);
        }
        Unary::Round => {
            watch.jump((x - 0.5) - (x - 0.5).round(), exact);
            watch.decide(x.round() as i64);
            return (x.round(), true);
        }
        Unary::Recip => {
            watch.singular(x.abs());
            1.0 / x
        }
        Unary::Powi(n) => {
            if n < 0 {
                watch.singular(x.abs());
            }
            let (mut product, mut square, mut rest) = (1.0, x, n.unsigned_abs());
            while rest > 0 {
                product *= if rest % 2 == 1 { square } else { 1.0 };
                square *= square;
                rest /= 2;
            }
            if n < 0 { 1.0 / product } else { product }
        }
        Unary::Sqrt => {
            watch.singular(x);
            x.sqrt()
        }
        Unary::Cbrt => {
            watch.singular(x.abs());
            x.signum() * (x.abs().ln() / 3.0).exp()
        }
        Unary::Exp2 => (x * std::f64::consts::LN_2).exp(),
        Unary::Log2 | Unary::Log10 => {
            watch.singular(x);
            x.ln() / if op == Unary::Log2 { 2.0f64.ln() } else { 10.0f64.ln() }
        }
        Unary::Asin | Unary::Acos | Unary::Atanh => {
            watch.singular(1.0 - x.abs());
            match op {
                Unary::Asin => x.asin(),
                Unary::Acos => std::f64::consts::FRAC_PI_2 - x.asin(),
                _ => 0.5 * ((1.0 + x) / (1.0 - x)).ln(),
            }
        }
        Unary::Atan => x.atan2(1.0),
        Unary::Sinh => 0.5 * (x.exp_m1() - (-x).exp_m1()),
        Unary::Cosh => 0.5 * (x.exp() + (-x).exp()),
        Unary::Asinh => x.signum() * (x.abs() + (x * x + 1.0).sqrt()).ln(),
        Unary::Acosh => {
            watch.singular(x - 1.0);
            (x + (x * x - 1.0).sqrt()).ln()
        }
        Unary::Erf => error_function(x),
        Unary::Erfc => 1.0 - error_function(x),
        Unary::Lgamma | Unary::Digamma | Unary::Polygamma(_) => {
            watch.singular(if x < 0.5 { (x - x.round()).abs() } else { x });
            match op {
                // The factorials of larger orders are infinite.
                Unary::Polygamma(order) if order > 170 => f64::NAN,
                Unary::Polygamma(order) => polygamma(order as i32, x),
                _ => gamma_family(op, x),
            }
        }
        Unary::StopGradient => {
            // Differences see through it.
            watch.fragile_derivative = true;
            return (x, exact);
        }
        Unary::Exp => x.exp(),
        Unary::Expm1 => x.exp_m1(),
        Unary::Ln => {
            watch.singular(x);
            x.ln()
        }
        Unary::Ln1p => {
            watch.singular(1.0 + x);
            x.ln_1p()
        }
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tan => {
            watch.singular(x.cos().abs());
            x.tan()
        }
        Unary::Tanh => x.tanh(),
        Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Unary::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        other => unreachable!("{other:?} of floats"),
    };
    (y, false)
}

/// The error function, by its series, which converges everywhere and is exact enough near 0, and by a continued fraction.
fn error_function(x: f64) -> f64 {
    let square = x * x;
    if x.abs() < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..120 {
            term *= 2.0 * square / f64::from(2 * n + 1);
            sum += term;
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI * (-square).exp();
    }
    let mut fraction = 0.0;
    for n in (1..200).rev() {
        fraction = 0.5 * f64::from(n) / (x.abs() + fraction);
    }
    let tail = (-square).exp() / (x.abs() + fraction) * 0.5 * std::f64::consts::FRAC_2_SQRT_PI;
    x.signum() * (1.0 - tail)
}

/// A derivative of the digamma function by its sum, the tail of which is nearly an integral.
fn polygamma(order: i32, x: f64) -> f64 {
    let factorial: f64 = (1..=order).map(f64::from).product();
    let (mut at, mut sum) = (x, 0.0);
    for _ in 0..1000 {
        sum += at.powi(-order - 1);
        at += 1.0;
    }
    let n = f64::from(order);
    let tail = at.powi(-order) / n + at.powi(-order - 1) / 2.0 + (n + 1.0) * at.powi(-order - 2) / 12.0;
    factorial * (sum + tail) * if order % 2 == 1 { 1.0 } else { -1.0 }
}

/// The logarithm of the gamma function and its derivative, by Stirling's series after the recurrence. This has too many steps
/// for numbers far below 0, for which the result is NaN.
fn gamma_family(op: Unary, x: f64) -> f64 {
    if x < -1e4 {
        return f64::NAN;
    }
    let (mut at, mut below) = (x, 0.0);
    while at < 30.0 {
        below += if op == Unary::Lgamma { at.abs().ln() } else { 1.0 / at };
        at += 1.0;
    }
    let square = at * at;
    match op {
        Unary::Lgamma => {
            let series = 1.0 / (12.0 * at) - 1.0 / (360.0 * at * square) + 1.0 / (1260.0 * at * square * square);
            (at - 0.5) * at.ln() - at + 0.5 * std::f64::consts::TAU.ln() + series - below
        }
        _ => {
            let series = 1.0 / (12.0 * square) - 1.0 / (120.0 * square * square) + 1.0 / (252.0 * square.powi(3));
            at.ln() - 0.5 / at - series - below
        }
    }
}

/// The sum of two cells of an element type, as reductions and scatters add.
pub(super) fn add(dtype: DType, a: Cell, b: Cell, watch: &mut Watch) -> Cell {
    match dtype {
        DType::Bool => Cell::Whole(a.whole() | b.whole()),
        _ => binary(Binary::Add, dtype, a, b, watch),
    }
}

pub(super) fn binary(op: Binary, dtype: DType, a: Cell, b: Cell, watch: &mut Watch) -> Cell {
    match (a, b) {
        (Cell::Float(x, x_exact), Cell::Float(y, y_exact)) => {
            let (z, exact) = float_binary(op, (x, x_exact), (y, y_exact), watch);
            rounded(dtype, z, exact)
        }
        _ => wrapped(dtype, integer_binary(op, dtype, a.whole(), b.whole())),
    }
}

fn integer_binary(op: Binary, dtype: DType, a: i64, b: i64) -> i64 {
    let width = if dtype == DType::I32 { 32 } else { 64 };
    let (wide_a, wide_b) = (a as i128, b as i128);
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Quot | Binary::FloorDiv | Binary::Rem | Binary::Modulo if b == 0 => a,
        Binary::Quot => (wide_a / wide_b) as i64,
        Binary::Rem => (wide_a % wide_b) as i64,
        Binary::FloorDiv => floor_quotient(wide_a, wide_b) as i64,
        Binary::Modulo => (wide_a - wide_b * floor_quotient(wide_a, wide_b)) as i64,
        Binary::Min | Binary::MinRight => a.min(b),
        Binary::Max | Binary::MaxRight => a.max(b),
        Binary::And | Binary::BitAnd => a & b,
        Binary::Or | Binary::BitOr => a | b,
        Binary::Xor => i64::from(a != b),
        Binary::BitXor => (a | b) & !(a & b),
        Binary::ShiftLeft if !(0..width).contains(&b) => 0,
        // Bits beyond the width are cut off where the result is wrapped.
        Binary::ShiftLeft => (wide_a << b) as i64,
        Binary::ShiftRight => (wide_a >> if (0..width).contains(&b) { b } else { 64 }) as i64,
        other => unreachable!("{other:?} of integers"),
    }
}

fn floor_quotient(a: i128, b: i128) -> i128 {
    let remainder = a.rem_euclid(b.abs());
    // a − remainder is a multiple of b; the quotient is rounded down for positive b, and up for negative b.
    let quotient = (a - remainder) / b;
    if b < 0 && remainder != 0 { quotient - 1 } else { quotient }
}

fn float_binary(op: Binary, (x, x_exact): (f64, bool), (y, y_exact): (f64, bool), watch: &mut Watch) -> (f64, bool) {
    let both = x_exact && y_exact;
    match op {
        Binary::Add | Binary::Sub => {
            let z = if op == Binary::Add { x + y } else { x - y };
            let exact = (x == 0.0 && x_exact) || (y == 0.0 && y_exact) || (simple(x) && simple(y));
            (z, both && exact || x == 0.0 && x_exact && y_exact || y == 0.0 && y_exact && x_exact)
        }
        Binary::Mul | Binary::KeepZero => {
            let zero = (x == 0.0 && x_exact) || (y == 0.0 && y_exact);
            let unit = x.abs() == 1.0 || y.abs() == 1.0;
            (x * y, zero || both && (unit || simple(x) && simple(y)))
        }
        Binary::Div => {
            watch.singular(y.abs());
            (x / y, false)
        }
        Binary::Pow => {
            watch.singular(x);
            (x.powf(y), false)
        }
        Binary::Atan2 => {
            watch.singular(x.hypot(y));
            // The angle jumps where the point crosses the negative half of the axis.
            if y < 0.0 {
                watch.jump(x, false);
            }
            (x.atan2(y), false)
        }
        Binary::Hypot => {
            watch.singular(x.abs().max(y.abs()));
            ((x * x + y * y).sqrt(), false)
        }
        Binary::LogAddExp => (x.max(y) + (-(x - y).abs()).exp().ln_1p(), false),
        Binary::Xlogy => {
            watch.singular(y);
            (if x == 0.0 { 0.0 } else { x * y.ln() }, x == 0.0 && x_exact)
        }
        Binary::Min | Binary::MinRight | Binary::Max | Binary::MaxRight => {
            watch.kink(x - y, both);
            watch.decide(x.partial_cmp(&y).map_or(2, |order| order as i64));
            let smaller = matches!(op, Binary::Min | Binary::MinRight);
            let left = if smaller { x < y } else { x > y };
            if left || x == y && matches!(op, Binary::Min | Binary::Max) { (x, x_exact) } else { (y, y_exact) }
        }
        other => unreachable!("{other:?} of floats"),
    }
}

pub(super) fn compare(op: Comparison, a: Cell, b: Cell, watch: &mut Watch) -> Cell {
    let order = match (a, b) {
        (Cell::Float(x, x_exact), Cell::Float(y, y_exact)) => {
            watch.jump(x - y, x_exact && y_exact);
            x.partial_cmp(&y)
        }
        _ => Some(a.whole().cmp(&b.whole())),
    };
    use std::cmp::Ordering::{Equal, Greater, Less};
    let answer = match op {
        Comparison::Less => order == Some(Less),
        Comparison::LessEqual => matches!(order, Some(Less | Equal)),
        Comparison::Greater => order == Some(Greater),
        Comparison::GreaterEqual => matches!(order, Some(Greater | Equal)),
        Comparison::Equal => order == Some(Equal),
        Comparison::NotEqual => order != Some(Equal),
    };
    watch.decide(i64::from(answer));
    Cell::Whole(i64::from(answer))
}

pub(super) fn cast(a: Cell, to: DType, watch: &mut Watch) -> Cell {
    match (a, to) {
        (Cell::Float(x, exact), DType::F32 | DType::F64) => rounded(to, x, exact),
        (Cell::Float(x, exact), DType::Bool) => {
            watch.jump(x, exact);
            watch.decide(i64::from(x != 0.0));
            Cell::Whole(i64::from(x != 0.0))
        }
        (Cell::Float(x, exact), DType::I32 | DType::I64) => {
            if x.abs() > 0.5 {
                watch.jump(x - x.round(), exact);
            }
            let n = if to == DType::I32 { x as i32 as i64 } else { x as i64 };
            watch.decide(n);
            Cell::Whole(n)
        }
        (Cell::Whole(n), DType::F32 | DType::F64) => rounded(to, n as f64, true),
        (Cell::Whole(n), DType::Bool) => Cell::Whole(i64::from(n != 0)),
        (Cell::Whole(n), DType::I32 | DType::I64) => wrapped(to, n),
    }
}

/// Whether the second of two candidates for an extreme replaces the first.
pub(super) fn replaces(max: bool, best: Cell, other: Cell, watch: &mut Watch) -> bool {
    match (best, other) {
        (Cell::Float(x, x_exact), Cell::Float(y, y_exact)) => {
            watch.kink(x - y, x_exact && y_exact);
            let answer = if max { y > x } else { y < x };
            watch.decide(i64::from(answer));
            answer
        }
        _ => {
            if max {
                other.whole() > best.whole()
            } else {
                other.whole() < best.whole()
            }
        }
    }
}

/// As [`replaces`], where the position of the extreme is the value.
pub(super) fn replaces_position(max: bool, best: Cell, other: Cell, watch: &mut Watch) -> bool {
    if let (Cell::Float(x, x_exact), Cell::Float(y, y_exact)) = (best, other) {
        watch.jump(x - y, x_exact && y_exact);
    }
    replaces(max, best, other, watch)
}
