//! Values of simplified programs: infinite and very small ones, and booleans at edges.

use super::*;

/// The gradient of a gradient of a loop multiplied by 1, keeping zeros.
#[test]
fn kept_zeros_of_constants_are_simplified() {
    fn curvature<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let step = |c: Scalar<_, f64>, e: Scalar<_, f64>| (c * e.exp(), ());
        jvp(|y| grad(|z| scan(scalar(1.0), z, z.len(), step).0, y), x, &(x * 0.0 + 1.0)).1.sum()
    }
    let x = v(&[0.5, -1.0, 0.25]);
    let gradient = stage(curvature, &x).unwrap().grad().unwrap();
    let text = gradient.to_string();
    assert!(!text.contains("keep_zero(1.0"), "{text}");
    let expected = grad(curvature, &x).to_vec();
    for (found, expected) in gradient.call(&x).unwrap().to_vec().iter().zip(expected) {
        approx::assert_relative_eq!(*found, expected, max_relative = 1e-9);
    }
}

/// An infinite factor was multiplied with the sum: ∞ instead of ∞ − ∞.
#[test]
fn constants_that_are_infinite_stay_in_sums() {
    fn sum<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        (x * f64::INFINITY).sum()
    }
    let x = v(&[2.0, -1.0]);
    let staged = stage(sum, &x).unwrap();
    let compiled = staged.compile(Cpu::default()).unwrap();
    for sum in [sum(&x), staged.interpret(&x).unwrap(), compiled.call(&x).unwrap()] {
        assert!(sum.item().is_nan());
    }
}

/// Constant factors were multiplied or added up beyond the range of numbers: results were NaN, 0 or infinite.
#[test]
fn constant_factors_stay_in_the_range_of_numbers() {
    macro_rules! check {
        ($t:ty, $elements:expr, $x:ident => $y:expr) => {{
            let x: Vector<Concrete, $t> = Vector::from_slice(&$elements);
            let expected = (|$x: &Vector<Concrete, $t>| $y)(&x).to_vec();
            let staged = stage(|$x: &Vector<Staged, $t>| $y, &x).unwrap();
            let compiled = staged.compile(Cpu::default()).unwrap();
            for results in [staged.interpret(&x).unwrap(), compiled.call(&x).unwrap()] {
                for (result, expected) in results.to_vec().into_iter().zip(&expected) {
                    let is_near =
                        result == *expected || (result - expected).abs() <= 4.0 * <$t>::EPSILON * expected.abs();
                    assert!(is_near, "{}: {result}, not {expected}", stringify!($y));
                }
            }
        }};
    }
    check!(f64, [0.0, 1e-300], x => x * 1e200 * 1e200);
    check!(f64, [1e300, f64::INFINITY], x => x * 1e-200 * 1e-200);
    check!(f64, [0.0, 0.5], x => x * 1e308 + x * 1e308);
    check!(f32, [0.0, 1e-30], x => x * 1e30 * 1e30);
    check!(f32, [1e30, f32::INFINITY], x => x * 1e-30 * 1e-30);
    check!(f64, [1e200, 3e200], x => grad(|x| (x * 1e-200).powi(2).sum(), x));
    check!(f64, [1e-200, 3e-200], x => grad(|x| (x * 1e200).powi(2).sum(), x));
    check!(f32, [1e30, 3e30], x => grad(|x| (x * 1e-30).powi(2).sum(), x));
    // An infinite or zero factor stays one.
    check!(f64, [2.0, -3.0], x => x * f64::INFINITY * 1e-200);
    check!(f64, [2.0, -3.0], x => x * 0.0 * 1e-200);
}

/// A scatter of parts was added up, which booleans are not.
#[test]
fn booleans_in_parts_are_scattered() {
    let x = Vector::from(vec![true]);
    let parts = |x: &Vector<Staged, bool>| {
        let all = concatenate(0, &vec![x.clone(); 13]);
        all.scatter(&all.cast::<i64>(), 5)
    };
    let staged = stage(parts, &x).unwrap();
    let expected = [false, true, false, false, false];
    for found in [staged.interpret(&x).unwrap(), staged.compile(Cpu::default()).unwrap().call(&x).unwrap()] {
        assert_eq!(found.to_vec(), expected);
    }
}

/// In loops over a few numbers the inverse of a power that was too small lost its sign.
#[test]
fn negative_powers_that_overflow_keep_their_sign() {
    let powers = |x: &Scalar<Staged, f32>| {
        let step = |c: Scalar<Staged, f32>| (c.powi(-3), c.powi(-2), c.powi(-1));
        let start = (x.clone(), x.clone(), x.clone());
        iterate(start, 1, |(c, _, _): (Scalar<Staged, f32>, Scalar<Staged, f32>, Scalar<Staged, f32>)| step(c))
    };
    for (x, cube) in [(-1e-20, f32::NEG_INFINITY), (1e-20, f32::INFINITY), (-0.0, f32::INFINITY)] {
        let x = scalar(x);
        let staged = stage(powers, &x).unwrap();
        let compiled = staged.compile(Cpu::default()).unwrap();
        for (a, b, c) in [staged.interpret(&x).unwrap(), compiled.call(&x).unwrap()] {
            assert_eq!((a.item(), b.item()), (cube, f32::INFINITY));
            assert_eq!(c.item(), 1.0 / (x.item() + 0.0));
        }
    }
}

/// A sum of products also equals the eager program's result where its constant factors, multiplied together or after the sum,
/// would leave the range of numbers.
#[test]
fn constant_factors_of_sums_stay_in_the_range_of_numbers() {
    macro_rules! check {
        ($t:ty, $elements:expr, $x:ident => $y:expr) => {{
            let x: Vector<Concrete, $t> = Vector::from_slice(&$elements);
            let (expected, slopes) = value_and_grad(|$x: &Vector<_, $t>| $y, &x);
            let (expected, slopes) = (expected.item(), slopes.to_vec());
            let staged = stage(|$x: &Vector<Staged, $t>| $y, &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            let is_near =
                |a: $t, b: $t| a == b || (a - b).abs() <= 16.0 * <$t>::EPSILON * b.abs() || (a.is_nan() && b.is_nan());
            for (value, slope) in
                [gradient.interpret(&x).unwrap(), gradient.compile(Cpu::default()).unwrap().call(&x).unwrap()]
            {
                let found = value.item();
                assert!(is_near(found, expected), "{}: {found}, not {expected}\n{staged}", stringify!($y));
                for (found, &expected) in slope.to_vec().into_iter().zip(&slopes) {
                    assert!(is_near(found, expected), "{}: slope {found}, not {expected}", stringify!($y));
                }
            }
            let found = staged.interpret(&x).unwrap().item();
            assert!(is_near(found, expected), "{}: {found}, not {expected}", stringify!($y));
        }};
    }
    macro_rules! check_all {
        ($t:ty, $large:expr, $small:expr) => {
            let (x, y) = ([$large, 2.0 * $large, 0.5 * $large], [$small, 3.0 * $small, $small]);
            check!($t, x, x => { let y = x * $small; y.dot(&y) });
            check!($t, y, x => { let y = x * $large; y.dot(&y) });
            check!($t, x, x => { let y = x * $small; (&y * &y).mean() });
            check!($t, x, x => { let y = x * $small; (&y * &y).sum() * 0.25 });
            check!($t, x, x => { let y = x * $small; y.outer(&y).sum() });
            check!($t, x, x => { let y = x * $small; y.powi(2).sum() });
            check!($t, x, x => { let y = x * $small; (&y * &y * &y).sum() });
            check!($t, x, x => (x * $small).dot(&(x * $small * 0.5)));
            check!($t, x, x => (x * $small).dot(x));
            check!($t, x, x => fold(scalar::<_, $t>(0.0), &(x * $small), |sum, e| sum + &e * &e));
            check!($t, x, x => build(3, |i| x.at(&i) * $small * (x.at(&i) * $small)).sum());
            check!($t, x, x => {
                let m = (x * $small).insert_axis(0);
                m.dot(&(x * $small)).sum()
            });
            check!($t, x, x => { let y = x / $large; y.dot(&y) });
            check!($t, x, x => { let y = -(x * $small); y.dot(&(x * $small)) });
        };
    }
    check_all!(f64, 1e200, 1e-200);
    check_all!(f32, 1e30, 1e-30);
    // A sum alone leaves the range, too.
    check!(f64, [1e308, 1e308], x => (x * 1e-100).sum());
    check!(f32, [3e38, 3e38], x => (x * 1e-10).sum());
    check!(f64, [1e308, 1e308], x => (x / 1e100).sum());
    // Small factors become a large one.
    check!(f64, [1e200, 1e200], x => (x * 1e-60).dot(&(x * 1e-60)));
    check!(f32, [1e25, 1e25], x => (x * 1e-8).dot(&(x * 1e-8)));
}

/// Orders above 128 were refused, also in gradients of lower ones.
#[test]
fn polygamma_of_any_order_is_exported() {
    for order in [129, 171, u32::MAX] {
        let staged = stage(|x: &Vector<Staged, f64>| x.polygamma(order).sum(), &v(&[140.0, 2.0])).unwrap();
        let gradient = staged.value_and_grad().unwrap();
        let c = deltaray::export::c(&gradient).unwrap().source;
        let rust = deltaray::export::rust(&gradient).unwrap();
        let next = order.saturating_add(1).to_string();
        assert!(c.contains(&format!("polygamma_f64({next}, ")) && rust.contains(&format!("polygamma_f64({next}, ")));
    }
}

/// Machine code read a boolean that all elements share also for elements outside of the guard.
#[test]
fn shared_booleans_are_false_outside_of_guards() {
    fn chosen<A: Algebra>((x, rows): &(Matrix<A, f64>, Vector<A, bool>)) -> Scalar<A, f64> {
        let (count, n) = (x.len(), x.shape()[1]);
        let next = rows.reshape((count, 1)).broadcast_to((count, n)).slice(1, 1..).pad(1, 0, 1);
        next.select(x, x * 0.0).sum()
    }
    for n in 2..40 {
        let x = Matrix::from_elements((3, n), (0..3 * n).map(|k| 1.0 + k as f64).collect());
        let inputs = (x, Vector::from(vec![true, false, true]));
        let gradient = stage(chosen, &inputs).unwrap().grad().unwrap().compile(Cpu::default()).unwrap();
        let expected = |k: usize| f64::from(u8::from(k / n != 1 && k % n != n - 1));
        assert_eq!(gradient.call(&inputs).unwrap().0.to_vec(), (0..3 * n).map(expected).collect::<Vec<_>>());
        assert_eq!(grad(chosen, &inputs).0.to_vec(), (0..3 * n).map(expected).collect::<Vec<_>>());
    }
}
