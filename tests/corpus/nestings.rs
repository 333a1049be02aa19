//! Derivatives in derivatives: all nestings of forward and reverse mode to order three, at the top, inside of builds, of
//! loop bodies, of conditionals and of objectives.

use super::prelude::*;

/// The derivative of a function of a scalar, of the order and in the modes that the letters say, the outermost first: `R` is
/// a gradient, `F` a tangent along 1.
macro_rules! derivative {
    ([] $f:ident, $x:expr) => {
        $f($x)
    };
    ([R $($inner:ident)*] $f:ident, $x:expr) => {
        grad(|y| derivative!([$($inner)*] $f, y), $x)
    };
    ([F $($inner:ident)*] $f:ident, $x:expr) => {
        jvp(|y| derivative!([$($inner)*] $f, y), $x, &scalar(1.0)).1
    };
}

/// A row whose name is put together.
macro_rules! named {
    ($name:expr; $in:ty => $out:ty, |$input:pat_param| $body:expr, $at:expr) => {
        Row::new($name, function!($in => $out, |$input| $body), $at)
    };
}

/// Rows of one expression for each nesting of an order.
macro_rules! nestings {
    (1, $make:ident) => {
        vec![$make!("R", R), $make!("F", F)]
    };
    (2, $make:ident) => {
        vec![$make!("RR", R R), $make!("RF", R F), $make!("FR", F R), $make!("FF", F F)]
    };
    (3, $make:ident) => {
        vec![
            $make!("RRR", R R R), $make!("RRF", R R F), $make!("RFR", R F R), $make!("RFF", R F F),
            $make!("FRR", F R R), $make!("FRF", F R F), $make!("FFR", F F R), $make!("FFF", F F F),
        ]
    };
}

fn quartic<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    let y = x * x;
    &y * &y
}

/// x³ by a loop that captures x.
fn looped<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    iterate(scalar(1.0), 3, |c| c * x)
}

/// Σ (i + 1) xⁱ⁺¹ for i < 4, element by element, with a choice.
fn built<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    let powers = associative_scan(&x.replicate(4), |a, b| a * b);
    build(4, |i| cond(i.lt(7), || powers.at(&i) * (i.cast::<f64>() + 1.0), || powers.at(&i).ln())).sum()
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = at_the_top();
    rows.extend(inside());
    rows.extend(mixed());
    rows
}

fn at_the_top() -> Vec<Row> {
    macro_rules! first {
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("first derivative, ", $modes); S => S, |x| derivative!([$($mode)+] quartic, x), s(1.5)).value([13.5]).smooth()
        };
    }
    macro_rules! second {
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("second derivative, ", $modes); S => S, |x| derivative!([$($mode)+] quartic, x), s(1.5))
                .value([27.0])
                .gradient([36.0])
                .smooth()
        };
    }
    macro_rules! third {
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("third derivative, ", $modes); S => S, |x| derivative!([$($mode)+] quartic, x), s(1.5))
                .value([36.0])
                .gradient([24.0])
                .smooth()
        };
    }
    macro_rules! of_a_loop {
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("third derivative of a loop, ", $modes); S => S, |x| derivative!([$($mode)+] looped, x), s(1.5))
                .value([6.0])
                .gradient([0.0])
                .smooth()
        };
    }
    macro_rules! of_a_build {
        // Σ k xᵏ: the second derivative is 4 + 18 x + 48 x².
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("second derivative of a build, ", $modes); S => S, |x| derivative!([$($mode)+] built, x), s(0.5))
                .value([25.0])
                .gradient([66.0])
                .smooth()
        };
    }
    let mut rows: Vec<Row> = nestings!(1, first);
    rows.extend(nestings!(2, second));
    rows.extend(nestings!(3, third));
    rows.extend(nestings!(3, of_a_loop));
    rows.extend(nestings!(2, of_a_build));
    rows
}

fn inside() -> Vec<Row> {
    macro_rules! in_a_build {
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("second derivative in a build, ", $modes); V => V, |x| build(x.len(), |i| derivative!([$($mode)+] quartic, &x.at(i))), v([1.5, -1.0]))
                .value([27.0, 12.0])
                .gradient([36.0, -24.0])
                .smooth()
        };
    }
    macro_rules! in_a_loop {
        // Newton's method for the minimum of x⁴: each step leaves ⅔ of x.
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("second derivative in a loop, ", $modes); S => S, |x| iterate(x.clone(), 2, |c| &c - derivative!([R] quartic, &c) / derivative!([$($mode)+] quartic, &c)), s(1.5))
                .value([1.5 * 4.0 / 9.0])
                .gradient([4.0 / 9.0])
                .smooth()
        };
    }
    macro_rules! in_a_choice {
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("second derivative in a choice, ", $modes); S => S, |x| cond(x.gt(1.0), || derivative!([$($mode)+] looped, x), || x.ln()), s(1.5))
                .value([9.0])
                .gradient([6.0])
                .smooth()
        };
    }
    macro_rules! in_an_objective {
        // The outer derivative of (f″)²: 2 · 12x² · 24x = 576 x³.
        ($modes:literal, $($mode:ident)+) => {
            named!(concat!("second derivative in an objective, ", $modes); S => S, |x| {
                    fn penalty<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
                        derivative!([$($mode)+] quartic, x).powi(2)
                    }
                    derivative!([R] penalty, x)
                }, s(0.5))
                .value([72.0])
                .gradient([432.0])
                .smooth()
        };
    }
    let mut rows: Vec<Row> = nestings!(2, in_a_build);
    rows.extend(nestings!(2, in_a_loop));
    rows.extend(nestings!(2, in_a_choice));
    rows.extend(nestings!(2, in_an_objective));
    rows
}

fn mixed() -> Vec<Row> {
    vec![
        row!("d/dx' of d/dy' of x'·y', reverse in reverse": (S, S) => S,
            |(x, y)| grad(|x| grad(|y| x.lift() * y, &y.lift()), x), (s(1.0), s(2.0)))
        .value([1.0])
        .gradient([0.0, 0.0]),
        row!("d/dx' of d/dy' of x'·y', forward in reverse": (S, S) => S,
            |(x, y)| grad(|x| jvp(|y| x.lift_forward() * y, &y.lift(), &scalar(1.0)).1, x), (s(1.0), s(2.0)))
        .value([1.0]),
        row!("d/dx' of d/dy' of x'·y', reverse in forward": (S, S) => S,
            |(x, y)| jvp(|x| grad(|y| x.lift() * y, &y.lift_forward()), x, &scalar(1.0)).1, (s(1.0), s(2.0)))
        .value([1.0]),
        row!("d/dx' of d/dy' of x'·y', forward in forward": (S, S) => S,
            |(x, y)| jvp(|x| jvp(|y| x.lift_forward() * y, &y.lift_forward(), &scalar(1.0)).1, x, &scalar(1.0)).1,
            (s(1.0), s(2.0)))
        .value([1.0]),
        row!("x times a derivative that does not see it": S => S,
            |x| jvp(|x| x * jvp(|_| x.lift_forward(), &scalar(1.0), &scalar(1.0)).1, x, &scalar(1.0)).1, s(2.0))
        .value([0.0])
        .gradient([0.0]),
        row!("three levels that know of each other": (S, S, S) => S, |(x, y, z)| {
                grad(|x| {
                    let inner = jvp(|y| {
                        let x = x.lift_forward();
                        let slope = grad(|z| z * z * x.lift() * y.lift() + y.lift().sin(), &z.lift().lift_forward());
                        slope * y * x
                    }, &y.lift(), &scalar(1.0));
                    inner.1 * x
                }, x)
            }, (s(0.7), s(1.3), s(-0.4)))
        // The slope is 2xyz; ∂y of 2x²y²z is 4x²yz; ∂x of 4x³yz is 12x²yz.
        .value([12.0 * 0.49 * 1.3 * -0.4])
        .gradient([24.0 * 0.7 * 1.3 * -0.4, 12.0 * 0.49 * -0.4, 12.0 * 0.49 * 1.3])
        .smooth(),
        row!("sin' of sin' of x": S => S, |x| {
                fn sine<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
                    x.sin()
                }
                derivative!([R] sine, &derivative!([F] sine, x))
            }, s(1.1))
        .value([0.8988770945225438])
        .gradient([0.39052780643689855])
        .smooth(),
        row!("three reverse derivatives of fourth powers": V => V, |x| {
                let f = |x: &Vector<_, f64>| x.powi(4).sum();
                grad(|x| grad(|x| grad(f, x).sum(), x).sum(), x)
            }, v([1.0, 2.0, 3.0]))
        .value([24.0, 48.0, 72.0])
        .smooth(),
        row!("a Hessian of an inner minimum": (V, M) => M, |(x, a)| {
                // Three steps of descent of ½ |y − x|² + ¼ Σ y⁴, then the value there.
                let inner = |x: &Vector<_, f64>| {
                    let start = x * 0.0;
                    let energy = |(y, x): &(Vector<_, f64>, Vector<_, f64>)| {
                        let d = y - x;
                        0.5 * (&d * &d).sum() + 0.25 * y.powi(4).sum()
                    };
                    let y = iterate(start, 3, |y| &y - 0.3 * grad(energy, (&y, x)));
                    (&y * &y).sum()
                };
                hessian(inner, x) * a
            }, (some(2, 461), some((2, 2), 462)))
        .smooth()
        .overhead(2, 200),
    ]
}
