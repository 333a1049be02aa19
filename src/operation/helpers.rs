//! Texts of functions that stand beside programs, those of rows of the table: see [`HelperFunction`].

mod gamma;

use super::spelling::HelperFunction;

pub(crate) use gamma::{DIGAMMA, LGAMMA, POLYGAMMA};

pub(crate) const NEG: HelperFunction = HelperFunction::new(
    "neg",
    "static T P_neg_S(T x) { return (T)(0 - (U)x); }",
    "fn neg_S(x: T) -> T {\n    x.wrapping_neg()\n}",
);

pub(crate) const ABS: HelperFunction = HelperFunction::new(
    "abs",
    "static T P_abs_S(T x) { return x < 0 ? (T)(0 - (U)x) : x; }",
    "fn abs_S(x: T) -> T {\n    x.wrapping_abs()\n}",
);

pub(crate) const SIGN: HelperFunction = HelperFunction::new(
    "sign",
    "static T P_sign_S(T x) { return x > 0 ? 1 : x < 0 ? -1 : x; }",
    "fn sign_S(x: T) -> T {\n    if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }\n}",
);

pub(crate) const SIGN_OF_INTEGERS: HelperFunction = HelperFunction::new(
    "sign",
    "static T P_sign_S(T x) { return (x > 0) - (x < 0); }",
    "fn sign_S(x: T) -> T {\n    x.signum()\n}",
);

pub(crate) const POWI: HelperFunction = HelperFunction::new(
    "powi",
    "\
static T P_powi_S(T x, int n)
{
    int64_t left = n < 0 ? -(int64_t)n : n;
    T power = 1, square = x;
    for (; left > 0; left /= 2) {
        if (left % 2 == 1) power *= square;
        square *= square;
    }
    return n < 0 ? 1 / power : power;
}",
    "\
fn powi_S(x: T, n: i32) -> T {
    let (mut left, mut power, mut square) = (n.unsigned_abs(), 1.0, x);
    while left > 0 {
        if left % 2 == 1 {
            power *= square;
        }
        square *= square;
        left /= 2;
    }
    if n < 0 { 1.0 / power } else { power }
}",
);

pub(crate) const CBRT: HelperFunction = HelperFunction::new(
    "cbrt",
    "\
/* A step of Newton's method: some libraries are off by more than three units. */
static T P_cbrt_S(T x)
{
    const T root = cbrtF(x);
    return x == 0 || x - x != 0 ? root : root + (x / (root * root) - root) / 3;
}
",
    "fn cbrt_S(x: T) -> T {\n    CBRT(x)\n}",
);

pub(crate) const SIGMOID: HelperFunction = HelperFunction::new(
    "sigmoid",
    "static T P_sigmoid_S(T x) { return 1 / (1 + expF(-x)); }",
    "fn sigmoid_S(x: T) -> T {\n    1.0 / (1.0 + EXP(-x))\n}",
);

pub(crate) const SOFTPLUS: HelperFunction = HelperFunction::new(
    "softplus",
    "static T P_softplus_S(T x) { return (x > 0 ? x : 0) + log1pF(expF(-fabsF(x))); }",
    "fn softplus_S(x: T) -> T {\n    (if x > 0.0 { x } else { 0.0 }) + LN1P(EXP(if x > 0.0 { -x } else { x }))\n}",
);

pub(crate) const ASINH: HelperFunction = HelperFunction::new(
    "asinh",
    "\
static T P_asinh_S(T x)
{
    const T size = fabsF(x), square = size * size;
    const T root = sqrtF(1 + square);
    return copysignF(size < 1000000000.0F ? log1pF(size + square / (1 + root)) : logF(size) + (T)0.69314718055994530942, x);
}
",
    "\
fn asinh_S(x: T) -> T {
    let size = ABS(x);
    let square = size * size;
    let result = match size < 1e9 {
        true => LN1P(size + square / (1.0 + SQRT(1.0 + square))),
        false => LN(size) + core::T::consts::LN_2,
    };
    COPYSIGN(result, x)
}
",
);

pub(crate) const ACOSH: HelperFunction = HelperFunction::new(
    "acosh",
    "\
static T P_acosh_S(T x)
{
    if (!(x >= 1)) return NAN;
    const T over = x - 1;
    return x < 1000000000.0F ? log1pF(over + sqrtF(2 * over + over * over)) : logF(x) + (T)0.69314718055994530942;
}
",
    "\
fn acosh_S(x: T) -> T {
    let over = x - 1.0;
    if x < 1.0 {
        T::NAN
    } else if x < 1e9 {
        LN1P(over + SQRT(2.0 * over + over * over))
    } else {
        LN(x) + core::T::consts::LN_2
    }
}
",
);

pub(crate) const ATANH: HelperFunction = HelperFunction::new(
    "atanh",
    "\
static T P_atanh_S(T x)
{
    const T size = fabsF(x);
    return copysignF(log1pF(2 * size / (1 - size)) / 2, x);
}
",
    "\
fn atanh_S(x: T) -> T {
    let size = ABS(x);
    COPYSIGN(0.5 * LN1P(2.0 * size / (1.0 - size)), x)
}
",
);

pub(crate) const RELU: HelperFunction = HelperFunction::new(
    "relu",
    "static T P_relu_S(T x) { return x <= 0 ? 0 : x; }",
    "fn relu_S(x: T) -> T {\n    if x <= 0.0 { 0.0 } else { x }\n}",
);

pub(crate) const RELU_OF_INTEGERS: HelperFunction = HelperFunction::new(
    "relu",
    "static T P_relu_S(T x) { return x > 0 ? x : 0; }",
    "fn relu_S(x: T) -> T {\n    x.max(0)\n}",
);

pub(crate) const BIT_NOT: HelperFunction =
    HelperFunction::new("bit_not", "static T P_bit_not_S(T x) { return ~x; }", "fn bit_not_S(x: T) -> T {\n    !x\n}");

pub(crate) const ADD: HelperFunction = HelperFunction::new(
    "add",
    "static T P_add_S(T a, T b) { return (T)((U)a + (U)b); }",
    "fn add_S(a: T, b: T) -> T {\n    a.wrapping_add(b)\n}",
);

pub(crate) const SUB: HelperFunction = HelperFunction::new(
    "sub",
    "static T P_sub_S(T a, T b) { return (T)((U)a - (U)b); }",
    "fn sub_S(a: T, b: T) -> T {\n    a.wrapping_sub(b)\n}",
);

pub(crate) const MUL: HelperFunction = HelperFunction::new(
    "mul",
    "static T P_mul_S(T a, T b) { return (T)((U)a * (U)b); }",
    "fn mul_S(a: T, b: T) -> T {\n    a.wrapping_mul(b)\n}",
);

pub(crate) const QUOT: HelperFunction = HelperFunction::new(
    "quot",
    "static T P_quot_S(T a, T b) { return b == 0 ? a : b == -1 ? (T)(0 - (U)a) : a / b; }",
    "fn quot_S(a: T, b: T) -> T {\n    if b == 0 { a } else { a.wrapping_div(b) }\n}",
);

pub(crate) const REM: HelperFunction = HelperFunction::new(
    "rem",
    "static T P_rem_S(T a, T b) { return b == 0 ? a : b == -1 ? 0 : a % b; }",
    "fn rem_S(a: T, b: T) -> T {\n    if b == 0 { a } else { a.wrapping_rem(b) }\n}",
);

pub(crate) const FLOOR_DIV: HelperFunction = HelperFunction::new(
    "floor_div",
    "\
static T P_floor_div_S(T a, T b)
{
    if (b == 0 || b == -1) return b == 0 ? a : (T)(0 - (U)a);
    return a % b != 0 && (a < 0) != (b < 0) ? a / b - 1 : a / b;
}",
    "\
fn floor_div_S(a: T, b: T) -> T {
    if b == 0 {
        return a;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}",
);

pub(crate) const MODULO: HelperFunction = HelperFunction::new(
    "modulo",
    "\
static T P_modulo_S(T a, T b)
{
    if (b == 0 || b == -1) return b == 0 ? a : 0;
    return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;
}",
    "\
fn modulo_S(a: T, b: T) -> T {
    if b == 0 {
        return a;
    }
    let remainder = a.wrapping_rem(b);
    if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
}",
);

pub(crate) const LOGADDEXP: HelperFunction = HelperFunction::new(
    "logaddexp",
    "\
static T P_logaddexp_S(T a, T b)
{
    const double low = a < b ? a : b, high = a < b ? b : a;
    if (low == high) return (T)(high + 0.69314718055994530942);
    const double difference = low - high, exponential = exp(difference);
    const double lost = difference > -50.0 ? (low - difference) - high : 0.0;
    return (T)(high + log1p(exponential + exponential * lost));
}",
    "\
fn logaddexp_S(a: T, b: T) -> T {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == high {
        return high + core::f64::consts::LN_2;
    }
    let difference = low - high;
    let lost = if difference > -50.0 { (low - difference) - high } else { 0.0 };
    let exponential = EXP(difference);
    high + LN1P(exponential + exponential * lost)
}",
)
.with_single_in_rust("fn logaddexp_S(a: T, b: T) -> T {\n    logaddexp_f64(a as f64, b as f64) as T\n}");

pub(crate) const XLOGY: HelperFunction = HelperFunction::new(
    "xlogy",
    "static T P_xlogy_S(T a, T b) { return a == 0 && b == b ? 0 : a * logF(b); }",
    "fn xlogy_S(a: T, b: T) -> T {\n    if a == 0.0 && b == b { 0.0 } else { a * LN(b) }\n}",
);

pub(crate) const MIN: HelperFunction = HelperFunction::new(
    "min",
    "static T P_min_S(T a, T b) { return a <= b || a != a ? a : b; }",
    "fn min_S(a: T, b: T) -> T {\n    if a <= b || a != a { a } else { b }\n}",
);

pub(crate) const MIN_RIGHT: HelperFunction = HelperFunction::new(
    "min_right",
    "static T P_min_right_S(T a, T b) { return a < b || a != a ? a : b; }",
    "fn min_right_S(a: T, b: T) -> T {\n    if a < b || a != a { a } else { b }\n}",
);

pub(crate) const MIN_OF_INTEGERS: HelperFunction = HelperFunction::new(
    "min",
    "static T P_min_S(T a, T b) { return a < b ? a : b; }",
    "fn min_S(a: T, b: T) -> T {\n    if a < b { a } else { b }\n}",
);

pub(crate) const MAX: HelperFunction = HelperFunction::new(
    "max",
    "static T P_max_S(T a, T b) { return a >= b || a != a ? a : b; }",
    "fn max_S(a: T, b: T) -> T {\n    if a >= b || a != a { a } else { b }\n}",
);

pub(crate) const MAX_RIGHT: HelperFunction = HelperFunction::new(
    "max_right",
    "static T P_max_right_S(T a, T b) { return a > b || a != a ? a : b; }",
    "fn max_right_S(a: T, b: T) -> T {\n    if a > b || a != a { a } else { b }\n}",
);

pub(crate) const MAX_OF_INTEGERS: HelperFunction = HelperFunction::new(
    "max",
    "static T P_max_S(T a, T b) { return a > b ? a : b; }",
    "fn max_S(a: T, b: T) -> T {\n    if a > b { a } else { b }\n}",
);

pub(crate) const KEEP_ZERO: HelperFunction = HelperFunction::new(
    "keep_zero",
    "static T P_keep_zero_S(T a, T b) { return a == 0 ? 0 : a * b; }",
    "fn keep_zero_S(a: T, b: T) -> T {\n    if a == 0.0 { 0.0 } else { a * b }\n}",
);

pub(crate) const SHIFT_LEFT: HelperFunction = HelperFunction::new(
    "shift_left",
    "static T P_shift_left_S(T a, T b) { return b < 0 || b >= BITS ? 0 : (T)((U)a << b); }",
    "fn shift_left_S(a: T, b: T) -> T {\n    if b < 0 || b >= BITS { 0 } else { a << b }\n}",
);

pub(crate) const SHIFT_RIGHT: HelperFunction = HelperFunction::new(
    "shift_right",
    "\
static T P_shift_right_S(T a, T b)
{
    if (b < 0 || b >= BITS) return a < 0 ? -1 : 0;
    return a < 0 ? ~(~a >> b) : a >> b;
}",
    "fn shift_right_S(a: T, b: T) -> T {\n    if b < 0 || b >= BITS { if a < 0 { -1 } else { 0 } } else { a >> b }\n}",
);
