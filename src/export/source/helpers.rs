//! Functions that stand beside a program: what languages lack of the library's meaning of operations.
//!
//! In these texts `T` is the element type, `S` its name in names, `U` the unsigned type of its width, `BITS` that width, `P`
//! the program's prefix, and `F` the ending of functions of single precision.

use super::language::Helper;
use crate::shape::DType;
use std::collections::BTreeSet;

/// The function's text, and other functions that it calls.
struct Row {
    text: &'static str,
    calls: &'static [(&'static str, DType)],
}

fn row(text: &'static str) -> Row {
    Row { text, calls: &[] }
}

const SORT_C: &str = "\
static bool P_NAME_before_S(const T *keys, int64_t stride, int64_t i, int64_t j)
{
    const T x = keys[i * stride], y = keys[j * stride];
    const bool x_is_nan = X_NAN, y_is_nan = Y_NAN;
    if (x_is_nan || y_is_nan) return x_is_nan != y_is_nan ? y_is_nan : i < j;
    return x ORDER y || (!(y ORDER x) && i < j);
}

static void P_NAME_sift_S(const T *keys, int64_t *order, int64_t stride, int64_t root, int64_t end)
{
    for (;;) {
        int64_t child = 2 * root + 1;
        if (child >= end) return;
        if (child + 1 < end && P_NAME_before_S(keys, stride, order[child * stride], order[(child + 1) * stride])) child++;
        if (!P_NAME_before_S(keys, stride, order[root * stride], order[child * stride])) return;
        const int64_t moved = order[root * stride];
        order[root * stride] = order[child * stride];
        order[child * stride] = moved;
        root = child;
    }
}

/* The positions of keys in their order; equal ones keep theirs, NaN comes last. */
static void P_NAME_S(const T *keys, int64_t *order, int64_t count, int64_t stride)
{
    for (int64_t at = 0; at < count; at++) order[at * stride] = at;
    for (int64_t start = count / 2; start > 0; start--) P_NAME_sift_S(keys, order, stride, start - 1, count);
    for (int64_t end = count; end > 1; end--) {
        const int64_t moved = order[0];
        order[0] = order[(end - 1) * stride];
        order[(end - 1) * stride] = moved;
        P_NAME_sift_S(keys, order, stride, 0, end - 1);
    }
}
";

const SORT_RUST: &str = "\
/// The positions of keys in their order; equal ones keep theirs, NaN comes last.
fn NAME_S(keys: &[T], order: &mut [i64], count: usize, stride: usize) {
    let before = |i: i64, j: i64| {
        let (x, y) = (keys[i as usize * stride], keys[j as usize * stride]);
        let (x_is_nan, y_is_nan) = (x != x, y != y);
        if x_is_nan || y_is_nan {
            return if x_is_nan != y_is_nan { y_is_nan } else { i < j };
        }
        x ORDER y || (!(y ORDER x) && i < j)
    };
    let sift = |order: &mut [i64], mut root: usize, end: usize| loop {
        let mut child = 2 * root + 1;
        if child >= end {
            return;
        }
        if child + 1 < end && before(order[child * stride], order[(child + 1) * stride]) {
            child += 1;
        }
        if !before(order[root * stride], order[child * stride]) {
            return;
        }
        order.swap(root * stride, child * stride);
        root = child;
    };
    for at in 0..count {
        order[at * stride] = at as i64;
    }
    for start in (0..count / 2).rev() {
        sift(order, start, count);
    }
    for end in (1..count).rev() {
        order.swap(0, end * stride);
        sift(order, 0, end);
    }
}
";

const POLYGAMMA_C: &str = "\
/* The derivative of this order of the digamma function, DLMF 5.15. */
static double P_polygamma_f64(int order, double x)
{
    static const double bernoulli[12] = {
        1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
        43867.0 / 798.0, -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
    };
    const double pi = 3.14159265358979323846;
    if (x != x || x == -INFINITY) return NAN;
    if (x == INFINITY) return order == 0 ? INFINITY : 0.0;
    if (x <= 0.0 && x == floor(x)) {
        if (order == 0 && x == 0.0) return copysign((double)INFINITY, -1.0 / x);
        return order % 2 == 1 ? INFINITY : NAN;
    }
    double reflected = 0.0, sign = 1.0;
    if (x < 0.0) {
        const double distance = x - round(x);
        const double cotangent = cos(pi * distance) / sin(pi * distance);
        double polynomial[132] = {0.0, 1.0}, next[132];
        for (int n = 0; n < order; n++) {
            for (int power = 0; power < 132; power++) next[power] = 0.0;
            for (int power = 1; power < n + 2; power++) {
                next[power - 1] -= power * polynomial[power];
                next[power + 1] -= power * polynomial[power];
            }
            for (int power = 0; power < 132; power++) polynomial[power] = next[power];
        }
        for (int power = order + 1; power >= 0; power--) reflected = reflected * cotangent + polynomial[power];
        reflected *= P_powi_f64(pi, order + 1);
        sign = order % 2 == 0 ? 1.0 : -1.0;
        x = 1.0 - x;
    }
    double factorial = 1.0;
    for (int n = 2; n <= order; n++) factorial *= n;
    double at = x, sum = 0.0;
    while (at < 16.0 + order) {
        sum += factorial / P_powi_f64(at, order + 1);
        at += 1.0;
    }
    if (order == 0) {
        const double inverse_square = 1.0 / (at * at);
        double series = 0.0, power = inverse_square;
        for (int k = 0; k < 12; k++) {
            series += bernoulli[k] * power / (2 * (k + 1));
            power *= inverse_square;
        }
        return sign * (log(at) - 0.5 / at - series - sum) - reflected;
    }
    const double power = P_powi_f64(at, order), leading = factorial / order / power;
    double series = leading + factorial / (2.0 * power * at), term = leading;
    for (int k = 0; k < 12; k++) {
        const double two_k = 2.0 * (k + 1);
        term *= (two_k + order - 1.0) * (two_k + order - 2.0) / (two_k * (two_k - 1.0)) / (at * at);
        series += bernoulli[k] * term;
    }
    return sign * (order % 2 == 1 ? 1.0 : -1.0) * (sum + series) - reflected;
}
";

const POLYGAMMA_RUST: &str = "\
/// The derivative of this order of the digamma function, DLMF 5.15.
fn polygamma_f64(order: i32, mut x: f64) -> f64 {
    const BERNOULLI: [f64; 12] = [
        1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
        43867.0 / 798.0, -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
    ];
    const PI: f64 = core::f64::consts::PI;
    if x != x || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return if order == 0 { f64::INFINITY } else { 0.0 };
    }
    if x <= 0.0 && x == FLOOR(x) {
        if order == 0 && x == 0.0 {
            return if (-1.0 / x) < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        return if order % 2 == 1 { f64::INFINITY } else { f64::NAN };
    }
    let (mut reflected, mut sign) = (0.0, 1.0);
    if x < 0.0 {
        let distance = x - ROUND(x);
        let cotangent = COS(PI * distance) / SIN(PI * distance);
        let mut polynomial = [0.0; 132];
        polynomial[1] = 1.0;
        for n in 0..order as usize {
            let mut next = [0.0; 132];
            for power in 1..n + 2 {
                next[power - 1] -= power as f64 * polynomial[power];
                next[power + 1] -= power as f64 * polynomial[power];
            }
            polynomial = next;
        }
        for power in (0..order as usize + 2).rev() {
            reflected = reflected * cotangent + polynomial[power];
        }
        reflected *= powi_f64(PI, order + 1);
        sign = if order % 2 == 0 { 1.0 } else { -1.0 };
        x = 1.0 - x;
    }
    let mut factorial = 1.0;
    for n in 2..=order {
        factorial *= n as f64;
    }
    let (mut at, mut sum) = (x, 0.0);
    while at < 16.0 + order as f64 {
        sum += factorial / powi_f64(at, order + 1);
        at += 1.0;
    }
    if order == 0 {
        let inverse_square = 1.0 / (at * at);
        let (mut series, mut power) = (0.0, inverse_square);
        for (k, bernoulli) in BERNOULLI.iter().enumerate() {
            series += bernoulli * power / (2 * (k + 1)) as f64;
            power *= inverse_square;
        }
        return sign * (LN(at) - 0.5 / at - series - sum) - reflected;
    }
    let m = order as f64;
    let power = powi_f64(at, order);
    let leading = factorial / m / power;
    let (mut series, mut term) = (leading + factorial / (2.0 * power * at), leading);
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        let two_k = 2.0 * (k + 1) as f64;
        term *= (two_k + m - 1.0) * (two_k + m - 2.0) / (two_k * (two_k - 1.0)) / (at * at);
        series += bernoulli * term;
    }
    sign * (if order % 2 == 1 { 1.0 } else { -1.0 }) * (sum + series) - reflected
}
";

fn c(name: &str, dtype: DType) -> Row {
    let float = dtype.is_float();
    row(match name {
        "neg" => "static T P_neg_S(T x) { return (T)(0 - (U)x); }",
        "abs" => "static T P_abs_S(T x) { return x < 0 ? (T)(0 - (U)x) : x; }",
        "sign" if float => "static T P_sign_S(T x) { return x > 0 ? 1 : x < 0 ? -1 : x; }",
        "sign" => "static T P_sign_S(T x) { return (x > 0) - (x < 0); }",
        "powi" => {
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
}"
        }
        "sigmoid" => "static T P_sigmoid_S(T x) { return 1 / (1 + expF(-x)); }",
        "softplus" => "static T P_softplus_S(T x) { return (x > 0 ? x : 0) + log1pF(expF(-fabsF(x))); }",
        "relu" if float => "static T P_relu_S(T x) { return x <= 0 ? 0 : x; }",
        "relu" => "static T P_relu_S(T x) { return x > 0 ? x : 0; }",
        "bit_not" => "static T P_bit_not_S(T x) { return ~x; }",
        "add" => "static T P_add_S(T a, T b) { return (T)((U)a + (U)b); }",
        "sub" => "static T P_sub_S(T a, T b) { return (T)((U)a - (U)b); }",
        "mul" => "static T P_mul_S(T a, T b) { return (T)((U)a * (U)b); }",
        "quot" => "static T P_quot_S(T a, T b) { return b == 0 ? a : b == -1 ? (T)(0 - (U)a) : a / b; }",
        "rem" => "static T P_rem_S(T a, T b) { return b == 0 ? a : b == -1 ? 0 : a % b; }",
        "floor_div" => {
            "\
static T P_floor_div_S(T a, T b)
{
    if (b == 0 || b == -1) return b == 0 ? a : (T)(0 - (U)a);
    return a % b != 0 && (a < 0) != (b < 0) ? a / b - 1 : a / b;
}"
        }
        "modulo" => {
            "\
static T P_modulo_S(T a, T b)
{
    if (b == 0 || b == -1) return b == 0 ? a : 0;
    return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;
}"
        }
        "logaddexp" => {
            "\
static T P_logaddexp_S(T a, T b)
{
    const double low = a < b ? a : b, high = a < b ? b : a;
    if (low == high) return (T)(high + 0.69314718055994530942);
    return (T)(high + log1p(exp(low - high)));
}"
        }
        "xlogy" => "static T P_xlogy_S(T a, T b) { return a == 0 && b == b ? 0 : a * logF(b); }",
        "min" if !float => "static T P_min_S(T a, T b) { return a < b ? a : b; }",
        "max" if !float => "static T P_max_S(T a, T b) { return a > b ? a : b; }",
        "min" => "static T P_min_S(T a, T b) { return a <= b || a != a ? a : b; }",
        "min_right" => "static T P_min_right_S(T a, T b) { return a < b || a != a ? a : b; }",
        "max" => "static T P_max_S(T a, T b) { return a >= b || a != a ? a : b; }",
        "max_right" => "static T P_max_right_S(T a, T b) { return a > b || a != a ? a : b; }",
        "keep_zero" => "static T P_keep_zero_S(T a, T b) { return a == 0 ? 0 : a * b; }",
        "shift_left" => "static T P_shift_left_S(T a, T b) { return b < 0 || b >= BITS ? 0 : (T)((U)a << b); }",
        "shift_right" => {
            "\
static T P_shift_right_S(T a, T b)
{
    if (b < 0 || b >= BITS) return a < 0 ? -1 : 0;
    return a < 0 ? ~(~a >> b) : a >> b;
}"
        }
        "i32_from" => {
            "\
static int32_t P_i32_from_S(T x)
{
    return x != x ? 0 : x >= 2147483648.0F ? INT32_MAX : x <= -2147483648.0F ? INT32_MIN : (int32_t)x;
}"
        }
        "i64_from" => {
            "\
static int64_t P_i64_from_S(T x)
{
    return x != x ? 0 : x >= 9223372036854775808.0F ? INT64_MAX : x <= -9223372036854775808.0F ? INT64_MIN : (int64_t)x;
}"
        }
        "narrowed" => "static int32_t P_narrowed_S(T x) { return (int32_t)(uint32_t)(U)x; }",
        "arg_sort" | "arg_sort_descending" => SORT_C,
        "polygamma" if dtype == DType::F64 => {
            return Row { text: POLYGAMMA_C, calls: &[("powi", DType::F64)] };
        }
        "polygamma" => {
            return Row {
                text: "static T P_polygamma_S(int order, T x) { return (T)P_polygamma_f64(order, x); }",
                calls: &[("polygamma", DType::F64)],
            };
        }
        name => unreachable!("no helper is called {name}"),
    })
}

fn rust(name: &str, dtype: DType) -> Row {
    let float = dtype.is_float();
    row(match name {
        "neg" => "fn neg_S(x: T) -> T {\n    x.wrapping_neg()\n}",
        "abs" => "fn abs_S(x: T) -> T {\n    x.wrapping_abs()\n}",
        "sign" if float => "fn sign_S(x: T) -> T {\n    if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }\n}",
        "sign" => "fn sign_S(x: T) -> T {\n    x.signum()\n}",
        "powi" => {
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
}"
        }
        "sigmoid" => "fn sigmoid_S(x: T) -> T {\n    1.0 / (1.0 + EXP(-x))\n}",
        "softplus" => {
            "fn softplus_S(x: T) -> T {\n    (if x > 0.0 { x } else { 0.0 }) + LN1P(EXP(if x > 0.0 { -x } else { x }))\n}"
        }
        "relu" if float => "fn relu_S(x: T) -> T {\n    if x <= 0.0 { 0.0 } else { x }\n}",
        "relu" => "fn relu_S(x: T) -> T {\n    x.max(0)\n}",
        "bit_not" => "fn bit_not_S(x: T) -> T {\n    !x\n}",
        "add" => "fn add_S(a: T, b: T) -> T {\n    a.wrapping_add(b)\n}",
        "sub" => "fn sub_S(a: T, b: T) -> T {\n    a.wrapping_sub(b)\n}",
        "mul" => "fn mul_S(a: T, b: T) -> T {\n    a.wrapping_mul(b)\n}",
        "quot" => "fn quot_S(a: T, b: T) -> T {\n    if b == 0 { a } else { a.wrapping_div(b) }\n}",
        "rem" => "fn rem_S(a: T, b: T) -> T {\n    if b == 0 { a } else { a.wrapping_rem(b) }\n}",
        "floor_div" => {
            "\
fn floor_div_S(a: T, b: T) -> T {
    if b == 0 {
        return a;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}"
        }
        "modulo" => {
            "\
fn modulo_S(a: T, b: T) -> T {
    if b == 0 {
        return a;
    }
    let remainder = a.wrapping_rem(b);
    if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
}"
        }
        "logaddexp" if dtype == DType::F32 => {
            return Row {
                text: "fn logaddexp_S(a: T, b: T) -> T {\n    logaddexp_f64(a as f64, b as f64) as T\n}",
                calls: &[("logaddexp", DType::F64)],
            };
        }
        "logaddexp" => {
            "\
fn logaddexp_S(a: T, b: T) -> T {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == high { high + core::f64::consts::LN_2 } else { high + LN1P(EXP(low - high)) }
}"
        }
        "xlogy" => "fn xlogy_S(a: T, b: T) -> T {\n    if a == 0.0 && b == b { 0.0 } else { a * LN(b) }\n}",
        "min" if !float => "fn min_S(a: T, b: T) -> T {\n    if a < b { a } else { b }\n}",
        "max" if !float => "fn max_S(a: T, b: T) -> T {\n    if a > b { a } else { b }\n}",
        "min" => "fn min_S(a: T, b: T) -> T {\n    if a <= b || a != a { a } else { b }\n}",
        "min_right" => "fn min_right_S(a: T, b: T) -> T {\n    if a < b || a != a { a } else { b }\n}",
        "max" => "fn max_S(a: T, b: T) -> T {\n    if a >= b || a != a { a } else { b }\n}",
        "max_right" => "fn max_right_S(a: T, b: T) -> T {\n    if a > b || a != a { a } else { b }\n}",
        "keep_zero" => "fn keep_zero_S(a: T, b: T) -> T {\n    if a == 0.0 { 0.0 } else { a * b }\n}",
        "shift_left" => "fn shift_left_S(a: T, b: T) -> T {\n    if b < 0 || b >= BITS { 0 } else { a << b }\n}",
        "shift_right" => {
            "fn shift_right_S(a: T, b: T) -> T {\n    if b < 0 || b >= BITS { if a < 0 { -1 } else { 0 } } else { a >> b }\n}"
        }
        "arg_sort" | "arg_sort_descending" => SORT_RUST,
        "polygamma" if dtype == DType::F64 => {
            return Row { text: POLYGAMMA_RUST, calls: &[("powi", DType::F64)] };
        }
        "polygamma" => {
            return Row {
                text: "fn polygamma_S(order: i32, x: T) -> T {\n    polygamma_f64(order, x as f64) as T\n}",
                calls: &[("polygamma", DType::F64)],
            };
        }
        name => unreachable!("no helper is called {name}"),
    })
}

/// The helpers and those that they call, each after those.
fn ordered(helpers: &BTreeSet<Helper>, find: fn(&str, DType) -> Row) -> Vec<Helper> {
    let mut ordered: Vec<Helper> = Vec::new();
    let mut open: Vec<Helper> = helpers.iter().rev().cloned().collect();
    while let Some(helper) = open.pop() {
        if ordered.contains(&helper) {
            continue;
        }
        let calls = find(&helper.0, helper.1).calls;
        let missing: Vec<Helper> = calls.iter().map(|&(name, dtype)| (name.to_string(), dtype)).collect();
        let missing: Vec<Helper> = missing.into_iter().filter(|helper| !ordered.contains(helper)).collect();
        if missing.is_empty() {
            ordered.push(helper);
        } else {
            open.push(helper);
            open.extend(missing);
        }
    }
    ordered
}

/// Replaces words, which are names of their own.
fn replaced(text: &str, words: &[(&str, &str)]) -> String {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut result = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
        if end > 0 {
            let word = &rest[..end];
            result.push_str(words.iter().find(|(name, _)| *name == word).map_or(word, |(_, new)| new));
            rest = &rest[end..];
        } else {
            let other = rest.find(is_name).unwrap_or(rest.len());
            result.push_str(&rest[..other]);
            rest = &rest[other..];
        }
    }
    result
}

/// The words for sorting in an order.
fn sorting(name: &str) -> (&str, &'static str) {
    (name, if name == "arg_sort_descending" { ">" } else { "<" })
}

/// The texts of helpers in C, or in OpenCL's.
pub(super) fn c_texts(helpers: &BTreeSet<Helper>, prefix: &str, is_opencl: bool) -> Vec<String> {
    let text = |(name, dtype): &Helper| {
        let (ty, unsigned, bits) = match dtype {
            DType::F64 => ("double", "double", "64"),
            DType::F32 => ("float", "float", "32"),
            DType::I64 => ("int64_t", "uint64_t", "64"),
            DType::I32 => ("int32_t", "uint32_t", "32"),
            DType::Bool if is_opencl => ("uchar", "uchar", "1"),
            DType::Bool => ("bool", "bool", "1"),
        };
        let single = *dtype == DType::F32;
        let ending = if single && !is_opencl { "f" } else { "" };
        let (name, order) = sorting(name);
        // Names that have a part of their own to be replaced.
        let text = c(name, *dtype).text;
        let text = text.replace("P_NAME", &format!("P_{name}")).replace("P_", &format!("{prefix}_"));
        let text =
            text.replace("_S(", &format!("_{}(", dtype.name())).replace(".0F", if single { ".0f" } else { ".0" });
        let text = ["exp", "log1p", "fabs", "log"]
            .iter()
            .fold(text, |text, function| text.replace(&format!("{function}F("), &format!("{function}{ending}(")));
        let text = replaced(&text, &[("T", ty), ("U", unsigned), ("BITS", bits), ("ORDER", order)]);
        // Comparing an integer with itself is an error to strict compilers.
        let nan = |name: &str| if dtype.is_float() { format!("{name} != {name}") } else { "false".into() };
        let text = replaced(&text, &[("X_NAN", &nan("x")), ("Y_NAN", &nan("y"))]);
        match is_opencl {
            false => text,
            true => replaced(
                &text
                    .replace("static const", "const")
                    .replace("static ", "")
                    .replace(&format!("const {ty} *keys"), &format!("__global const {ty} *keys"))
                    .replace("int64_t *order", "__global int64_t *order"),
                &[
                    ("int64_t", "long"),
                    ("uint64_t", "ulong"),
                    ("int32_t", "int"),
                    ("uint32_t", "uint"),
                    ("INT64_MAX", "LONG_MAX"),
                    ("INT64_MIN", "LONG_MIN"),
                    ("INT32_MAX", "INT_MAX"),
                    ("INT32_MIN", "INT_MIN"),
                ],
            ),
        }
    };
    ordered(helpers, c).iter().map(text).map(|text| text.trim_end().to_string()).collect()
}

/// The texts of helpers in Rust.
pub(super) fn rust_texts(helpers: &BTreeSet<Helper>, with_std: bool) -> Vec<String> {
    let text = |(name, dtype): &Helper| {
        let ty = dtype.name();
        let bits = if matches!(dtype, DType::F32 | DType::I32) { "32" } else { "64" };
        let (name, order) = sorting(name);
        let ending = if *dtype == DType::F32 { "f" } else { "" };
        let function = |method: &str, c: &str| match with_std {
            true => format!("{ty}::{method}"),
            false => format!("libm::{c}{ending}"),
        };
        let functions = [
            ("EXP", function("exp", "exp")),
            ("LN1P", function("ln_1p", "log1p")),
            ("LN", function("ln", "log")),
            ("FLOOR", function("floor", "floor")),
            ("ROUND", function("round", "round")),
            ("SIN", function("sin", "sin")),
            ("COS", function("cos", "cos")),
        ];
        let mut words: Vec<(&str, &str)> = functions.iter().map(|(word, text)| (*word, &text[..])).collect();
        words.extend([("T", ty), ("BITS", bits)]);
        let text = rust(name, *dtype).text.replace("NAME_S", &format!("{name}_S"));
        let text = text.replace("_S(", &format!("_{ty}(")).replace(" ORDER ", &format!(" {order} "));
        replaced(&text, &words).trim_end().to_string()
    };
    ordered(helpers, rust).iter().map(text).collect()
}
