//! The texts of helpers in C.

use super::{Row, row};
use crate::shape::DType;

const SORT: &str = "\
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

const ASINH: &str = "\
static T P_asinh_S(T x)
{
    const T size = fabsF(x), square = size * size;
    const T root = sqrtF(1 + square);
    return copysignF(size < 1000000000.0F ? log1pF(size + square / (1 + root)) : logF(size) + (T)0.69314718055994530942, x);
}
";

const ACOSH: &str = "\
static T P_acosh_S(T x)
{
    if (!(x >= 1)) return NAN;
    const T over = x - 1;
    return x < 1000000000.0F ? log1pF(over + sqrtF(2 * over + over * over)) : logF(x) + (T)0.69314718055994530942;
}
";

const ATANH: &str = "\
static T P_atanh_S(T x)
{
    const T size = fabsF(x);
    return copysignF(log1pF(2 * size / (1 - size)) / 2, x);
}
";

const CBRT: &str = "\
/* A step of Newton's method: some libraries are off by more than three units. */
static T P_cbrt_S(T x)
{
    const T root = cbrtF(x);
    return x == 0 || x - x != 0 ? root : root + (x / (root * root) - root) / 3;
}
";

const LGAMMA: &str = "\
/* Of negative arguments the recurrence, whose factors are exact, or the reflection. */
static double P_lgamma_f64(double x)
{
    if (x <= 0.0 && x == floor(x)) return INFINITY;
    if (x < -30.0) {
        const double pi = 3.14159265358979323846, distance = x - round(x);
        return log(pi / fabs(sin(pi * distance))) - lgamma(1.0 - x);
    }
    double product = 1.0;
    if (x < 0.0) {
        while (x < 0.5) {
            product *= x;
            x += 1.0;
        }
    }
    return lgamma(x) - log(fabs(product));
}
";

const DIGAMMA: &str = "\
/* A series about the zero, or the asymptotic series; of negative arguments the reflection. */
static double P_digamma_f64(double x)
{
    static const double bernoulli[12] = {
        1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
        43867.0 / 798.0, -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
    };
    static const double near_root[19] = {
        0.46723083324797404, -0.10285326565192013, 0.02946219208565062, -0.009338202774941082, 0.0031154352637452155,
        -0.0010704946679371075, 0.0003746125717948589, -0.0001326552693560919, 4.734883655698553e-05,
        -1.6992334535405338e-05, 6.1211173232487354e-06, -2.210210101013353e-06, 7.997992579035953e-07,
        -2.915784712729988e-07, 1.0575831841340943e-07, -3.551198627188646e-08, 1.2894921852310434e-08,
        -7.2390504473276754e-09, 2.6307759149911736e-09,
    };
    const double pi = 3.14159265358979323846, root = 1.4616321449683622;
    double sum = 0.0, reflected = 0.0, series = 0.0;
    if (x == 0.0) return -INFINITY;
    if (x < 0.0) {
        const double distance = x - round(x), size = fabs(distance);
        if (!(size > 0.0)) return NAN;
        reflected = size < 0.25 ? pi / tan(pi * distance) : copysign(pi * tan(pi * (0.5 - size)), distance);
        x = 1.0 - x;
    }
    if (x < 1.0) {
        sum = -1.0 / x;
        x += 1.0;
    }
    if (x < 8.0) {
        while (x > 2.5) {
            x -= 1.0;
            sum += 1.0 / x;
        }
        for (int k = 18; k >= 0; k--) series = series * (x - 1.75) + near_root[k];
        return sum + (x - root - 9.549995429965697e-17) * (series + 1.0 / (root * x)) - reflected;
    }
    const double inverse_square = 1.0 / (x * x);
    for (int k = 11; k >= 0; k--) series = (series + bernoulli[k] / (2 * (k + 1))) * inverse_square;
    return log(x) - (0.5 / x + series) - reflected;
}
";

const POLYGAMMA: &str = "\
/* A power may overflow where the quotient is a number, but no half of the power does. */
static double P_over_power_f64(double x, double base, int power)
{
    return x / P_powi_f64(base, power / 2) / P_powi_f64(base, power - power / 2);
}

/* Sums of inverse powers: some terms, and the asymptotic series of the others. */
static double P_polygamma_above_f64(unsigned order, double x)
{
    static const double bernoulli[12] = {
        1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
        43867.0 / 798.0, -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
    };
    double factorial = 1.0, steps = 0.0, sum = 0.0;
    for (unsigned n = 2; n <= order; n++) factorial *= n;
    while (x + steps < 8.0 + order) steps += 1.0;
    const double at = x + steps;
    while (steps > 0.0) {
        steps -= 1.0;
        sum += P_over_power_f64(factorial, x + steps, (int)order + 1);
    }
    const double leading = P_over_power_f64(factorial, at, (int)order) / order;
    double series = 0.5 * leading * order / at, term = leading;
    for (int k = 0; k < 12; k++) {
        const double two_k = 2.0 * (k + 1);
        term *= (two_k + order - 1.0) * (two_k + order - 2.0) / (two_k * (two_k - 1.0)) / (at * at);
        series += bernoulli[k] * term;
    }
    const double size = sum + (leading + series);
    return order % 2 == 1 ? size : -size;
}

/* The derivative of this order of the digamma function, DLMF 5.15. */
static double P_polygamma_f64(unsigned order, double x)
{
    const double whole = floor(x), part = x - whole;
    if (x != x || x == -INFINITY || order > 170) return NAN;
    if (x == INFINITY) return 0.0;
    if (x <= 0.0 && x == whole) return order % 2 == 1 ? INFINITY : NAN;
    if (x >= -1.0) return P_polygamma_above_f64(order, x);
    const double near = P_polygamma_above_f64(order, part), other = P_polygamma_above_f64(order, 1.0 - part);
    const double far = P_polygamma_above_f64(order, 1.0 - x);
    return order % 2 == 1 ? near + other - far : near - other + far;
}
";

/// The helper of a name for an element type.
pub(crate) fn find(name: &str, dtype: DType) -> Row {
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
    const double difference = low - high, exponential = exp(difference);
    const double lost = difference > -50.0 ? (low - difference) - high : 0.0;
    return (T)(high + log1p(exponential + exponential * lost));
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
        "arg_sort" | "arg_sort_descending" => SORT,
        "cbrt" => CBRT,
        "asinh" => ASINH,
        "acosh" => ACOSH,
        "atanh" => ATANH,
        "lgamma" if dtype == DType::F64 => LGAMMA,
        "lgamma" => {
            return Row {
                text: "static T P_lgamma_S(T x) { return (T)P_lgamma_f64(x); }",
                calls: &[("lgamma", DType::F64)],
            };
        }
        "digamma" if dtype == DType::F64 => DIGAMMA,
        "digamma" => {
            return Row {
                text: "static T P_digamma_S(T x) { return (T)P_digamma_f64(x); }",
                calls: &[("digamma", DType::F64)],
            };
        }
        "polygamma" if dtype == DType::F64 => {
            return Row { text: POLYGAMMA, calls: &[("powi", DType::F64)] };
        }
        "polygamma" => {
            return Row {
                text: "static T P_polygamma_S(unsigned order, T x) { return (T)P_polygamma_f64(order, x); }",
                calls: &[("polygamma", DType::F64)],
            };
        }
        name => unreachable!("no helper is called {name}"),
    })
}
