//! Functions with derivative rules of their own, beyond the rows of the corpus: wrong rules, programs, and the check of
//! derivatives.

#[macro_use]
mod named_functions;

use deltaray::algebra::Algebra;
use deltaray::prelude::*;
use deltaray::term::{Body, Op};
use std::panic::{AssertUnwindSafe, catch_unwind};

type S = Scalar<Concrete, f64>;
type V = Vector<Concrete, f64>;

function!(Square: V => V, |x| x * x);
function!(SquarePulled: (V, V, V) => V, |(x, _, c)| 2.0 * x * c);
function!(Shortened: (V, V, V) => V, |(x, _, c)| c.slice(0, 1..));
function!(Halved: (V, V, V) => V, |(x, _, c)| x * c);
function!(Third: (V, V, V) => V, |(x, _, c)| 2.0 * x * c * iota(x.len()).equal(2).select(1.5, 1.0));
function!(Plane: (V, S) => V, |(x, w)| x * w);
function!(PlanePulled: ((V, S), V, V) => (V, S), |((x, w), _, c)| (c * w, (c * x).sum() * 2.0));
function!(Recursive: S => S, |x| custom_vjp(&Sine, &RecursivePulled, x));
function!(Sine: S => S, |x| x.sin());
function!(RecursivePulled: (S, S, S) => S, |(x, _, c)| Recursive.call::<A>(&(x + std::f64::consts::FRAC_PI_2)) * c);

fn x() -> V {
    vec![1.0, 2.0, 3.0].into()
}

/// The text of a panic.
fn panic_of(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("a wrong rule is reported");
    payload.downcast_ref::<String>().expect("panics have a text").clone()
}

fn customs(body: &Body) -> usize {
    let nested = |op: &Op| match op {
        Op::Custom(_) => 1,
        Op::Scan(scan) => customs(&scan.body),
        Op::Branch(branch) => customs(&branch.then) + customs(&branch.otherwise),
        _ => 0,
    };
    body.nodes().iter().map(|node| nested(&node.op)).sum()
}

#[test]
fn a_cotangent_of_another_shape_is_an_error() {
    let expected =
        "the argument and what the rule gives for it differ: array 0 is f64[3] and f64[2] (at tests/custom_rules.rs:";
    let line = line!() + 1;
    let eager = panic_of(|| drop(grad(|x| custom_vjp(&Square, &Shortened, x).sum(), &x())));
    assert!(eager.starts_with(&format!("custom_vjp: {expected}{line}:")), "{eager}");
    let forward = panic_of(|| drop(jvp(|x| custom_vjp(&Square, &Shortened, x), &x(), &x())));
    assert!(forward.starts_with(&format!("custom_vjp: {expected}")), "{forward}");
    let line = line!() + 1;
    let staged = stage(|x| CustomVjp(Square, Shortened).call(x), &x()).err();
    let staged = staged.expect("staging runs the rule").to_string();
    assert!(staged.starts_with(&format!("custom_vjp: {expected}{line}:")), "{staged}");
    let nested = stage(|x| fold(x.clone(), x, |s, _| custom_vjp(&Square, &Shortened, &s)), &x()).err();
    assert!(nested.expect("staging runs the rule").to_string().starts_with(&format!("custom_vjp: {expected}")));
}

#[test]
fn a_tangent_of_another_shape_is_an_error() {
    let expected = "custom_jvp: the value and what the rule gives for it differ: array 0 is f64[3] and f64[2] (at tests/custom_rules.rs:";
    let forward = panic_of(|| drop(jvp(|x| custom_jvp(&Square, &Shortened, x), &x(), &x())));
    assert!(forward.starts_with(expected), "{forward}");
    let reverse = panic_of(|| drop(grad(|x| custom_jvp(&Square, &Shortened, x).sum(), &x())));
    assert!(reverse.starts_with(expected), "{reverse}");
    let staged = stage(|x| custom_jvp(&Square, &Shortened, x), &x()).expect_err("staging runs the rule").to_string();
    assert!(staged.starts_with(expected), "{staged}");
    // The value alone needs no rule.
    assert_eq!(custom_jvp(&Square, &Shortened, &x()).to_vec(), [1.0, 4.0, 9.0]);
}

#[test]
fn a_rule_that_uses_its_own_function_runs_eagerly_and_is_an_error_staged() {
    let at = scalar(0.5);
    let third = grad(|x| grad(|x| grad(|x| Recursive.call(x), x), x), &at).item();
    assert!((third + 0.5_f64.cos()).abs() < 1e-12);
    let error = stage(|x| Recursive.call(x), &at).expect_err("the rule has no end").to_string();
    assert!(error.starts_with("custom rule: a rule that uses the function it belongs to, 8 rules deep"), "{error}");
    // Earlier stagings do not count.
    assert!(stage(|x| custom_vjp(&Square, &SquarePulled, x), &x()).is_ok());
}

#[test]
fn a_program_that_runs_holds_no_rules() {
    let staged = stage(|x| custom_vjp(&Square, &SquarePulled, x).sum(), &x()).unwrap();
    assert_eq!((customs(staged.differentiable()), customs(staged.program())), (1, 0));
    let gradient = staged.grad().unwrap();
    assert_eq!(gradient.to_string().trim(), "program grad_f(p0: f64[3]) -> gradient: f64[3]:\n    p0 * 2.0");
    let both = staged.value_and_grad().unwrap();
    assert_eq!((customs(both.differentiable()), customs(both.program())), (1, 0));
    let in_a_loop = stage(|x| fold(x.clone(), x, |s, w| custom_vjp(&Square, &SquarePulled, &(s * w))), &x()).unwrap();
    assert_eq!((customs(in_a_loop.differentiable()), customs(in_a_loop.program())), (1, 0));
}

#[test]
fn the_differentiable_program_shows_the_rules() {
    let staged = stage(|x| custom_vjp(&Square, &SquarePulled, x), &x()).unwrap();
    let text = staged.differentiable().to_string();
    let expected = "\
let m1: f64[3] = custom (p0) λ(s1: f64[3]). s1 * s1
    vjp λ(s2: f64[3], e1: f64[3], e2: f64[3]). s2 * 2.0 * e2
    m1";
    assert!(text.trim_end().ends_with(expected), "{text}");
}

#[test]
fn right_rules_pass_the_check() {
    let options = CheckGrad::default();
    check_grad(&CustomVjp(Square, SquarePulled), &x(), &options).unwrap();
    check_grad(&CustomJvp(Square, SquarePulled), &x(), &options).unwrap();
    check_grad(&Plane, &(x(), scalar(2.0)), &options).unwrap();
    function!(Single: Vector<Concrete, f32> => Vector<Concrete, f32>, |x| x.sin());
    check_grad(&Single, &vec![0.5_f32, 1.5].into(), &options).unwrap();
    function!(Positions: (V, Vector<Concrete, i64>) => V, |(x, i)| build(i.len(), |k| x.at(i.at(k)).exp()));
    check_grad(&Positions, &(x(), vec![2, 0].into()), &options).unwrap();
}

#[test]
fn wrong_rules_are_found() {
    let report = |result: deltaray::Result<()>| result.expect_err("the rule is wrong").to_string();
    let options = CheckGrad::default();
    let halved = report(check_grad(&CustomVjp(Square, Halved), &x(), &options));
    assert!(halved.starts_with("check_grad: derivatives by input 0, element ["), "{halved}");
    let all = "; reverse, forward, staged reverse, staged forward differ from the finite differences by more than";
    assert!(halved.contains(all), "{halved}");
    // One element is wrong, and it is named.
    let third = report(check_grad(&CustomVjp(Square, Third), &x(), &options));
    assert!(third.starts_with("check_grad: derivatives by input 0, element [2], disagree: reverse "), "{third}");
    // One of two inputs is.
    let plane = report(check_grad(&CustomVjp(Plane, PlanePulled), &(x(), scalar(2.0)), &options));
    assert!(plane.starts_with("check_grad: derivatives by input 1, element [], disagree: reverse "), "{plane}");
    // The two modes have different rules, and one is wrong.
    let one = report(check_grad(&CustomRules(Square, SquarePulled, Halved), &x(), &options));
    assert!(one.contains("; forward, staged forward differ from the finite differences by more than"), "{one}");
    let other = report(check_grad(&CustomRules(Square, Halved, SquarePulled), &x(), &options));
    assert!(other.contains("; reverse, staged reverse differ from the finite differences by more than"), "{other}");
}

function!(Magnitude: S => S, |x| x.abs());
function!(Logarithm: V => V, |x| x.ln());
function!(LogarithmPulled: (V, V, V) => V, |(x, _, c)| c / x);
function!(LogarithmWrong: (V, V, V) => V, |(x, _, c)| x.lt(1.0).select(2.0, 1.0) * c / x);
function!(Wave: S => S, |x| x.sin());
function!(Cancelled: V => V, |x| x.sin().powi(2) + x.cos().powi(2) - 1.0);

/// The error of a check.
fn found<F: ArrayFn>(f: &F, at: &<F::In as Family>::At<Concrete>) -> String {
    check_grad(f, at, &CheckGrad::default()).expect_err("the derivative is wrong").to_string()
}

#[test]
fn a_kink_is_told_from_a_wrong_rule() {
    // At the point, and between the points that are sampled, whatever the step.
    let error = found(&Magnitude, &scalar(0.0));
    let start = "check_grad: derivatives by input 0, element [], disagree: reverse 0.0, ";
    assert!(error.starts_with(start), "{error}");
    assert!(error.contains("; to the left and to the right the differences are -0."), "{error}");
    assert!(error.ends_with("so the function is not smooth there"), "{error}");
    function!(Steps: S => S, |x| (x * 1e12).floor());
    let error = found(&Steps, &scalar(0.3));
    assert!(error.ends_with("so the function is not smooth there"), "{error}");
    // A kink that is far beside the magnitude of the element does no harm.
    check_grad(&Magnitude, &scalar(0.5), &CheckGrad::default()).unwrap();
    check_grad(&Magnitude, &scalar(0.0005), &CheckGrad::default()).unwrap();
}

#[test]
fn elements_of_all_magnitudes_are_checked() {
    let options = CheckGrad::default();
    let mixed: V = vec![1e-6, 1e6, -3.0, 0.0, 1e-17].into();
    check_grad(&Square, &mixed, &options).unwrap();
    check_grad(&CustomVjp(Square, SquarePulled), &mixed, &options).unwrap();
    check_grad(&Plane, &(mixed, scalar(1e-4)), &options).unwrap();
    // Smooth only for steps that are small beside the element, and beside the usual ones.
    let small: V = vec![1e-8, 2.0, 1e6, 1e-14].into();
    check_grad(&CustomVjp(Logarithm, LogarithmPulled), &small, &options).unwrap();
    let error = found(&CustomVjp(Logarithm, LogarithmWrong), &small);
    let places =
        ["[0]", "[3]"].map(|element| format!("check_grad: derivatives by input 0, element {element}, disagree"));
    assert!(places.iter().any(|start| error.starts_with(start)), "{error}");
    assert!(
        error.contains("; reverse, forward, staged reverse, staged forward differ from the finite differences by more")
    );
    // Smooth only for steps that are small beside a large element.
    check_grad(&Wave, &scalar(1e5), &options).unwrap();
    // Nothing but rounding.
    check_grad(&Cancelled, &vec![0.3, 1.0, 2.0, 100.0].into(), &options).unwrap();
    let single: Vector<Concrete, f32> = vec![1e-6, 1e6, -3.0, 0.0].into();
    function!(Roots: Vector<Concrete, f32> => Vector<Concrete, f32>, |x| (x * x + 1.0).sqrt());
    check_grad(&Roots, &single, &options).unwrap();
    function!(RootsWrong: (Vector<Concrete, f32>, Vector<Concrete, f32>, Vector<Concrete, f32>) => Vector<Concrete, f32>,
        |(x, y, c)| x.gt(1e5).select(1.1, 1.0) * c * x / y);
    let error = found(&CustomVjp(Roots, RootsWrong), &single);
    assert!(error.starts_with("check_grad: derivatives by input 0, element [1], disagree"), "{error}");
}

#[test]
fn a_derivative_by_an_element_of_another_magnitude_is_judged() {
    // The derivative by the small element alone is wrong.
    function!(Sum: V => S, |x| x.sum());
    function!(SumWrong: (V, S, S) => V, |(x, _, c)| c * x.lt(1e-2).select(1.5, 1.0));
    check_grad(&Sum, &vec![1e-3, 2e3].into(), &CheckGrad::default()).unwrap();
    let error = found(&CustomVjp(Sum, SumWrong), &vec![1e-3, 2e3].into());
    assert!(error.starts_with("check_grad: derivatives by input 0, element [0], disagree: reverse "), "{error}");
}

#[test]
fn what_is_not_finite_is_said() {
    function!(Root: V => V, |x| x.sqrt());
    let error = found(&Root, &vec![1.0, 0.0].into());
    let start = "check_grad: result 0, element [1], is not finite, but NaN, at -1";
    assert!(error.starts_with(start), "{error}");
    assert!(
        error.contains(" of input 0, element [1], which is 1 step of 1") && error.ends_with(" from the point"),
        "{error}"
    );
    function!(Inverse: V => V, |x| 1.0 / x);
    let error = found(&Inverse, &vec![1.0, 0.0].into());
    assert_eq!(error, "check_grad: result 0, element [1], is not finite, but inf, at the point");
    // An element that does not move does no harm.
    function!(Masked: V => V, |x| iota(x.len()).equal(1).select(f64::NEG_INFINITY, x.exp()));
    check_grad(&Masked, &vec![1.0, 0.0].into(), &CheckGrad::default()).unwrap();
}

#[test]
fn options_that_check_nothing_are_errors() {
    let wrong = CustomVjp(Square, Halved);
    let error = |options: CheckGrad| check_grad(&wrong, &x(), &options).expect_err("nothing is checked").to_string();
    let none = error(CheckGrad { directions: 0, ..CheckGrad::default() });
    assert_eq!(none, "check_grad: 0 directions check nothing, at least 1 is needed");
    for value in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
        let step = error(CheckGrad { step: Some(value), ..CheckGrad::default() });
        assert_eq!(step, format!("check_grad: the step {value:?} is not a positive finite number"));
        let tolerance = error(CheckGrad { tolerance: Some(value), ..CheckGrad::default() });
        assert_eq!(tolerance, format!("check_grad: the tolerance {value:?} is not a positive finite number"));
    }
}

function!(Far: V => V, |x| x * x + 1e10);
function!(Doubled: (V, V, V) => V, |(x, _, c)| 4.0 * x * c);
function!(Negative: (V, V, V) => V, |(x, _, c)| -2.0 * x * c);
function!(Vanished: (V, V, V) => V, |(x, _, c)| 0.0 * x * c);

#[test]
fn small_derivatives_are_judged_by_their_own_magnitude() {
    let options = CheckGrad::default();
    // Beside large results, where differences need larger steps.
    let at: V = vec![0.1, 0.2].into();
    check_grad(&CustomVjp(Far, SquarePulled), &at, &options).unwrap();
    for error in [
        found(&CustomVjp(Far, Doubled), &at),
        found(&CustomVjp(Far, Halved), &at),
        found(&CustomVjp(Far, Negative), &at),
        found(&CustomVjp(Far, Vanished), &at),
    ] {
        assert!(error.contains("staged forward differ from the finite differences by more than"), "{error}");
    }
    // Small results.
    for at in [[1e-7, 2e-7], [1e-12, 3e-12], [1e-3, 1e-2]] {
        let at: V = at.to_vec().into();
        check_grad(&CustomVjp(Square, SquarePulled), &at, &options).unwrap();
        for error in [
            found(&CustomVjp(Square, Negative), &at),
            found(&CustomVjp(Square, Doubled), &at),
            found(&CustomVjp(Square, Vanished), &at),
            found(&CustomRules(Square, SquarePulled, Halved), &at),
        ] {
            assert!(error.contains("forward differ from the finite differences by more than"), "{error}");
        }
    }
    type Singles = Vector<Concrete, f32>;
    function!(Single: Singles => Singles, |x| x * x);
    function!(SingleRight: (Singles, Singles, Singles) => Singles, |(x, _, c)| 2.0 * x * c);
    function!(SingleWrong: (Singles, Singles, Singles) => Singles, |(x, _, c)| 2.2 * x * c);
    let at: Singles = vec![0.01, 0.02].into();
    check_grad(&CustomVjp(Single, SingleRight), &at, &options).unwrap();
    let error = found(&CustomVjp(Single, SingleWrong), &at);
    assert!(error.contains("differ from the finite differences by more than"), "{error}");
}

#[test]
fn a_derivative_that_rounding_hides_is_not_passed() {
    let at: V = vec![1e-4, 1e-4].into();
    for error in [found(&CustomVjp(Far, SquarePulled), &at), found(&CustomVjp(Far, Negative), &at)] {
        assert!(error.starts_with("check_grad: derivatives by input 0, element ["), "{error}");
        assert!(
            error.contains("] cannot be decided by finite differences") || error.contains("], cannot be"),
            "{error}"
        );
        assert!(error.contains("check at another point"), "{error}");
    }
    // The modes have no rounding of differences.
    let error = found(&CustomRules(Far, SquarePulled, Halved), &at);
    let end = "; reverse, forward, staged reverse, staged forward differ from each other by more than ";
    assert!(error.contains(end), "{error}");
    // The function does not move at all.
    function!(Farther: V => V, |x| x * x + 1e20);
    let error = found(&Farther, &vec![0.1].into());
    assert!(error.contains("cannot be decided by finite differences"), "{error}");
}

#[test]
fn derivatives_of_zero_pass() {
    let options = CheckGrad::default();
    function!(Constant: S => S, |x| x * 0.0 + 3.0);
    function!(Cosine: S => S, |x| x.cos());
    function!(Powers: S => V, |x| build(6, |i| x.powi(2) * x.pow(i.cast::<f64>())));
    function!(Normalised: V => V, |x| deltaray::functions::softmax(x, 0).sum() * iota(3).cast::<f64>());
    function!(Lowest: S => V, |x| build(3, |i| (x - 1.0).powi(2) * 1e6_f64 + x.exp() - x * 1.0_f64.exp() + i.cast::<f64>()));
    function!(Remainder: S => S, |x| x - x.sin());
    for at in [0.0, 0.3, 1e-9] {
        check_grad(&Constant, &scalar(at), &options).unwrap();
    }
    for at in [0.0, std::f64::consts::PI] {
        check_grad(&Cosine, &scalar(at), &options).unwrap();
    }
    check_grad(&Powers, &scalar(0.0), &options).unwrap();
    check_grad(&Normalised, &vec![0.3, -1.0, 2.0].into(), &options).unwrap();
    check_grad(&Lowest, &scalar(1.0), &options).unwrap();
    check_grad(&Remainder, &scalar(0.0), &options).unwrap();
    function!(SingleCosine: Scalar<Concrete, f32> => Scalar<Concrete, f32>, |x| x.cos());
    check_grad(&SingleCosine, &scalar(0.0_f32), &options).unwrap();
    // A derivative that is not zero, but is said to be.
    let error = found(&CustomVjp(Square, Vanished), &vec![1e-5].into());
    assert!(error.contains("differ from the finite differences by more than"), "{error}");
}

#[test]
fn what_is_not_finite_and_does_not_move_is_said() {
    let error = found(&Square, &vec![f64::INFINITY, 0.0].into());
    assert_eq!(error, "check_grad: result 0, element [0], is not finite, but inf, at the point");
    let error = found(&Wave, &scalar(f64::NAN));
    assert_eq!(error, "check_grad: result 0, element [], is not finite, but NaN, at the point");
    // The result is finite, but not the derivative by a relative movement.
    function!(Exponential: S => S, |x| x.exp());
    let error = found(&Exponential, &scalar(709.7));
    assert!(error.contains("are not finite") && !error.contains("NaN"), "{error}");
}

#[test]
fn a_check_of_shapes_that_do_not_fit_is_an_error() {
    let line = line!() + 1;
    let error = check_grad(&CustomVjp(Square, Shortened), &x(), &CheckGrad::default()).unwrap_err().to_string();
    assert!(error.starts_with("custom_vjp: the argument and what the rule gives for it differ"), "{error}");
    assert!(error.contains(&format!("(at tests/custom_rules.rs:{line}:")), "{error}");
    let composed = Compose(Square, CustomJvp(Square, Shortened));
    let line = line!() + 1;
    let error = check_grad(&composed, &x(), &CheckGrad::default()).unwrap_err().to_string();
    assert!(error.contains(&format!("(at tests/custom_rules.rs:{line}:")), "{error}");
    let line = line!() + 1;
    function!(Inside: V => V, |x| custom_vjp(&Square, &Shortened, x));
    let error = check_grad(&Inside, &x(), &CheckGrad::default()).unwrap_err().to_string();
    assert!(error.contains(&format!("(at tests/custom_rules.rs:{line}:")), "{error}");
}

/// Half of the cotangent, by as many steps as its size needs.
fn halved_in_steps<A: Algebra>(c: &Scalar<A, f64>) -> Scalar<A, f64> {
    let first = (scalar(0.0), c.clone());
    while_loop(first, |(_, rest)| rest.abs().gt(1e-12), |(sum, rest)| (sum + &rest / 4.0, rest / 2.0)).0
}

function!(HalfOf: S => S, |x| x / 2.0);
function!(HalvedInSteps: (S, S, S) => S, |(_, _, c)| halved_in_steps(c));

/// A rule is transposed at a nonzero value of its linear argument, since its loops would make no steps at 0.
#[test]
fn a_rule_with_a_loop_that_depends_on_the_cotangent_is_transposed() {
    let (at, one) = (scalar(0.7), scalar(1.0));
    let close = |found: f64| assert!((found - 0.5).abs() < 1e-9, "{found}");
    let reverse = CustomVjp(HalfOf, HalvedInSteps);
    let forward = CustomJvp(HalfOf, HalvedInSteps);
    close(jvp(|x| reverse.call(x), &at, &one).1.item());
    close(grad(|x| forward.call(x), &at).item());
    close(linearize(|x| reverse.call(x), &at).1(&one).item());
    close(linearize(|x| forward.call(x), &at).1(&one).item());
    let staged = stage(|x| reverse.call(x), &at).unwrap();
    close(staged.jvp().unwrap().call((&at, &one)).unwrap().1.item());
    close(staged.linearize(&at).unwrap().1.call(&one).unwrap().item());
    close(stage(|x| jvp(|x| reverse.call(x), x, &scalar(1.0)).1, &at).unwrap().call(&at).unwrap().item());
    let staged = stage(|x| forward.call(x), &at).unwrap();
    close(staged.grad().unwrap().call(&at).unwrap().item());
    close(staged.linearize(&at).unwrap().1.call(&one).unwrap().item());
    let mapped = stage(|x| build(2, |_| forward.call(&x.clone())).sum(), &at).unwrap();
    close(mapped.grad().unwrap().call(&at).unwrap().item() / 2.0);
    check_grad(&reverse, &at, &CheckGrad::default()).unwrap();
    check_grad(&forward, &at, &CheckGrad::default()).unwrap();
}
