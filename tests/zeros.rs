//! Zero has no sign: random programs of whole numbers, whose sums are all exact, end in operations that would tell zeros apart
//! in IEEE 754. All instances and engines give the same infinities and angles, for values and for results computed from
//! gradients.

use deltaray::derivative::stage;
use deltaray::prelude::*;
use quickcheck::{Arbitrary, Gen, QuickCheck};

/// The length of all vectors.
const LENGTH: usize = 4;

/// A step of a program; numbers choose among the vectors that there are.
#[derive(Clone, Copy, Debug)]
enum Step {
    Negate(u8),
    Add(u8, u8),
    Subtract(u8, u8),
    Multiply(u8, u8),
    Scale(u8, i8),
    AddZero(u8, bool),
    Sum(u8),
    Contract(u8, u8),
    RunningSum(u8),
    Scatter(u8, u8),
    Gather(u8, u8),
    Shift(u8),
    Reverse(u8),
    Select(u8, u8, u8),
    Maximum(u8, u8),
    Absolute(u8),
    Relu(u8),
    Loop(u8, u8),
    Choose(u8, u8),
    Build(u8, u8),
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Step {
        let (a, b, c) = (u8::arbitrary(g), u8::arbitrary(g), u8::arbitrary(g));
        match u8::arbitrary(g) % 20 {
            0 => Step::Negate(a),
            1 => Step::Add(a, b),
            2 => Step::Subtract(a, b),
            3 => Step::Multiply(a, b),
            4 => Step::Scale(a, (b % 5) as i8 - 2),
            5 => Step::AddZero(a, b % 2 == 0),
            6 => Step::Sum(a),
            7 => Step::Contract(a, b),
            8 => Step::RunningSum(a),
            9 => Step::Scatter(a, b),
            10 => Step::Gather(a, b),
            11 => Step::Shift(a),
            12 => Step::Reverse(a),
            13 => Step::Select(a, b, c),
            14 => Step::Maximum(a, b),
            15 => Step::Absolute(a),
            16 => Step::Relu(a),
            17 => Step::Loop(a, b),
            18 => Step::Choose(a, b),
            _ => Step::Build(a, b),
        }
    }
}

/// A program and its two inputs, of small whole numbers.
#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    inputs: [[f64; LENGTH]; 2],
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Case {
        let count = 1 + usize::arbitrary(g) % 8;
        let numbers = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0];
        let mut input = || std::array::from_fn(|_| *g.choose(&numbers).expect("some"));
        let inputs = [input(), input()];
        Case { steps: (0..count).map(|_| Step::arbitrary(g)).collect(), inputs }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Case>> {
        let inputs = self.inputs;
        let steps = self.steps.clone();
        let shorter = (0..steps.len()).map(move |at| {
            let mut steps = steps.clone();
            steps.remove(at);
            Case { steps, inputs }
        });
        let case = self.clone();
        let plainer = (0..2 * LENGTH).filter_map(move |at| {
            let mut case = case.clone();
            let number = std::mem::take(&mut case.inputs[at / LENGTH][at % LENGTH]);
            (number.to_bits() != 0).then_some(case)
        });
        Box::new(shorter.chain(plainer))
    }
}

/// The last vector of the steps.
fn run<A: Algebra>(steps: &[Step], x: &Vector<A, f64>, y: &Vector<A, f64>) -> Vector<A, f64> {
    let mut all = vec![x.clone(), y.clone()];
    for step in steps {
        // Later ones are taken more often.
        let of = |choice: u8| all[all.len() - 1 - choice as usize % all.len().min(3)].clone();
        let next = match *step {
            Step::Negate(a) => -of(a),
            Step::Add(a, b) => of(a) + of(b),
            Step::Subtract(a, b) => of(a) - of(b),
            Step::Multiply(a, b) => of(a) * of(b),
            Step::Scale(a, factor) => of(a) * f64::from(factor),
            Step::AddZero(a, negative) => of(a) + if negative { -0.0 } else { 0.0 },
            Step::Sum(a) => of(a).sum() * ones::<A, f64, _>(LENGTH),
            Step::Contract(a, b) => of(a).dot(&of(b)) * ones::<A, f64, _>(LENGTH),
            Step::RunningSum(a) => of(a).cumsum(0),
            Step::Scatter(a, at) => of(a).scatter(iota::<A>(LENGTH) * i64::from(at % 3), LENGTH),
            Step::Gather(a, at) => of(a).gather(iota::<A>(LENGTH) * 2 - i64::from(at % 3)),
            Step::Shift(a) => of(a).slice(0, 1..).pad(0, 0, 1),
            Step::Reverse(a) => of(a).reverse(0),
            Step::Select(a, b, c) => of(a).gt(0.0).select(of(b), of(c)),
            Step::Maximum(a, b) => of(a).max(of(b)),
            Step::Absolute(a) => of(a).abs(),
            Step::Relu(a) => of(a).relu(),
            Step::Loop(a, b) => fold(of(a), &of(b), |carry, part| part - carry),
            Step::Choose(a, b) => {
                let (a, b) = (of(a), of(b));
                cond(a.at(0).gt(0.0), || -&a, || a.reverse(0) + &b)
            }
            Step::Build(a, b) => {
                let (a, b) = (of(a), of(b));
                build(LENGTH, |i| a.at(&i) * b.at(LENGTH - 1 - i) - a.at(0))
            }
        };
        all.push(next);
    }
    all.pop().expect("the inputs at least")
}

/// Operations that would tell zeros apart.
fn told<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    let parts = [
        x.recip(),
        1.0 / (x * 3.0),
        x.powi(-3),
        x.pow(-1.0),
        x.atan2(full::<A, _, _>(LENGTH, -1.0)),
        full::<A, _, _>(LENGTH, 1.0).atan2(x),
        (-x).recip(),
    ];
    concatenate(0, &parts)
}

fn value<A: Algebra>(steps: &[Step], (x, y): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    told(&run(steps, x, y))
}

/// The results of such operations on a gradient, which consists of whole numbers too.
fn gradient<A: Algebra>(steps: &[Step], (x, y): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    let weights = y.lift();
    told(&grad(|x| (run(steps, x, &weights) * x).sum(), x))
}

/// Whether numbers are equal to rounding; infinities are of one sign, and zeros of any.
fn same(a: &[f64], b: &[f64]) -> bool {
    let close = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| close(a, b))
}

/// Compares all routes of a program.
macro_rules! agree {
    ($case:ident, $function:ident) => {{
        let steps = &$case.steps[..];
        let [x, y] = $case.inputs.map(|input| Vector::<Concrete, f64>::from(input.to_vec()));
        let arguments = (x, y);
        let expected = $function(steps, &arguments).to_vec();
        // The signs of zeros among inputs are nobody's business.
        let [x, y] = $case.inputs.map(|input| Vector::<Concrete, f64>::from(input.map(|x| x + 0.0).to_vec()));
        assert!(same(&expected, &$function(steps, &(x, y)).to_vec()), "eagerly, of zeros without signs");
        let staged = stage(|arguments| $function(steps, arguments), &arguments).expect("stages");
        let interpreted = staged.interpret(&arguments).expect("runs").to_vec();
        assert!(same(&expected, &interpreted), "eagerly {expected:?}\ninterpreted {interpreted:?}\n{staged}");
        let compiled = staged.compile(Cpu::default().threads(1)).expect("compiles");
        let compiled = compiled.call(&arguments).expect("runs").to_vec();
        assert!(same(&expected, &compiled), "eagerly {expected:?}\ncompiled {compiled:?}\n{staged}");
        true
    }};
}

#[test]
fn all_instances_and_engines_agree_on_what_zeros_become() {
    fn values(case: Case) -> bool {
        agree!(case, value)
    }
    fn gradients(case: Case) -> bool {
        agree!(case, gradient)
    }
    let programs = std::env::var("DELTARAY_RANDOM_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    QuickCheck::new().tests(programs).quickcheck(values as fn(Case) -> bool);
    QuickCheck::new().tests(programs).quickcheck(gradients as fn(Case) -> bool);
}
