//! The gamma functions.

use super::POWI;
use crate::operation::spelling::HelperFunction;

pub(crate) const LGAMMA: HelperFunction = HelperFunction::new("lgamma", LGAMMA_IN_C, LGAMMA_IN_RUST).with_single(
    "static T P_lgamma_S(T x) { return (T)P_lgamma_f64(x); }",
    "fn lgamma_S(x: T) -> T {\n    lgamma_f64(x as f64) as T\n}",
);

pub(crate) const DIGAMMA: HelperFunction = HelperFunction::new("digamma", DIGAMMA_IN_C, DIGAMMA_IN_RUST).with_single(
    "static T P_digamma_S(T x) { return (T)P_digamma_f64(x); }",
    "fn digamma_S(x: T) -> T {\n    digamma_f64(x as f64) as T\n}",
);

pub(crate) const POLYGAMMA: HelperFunction = HelperFunction::new("polygamma", POLYGAMMA_IN_C, POLYGAMMA_IN_RUST)
    .with_single(
        "static T P_polygamma_S(unsigned order, T x) { return (T)P_polygamma_f64(order, x); }",
        "fn polygamma_S(order: u32, x: T) -> T {\n    polygamma_f64(order, x as f64) as T\n}",
    )
    .calling(&[&POWI]);

const LGAMMA_IN_C: &str = "\
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

const LGAMMA_IN_RUST: &str = "\
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

const DIGAMMA_IN_C: &str = "\
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

const DIGAMMA_IN_RUST: &str = "\
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

const POLYGAMMA_IN_C: &str = "\
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

const POLYGAMMA_IN_RUST: &str = "\
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
