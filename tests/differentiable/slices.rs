//! Slices whose ends move.

use crate::harness::{M, S, V, generic, same, v};
use deltaray::prelude::*;

fn m() -> M {
    Matrix::from([[4.0, 2.0, 0.5, 1.0], [2.0, 6.0, 1.0, 0.5], [0.5, 1.0, 5.0, 2.0], [1.0, 0.5, 2.0, 7.0]])
}

#[differentiable]
fn cholesky(mut a: Matrix<f64>) -> Matrix<f64> {
    for i in rolled(0..a.len()) {
        for j in rolled(0..i) {
            a[(i, j)] -= a[(i, ..j)].dot(&a[(j, ..j)]);
            a[(i, j)] /= a[(j, j)];
        }
        let row = a[(i, ..i)];
        a[(i, i)] = (a[(i, i)] - row.dot(&row)).sqrt();
    }
    a
}

#[test]
fn a_factorisation_is_written_as_with_masks() {
    let expected = generic!(M => M, |a| {
        let below = |x: Vector<A, f64>, y: Vector<A, f64>, bound: &Scalar<A, i64>| {
            iota(x.len()).lt(bound).select(x * y, 0.0).sum()
        };
        fold(a.clone(), &iota(4), |a: Matrix<A, f64>, i: Scalar<A, i64>| {
            let a = fold(a, &iota(4), |a: Matrix<A, f64>, j: Scalar<A, i64>| {
                cond(j.lt(&i), || {
                    let value = a.at((&i, &j)) - below(a.at(&i), a.at(&j), &j);
                    a.clone().with((&i, &j), value / a.at((&j, &j)))
                }, || a.clone())
            });
            let value = (a.at((&i, &i)) - below(a.at(&i), a.at(&i), &i)).sqrt();
            a.with((&i, &i), value)
        })
    });
    same(&cholesky {}, &expected, &m());
    let l = cholesky(&m());
    let lower = build((4, 4), |(i, j)| i.ge(&j).select(l.at((&i, &j)), 0.0));
    let product = lower.dot(&lower.transpose());
    assert!((product - m()).abs().max_all().item() < 1e-14);
}

/// Ranges with one end, with two, with a plain end, through an end, and along another axis.
#[differentiable]
fn ends(a: Matrix<f64>, x: Vector<f64>) -> Matrix<f64> {
    build((4, 8), |(i, part)| {
        let next = i + 1;
        if part == 0 {
            x[..i].sum()
        } else if part == 1 {
            x[i..].sum()
        } else if part == 2 {
            x[i..next + 1].sum()
        } else if part == 3 {
            x[1..next].sum()
        } else if part == 4 {
            x[i..3].sum()
        } else if part == 5 {
            x[..=i].sum()
        } else if part == 6 {
            a[(..i, 1)].sum()
        } else {
            a[(1.., ..i)].sum()
        }
    })
}

#[test]
fn ends_are_those_of_plain_slices() {
    let (a, x) = (m(), v([1.0, 10.0, 100.0, 1000.0]));
    let sum = |range: std::ops::Range<usize>| {
        x.slice(0, range.start.min(4)..range.end.clamp(range.start.min(4), 4)).sum().item()
    };
    let found = ends(&a, &x);
    for i in 0..4 {
        let expected = [
            sum(0..i),
            sum(i..4),
            sum(i..i + 2),
            sum(1..i + 1),
            sum(i..3),
            sum(0..i + 1),
            a.slice(0, ..i).slice(1, 1..2).sum().item(),
            a.slice(0, 1..).slice(1, ..i).sum().item(),
        ];
        assert_eq!(found.at(i).to_vec(), expected, "{i}");
    }
    let expected = generic!((M, V) => M, |(a, x)| {
        build((4, 8), |(i, part)| {
            let masked = |start: &Scalar<A, i64>, end: &Scalar<A, i64>| {
                (iota(4).ge(start) & iota(4).lt(end)).select(x, 0.0).sum()
            };
            let (zero, one, three, four) = (scalar(0), scalar(1), scalar(3), scalar(4));
            let of_parts = [
                masked(&zero, &i),
                masked(&i, &four),
                masked(&i, &(&i + 2)),
                masked(&one, &(&i + 1)),
                masked(&i, &three),
                masked(&zero, &(&i + 1)),
                iota(4).lt(&i).select(a.index_axis(1, 1), 0.0).sum(),
                iota(4).lt(&i).select(a.slice(0, 1..).sum_axis(0), 0.0).sum(),
            ];
            stack(&of_parts).at(&part)
        })
    });
    same(&ends {}, &expected, &(a, x));
}

/// Other reductions than sums.
#[differentiable]
fn reductions(x: Vector<f64>, y: Vector<f64>) -> Matrix<f64> {
    build((5, 8), |(i, part)| {
        let (a, b) = (x[i..], y[..5 - i]);
        let values = [
            a.max_all(),
            a.min_all(),
            a.product(),
            (2.0 * a + 1.0).map(|a| a.sqrt()).sum(),
            (a * b - b / 3.0).sum(),
            a.dot(&b),
            (-a * x[0]).sum(),
            a.padded(7.0).sum() + (a.count() as f64),
        ];
        stack(&values)[part]
    })
}

#[test]
fn reductions_are_those_of_plain_slices() {
    let (x, y) = (v([0.5, 2.0, 1.5, 3.0, 0.25]), v([1.0, -2.0, 4.0, 0.5, 3.0]));
    let found = reductions(&x, &y);
    for i in 0..5 {
        let (a, b) = (x.slice(0, i..), y.slice(0, ..5 - i));
        let expected = [
            a.max_all(),
            a.min_all(),
            a.product(),
            (2.0 * &a + 1.0).sqrt().sum(),
            (&a * &b - &b / 3.0).sum(),
            a.dot(&b),
            (-&a * 0.5).sum(),
            a.sum() + 7.0 * i as f64 + (5 - i) as f64,
        ];
        for (at, expected) in expected.iter().enumerate() {
            let (found, expected) = (found.at((i, at)).item(), expected.item());
            assert!((found - expected).abs() <= 1e-14 * (1.0 + expected.abs()), "{i}, {at}: {found} and {expected}");
        }
    }
    let program = stage(|(x, y)| reductions(x, y), (&x, &y)).unwrap();
    let compiled = program.compile(Cpu::default()).unwrap().call((&x, &y)).unwrap();
    assert!((compiled - &found).abs().max_all().item() < 1e-13);
}

/// By hand, and slices of nothing: ends before the array, after it, and a start after the end.
#[test]
fn ends_outside_of_the_array_are_its_ends() {
    let x: V = v([1.0, 2.0, 4.0, 8.0]);
    let ends = [i64::MIN, -3, 0, 1, 3, 4, 5, i64::MAX];
    for start in ends {
        for end in ends {
            let [first, last] = [start, end].map(|end| end.clamp(0, 4) as usize);
            let expected = x.slice(0, first..last.max(first));
            let found = x.moving_slice(scalar(start)..scalar(end));
            assert_eq!(found.sum(), expected.sum(), "{start}..{end}");
            assert_eq!(found.max_all(), expected.max_all(), "{start}..{end}");
            assert_eq!(found.count().item(), expected.len() as i64, "{start}..{end}");
            let staged = stage(
                |(x, start, end): &(Vector<_, f64>, Scalar<_, i64>, Scalar<_, i64>)| x.moving_slice(start..end).sum(),
                (&x, &scalar(start), &scalar(end)),
            );
            let compiled = staged.unwrap().compile(Cpu::default()).unwrap();
            assert_eq!(compiled.call((&x, &scalar(start), &scalar(end))).unwrap(), expected.sum(), "{start}..{end}");
        }
    }
    let sum: S = x.moving_slice(..scalar(3)).sum();
    assert_eq!(sum.item(), 7.0);
    assert_eq!(x.moving_slice(scalar(3)..).sum().item(), 8.0);
    let lengths = [x.moving_slice(..scalar(3)), x.slice(0, ..2).moving_slice(..scalar(9))];
    assert_eq!((&lengths[0] + &lengths[1]).sum().item(), 6.0, "up to the end of the shorter one");
}
