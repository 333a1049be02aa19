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

const POLYGAMMA: &str = "\
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
        if (order == 0 && x == 0.0) return -INFINITY;
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
        "arg_sort" | "arg_sort_descending" => SORT,
        "polygamma" if dtype == DType::F64 => {
            return Row { text: POLYGAMMA, calls: &[("powi", DType::F64)] };
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
