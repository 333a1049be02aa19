//! Writes where an array is, which never show in another handle on it: an array that somebody else holds keeps its elements.

use crate::harness::C;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;
use std::cell::RefCell;

/// The array with a value written at some positions, which gives its handle away.
fn set<A: Algebra, E: Element, R: Rank>(
    x: Tensor<A, E, R>,
    at: &Vector<A, i64>,
    updates: &Tensor<A, E, R>,
) -> Tensor<A, E, R> {
    let positions = vec![at.array().clone()];
    Tensor::from_array(A::scatter_set(x.into_array(), updates.array().clone(), positions)).unwrap()
}

/// As [`set`], of one element.
fn put<A: Algebra, E: Element>(x: Vector<A, E>, at: i64, value: &Scalar<A, E>) -> Vector<A, E> {
    let positions = vec![scalar::<A, i64>(at).into_array()];
    Tensor::from_array(A::scatter_set(x.into_array(), value.array().clone(), positions)).unwrap()
}

fn joined<A: Algebra, E: Element>(parts: &[Vector<A, E>]) -> Vector<A, E> {
    concatenate(0, parts)
}

#[test]
fn arrays_that_somebody_else_holds_stay_what_they_are() {
    rows! {
        // A handle, of an argument and of an array that the program made; one that is written to before it is let go.
        |x, i| joined(&[put(x.clone(), 1, &x.at(0)), x.clone()]); [2.0, 3.0], [] => [2.0, 2.0, 2.0, 3.0], [3.0, 1.0];
        |x, i| {
            let y = x * 2.0;
            let z = put(y.clone(), 0, &y.at(1));
            joined(&[y, z])
        }; [2.0, 3.0], [] => [4.0, 6.0, 6.0, 6.0], [2.0, 6.0];
        |x, i| {
            let y = x * 2.0;
            let z = put(put(y.clone(), 0, &y.at(1)), 1, &x.at(0));
            joined(&[put(y, 1, &z.at(1)), z])
        }; [2.0, 3.0], [] => [4.0, 2.0, 6.0, 2.0], [4.0, 2.0];
        // Another shape of the same elements, and all of a range of them.
        |x, i| {
            let y = x * 2.0;
            let square = y.reshape((2, 2));
            let y = put(y, 3, &x.at(0));
            y + square.flatten()
        }; [2.0, 3.0, 5.0, 7.0], [] => [8.0, 12.0, 20.0, 16.0], [5.0, 4.0, 4.0, 2.0];
        |x, i| {
            let y = x * 2.0;
            let all = y.slice(0, ..);
            let y = put(y, 0, &x.at(1));
            y * all
        }; [2.0, 3.0], [] => [12.0, 36.0], [6.0, 28.0];
        // Elements that are all equal, which take no memory.
        |x, i| {
            let y = x.at(0).replicate(3);
            let z = put(y.clone(), 1, &x.at(1));
            put(z.clone(), 2, &x.at(1)) * z + y
        }; [2.0, 3.0], [] => [6.0, 11.0, 8.0], [10.0, 8.0];
        // An array that is written into itself.
        |x, i| {
            let y = x * 1.0;
            set(y.clone(), &(iota(2) + 1), &y)
        }; [2.0, 3.0], [] => [2.0, 2.0], [2.0, 0.0];
    }
}

#[test]
fn loops_write_into_what_they_carry_and_nothing_else() {
    rows! {
        // The loop's initial array is used afterwards, captured, and read slice by slice.
        |x, i| {
            let y = fold(x.clone(), &iota(2), |y: Vector<A, E>, k: Scalar<A, i64>| {
                let updates = (y.at(&k) * x.at(0)).reshape(1);
                set(y, &(k + 1).reshape(1), &updates)
            });
            joined(&[y, x.clone()])
        }; [2.0, 3.0, 5.0], [] => [2.0, 4.0, 8.0, 2.0, 3.0, 5.0], [1.0 + 4.0 + 12.0 + 1.0, 1.0, 1.0];
        |x, i| {
            scan(x.clone(), x, 2, |y: Vector<A, E>, s: Scalar<A, E>| (put(y, 1, &s), s * 2.0)).0
        }; [2.0, 3.0], [] => [2.0, 3.0], [1.0, 1.0];
        // The carry is stacked before and after each write, or the next carry twice.
        |x, i| {
            let (last, stacked) = scan(x * 1.0, &iota(2), 2, |y: Vector<A, E>, k: Scalar<A, i64>| {
                let before = y.clone();
                let updates = (y.at(&k) + 1.0).reshape(1);
                let after = set(y, &(k * -1 + 1).reshape(1), &updates);
                (after.clone(), (before, after))
            });
            joined(&[last, stacked.0.flatten(), stacked.1.flatten()])
        }; [2.0, 7.0], [] => [4.0, 3.0, 2.0, 7.0, 2.0, 3.0, 2.0, 3.0, 4.0, 3.0], [9.0, 1.0];
        |x, i| {
            let (y, z) = iterate((x * 1.0, x * 2.0), 3, |(y, z)| {
                let y = put(y, 0, &z.at(1));
                (y.clone(), y)
            });
            y + z
        }; [2.0, 3.0], [] => [6.0, 6.0], [0.0, 4.0];
        |x, i| {
            let (y, z) = iterate((x.clone(), x.clone()), 2, |(y, z)| (put(z, 0, &y.at(1)), y));
            joined(&[y, z])
        }; [2.0, 3.0], [] => [3.0, 3.0, 3.0, 3.0], [0.0, 4.0];
        |x, i| {
            let y = x * 1.0;
            let (z, _) = while_loop((y.clone(), scalar(0i64)), |(_, k)| k.lt(2), |(z, k)| {
                (put(z, 0, &(y.at(1) * y.at(0))), k + 1)
            });
            joined(&[z, y])
        }; [2.0, 3.0], [] => [6.0, 3.0, 2.0, 3.0], [4.0, 4.0];
        |x, i| {
            let y = x * 1.0;
            let step = |z: Vector<A, E>, k: Scalar<A, i64>| {
                let updates = (z.at(&k) * z.at(&k)).reshape(1);
                (set(z, &(k + 1).reshape(1), &updates), ())
            };
            Checkpoints::Every(2).scan(y.clone(), &iota(3), 3, step).0 + y
        }; [2.0, 1.0, 1.0, 1.0], [] => [4.0, 5.0, 17.0, 257.0], [2.0 + 4.0 + 32.0 + 1024.0, 1.0, 1.0, 1.0];
        |x, i| {
            let y = x * 1.0;
            let step = |(z, k): (Vector<A, E>, Scalar<A, i64>)| {
                let value = z.at(0) * z.at(1);
                (put(z, 0, &value), k + 1)
            };
            Checkpoints::Snapshots(2).while_loop((y.clone(), scalar(0i64)), |(_, k)| k.lt(3), step).0 + y
        }; [2.0, 3.0], [] => [56.0, 6.0], [28.0, 56.0];
        // A loop of no steps.
        |x, i| {
            let y = x * 1.0;
            iterate(y.clone(), 0, |y: Vector<A, E>| put(y, 0, &x.at(1))) + y
        }; [2.0, 3.0], [] => [4.0, 6.0], [2.0, 2.0];
        // A function that is run again.
        |x, i| {
            let y = x * 1.0;
            let z = checkpoint(&y, |y| {
                let value = y.at(0) * y.at(0);
                put(y.clone(), 1, &value) * y
            });
            z + put(y, 0, &(x.at(0) * 0.0))
        }; [2.0, 3.0], [] => [4.0, 15.0], [4.0 + 12.0, 4.0 + 1.0];
    }
}

/// A closure may keep the array that it was given, with the elements that it had then.
#[test]
fn what_a_step_keeps_of_its_values_stays() {
    let x: Vector<C, f64> = Vector::from(vec![1.0, 2.0]);
    let kept = RefCell::new(Vec::new());
    let step = |y: Vector<C, f64>| {
        kept.borrow_mut().push(y.clone());
        let value = y.at(0) + 1.0;
        put(y, 0, &value)
    };
    assert_eq!(iterate(x.clone(), 3, step).to_vec(), [4.0, 2.0]);
    assert_eq!(while_loop(x.clone(), |y| y.at(0).lt(3.0), step).to_vec(), [3.0, 2.0]);
    let firsts: Vec<f64> = kept.borrow().iter().map(|y| y.at(0).item()).collect();
    assert_eq!((x.to_vec(), firsts), (vec![1.0, 2.0], vec![1.0, 2.0, 3.0, 1.0, 2.0]));
}

/// Which of several writes to one position wins, among few positions of a large array and among many of a small one.
#[test]
fn the_last_write_wins_and_gets_the_derivative() {
    for extent in [4, 1000] {
        let x: Vector<C, f64> = Vector::from(vec![2.0, 3.0, 5.0, 7.0, 11.0]);
        let at: Vector<C, i64> = Vector::from(vec![3, -1, 3, 1 << 40, 1]);
        let program = |x: &Vector<_, f64>, at| set(zeros(extent), at, x).slice(0, ..4);
        let value = program(&x, &at);
        assert_eq!(value.to_vec(), [0.0, 11.0, 0.0, 5.0]);
        fn weighed<A: Algebra>(x: &Vector<A, f64>, at: &Vector<A, i64>, extent: usize) -> Scalar<A, f64> {
            let y = set(ones(extent) * x.at(0), at, &(x * x));
            (&y * &y).slice(0, ..4).sum()
        }
        let (gradient, expected) =
            (|x: &Vector<_, f64>, at: &_| weighed(x, at, extent), [8.0, 0.0, 500.0, 0.0, 5324.0]);
        assert_eq!(grad(|(x, at)| gradient(x, at), (&x, &at)).to_vec(), expected);
        let staged = stage(|(x, at)| weighed(x, at, extent), (&x, &at)).unwrap().grad().unwrap();
        assert_eq!(staged.call((&x, &at)).unwrap().to_vec(), expected);
        // Second derivatives, forwards and backwards over the gradient.
        let along: Vector<C, f64> = Vector::from(vec![1.0, 10.0, 100.0, 1000.0, 0.5]);
        let second = [4.0, 0.0, 30_000.0, 0.0, 726.0];
        let (_, tangent) = jvp(|(x, at)| grad(|(x, at)| weighed(x, at, extent), (x, at)), (&x, &at), &along);
        assert_eq!(tangent.to_vec(), second);
        let product = |(x, at, along): &(Vector<_, f64>, Vector<_, i64>, Vector<_, f64>)| {
            (grad(|(x, at)| weighed(x, at, extent), (x, at)) * along).sum()
        };
        assert_eq!(grad(product, (&x, &at, &along)).to_vec(), second);
    }
    // Pairs of positions, and rows; a mask that broadcasts along them.
    fn rows<A: Algebra>(x: &Matrix<A, f64>, extents: (usize, usize, usize)) -> Tensor3<A, f64> {
        let [i, j] = [[1, 0, 1, 1], [0, 1, 0, 1]].map(|at| constant::<A, _>(&Vector::<C, i64>::from(at.to_vec())));
        let positions = vec![i.into_array(), j.into_array()];
        let target: Tensor3<A, f64> = zeros(extents);
        Tensor::from_array(A::scatter_set(target.into_array(), x.array().clone(), positions)).unwrap()
    }
    let x: Matrix<C, f64> = iota(8).cast::<f64>().reshape((4, 2)) + 1.0;
    for extents in [(2, 2, 2), (20, 30, 2)] {
        assert_eq!(rows(&x, extents).at((1, 0)).to_vec(), [5.0, 6.0]);
        let gradient = grad(|x| rows(x, extents).sum(), &x);
        assert_eq!(gradient.flatten().to_vec(), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }
}

/// Interpreted programs that add to an array at some positions.
#[test]
fn sums_with_additions_at_positions_are_sums() {
    rows! {
        |x, i| x + x.gather(i).scatter(i, 3); [2.0, 3.0, 5.0], [1, 1, -1, 2] => [2.0, 9.0, 10.0], [1.0, 3.0, 2.0];
        |x, i| x.gather(i).scatter(i, 3) + x; [2.0, 3.0, 5.0], [1, 0] => [4.0, 6.0, 5.0], [2.0, 2.0, 1.0];
        // Both sides of a sum, an array that is used twice, and one that is a result too.
        |x, i| x.scatter(i, 2) + (x * 2.0).scatter(i, 2); [2.0, 3.0], [1, 1] => [0.0, 15.0], [3.0, 3.0];
        |x, i| {
            let y = x.scatter(i, 2);
            &y + &y
        }; [2.0, 3.0], [1, 0] => [6.0, 4.0], [2.0, 2.0];
        |x, i| {
            let y = x.scatter(i, 2);
            joined(&[x + &y, y, x.clone()])
        }; [2.0, 3.0], [1, 1] => [2.0, 8.0, 0.0, 5.0, 2.0, 3.0], [4.0, 4.0];
    }
}
