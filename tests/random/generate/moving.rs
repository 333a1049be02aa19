//! Loops that write over an array and read it up to a bound that moves, or from one on, as solves and filters do.

use deltaray::prelude::*;
use deltaray::staged::Staged;

type Any<E> = TensorD<Staged, E>;
type V<E> = Vector<Staged, E>;
type I = Scalar<Staged, i64>;

/// An array so large is read more than it is written over, so that the backward loop puts back elements instead of keeping it.
pub const LEAST: usize = 5;

/// Elements of an array, each computed from those before or after a bound: the loop's position, or a number that is looked up.
pub fn written_to_bounds<E: Float>(which: usize, x: &Any<E>, y: &Any<E>, keys: &Vector<Staged, i64>) -> Any<E> {
    let n = x.shape().iter().product::<usize>();
    let (first, weights): (V<E>, V<E>) = (x.reshape(n), y.reshape(n));
    let (keys, steps): (_, usize) = (keys.clone(), n.min(5));
    let step = move |a: V<E>, j: I| {
        let bound: I = if which.is_multiple_of(2) { j.clone() } else { keys.at(&j) };
        // The derivatives of squares need the array.
        let read = match which / 2 % 3 {
            0 => a.moving_slice(..&bound).dot(&a.moving_slice(..&bound)),
            1 => a.moving_slice(&bound..).map(|a| a * a * &weights).sum(),
            _ => a.moving_slice(&j - 2..&bound + 1).map(|a| a * a).sum(),
        };
        let value = (read * scalar::<Staged, E>(E::from_number(0.25)) + weights.at(&j)).sin();
        match which / 8 {
            0 => a.with(&j, value),
            1 => a.with_added(&j, value),
            // The read of the array needs a write to it.
            2 if which.is_multiple_of(4) => {
                let written = a.clone().with(&j, value);
                let at = written.at(&j).gt(weights.at(&j)).select(&j, &j + 1);
                written.with(&bound, a.at(at).sin())
            }
            _ => fold(a, &iota(2), |a: V<E>, k: I| {
                let at = &j + k;
                let value = (a.at(&at) * &value).cos();
                a.with(at.le(&bound).select(&at, -1), value)
            }),
        }
    };
    let written =
        if which % 3 == 2 { fold_reverse(first, &iota(steps), step) } else { fold(first, &iota(steps), step) };
    written.into_dyn()
}
