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

const ASINH: &str = "\
fn asinh_S(x: T) -> T {
    let size = ABS(x);
    let square = size * size;
    let result = match size < 1e9 {
        true => LN1P(size + square / (1.0 + SQRT(1.0 + square))),
        false => LN(size) + core::T::consts::LN_2,
    };
    COPYSIGN(result, x)
}
";

const ACOSH: &str = "\
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
";

const ATANH: &str = "\
fn atanh_S(x: T) -> T {
    let size = ABS(x);
    COPYSIGN(0.5 * LN1P(2.0 * size / (1.0 - size)), x)
}
";

const LGAMMA: &str = "\
/// Of negative arguments the recurrence, whose factors are exact, or the reflection.
fn lgamma_f64(mut x: f64) -> f64 {
    if x <= 0.0 && x == FLOOR(x) {
        return f64::INFINITY;
    }
    if x < -30.0 {
        const PI: f64 = core::f64::consts::PI;
        let distance = x - ROUND(x);
        return LN(PI / ABS(SIN(PI * distance))) - libm::lgamma(1.0 - x);
    }
    let mut product = 1.0;
    if x < 0.0 {
        while x < 0.5 {
            product *= x;
            x += 1.0;
        }
    }
    libm::lgamma(x) - LN(ABS(product))
}
";

const DIGAMMA: &str = "\
/// A series about the zero, or the asymptotic series; of negative arguments the reflection.
fn digamma_f64(mut x: f64) -> f64 {
    const BERNOULLI: [f64; 12] = [
        1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
        43867.0 / 798.0, -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
    ];
    const NEAR_ROOT: [f64; 19] = [
        0.46723083324797404, -0.10285326565192013, 0.02946219208565062, -0.009338202774941082, 0.0031154352637452155,
        -0.0010704946679371075, 0.0003746125717948589, -0.0001326552693560919, 4.734883655698553e-05,
        -1.6992334535405338e-05, 6.1211173232487354e-06, -2.210210101013353e-06, 7.997992579035953e-07,
        -2.915784712729988e-07, 1.0575831841340943e-07, -3.551198627188646e-08, 1.2894921852310434e-08,
        -7.2390504473276754e-09, 2.6307759149911736e-09,
    ];
    const PI: f64 = core::f64::consts::PI;
    const ROOT: f64 = 1.4616321449683622;
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut sum, mut reflected, mut series) = (0.0, 0.0, 0.0);
    if x < 0.0 {
        let distance = x - ROUND(x);
        let size = ABS(distance);
        reflected = if size == 0.0 {
            f64::NAN
        } else if size < 0.25 {
            PI / TAN(PI * distance)
        } else {
            COPYSIGN(PI * TAN(PI * (0.5 - size)), distance)
        };
        x = 1.0 - x;
    }
    if x < 1.0 {
        sum = -1.0 / x;
        x += 1.0;
    }
    if x < 8.0 {
        while x > 2.5 {
            x -= 1.0;
            sum += 1.0 / x;
        }
        for coefficient in NEAR_ROOT.iter().rev() {
            series = series * (x - 1.75) + coefficient;
        }
        return sum + (x - ROOT - 9.549995429965697e-17) * (series + 1.0 / (ROOT * x)) - reflected;
    }
    let inverse_square = 1.0 / (x * x);
    for (k, bernoulli) in BERNOULLI.iter().enumerate().rev() {
        series = (series + bernoulli / (2 * (k + 1)) as f64) * inverse_square;
    }
    LN(x) - (0.5 / x + series) - reflected
}
";

const POLYGAMMA: &str = "\
/// A power may overflow where the quotient is a number, but no half of the power does.
fn over_power_f64(x: f64, base: f64, power: i32) -> f64 {
    x / powi_f64(base, power / 2) / powi_f64(base, power - power / 2)
}

/// Sums of inverse powers: some terms, and the asymptotic series of the others.
fn polygamma_above_f64(order: u32, x: f64) -> f64 {
    const BERNOULLI: [f64; 12] = [
        1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
        43867.0 / 798.0, -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
    ];
    let (mut factorial, m) = (1.0, order as f64);
    for n in 2..=order {
        factorial *= n as f64;
    }
    let (mut steps, mut sum) = (0.0, 0.0);
    while x + steps < 8.0 + m {
        steps += 1.0;
    }
    let at = x + steps;
    while steps > 0.0 {
        steps -= 1.0;
        sum += over_power_f64(factorial, x + steps, order as i32 + 1);
    }
    let leading = over_power_f64(factorial, at, order as i32) / m;
    let (mut series, mut term) = (0.5 * leading * m / at, leading);
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        let two_k = (2 * (k + 1)) as f64;
        term *= (two_k + m - 1.0) * (two_k + m - 2.0) / (two_k * (two_k - 1.0)) / (at * at);
        series += bernoulli * term;
    }
    let size = sum + (leading + series);
    if order % 2 == 1 { size } else { -size }
}

/// The derivative of this order of the digamma function, DLMF 5.15.
fn polygamma_f64(order: u32, x: f64) -> f64 {
    let (whole, is_odd) = (FLOOR(x), order % 2 == 1);
    if x != x || x == f64::NEG_INFINITY || order > 170 {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    if x <= 0.0 && x == whole {
        return if is_odd { f64::INFINITY } else { f64::NAN };
    }
    if x >= -1.0 {
        return polygamma_above_f64(order, x);
    }
    let part = x - whole;
    let (near, other) = (polygamma_above_f64(order, part), polygamma_above_f64(order, 1.0 - part));
    let far = polygamma_above_f64(order, 1.0 - x);
    if is_odd { near + other - far } else { near - other + far }
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
    if low == high {
        return high + core::f64::consts::LN_2;
    }
    let difference = low - high;
    let lost = if difference > -50.0 { (low - difference) - high } else { 0.0 };
    let exponential = EXP(difference);
    high + LN1P(exponential + exponential * lost)
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
        "cbrt" => "fn cbrt_S(x: T) -> T {\n    CBRT(x)\n}",
        "asinh" => ASINH,
        "acosh" => ACOSH,
        "atanh" => ATANH,
        "lgamma" if dtype == DType::F64 => LGAMMA,
        "lgamma" => {
            return Row {
                text: "fn lgamma_S(x: T) -> T {\n    lgamma_f64(x as f64) as T\n}",
                calls: &[("lgamma", DType::F64)],
            };
        }
        "digamma" if dtype == DType::F64 => DIGAMMA,
        "digamma" => {
            return Row {
                text: "fn digamma_S(x: T) -> T {\n    digamma_f64(x as f64) as T\n}",
                calls: &[("digamma", DType::F64)],
            };
        }
        "polygamma" if dtype == DType::F64 => {
            return Row { text: POLYGAMMA, calls: &[("powi", DType::F64)] };
        }
        "polygamma" => {
            return Row {
                text: "fn polygamma_S(order: u32, x: T) -> T {\n    polygamma_f64(order, x as f64) as T\n}",
                calls: &[("polygamma", DType::F64)],
            };
        }
        name => unreachable!("no helper is called {name}"),
    })
}
