//! Texts of functions that stand beside programs, but for those of rows of the operation table: sorting, and conversions that C
//! leaves open.

use crate::operation::HelperFunction;
use crate::operation::Order;

/// A function that sorts a row: its positions in the order of the keys. `ORDER` is the operator between keys in their order.
pub(crate) fn sort(order: Order) -> &'static HelperFunction {
    match order {
        Order::Ascending => &ASCENDING,
        Order::Descending => &DESCENDING,
    }
}

const ASCENDING: HelperFunction = HelperFunction::new("arg_sort", SORT_IN_C, SORT_IN_RUST);
const DESCENDING: HelperFunction = HelperFunction::new("arg_sort_descending", SORT_IN_C, SORT_IN_RUST);

/// Conversions, which are operators of Rust's own.
pub(crate) const I32_FROM: HelperFunction = HelperFunction::in_c(
    "i32_from",
    "\
static int32_t P_i32_from_S(T x)
{
    return x != x ? 0 : x >= 2147483648.0F ? INT32_MAX : x <= -2147483648.0F ? INT32_MIN : (int32_t)x;
}",
);

pub(crate) const I64_FROM: HelperFunction = HelperFunction::in_c(
    "i64_from",
    "\
static int64_t P_i64_from_S(T x)
{
    return x != x ? 0 : x >= 9223372036854775808.0F ? INT64_MAX : x <= -9223372036854775808.0F ? INT64_MIN : (int64_t)x;
}",
);

pub(crate) const NARROWED: HelperFunction =
    HelperFunction::in_c("narrowed", "static int32_t P_narrowed_S(T x) { return (int32_t)(uint32_t)(U)x; }");

const SORT_IN_C: &str = "\
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

const SORT_IN_RUST: &str = "\
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
