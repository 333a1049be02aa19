//! As the tables of functions, of their partial derivatives: interpreted and compiled, as the operation table states them.

use super::*;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::derivative::program::{tidy, vjp};
use crate::engine::cpu::{Cpu, Program};
use crate::shape::Type;
use crate::term::interpret::interpret;
use crate::term::{Graph, NodeId, Op};
use elementary::{cosh, exp, hypot, ln, sin_cos, sinh};
use wide::{LN_2, LN_10};

/// How far a derivative may be from the exact one.
#[derive(Clone, Copy, Debug)]
struct Bound {
    units: f64,
    /// The least size whose unit counts, where the derivative is smaller.
    size: f64,
}

fn relative(units: f64) -> Bound {
    Bound { units, size: 0.0 }
}

fn absolute(units: f64) -> Bound {
    Bound { units, size: 1.0 }
}

/// The bound of a derivative that is a multiple of this number: if that overflows or lacks digits, there is no bound.
fn multiple_of<T: Float>(number: Wide, bound: Bound) -> Bound {
    if (T::LEAST..=T::MOST).contains(&number.high.abs()) { bound } else { relative(f64::INFINITY) }
}

fn one() -> Wide {
    Wide::from(1.0)
}

/// (1 − x)(1 + x).
fn one_minus_square(x: f64) -> Wide {
    (one() - x) * (one() + x)
}

/// a / (a² + b²), with squares that stay in range.
fn part_of_square(a: f64, b: f64) -> Wide {
    if a == 0.0 && b == 0.0 {
        return Wide::NAN;
    }
    let size = Wide::from(a.abs().max(b.abs())).exponent();
    let (a, b) = (Wide::from(a).times_power_of_two(-size), Wide::from(b).times_power_of_two(-size));
    (a / (a.square() + b.square())).times_power_of_two(-size)
}

/// The derivative of an operation, and how far off it may be.
fn slope(op: Unary, x: f64) -> (Wide, Bound) {
    let wide = Wide::from(x);
    let zero = Wide::from(0.0);
    let of = references::unary;
    match op {
        Unary::Neg => (-one(), relative(0.0)),
        Unary::Abs => (of(Unary::Sign, x), relative(0.0)),
        Unary::Relu => (Wide::from(f64::from(u8::from(x > 0.0))), relative(0.0)),
        Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::StopGradient => (zero, relative(0.0)),
        Unary::Recip => (-part_of_square(x, 0.0) / x, relative(2.5)),
        Unary::Sqrt => (one() / (wide.sqrt() * 2.0), relative(1.5)),
        Unary::Cbrt => (one() / (elementary::cbrt(x).square() * 3.0), relative(4.0)),
        Unary::Exp | Unary::Expm1 => (of(Unary::Exp, x), relative(1.5)),
        Unary::Exp2 => (of(op, x) * LN_2, relative(4.0)),
        Unary::Ln => (one() / wide, relative(0.6)),
        Unary::Log2 => (one() / LN_2 / wide, relative(1.5)),
        Unary::Log10 => (one() / LN_10 / wide, relative(1.5)),
        Unary::Ln1p => (one() / (wide + 1.0), relative(1.5)),
        Unary::Sin => (sin_cos(x).1, relative(2.0)),
        Unary::Cos => (-sin_cos(x).0, relative(2.0)),
        Unary::Tan => (one() / sin_cos(x).1.square(), relative(6.0)),
        Unary::Asin => (one() / one_minus_square(x).sqrt(), relative(2.5)),
        Unary::Acos => (-one() / one_minus_square(x).sqrt(), relative(2.5)),
        Unary::Atan => (one() / hypot(x, 1.0) / hypot(x, 1.0), relative(2.5)),
        Unary::Sinh => (cosh(x), relative(2.0)),
        Unary::Cosh => (sinh(x), relative(2.0)),
        Unary::Tanh => (one() / cosh(x).square(), absolute(3.0)),
        Unary::Asinh => (one() / hypot(x, 1.0), relative(2.5)),
        Unary::Acosh => (one() / ((wide - 1.0).sqrt() * (wide + 1.0).sqrt()), relative(3.0)),
        Unary::Atanh => (one() / one_minus_square(x), relative(2.5)),
        Unary::Sigmoid => (of(op, x) * of(op, -x), absolute(1.0)),
        Unary::Softplus => (of(Unary::Sigmoid, x), relative(3.0)),
        Unary::Erf => (exp(-wide.square()) * gamma::TWO_OVER_ROOT_PI, relative(4.0 + x * x)),
        Unary::Erfc => (-exp(-wide.square()) * gamma::TWO_OVER_ROOT_PI, relative(4.0 + x * x)),
        Unary::Lgamma => of_function(Unary::Digamma, x),
        Unary::Digamma => of_function(Unary::Polygamma(1), x),
        Unary::Polygamma(order) => of_function(Unary::Polygamma(order + 1), x),
        Unary::Powi(n) => {
            let units = bound(Unary::Powi(n - 1)) * 2.0 + 0.5;
            (of(Unary::Powi(n - 1), x) * f64::from(n), relative(units))
        }
        Unary::Not | Unary::BitNot => unreachable!("{op:?} takes no floats"),
    }
}

/// A derivative that is itself an operation.
fn of_function(op: Unary, x: f64) -> (Wide, Bound) {
    (references::unary(op, x), Bound { units: bound(op), size: scale(op, x) })
}

/// The derivatives of an operation by both operands.
fn slopes<T: Float>(op: Binary, a: f64, b: f64) -> [(Wide, Bound); 2] {
    let exact = |a: f64, b: f64| [(Wide::from(a), relative(0.0)), (Wide::from(b), relative(0.0))];
    let chosen = |left: bool| exact(f64::from(u8::from(left)), f64::from(u8::from(!left)));
    match op {
        Binary::Add => exact(1.0, 1.0),
        Binary::Sub => exact(1.0, -1.0),
        Binary::Mul | Binary::KeepZero => exact(b, a),
        Binary::Min => chosen(a <= b),
        Binary::MinRight => chosen(a < b),
        Binary::Max => chosen(a >= b),
        Binary::MaxRight => chosen(a > b),
        Binary::Div => {
            let inverse = one() / b;
            [(inverse, relative(0.6)), (-(Wide::from(a) / b) / b, relative(2.5))]
        }
        Binary::Pow => {
            let (logarithm, less) = (ln(a.into()), Wide::from(b) - 1.0);
            // The rounding error of b − 1 counts as many times.
            let lost = (logarithm * less).high.abs();
            let (power, lower) = (exp(logarithm * b), exp(logarithm * less));
            let by_base = (lower * b, multiple_of::<T>(lower, relative(5.0 + lost)));
            [by_base, (power * logarithm, multiple_of::<T>(power, relative(7.0)))]
        }
        Binary::Atan2 => [(part_of_square(b, a), relative(6.0)), (-part_of_square(a, b), relative(6.0))],
        Binary::Hypot => [a, b].map(|x| (Wide::from(x) / hypot(a, b), relative(4.0))),
        Binary::LogAddExp => {
            let share = |over: Wide| one() / (exp(-over) + 1.0);
            let difference = Wide::from(a) - b;
            [difference, -difference].map(|over| (share(over), relative(4.0 + over.high.abs())))
        }
        Binary::Xlogy => [(ln(b.into()), relative(1.5)), (Wide::from(a) / b, relative(0.6))],
        _ => unreachable!("{op:?} takes no floats"),
    }
}

/// The derivatives by each operand, by the interpreter on the derived program and by the compiled one.
fn routes<T: Float>(op: &Op, operands: &[Vec<T>]) -> [Vec<Vec<T>>; 2] {
    let count = operands[0].len();
    let ty = Type::new(T::DTYPE, &[count]);
    let mut graph: Graph = Graph::new(&vec![ty; operands.len()], 0);
    let all: Vec<NodeId> = (0..operands.len() as NodeId).collect();
    let result = graph.add(op.clone(), &all);
    let derived = vjp(&graph.finish(&[result]), operands.len()).unwrap();
    let ones = vec![T::from_wide(1.0); count];
    let arguments: Vec<Array> =
        operands.iter().chain([&ones]).map(|elements| Array::from_vec(&[count], elements.clone())).collect();
    let compiled = Program::new(&tidy(&derived), &Cpu::default()).unwrap();
    let of = |results: Vec<Array>| results[1..].iter().map(|result| result.to_vec().unwrap()).collect();
    [of(interpret::<Concrete>(&derived, arguments.clone())), of(compiled.run(&arguments).unwrap())]
}

/// The findings about an operation.
#[derive(Default)]
struct Found {
    /// The units of the derivative that is furthest off.
    worst: f64,
    /// The share of its bound for the one that is furthest beyond, and a description of that.
    beyond: Option<(f64, String)>,
}

/// Checks the derivatives of an operation, given the exact ones and the tolerance at each position.
fn check_slopes<T: Float>(
    found: &mut Found,
    op: &Op,
    operands: &[Vec<T>],
    exact: impl Fn(usize) -> Vec<(Wide, Bound)>,
) {
    let routes = routes(op, operands);
    for at in 0..operands[0].len() {
        let point: Vec<T> = operands.iter().map(|elements| elements[at]).collect();
        for (operand, (exact, bound)) in exact(at).into_iter().enumerate() {
            for (route, results) in ["interpreted", "compiled"].into_iter().zip(&routes) {
                let slope = results[operand][at];
                // Where a derivative is smaller than numbers of full precision, that is all that is promised.
                let is_small = exact.high.abs() < T::LEAST && slope.wide().abs() <= 2.0 * T::LEAST;
                if is_small || bound.units.is_infinite() {
                    continue;
                }
                let units = slope.units(exact, bound.size);
                found.worst = found.worst.max(units);
                let share = units / bound.units;
                if units > bound.units && found.beyond.as_ref().is_none_or(|&(other, _)| share > other) {
                    let bound = bound.units;
                    let place = format!("{op:?}, {:?}, {route}, operand {operand} at {point:?}", T::DTYPE);
                    let exact = exact.high;
                    let text = format!("{place}: {slope:?} is {units:.2} units, more than {bound:.2}, from {exact:?}");
                    found.beyond = Some((share, text));
                }
            }
        }
    }
}

/// Points where derivatives were once far off: ends of ranges, and where terms cancel.
const ENDS: &[f64] = &[
    1e-23,
    3e19,
    1e160,
    3.5e229,
    1.7e308,
    3e38,
    1e-160,
    1e-300,
    1e-38,
    5.0,
    9.5,
    12.0,
    20.0,
    26.0,
    30.0,
    // Where derivatives of error functions are numbers of full precision, and the exponentials that they are multiples of are not.
    9.345532,
    26.616_655_644_012_44,
    60.0,
    88.0,
    300.0,
    0.999_999_9,
    0.999_999_94,
    0.999_999_999_999_999_9,
    1.000_000_1,
    1.000_000_000_000_000_2,
    1.000_001,
    0.999_999_999_9,
];

/// As [`ENDS`], of two operands.
const PAIRS: &[(f64, f64)] = &[(-4.0111024611357435e-308, 1.1921168607060803e-307), (1.62e-39, 9.25e-41)];

fn ends<T: Float>() -> impl Iterator<Item = T> {
    ENDS.iter().flat_map(|&x| [x, -x]).map(T::from_wide).filter(|x| x.wide().is_finite())
}

/// Whether the derivative is one of numbers: the result is a number, and the operation promises one.
fn has_slope<T: Float>(op: Unary, x: T) -> bool {
    let value = T::unary(op, x).wide();
    // The derivative of a power is one too.
    let lower = if let Unary::Powi(n) = op { Unary::Powi(n - 1) } else { op };
    x.wide().is_finite()
        && value.is_finite()
        && is_in_range(lower, x)
        && is_in_range(op, x)
        && (!matches!(op, Unary::Lgamma | Unary::Digamma | Unary::Polygamma(_)) || is_in_range(Unary::Polygamma(1), x))
        && !is_beyond_reduction(op, x)
}

fn have_slopes<T: Float>(op: Binary, a: T, b: T) -> bool {
    let value = T::binary(op, a, b).wide();
    let (a, b) = (a.wide(), b.wide());
    let is_full = |x: f64| x.abs() >= T::LEAST;
    value.is_finite()
        && a.is_finite()
        && b.is_finite()
        && match op {
            // The inverse of a divisor that is smaller is infinite.
            Binary::Div => is_full(b),
            Binary::Pow => a > 0.0 && value != 0.0,
            Binary::Xlogy => b > 0.0,
            Binary::Hypot | Binary::Atan2 => is_full(a.abs().max(b.abs())),
            _ => true,
        }
}

fn slope_tables<T: Float>(count: usize) {
    let mut beyond = Vec::new();
    let mut finish = |name: &str, found: Found| {
        println!("{:?} {name}: {:.3}", T::DTYPE, found.worst);
        beyond.extend(found.beyond.map(|(_, text)| text));
    };
    for op in rows() {
        let all = arguments(count, 4).into_iter().chain(ends()).filter(|&x| has_slope::<T>(op, x));
        let all: Vec<T> = all.collect();
        let mut found = Found::default();
        for part in all.chunks(10_000) {
            check_slopes(&mut found, &Op::Unary(op), &[part.to_vec()], |at| vec![slope(op, part[at].wide())]);
        }
        finish(&format!("{op:?}"), found);
    }
    for &op in BINARY_ROWS.iter().filter(|op| op.domain().accepts(DType::F64)) {
        let mut random = Random(7);
        // Operands of all sizes, and pairs of a size.
        let apart = arguments::<T>(count / 2, 5).into_iter().zip(arguments::<T>(count / 2 + 5, 6).into_iter().skip(5));
        let near = arguments::<T>(count / 2, 8).into_iter().chain(ends());
        let near = near.map(|x| (x, T::from_wide(x.wide() * random.within(-3.0, 3.0))));
        let known = PAIRS.iter().map(|&(a, b)| (T::from_wide(a), T::from_wide(b)));
        let pairs = apart.chain(near).chain(known).filter(|&(a, b)| have_slopes(op, a, b));
        let pairs: Vec<(T, T)> = pairs.collect();
        let mut found = Found::default();
        for part in pairs.chunks(10_000) {
            let (a, b) = part.iter().copied().unzip();
            let exact = |at: usize| slopes::<T>(op, part[at].0.wide(), part[at].1.wide()).to_vec();
            check_slopes(&mut found, &Op::Binary(op), &[a, b], exact);
        }
        finish(&format!("{op:?}"), found);
    }
    assert!(beyond.is_empty(), "\n{}", beyond.join("\n"));
}

#[test]
fn derivatives_of_singles_are_within_their_bounds() {
    slope_tables::<f32>(400);
}

#[test]
fn derivatives_of_doubles_are_within_their_bounds() {
    slope_tables::<f64>(400);
}

#[test]
#[ignore = "takes minutes in optimised code"]
fn derivatives_of_singles_are_within_their_bounds_over_dense_ranges() {
    slope_tables::<f32>(600_000);
}

#[test]
#[ignore = "takes minutes in optimised code"]
fn derivatives_of_doubles_are_within_their_bounds_over_dense_ranges() {
    slope_tables::<f64>(600_000);
}
