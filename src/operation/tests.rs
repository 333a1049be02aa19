//! The table's rows at special values, and their derivatives against differences.

use super::*;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::shape::Value;
use std::f64::consts::FRAC_2_SQRT_PI;

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn number(x: f64) -> Array {
    Array::full(&[], Value::F64(x))
}

fn unary(op: Unary, x: f64) -> f64 {
    Concrete::unary(op, number(x)).element(0).to_f64()
}

fn binary(op: Binary, a: f64, b: f64) -> f64 {
    Concrete::binary(op, number(a), number(b)).element(0).to_f64()
}

fn integers(op: Binary, a: i64, b: i64) -> i64 {
    let of = |x| Array::full(&[], Value::I64(x));
    Concrete::binary(op, of(a), of(b)).element(0).to_integer().unwrap()
}

fn small_integers(op: Binary, a: i32, b: i32) -> i64 {
    let of = |x| Array::full(&[], Value::I32(x));
    Concrete::binary(op, of(a), of(b)).element(0).to_integer().unwrap()
}

fn slope(partial: Partial<Concrete>) -> f64 {
    match partial {
        Partial::Zero => 0.0,
        Partial::One => 1.0,
        Partial::Factor(array) => array.element(0).to_f64(),
        Partial::Factors(one, other) => one.element(0).to_f64() * other.element(0).to_f64(),
        Partial::Mask(array) => {
            assert_eq!(array.dtype(), DType::Bool);
            array.element(0).to_f64()
        }
    }
}

fn unary_slope(op: Unary, x: f64) -> f64 {
    slope(op.partial::<Concrete>(&number(x), &number(unary(op, x))))
}

/// The derivatives by the left and the right operand.
fn binary_slopes(op: Binary, a: f64, b: f64) -> (f64, f64) {
    let (left, right, y) = (number(a), number(b), number(binary(op, a, b)));
    let common = op.common_partial::<Concrete>(&left, &right).map_or(1.0, |factor| factor.element(0).to_f64());
    let (da, db) = (op.left_partial::<Concrete>(&left, &right, &y), op.right_partial::<Concrete>(&left, &right, &y));
    (common * slope(da), common * slope(db))
}

/// The five-point difference quotient.
fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-3;
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn floats(domain: Domain) -> bool {
    domain.accepts(DType::F64)
}

/// Points of the interval that tests draw from, away from its ends.
fn points((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    (1..8).map(move |n| low + (high - low) * n as f64 / 8.0)
}

/// Rows with a parameter.
const POWERS: [Unary; 8] = [
    Unary::Powi(-2),
    Unary::Powi(-1),
    Unary::Powi(0),
    Unary::Powi(1),
    Unary::Powi(2),
    Unary::Powi(5),
    Unary::Polygamma(1),
    Unary::Polygamma(2),
];

#[test]
fn derivatives_of_one_operand_agree_with_differences() {
    let has_slope = |op: &&Unary| floats(op.domain()) && **op != Unary::StopGradient;
    for &op in UNARY_ROWS.iter().chain(&POWERS).filter(has_slope) {
        for x in points(op.test_interval()) {
            let (exact, approximate) = (unary_slope(op, x), difference(|x| unary(op, x), x));
            assert!((exact - approximate).abs() < 1e-7 * (1.0 + exact.abs()), "{op:?} at {x}: {exact} {approximate}");
        }
    }
}

#[test]
fn derivatives_of_two_operands_agree_with_differences() {
    for &op in BINARY_ROWS.iter().filter(|op| floats(op.domain())) {
        for a in points(op.test_interval()) {
            for b in points(op.test_interval()).map(|b| b + 0.01) {
                let (da, db) = binary_slopes(op, a, b);
                let by_a = difference(|a| binary(op, a, b), a);
                let by_b = difference(|b| binary(op, a, b), b);
                // At a = 0 the operation itself is not a product, and its derivative is by definition.
                let defined = op == Binary::KeepZero && a == 0.0;
                assert!(defined || (da - by_a).abs() < 1e-7 * (1.0 + da.abs()), "{op:?} at {a}, {b}: {da} {by_a}");
                assert!((db - by_b).abs() < 1e-7 * (1.0 + db.abs()), "{op:?} at {a}, {b}: {db} {by_b}");
            }
        }
    }
}

#[test]
fn rows_that_keep_zeros_do_so_with_finite_derivatives() {
    for &op in UNARY_ROWS.iter().chain(&POWERS).filter(|op| floats(op.domain())) {
        let keeps = unary(op, 0.0) == 0.0 && unary_slope(op, 0.0).is_finite();
        assert_eq!(op.keeps_zero(), keeps, "{op:?}");
    }
    for &op in BINARY_ROWS.iter().filter(|op| floats(op.domain()) && op.keeps_zero()) {
        let (da, db) = binary_slopes(op, 0.0, 0.0);
        assert!(binary(op, 0.0, 0.0) == 0.0 && da.is_finite() && db.is_finite(), "{op:?}");
    }
    for &op in BINARY_ROWS.iter().filter(|op| op.domain().accepts(DType::I64) && op.keeps_zero()) {
        assert_eq!(integers(op, 0, 0), 0, "{op:?}");
    }
}

#[test]
fn values_at_special_points() {
    let rows = [
        (Unary::Neg, 0.0, -0.0),
        (Unary::Recip, 0.0, INFINITY),
        (Unary::Abs, -INFINITY, INFINITY),
        (Unary::Sign, 0.0, 0.0),
        (Unary::Sign, -INFINITY, -1.0),
        (Unary::Sign, NAN, NAN),
        (Unary::Sqrt, -1.0, NAN),
        (Unary::Exp, -INFINITY, 0.0),
        (Unary::Expm1, 1e-20, 1e-20),
        (Unary::Ln, 0.0, -INFINITY),
        (Unary::Ln, -1.0, NAN),
        (Unary::Ln1p, 1e-20, 1e-20),
        (Unary::Ln1p, -1.0, -INFINITY),
        (Unary::Tanh, INFINITY, 1.0),
        (Unary::Sigmoid, -1000.0, 0.0),
        (Unary::Sigmoid, 1000.0, 1.0),
        (Unary::Sigmoid, 0.0, 0.5),
        (Unary::Softplus, 1000.0, 1000.0),
        (Unary::Softplus, -1000.0, 0.0),
        (Unary::Softplus, INFINITY, INFINITY),
        (Unary::Softplus, NAN, NAN),
        (Unary::Relu, -0.0, 0.0),
        (Unary::Relu, -INFINITY, 0.0),
        (Unary::Relu, NAN, NAN),
        (Unary::Floor, -0.5, -1.0),
        (Unary::Round, 0.5, 1.0),
        (Unary::Round, -0.5, -1.0),
        (Unary::Round, 2.5, 3.0),
        (Unary::Round, -2.5, -3.0),
        (Unary::Cbrt, -8.0, -2.0),
        (Unary::Exp2, 10.0, 1024.0),
        (Unary::Log2, 8.0, 3.0),
        (Unary::Log10, 1000.0, 3.0),
        (Unary::Log2, 0.0, -INFINITY),
        (Unary::Asin, 1.5, NAN),
        (Unary::Acosh, 1.0, 0.0),
        (Unary::Acosh, 0.5, NAN),
        (Unary::Atanh, 1.0, INFINITY),
        (Unary::Erf, INFINITY, 1.0),
        (Unary::Erf, 1e-300, 1e-300 * FRAC_2_SQRT_PI),
        (Unary::Erfc, -INFINITY, 2.0),
        (Unary::Lgamma, 1.0, 0.0),
        (Unary::Lgamma, 0.0, INFINITY),
        (Unary::Digamma, 0.0, -INFINITY),
        (Unary::Digamma, -1.0, NAN),
        (Unary::Polygamma(1), 0.0, INFINITY),
        (Unary::Ceil, -0.5, -0.0),
        (Unary::Ceil, 0.5, 1.0),
        (Unary::Powi(0), NAN, 1.0),
        (Unary::Powi(-1), 0.0, INFINITY),
        (Unary::Powi(3), -2.0, -8.0),
    ];
    for (op, x, y) in rows {
        assert!(same(unary(op, x), y), "{op:?} of {x} is {}, not {y}", unary(op, x));
    }
    for &op in UNARY_ROWS.iter().filter(|op| floats(op.domain())) {
        assert!(unary(op, NAN).is_nan(), "{op:?} loses a NaN");
    }
}

#[test]
fn derivatives_where_there_is_none() {
    let rows = [
        (Unary::Abs, 0.0, 0.0),
        (Unary::Sign, 0.0, 0.0),
        (Unary::Relu, 0.0, 0.0),
        (Unary::Relu, -0.0, 0.0),
        (Unary::Relu, NAN, 0.0),
        (Unary::Sqrt, 0.0, INFINITY),
        (Unary::StopGradient, 2.0, 0.0),
        (Unary::Cbrt, 0.0, INFINITY),
        (Unary::Asin, 1.0, INFINITY),
        (Unary::Acos, 1.0, -INFINITY),
        (Unary::Acosh, 1.0, INFINITY),
        (Unary::Floor, 1.0, 0.0),
        (Unary::Ceil, 1.0, 0.0),
        (Unary::Round, 0.5, 0.0),
        (Unary::Powi(0), 0.0, 0.0),
        (Unary::Powi(1), 0.0, 1.0),
        (Unary::Powi(2), 0.0, 0.0),
    ];
    for (op, x, expected) in rows {
        assert!(same(unary_slope(op, x), expected), "{op:?} at {x}: {}", unary_slope(op, x));
    }
    assert_eq!(binary_slopes(Binary::Pow, 0.0, 0.0), (0.0, 0.0));
    assert_eq!(binary_slopes(Binary::Pow, 0.0, 1.0), (1.0, 0.0));
    assert_eq!(binary_slopes(Binary::Pow, 0.0, 2.0), (0.0, 0.0));
    assert_eq!(binary_slopes(Binary::Pow, 2.0, 0.0), (0.0, 2f64.ln()));
    assert_eq!(binary_slopes(Binary::Pow, -2.0, 0.0).0, 0.0);
    assert_eq!(binary_slopes(Binary::Hypot, 0.0, 0.0), (0.0, 0.0));
    assert_eq!(binary_slopes(Binary::Hypot, 0.0, 2.0), (0.0, 1.0));
    assert_eq!(binary_slopes(Binary::Xlogy, 0.0, 0.0), (0.0, 0.0));
    assert_eq!(binary_slopes(Binary::Xlogy, 0.0, 1.0), (0.0, 0.0));
    assert_eq!(binary_slopes(Binary::Xlogy, 2.0, 0.0), (-INFINITY, INFINITY));
    assert_eq!(binary_slopes(Binary::LogAddExp, -INFINITY, -INFINITY), (0.5, 0.5));
    assert_eq!(binary_slopes(Binary::LogAddExp, -INFINITY, 1.0), (0.0, 1.0));
}

#[test]
fn ties_go_to_one_side_and_nan_wins() {
    for (op, at_tie) in [
        (Binary::Min, (1.0, 0.0)),
        (Binary::Max, (1.0, 0.0)),
        (Binary::MinRight, (0.0, 1.0)),
        (Binary::MaxRight, (0.0, 1.0)),
    ] {
        assert_eq!(binary_slopes(op, 2.0, 2.0), at_tie, "{op:?}");
        assert_eq!(binary_slopes(op, 0.0, -0.0), at_tie, "{op:?}");
        assert!(binary(op, NAN, 1.0).is_nan() && binary(op, 1.0, NAN).is_nan(), "{op:?}");
        assert!(binary(op, NAN, INFINITY).is_nan() && binary(op, -INFINITY, NAN).is_nan(), "{op:?}");
        let least = matches!(op, Binary::Min | Binary::MinRight);
        for (a, b) in [(1.0, 2.0), (2.0, 1.0)] {
            assert_eq!(binary(op, a, b), if least { 1.0 } else { 2.0 });
            assert_eq!(binary_slopes(op, a, b), if (a < b) == least { (1.0, 0.0) } else { (0.0, 1.0) });
        }
        assert_eq!(integers(op, -3, 5), if least { -3 } else { 5 });
    }
}

#[test]
fn keep_zero_is_a_product_that_keeps_zeros() {
    for s in [INFINITY, -INFINITY, NAN, 3.0] {
        assert_eq!(binary(Binary::KeepZero, 0.0, s), 0.0);
        assert_eq!(binary(Binary::KeepZero, -0.0, s), 0.0);
    }
    assert_eq!(binary(Binary::KeepZero, 2.0, 3.0), 6.0);
    assert_eq!(binary(Binary::KeepZero, 2.0, INFINITY), INFINITY);
    assert!(binary(Binary::KeepZero, INFINITY, 0.0).is_nan());
    assert_eq!(binary_slopes(Binary::KeepZero, 0.0, 3.0), (3.0, 0.0));
}

#[test]
fn integer_division_follows_the_table_of_semantics() {
    for a in -7..=7i64 {
        for b in (-4..=4i64).filter(|&b| b != 0) {
            let floor = (a as f64 / b as f64).floor() as i64;
            let truncated = (a as f64 / b as f64).trunc() as i64;
            assert_eq!(integers(Binary::Quot, a, b), truncated);
            assert_eq!(integers(Binary::Rem, a, b), a - b * truncated);
            assert_eq!(integers(Binary::FloorDiv, a, b), floor);
            assert_eq!(integers(Binary::Modulo, a, b), a - b * floor);
        }
        for op in [Binary::Quot, Binary::Rem, Binary::FloorDiv, Binary::Modulo] {
            assert_eq!(integers(op, a, 0), a, "{op:?}");
        }
    }
    for (op, expected) in
        [(Binary::Quot, i64::MIN), (Binary::FloorDiv, i64::MIN), (Binary::Rem, 0), (Binary::Modulo, 0)]
    {
        assert_eq!(integers(op, i64::MIN, -1), expected, "{op:?}");
        assert_eq!(small_integers(op, i32::MIN, -1), if expected == 0 { 0 } else { i32::MIN.into() }, "{op:?}");
    }
    assert_eq!(integers(Binary::FloorDiv, i64::MIN, i64::MAX), -2);
    assert_eq!(integers(Binary::Modulo, i64::MIN, i64::MAX), i64::MAX - 1);
    assert_eq!(integers(Binary::Modulo, i64::MAX, i64::MIN), -1);
}

#[test]
fn integer_arithmetic_wraps() {
    assert_eq!(integers(Binary::Add, i64::MAX, 1), i64::MIN);
    assert_eq!(integers(Binary::Sub, i64::MIN, 1), i64::MAX);
    assert_eq!(integers(Binary::Mul, i64::MAX, 2), -2);
    assert_eq!(small_integers(Binary::Mul, i32::MAX, 2), -2);
    for op in [Unary::Neg, Unary::Abs] {
        let least = Concrete::unary(op, Array::full(&[], Value::I64(i64::MIN)));
        assert_eq!(least.element(0), Value::I64(i64::MIN), "{op:?}");
    }
    let sign = |x| Concrete::unary(Unary::Sign, Array::full(&[], Value::I32(x))).element(0);
    assert_eq!((sign(-7), sign(0), sign(7)), (Value::I32(-1), Value::I32(0), Value::I32(1)));
}

#[test]
fn comparisons_with_nan_are_false_but_for_not_equal() {
    let compare = |op, a, b| Concrete::compare(op, a, b).element(0) == Value::Bool(true);
    for &op in COMPARISON_ROWS {
        let unordered = op == Comparison::NotEqual;
        assert_eq!(compare(op, number(NAN), number(NAN)), unordered, "{op:?}");
        assert_eq!(compare(op, number(NAN), number(1.0)), unordered, "{op:?}");
        let of = |x| Array::full(&[], Value::Bool(x));
        let expected = matches!(op, Comparison::Less | Comparison::LessEqual | Comparison::NotEqual);
        assert_eq!(compare(op, of(false), of(true)), expected, "{op:?}");
        let reflexive = matches!(op, Comparison::LessEqual | Comparison::GreaterEqual | Comparison::Equal);
        assert_eq!(compare(op, number(0.0), number(-0.0)), reflexive, "{op:?}");
    }
}

#[test]
fn names_of_rows_are_unique() {
    let mut names: Vec<&str> = UNARY_ROWS.iter().map(|op| op.name()).collect();
    names.extend(BINARY_ROWS.iter().map(|op| op.name()));
    names.extend(COMPARISON_ROWS.iter().map(|op| op.name()));
    names.push(Unary::Powi(2).name());
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn bits_of_integers() {
    for (op, a, b, expected) in [
        (Binary::BitAnd, 12, 10, 8),
        (Binary::BitOr, 12, 10, 14),
        (Binary::BitXor, 12, 10, 6),
        (Binary::BitAnd, -1, 7, 7),
        (Binary::ShiftLeft, 3, 4, 48),
        (Binary::ShiftLeft, 1, 63, i64::MIN),
        (Binary::ShiftLeft, 1, 64, 0),
        (Binary::ShiftLeft, 1, -1, 0),
        (Binary::ShiftRight, -16, 2, -4),
        (Binary::ShiftRight, 16, 64, 0),
        (Binary::ShiftRight, -16, 64, -1),
        (Binary::ShiftRight, -16, -1, -1),
    ] {
        assert_eq!(integers(op, a, b), expected, "{op:?} of {a} and {b}");
    }
}

#[test]
fn no_operation_tells_zeros_apart() {
    let others = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, INFINITY, -INFINITY, NAN];
    let rows =
        UNARY_ROWS.iter().chain(&POWERS).copied().chain([Unary::Powi(-3), Unary::Polygamma(1), Unary::Polygamma(2)]);
    for op in rows.filter(|op| floats(op.domain())) {
        assert!(same(unary(op, 0.0), unary(op, -0.0)), "{op:?}");
    }
    for &op in BINARY_ROWS.iter().filter(|op| floats(op.domain())) {
        for other in others {
            assert!(same(binary(op, 0.0, other), binary(op, -0.0, other)), "{op:?} of zeros and {other}");
            assert!(same(binary(op, other, 0.0), binary(op, other, -0.0)), "{op:?} of {other} and zeros");
        }
    }
}

#[test]
fn exporters_know_which_operations_would_tell_zeros_apart() {
    // As IEEE 754 and the standard library have them.
    let tells = |f: &dyn Fn(f64) -> f64| !same(f(0.0), f(-0.0));
    for n in [-4, -3, -1, 1, 2, 3] {
        assert!(Unary::Powi(n).tells_zeros() || !tells(&|x: f64| x.powi(n)), "{n}");
    }
    assert!(Unary::Recip.tells_zeros());
    for other in [0.0, -0.0, 1.0, -1.0, -2.0, 2.0, -3.0, 0.5, -0.5, INFINITY, -INFINITY] {
        let pairs: [(Binary, fn(f64, f64) -> f64); 4] = [
            (Binary::Div, |a, b| a / b),
            (Binary::Pow, f64::powf),
            (Binary::Atan2, f64::atan2),
            (Binary::Hypot, f64::hypot),
        ];
        for (op, f) in pairs {
            let [left, right] = op.tells_zeros();
            assert!(left || !tells(&|x| f(x, other)), "{op:?} of zeros and {other}");
            assert!(right || !tells(&|x| f(other, x)), "{op:?} of {other} and zeros");
        }
    }
}
