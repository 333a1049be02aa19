//! The texts of helpers in Rust.

use super::{Row, row};
use crate::shape::DType;

const SORT: &str = "\
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

const POLYGAMMA: &str = "\
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
            return f64::NEG_INFINITY;
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

/// The helper of a name for an element type.
pub(crate) fn find(name: &str, dtype: DType) -> Row {
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
        "arg_sort" | "arg_sort_descending" => SORT,
        "polygamma" if dtype == DType::F64 => {
            return Row { text: POLYGAMMA, calls: &[("powi", DType::F64)] };
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
