//! Runs a small program in every way and compares with the table.

use deltaray::derivative::stage;
use deltaray::dual::{Dual, Tangent};
use deltaray::prelude::*;
use deltaray::staged::Staged;

pub type C = Concrete;

/// A program from floats and integers to floats, in every algebra.
pub struct Row<E: Float> {
    pub source: &'static str,
    pub concrete: fn(&Vector<C, E>, &Vector<C, i64>) -> Vector<C, E>,
    pub dual: fn(&Vector<Dual<C>, E>, &Vector<Dual<C>, i64>) -> Vector<Dual<C>, E>,
    pub tangent: fn(&Vector<Tangent<C>, E>, &Vector<Tangent<C>, i64>) -> Vector<Tangent<C>, E>,
    pub staged: fn(&Vector<Staged, E>, &Vector<Staged, i64>) -> Vector<Staged, E>,
}

fn close<E: Float>(found: &Vector<C, E>, expected: &[f64], what: &str) {
    let found = found.cast::<f64>().to_vec();
    let tolerance = if E::DTYPE == deltaray::shape::DType::F32 { 1e-5 } else { 1e-12 };
    let agree =
        |&a: &f64, &b: &f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs().max(1.0);
    let all = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| agree(a, b));
    assert!(all, "{what}: {found:?}, expected {expected:?}");
}

impl<E: Float> Row<E> {
    /// Checks the values, and the gradient of their sum with respect to the floats. A gradient of `None` may be any.
    pub fn check(&self, x: &[f64], i: &[i64], value: &[f64], gradient: Option<&[f64]>) {
        let numbers = |x: &[f64]| -> Vector<C, E> {
            Vector::from_slice(&x.iter().map(|&x| E::from_number(x)).collect::<Vec<E>>())
        };
        let at = (numbers(x), Vector::<C, i64>::from_slice(i));
        let (x, i) = (&at.0, &at.1);
        let what = |way: &str| format!("{} of {} at {:?}: {way}", self.source, E::DTYPE, (x, i));
        close(&(self.concrete)(x, i), value, &what("eager"));

        let ((_, y), eager) = value_and_grad_aux(
            |(x, i)| {
                let y = (self.dual)(x, i);
                (y.sum(), y)
            },
            (x, i),
        );
        close(&y, value, &what("the value of the eager gradient"));

        let staged = match stage(|(x, i)| (self.staged)(x, i), (x, i)) {
            Ok(staged) => staged,
            Err(error) => panic!("{}: {error}", what("staging")),
        };
        let text = format!("\n{}\n{staged}", staged.source());
        close(&staged.interpret((x, i)).unwrap(), value, &what(&format!("staged{text}")));
        let compiled = staged.compile(Cpu::default()).unwrap_or_else(|error| panic!("{}: {error}", what("compiling")));
        close(&compiled.call((x, i)).unwrap(), value, &what(&format!("compiled{text}")));

        let loss = stage(|(x, i)| (self.staged)(x, i).sum(), (x, i)).unwrap();
        let symbolic_gradient = loss.grad().unwrap();
        let symbolic = symbolic_gradient.interpret((x, i)).unwrap();
        let compiled_gradient = symbolic_gradient.compile(Cpu::default()).unwrap().call((x, i)).unwrap();

        // Reverse mode by a pullback of ones, with a program of its own.
        let pullback = staged.vjp().unwrap();
        let ones = full::<C, E, _>(value.len(), E::ONE);
        let (y, pulled) = pullback.interpret(&(at_copy(&at), ones)).unwrap();
        close(&y, value, &what(&format!("the value of the staged pullback{text}\n{pullback}")));

        let forward = staged.jvp().unwrap();
        for position in 0..x.len() {
            let mut direction = vec![0.0; x.len()];
            direction[position] = 1.0;
            let direction = numbers(&direction);
            let (y, dy) = jvp(|(x, i)| (self.tangent)(x, i), (x, i), &direction);
            close(&y, value, &what("the value in forward mode"));
            let (z, dz) = forward.interpret(&(at_copy(&at), direction)).unwrap();
            close(&z, value, &what(&format!("the value in staged forward mode{text}\n{forward}")));
            if let Some(gradient) = gradient {
                let expected = &gradient[position..=position];
                close(&dy.sum().reshape(1), expected, &what(&format!("forward mode, direction {position}")));
                let way = format!("staged forward mode, direction {position}{text}\n{forward}");
                close(&dz.sum().reshape(1), expected, &what(&way));
            }
        }
        if let Some(gradient) = gradient {
            close(&eager, gradient, &what("eager gradient"));
            close(&symbolic, gradient, &what(&format!("staged gradient{text}\n{symbolic_gradient}")));
            close(&compiled_gradient, gradient, &what(&format!("compiled gradient{text}\n{symbolic_gradient}")));
            close(&pulled, gradient, &what(&format!("staged pullback{text}\n{pullback}")));
        }
    }
}

fn at_copy<E: Float>(at: &(Vector<C, E>, Vector<C, i64>)) -> (Vector<C, E>, Vector<C, i64>) {
    at.clone()
}

/// A program from integers to integers, in every algebra.
pub struct IntegerRow<E: Integer> {
    pub source: &'static str,
    pub concrete: fn(&Vector<C, E>, &Vector<C, E>) -> Vector<C, E>,
    pub dual: fn(&Vector<Dual<C>, E>, &Vector<Dual<C>, E>) -> Vector<Dual<C>, E>,
    pub tangent: fn(&Vector<Tangent<C>, E>, &Vector<Tangent<C>, E>) -> Vector<Tangent<C>, E>,
    pub staged: fn(&Vector<Staged, E>, &Vector<Staged, E>) -> Vector<Staged, E>,
}

impl<E: Integer> IntegerRow<E> {
    /// Checks the values, alone and beside a derivative that does not depend on them.
    pub fn check(&self, a: &[E], b: &[E], value: &[E]) {
        let (a, b): (Vector<C, E>, Vector<C, E>) = (Vector::from_slice(a), Vector::from_slice(b));
        let expected: Vector<C, E> = Vector::from_slice(value);
        let what = |way: &str| format!("{} of {} at {a:?}, {b:?}: {way}", self.source, E::DTYPE);
        assert_eq!((self.concrete)(&a, &b), expected, "{}", what("eager"));
        let x: Vector<C, f64> = Vector::from_slice(&[0.5, 2.0]);
        let (dx, y) = grad_aux(|(x, a, b)| ((x * x).sum(), (self.dual)(a, b)), (&x, &a, &b));
        assert_eq!(y, expected, "{}", what("beside an eager gradient"));
        assert_eq!(dx.to_vec(), [1.0, 4.0]);
        let (_, dy, y) = jvp_aux(|(x, a, b)| ((x * x).sum(), (self.tangent)(a, b)), (&x, &a, &b), &x);
        assert_eq!(y, expected, "{}", what("beside forward mode"));
        assert_eq!(dy.item(), 8.5);
        let staged = stage(|(a, b)| (self.staged)(a, b), (&a, &b)).unwrap();
        assert_eq!(staged.interpret((&a, &b)).unwrap(), expected, "{}\n{staged}", what("staged"));
        let staged = stage(|(x, a, b)| ((x * x).sum(), (self.staged)(a, b)), (&x, &a, &b)).unwrap();
        let gradient = staged.value_and_grad_with_auxiliary().unwrap();
        let ((_, y), dx) = gradient.interpret((&x, &a, &b)).unwrap();
        assert_eq!(y, expected, "{}\n{gradient}", what("beside a staged gradient"));
        assert_eq!(dx.to_vec(), [1.0, 4.0]);
        // As factors of a differentiated product, in the gradient program itself.
        let product = |(x, a, b): &(Vector<Staged, f64>, Vector<Staged, E>, Vector<Staged, E>)| {
            ((self.staged)(a, b).cast::<f64>().sum() * x).sum()
        };
        let gradient = stage(product, (&x, &a, &b)).unwrap().grad().unwrap();
        let sum = expected.cast::<f64>().sum().item();
        for found in gradient.interpret((&x, &a, &b)).unwrap().to_vec() {
            let agree = (found - sum).abs() <= 1e-9 * sum.abs();
            assert!(agree, "{}: {found} and {sum}\n{gradient}", what("in a gradient"));
        }
    }
}

/// Rows for f64 and f32, or `[f64]` only: `|x, i| program; floats, integers => values, gradient of their sum`. Without a gradient it
/// may be any.
macro_rules! rows {
    ([f64] $(|$x:ident, $i:ident| $body:expr; $xs:expr, $is:expr => $value:expr $(, $gradient:expr)?;)*) => {
        $(rows!(@each [f64] [$x $i] [$body] [$xs] [$is] [$value] [$($gradient)?]);)*
    };
    ($(|$x:ident, $i:ident| $body:expr; $xs:expr, $is:expr => $value:expr $(, $gradient:expr)?;)*) => {
        $(rows!(@each [f64 f32] [$x $i] [$body] [$xs] [$is] [$value] [$($gradient)?]);)*
    };
    (@each [$($float:ident)*] $x:tt $body:tt $xs:tt $is:tt $value:tt $gradient:tt) => {
        $(rows!(@one $float $x $body $xs $is $value $gradient);)*
    };
    (@one $float:ident [$x:ident $i:ident] [$body:expr] [$xs:expr] [$is:expr] [$value:expr] [$($gradient:expr)?]) => {{
        #[allow(dead_code)]
        type E = $float;
        fn program<A: deltaray::algebra::Algebra>($x: &Vector<A, $float>, $i: &Vector<A, i64>) -> Vector<A, $float> {
            let _ = ($x, $i);
            $body
        }
        let row = $crate::harness::Row::<$float> {
            source: stringify!($body),
            concrete: program,
            dual: program,
            tangent: program,
            staged: program,
        };
        #[allow(unused_mut, unused_assignments)]
        let mut gradient: Option<Vec<f64>> = None;
        $(gradient = Some(Vec::from($gradient));)?
        row.check(&Vec::from($xs), &Vec::from($is), &Vec::from($value), gradient.as_deref());
    }};
}

/// Integer rows for i64 and i32: `|a, b| program, |a, b| the same on single numbers`, run on all pairs of some numbers.
macro_rules! integer_rows {
    ($(|$a:ident, $b:ident| $body:expr, $scalar:expr;)*) => {
        $(
            integer_rows!(@one i64 [$a $b] [$body] [$scalar]);
            integer_rows!(@one i32 [$a $b] [$body] [$scalar]);
        )*
    };
    (@one $int:ident [$a:ident $b:ident] [$body:expr] [$scalar:expr]) => {{
        #[allow(dead_code)]
        type I = $int;
        fn program<A: deltaray::algebra::Algebra>($a: &Vector<A, $int>, $b: &Vector<A, $int>) -> Vector<A, $int> {
            let _ = ($a, $b);
            $body
        }
        let row = $crate::harness::IntegerRow::<$int> {
            source: stringify!($body),
            concrete: program,
            dual: program,
            tangent: program,
            staged: program,
        };
        let scalar: fn($int, $int) -> $int = $scalar;
        let some = [$int::MIN, $int::MIN + 1, -7, -3, -1, 0, 1, 2, 3, 7, $int::MAX - 1, $int::MAX];
        let pairs: Vec<($int, $int)> = some.iter().flat_map(|&a| some.iter().map(move |&b| (a, b))).collect();
        let (a, b): (Vec<$int>, Vec<$int>) = pairs.iter().copied().unzip();
        let expected: Vec<$int> = pairs.into_iter().map(|(a, b)| scalar(a, b)).collect();
        row.check(&a, &b, &expected);
    }};
}
