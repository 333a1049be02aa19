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
    fn jump(&mut self, distance: f64, exact: bool) {
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
        Unary::Floor => {
            watch.jump(x - x.round(), exact);
            watch.decide(x.floor() as i64);
            return (x.floor(), true);
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
            let mut product = 1.0;
            for _ in 0..n.unsigned_abs() {
                product *= x;
            }
            if n < 0 { 1.0 / product } else { product }
        }
        Unary::Sqrt => {
            watch.singular(x);
            x.sqrt()
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
        Unary::Not => unreachable!("not of floats"),
    };
    (y, false)
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
        _ => wrapped(dtype, integer_binary(op, a.whole(), b.whole())),
    }
}

fn integer_binary(op: Binary, a: i64, b: i64) -> i64 {
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
        Binary::And => a & b,
        Binary::Or => a | b,
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

/// Of two candidates for an extreme, whether the second replaces the first.
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
