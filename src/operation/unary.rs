//! The elementwise operations of one operand. What the columns of a row say stands at the head of [`operation`](super).

use super::special::Special as _;
use super::spelling::OperationSpelling::{Expression, Helper, HelperAnd, HelperOf, Library, Product, Special};
use super::stablehlo::{exponential_below, logarithm, polygamma, positive_part, whole_power};
use super::*;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, LOG2_E, LOG10_E};

/// 1 − x², all digits of it near ±1 too.
fn one_minus_square<A: Pointwise>(x: &Term<A>) -> Term<A> {
    (-x + 1.0) * (x + 1.0)
}

/// √(x² + 1). It is at most |x| + 1, which it is where the square is beyond the largest number.
fn root_of_square_and_one<A: Pointwise>(x: &Term<A>) -> Term<A> {
    let root = (x * x + 1.0).unary(Unary::Sqrt);
    root.binary(Binary::Min, &(x.unary(Unary::Abs) + 1.0))
}

/// Powers up to this one are written as products.
const SPELLED_OUT: i32 = 3;

unary_table! {
    /// Negation.
    Neg "neg" Number {
        float: |x| -x;
        integer: |x| x.wrapping_neg();
        partial: |x, y| factor(x.filled(-1.0));
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("-$0"), of integers Helper(&helpers::NEG);
        stablehlo: |to, x| to.elementwise("negate", &[x]);
    }
    /// Reciprocal 1/x.
    Recip "recip" Float {
        float: |x| 1.0 / (x + 0.0);
        partial: |x, y| Partial::Factors((-y).0, y.0.clone());
        zero: false; finite: false; tells_zeros: true; cost: 4.0; test: (0.3, 3.0);
        source: Expression("1.0@ / $0");
        stablehlo: |to, x| {
            let one = to.number(x, 1.0);
            to.elementwise("divide", &[&one, x])
        };
    }
    /// Absolute value.
    Abs "abs" Number {
        float: |x| x.abs();
        integer: |x| x.wrapping_abs();
        partial: |x, y| factor(x.unary(Unary::Sign));
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (0.2, 3.0);
        source: Library { c: "fabs", rust: "abs" }, of integers Helper(&helpers::ABS);
        stablehlo: |to, x| to.elementwise("abs", &[x]);
    }
    /// −1, 0 or 1; NaN stays NaN.
    Sign "sign" Number {
        float: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x };
        integer: |x| x.signum();
        partial: |x, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (0.2, 3.0);
        source: Helper(&helpers::SIGN), of integers Helper(&helpers::SIGN_OF_INTEGERS);
        stablehlo: |to, x| to.elementwise("sign", &[x]);
    }
    /// x raised to a whole power.
    Powi(n: i32) "powi" Float {
        float: |x| (if n < 0 { x + 0.0 } else { x }).powi(n);
        partial: |x, y| match n {
            0 => Partial::Zero,
            1 => Partial::One,
            2 => factor(x * 2.0),
            // There is no lower power than this one.
            i32::MIN => factor(y / x * f64::from(n)),
            _ => factor(x.unary(Unary::Powi(n - 1)) * f64::from(n)),
        };
        zero: n > 0; finite: n >= 0; tells_zeros: n < 0; cost: 1.0 + f64::from(n.unsigned_abs().max(1).ilog2()) * 2.0; test: (0.3, 2.0);
        source: match n {
            2..=SPELLED_OUT => Product(n as usize),
            _ => HelperAnd(&helpers::POWI, n.into()),
        };
        stablehlo: |to, x| whole_power(to, x, n);
    }
    /// Square root.
    Sqrt "sqrt" Float {
        float: |x| x.sqrt();
        partial: |x, y| factor((y * 2.0).unary(Unary::Recip));
        zero: false; finite: false; tells_zeros: false; cost: 4.0; test: (0.3, 3.0);
        source: Library { c: "sqrt", rust: "sqrt" };
        stablehlo: |to, x| to.elementwise("sqrt", &[x]);
    }
    /// Cube root.
    Cbrt "cbrt" Float {
        float: |x| x.cbrt();
        partial: |x, y| factor((y * y * 3.0).unary(Unary::Recip));
        zero: false; finite: true; tells_zeros: false; cost: 12.0; test: (0.3, 3.0);
        source: Helper(&helpers::CBRT);
        stablehlo: |to, x| to.elementwise("cbrt", &[x]);
    }
    /// Exponential.
    Exp "exp" Float {
        float: |x| x.exp();
        partial: |x, y| factor(y.clone());
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (-2.0, 2.0);
        source: Library { c: "exp", rust: "exp" };
        stablehlo: |to, x| to.elementwise("exponential", &[x]);
    }
    /// 2 to the power x.
    Exp2 "exp2" Float {
        float: |x| x.exp2();
        partial: |x, y| factor(y * LN_2);
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (-2.0, 2.0);
        source: Library { c: "exp2", rust: "exp2" };
        stablehlo: |to, x| {
            let two = to.number(x, 2.0);
            to.elementwise("power", &[&two, x])
        };
    }
    /// exp(x) − 1, exact near 0.
    Expm1 "expm1" Float {
        float: |x| x.exp_m1();
        partial: |x, y| factor(x.unary(Unary::Exp));
        zero: true; finite: false; tells_zeros: false; cost: 12.0; test: (-2.0, 2.0);
        source: Library { c: "expm1", rust: "exp_m1" };
        stablehlo: |to, x| to.elementwise("exponential_minus_one", &[x]);
    }
    /// Natural logarithm.
    Ln "ln" Float {
        float: |x| x.ln();
        partial: |x, y| factor(x.unary(Unary::Recip));
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (0.3, 3.0);
        source: Library { c: "log", rust: "ln" };
        stablehlo: |to, x| to.elementwise("log", &[x]);
    }
    /// Logarithm to base 2.
    Log2 "log2" Float {
        float: |x| x.log2();
        partial: |x, y| factor(x.filled(LOG2_E) / x);
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (0.3, 3.0);
        source: Library { c: "log2", rust: "log2" };
        stablehlo: |to, x| logarithm(to, x, LN_2);
    }
    /// Logarithm to base 10.
    Log10 "log10" Float {
        float: |x| x.log10();
        partial: |x, y| factor(x.filled(LOG10_E) / x);
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (0.3, 3.0);
        source: Library { c: "log10", rust: "log10" };
        stablehlo: |to, x| logarithm(to, x, LN_10);
    }
    /// ln(1 + x), exact near 0.
    Ln1p "ln1p" Float {
        float: |x| x.ln_1p();
        partial: |x, y| factor((x + 1.0).unary(Unary::Recip));
        zero: true; finite: false; tells_zeros: false; cost: 12.0; test: (-0.6, 2.0);
        source: Library { c: "log1p", rust: "ln_1p" };
        stablehlo: |to, x| to.elementwise("log_plus_one", &[x]);
    }
    /// Sine, of radians.
    Sin "sin" Float {
        float: |x| x.sin();
        partial: |x, y| factor(x.unary(Unary::Cos));
        zero: true; finite: true; tells_zeros: false; cost: 12.0; test: (-3.0, 3.0);
        source: Library { c: "sin", rust: "sin" };
        stablehlo: |to, x| to.elementwise("sine", &[x]);
    }
    /// Cosine, of radians.
    Cos "cos" Float {
        float: |x| x.cos();
        partial: |x, y| factor(-x.unary(Unary::Sin));
        zero: false; finite: true; tells_zeros: false; cost: 12.0; test: (-3.0, 3.0);
        source: Library { c: "cos", rust: "cos" };
        stablehlo: |to, x| to.elementwise("cosine", &[x]);
    }
    /// Tangent, of radians.
    Tan "tan" Float {
        float: |x| x.tan();
        partial: |x, y| factor(y * y + 1.0);
        zero: true; finite: false; tells_zeros: false; cost: 12.0; test: (-1.2, 1.2);
        source: Library { c: "tan", rust: "tan" };
        stablehlo: |to, x| to.elementwise("tan", &[x]);
    }
    /// The angle, in radians, whose sine is x.
    Asin "asin" Float {
        float: |x| x.asin();
        partial: |x, y| factor(one_minus_square(x).unary(Unary::Sqrt).unary(Unary::Recip));
        zero: true; finite: false; tells_zeros: false; cost: 12.0; test: (-0.8, 0.8);
        source: Library { c: "asin", rust: "asin" };
        stablehlo: |to, x| to.special("asin", &[x]);
    }
    /// The angle, in radians, whose cosine is x.
    Acos "acos" Float {
        float: |x| x.acos();
        partial: |x, y| factor(-one_minus_square(x).unary(Unary::Sqrt).unary(Unary::Recip));
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (-0.8, 0.8);
        source: Library { c: "acos", rust: "acos" };
        stablehlo: |to, x| to.special("acos", &[x]);
    }
    /// The angle, in radians, whose tangent is x.
    Atan "atan" Float {
        float: |x| x.atan();
        partial: |x, y| factor((x * x + 1.0).unary(Unary::Recip));
        zero: true; finite: true; tells_zeros: false; cost: 12.0; test: (-3.0, 3.0);
        source: Library { c: "atan", rust: "atan" };
        stablehlo: |to, x| to.special("atan", &[x]);
    }
    /// Hyperbolic sine.
    Sinh "sinh" Float {
        float: |x| x.sinh();
        partial: |x, y| factor(x.unary(Unary::Cosh));
        zero: true; finite: false; tells_zeros: false; cost: 12.0; test: (-2.0, 2.0);
        source: Library { c: "sinh", rust: "sinh" };
        stablehlo: |to, x| to.special("sinh", &[x]);
    }
    /// Hyperbolic cosine.
    Cosh "cosh" Float {
        float: |x| x.cosh();
        partial: |x, y| factor(x.unary(Unary::Sinh));
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (-2.0, 2.0);
        source: Library { c: "cosh", rust: "cosh" };
        stablehlo: |to, x| to.special("cosh", &[x]);
    }
    /// Hyperbolic tangent.
    Tanh "tanh" Float {
        float: |x| x.tanh();
        partial: |x, y| factor(-(y * y) + 1.0);
        zero: true; finite: true; tells_zeros: false; cost: 12.0; test: (-2.0, 2.0);
        source: Library { c: "tanh", rust: "tanh" };
        stablehlo: |to, x| to.elementwise("tanh", &[x]);
    }
    /// The number whose hyperbolic sine is x.
    Asinh "asinh" Float {
        float: |x| x.inverse_sinh();
        partial: |x, y| factor(root_of_square_and_one(x).unary(Unary::Recip));
        zero: true; finite: true; tells_zeros: false; cost: 12.0; test: (-3.0, 3.0);
        source: Helper(&helpers::ASINH);
        stablehlo: |to, x| to.special("asinh", &[x]);
    }
    /// The number above 0 whose hyperbolic cosine is x.
    Acosh "acosh" Float {
        float: |x| x.inverse_cosh();
        partial: |x, y| factor(((x + -1.0).unary(Unary::Sqrt) * (x + 1.0).unary(Unary::Sqrt)).unary(Unary::Recip));
        zero: false; finite: false; tells_zeros: false; cost: 12.0; test: (1.2, 3.0);
        source: Helper(&helpers::ACOSH);
        stablehlo: |to, x| to.special("acosh", &[x]);
    }
    /// The number whose hyperbolic tangent is x.
    Atanh "atanh" Float {
        float: |x| x.inverse_tanh();
        partial: |x, y| factor(one_minus_square(x).unary(Unary::Recip));
        zero: true; finite: false; tells_zeros: false; cost: 12.0; test: (-0.8, 0.8);
        source: Helper(&helpers::ATANH);
        stablehlo: |to, x| to.special("atanh", &[x]);
    }
    /// 1 / (1 + exp(−x)).
    Sigmoid "sigmoid" Float {
        float: |x| 1.0 / (1.0 + (-x).exp());
        partial: |x, y| factor(y * (-y + 1.0));
        zero: false; finite: true; tells_zeros: false; cost: 12.0; test: (-3.0, 3.0);
        source: Helper(&helpers::SIGMOID);
        stablehlo: |to, x| to.elementwise("logistic", &[x]);
    }
    /// ln(1 + exp(x)), without overflow.
    Softplus "softplus" Float {
        float: |x| x.max(0.0) + (-x.abs()).exp().ln_1p();
        partial: |x, y| factor(x.unary(Unary::Sigmoid));
        zero: false; finite: true; tells_zeros: false; cost: 12.0; test: (-3.0, 3.0);
        source: Helper(&helpers::SOFTPLUS);
        stablehlo: |to, x| {
            let positive = positive_part(to, x);
            let distance = to.elementwise("abs", &[x]);
            let rest = exponential_below(to, &distance);
            to.elementwise("add", &[&positive, &rest])
        };
    }
    /// The error function, 2/√π times the integral of exp(−t²) from 0 to x.
    Erf "erf" Float {
        float: |x| x.error_function();
        partial: |x, y| factor((-(x * x)).unary(Unary::Exp) * FRAC_2_SQRT_PI);
        zero: true; finite: true; tells_zeros: false; cost: 60.0; test: (-2.0, 2.0);
        source: Special("erf");
        stablehlo: |to, x| to.widened(&[x], |to, x| to.special("erf", x));
    }
    /// 1 − erf(x), exact for large x.
    Erfc "erfc" Float {
        float: |x| x.complementary_error_function();
        partial: |x, y| factor((-(x * x)).unary(Unary::Exp) * -FRAC_2_SQRT_PI);
        zero: false; finite: true; tells_zeros: false; cost: 60.0; test: (-2.0, 2.0);
        source: Special("erfc");
        stablehlo: |to, x| to.widened(&[x], |to, x| to.special("erfc", x));
    }
    /// ln |Γ(x)|.
    Lgamma "lgamma" Float {
        float: |x| x.log_gamma();
        partial: |x, y| factor(x.unary(Unary::Digamma));
        zero: false; finite: false; tells_zeros: false; cost: 60.0; test: (0.3, 5.0);
        source: Helper(&helpers::LGAMMA);
        stablehlo: |to, x| to.widened(&[x], |to, x| to.special("lgamma", x));
    }
    /// The derivative of ln |Γ(x)|.
    Digamma "digamma" Float {
        float: |x| x.polygamma(0);
        partial: |x, y| factor(x.unary(Unary::Polygamma(1)));
        zero: false; finite: false; tells_zeros: false; cost: 60.0; test: (0.3, 5.0);
        source: Helper(&helpers::DIGAMMA);
        stablehlo: |to, x| to.widened(&[x], |to, x| polygamma(to, x[0], 0));
    }
    /// The derivative of this order of the digamma function.
    Polygamma(n: u32) "polygamma" Float {
        float: |x| x.polygamma(n);
        partial: |x, y| factor(x.unary(Unary::Polygamma(n.saturating_add(1))));
        zero: false; finite: false; tells_zeros: false; cost: 60.0; test: (0.6, 5.0);
        source: match n {
            0 => Helper(&helpers::DIGAMMA),
            _ => HelperOf(n.into(), &helpers::POLYGAMMA),
        };
        stablehlo: |to, x| to.widened(&[x], |to, x| polygamma(to, x[0], n));
    }
    /// x where x > 0, else 0; NaN stays NaN.
    Relu "relu" Number {
        float: |x| if x <= 0.0 { 0.0 } else { x };
        integer: |x| if x > 0 { x } else { 0 };
        partial: |x, y| mask(x.compare(Comparison::Greater, 0.0));
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (0.2, 3.0);
        source: Helper(&helpers::RELU), of integers Helper(&helpers::RELU_OF_INTEGERS);
        stablehlo: |to, x| positive_part(to, x);
    }
    /// The largest whole number that is not above x.
    Floor "floor" Float {
        float: |x| x.floor();
        partial: |x, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (0.1, 0.9);
        source: Library { c: "floor", rust: "floor" };
        stablehlo: |to, x| to.elementwise("floor", &[x]);
    }
    /// The smallest whole number that is not below x.
    Ceil "ceil" Float {
        float: |x| x.ceil();
        partial: |x, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (0.1, 0.9);
        source: Library { c: "ceil", rust: "ceil" };
        stablehlo: |to, x| to.elementwise("ceil", &[x]);
    }
    /// The nearest whole number, halves away from zero.
    Round "round" Float {
        float: |x| x.round();
        partial: |x, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (0.6, 1.4);
        source: Library { c: "round", rust: "round" };
        stablehlo: |to, x| to.elementwise("round_nearest_afz", &[x]);
    }
    /// x, but its derivative is 0.
    StopGradient "stop_gradient" Float {
        float: |x| x;
        partial: |x, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: false; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0");
        stablehlo: |to, x| x.clone();
    }
    /// Logical negation.
    Not "not" Bool {
        bool: |x| !x;
        partial: |x, y| Partial::Zero;
        zero: false; finite: true; tells_zeros: false; cost: 1.0; test: (0.0, 1.0);
        source: Expression("!$0");
        stablehlo: |to, x| to.elementwise("not", &[x]);
    }
    /// Every bit the other way.
    BitNot "bit_not" Integer {
        integer: |x| !x;
        partial: |x, y| Partial::Zero;
        zero: false; finite: true; tells_zeros: false; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::BIT_NOT);
        stablehlo: |to, x| to.elementwise("not", &[x]);
    }
}
