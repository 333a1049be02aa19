//! Functions whose signatures say more than most: attributes, lifetimes, names, and parameters that are not `Clone`.
// The tests are about how things are written.
#![allow(clippy::useless_vec)]

use crate::harness::v;
use deltaray::prelude::*;

#[differentiable]
fn attributed(x: Vector<f64>, w: Vector<f64>) -> Vector<f64> {
    //! Documented inside.
    #![allow(unused_variables)]
    x * 2.0
}

#[deny(unused_variables)]
#[differentiable]
fn attributed_within(x: Vector<f64>) -> Vector<f64> {
    fn inner(x: Vector<f64>, unused: Vector<f64>) -> Vector<f64> {
        #![allow(unused_variables)]
        x * 3.0
    }
    inner(x, x)
}

#[differentiable]
fn bounded<'a, 'b: 'a, T: Into<f64> + Copy + 'a>(x: &'a Vector<f64>, #[plain] number: &'b T) -> Vector<f64>
where
    &'b T: PartialEq,
{
    if number == number { x * (*number).into() } else { x * 1.0 }
}

#[differentiable]
fn with_types<E: Float>(x: Vector<E>, #[plain] types: usize) -> Vector<E> {
    (0..types).fold(x * 0.0, |sum, _| sum + x)
}

/// A plain value that can not be copied.
struct Factor(f64);

#[differentiable]
fn by_value(x: Vector<f64>, #[plain] factor: Factor) -> Vector<f64> {
    x * factor.0
}

#[differentiable]
fn applied<F: Fn(f64) -> f64>(x: Vector<f64>, #[plain] f: F) -> Vector<f64> {
    x * f(2.0)
}

#[test]
fn declarations_survive() {
    let x = v([1.0, 2.0]);
    assert_eq!(attributed(&x, &x).to_vec(), [2.0, 4.0]);
    assert_eq!(attributed_within(&x).to_vec(), [3.0, 6.0]);
    assert_eq!(bounded(&x, &2.0f32).to_vec(), [2.0, 4.0]);
    assert_eq!(by_value(&x, Factor(3.0)).to_vec(), [3.0, 6.0]);
    let moved = vec![5.0];
    assert_eq!(applied(&x, move |y| y * moved[0]).to_vec(), [10.0, 20.0]);
}

#[test]
fn structs_have_the_plain_parameters() {
    let x = v([1.0, 2.0]);
    let function = with_types::<f64> { types: 3, type_parameters: std::marker::PhantomData };
    assert_eq!(grad(|x| function.closure()(x).sum(), &x).to_vec(), [3.0, 3.0]);
    let function = applied { f: f64::sqrt, types: std::marker::PhantomData };
    assert_eq!(function.clone().closure::<Concrete>()(&x).to_vec(), [2f64.sqrt(), 2.0 * 2f64.sqrt()]);
    assert_eq!(by_value { factor: Factor(1.0) }.factor.0, 1.0);
}

/// A function from a macro, whose blocks stand before other statements, and are values too.
macro_rules! with_blocks {
    ($name:ident, $x:ident, $y:ident, $first:block, $second:block, $value:block) => {
        #[differentiable]
        fn $name($x: Vector<f64>, #[plain] flag: bool) -> Scalar<f64> {
            let mut $y = $x * 2.0;
            $first
            $second
            if flag $first
            for _ in 0..2 $second
            $y[2] = if flag $value else { $x[0] };
            let sum = $first;
            $first
            let () = sum;
            let last = $value;
            last + $y.sum()
        }
    };
}

with_blocks!(
    from_blocks,
    x,
    y,
    {
        y[0] += x[1];
    },
    {
        y[1] = x[0] * y[1];
    },
    { x[2] }
);

#[test]
fn blocks_of_macros_are_statements() {
    let x = v([3.0, 4.0, 5.0]);
    // From [6, 8, 10] on: 4 is added three or four times, and the second element tripled three times.
    assert_eq!(from_blocks(&x, true).item(), 5.0 + (6.0 + 16.0) + 8.0 * 27.0 + 5.0);
    assert_eq!(from_blocks(&x, false).item(), 5.0 + (6.0 + 12.0) + 8.0 * 27.0 + 3.0);
}
