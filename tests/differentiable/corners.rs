//! Corners of the language, where a rewrite could go wrong.

use crate::harness::{M, S, V, generic, same, v};
use deltaray::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// Plain code of all kinds inside of a function of arrays has the same meaning as outside.
#[differentiable]
fn plain_code(x: Vector<f64>, #[plain] text: &str, #[plain] limit: Option<&[usize]>) -> (Vector<f64>, Scalar<f64>) {
    let words: Vec<&str> = text.split(' ').filter(|word| word.len() > 1 && *word != "no").collect();
    let doubled: Vec<f64> = [1.0, 2.0].iter().map(|y| y * 2.0).collect();
    let total: f64 = doubled.iter().sum::<f64>() + doubled.iter().fold(0.0, |a, b| a + b);
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for letter in text.chars() {
        *counts.entry(letter).or_insert(0) += 1;
    }
    let kept = match limit {
        Some([first, .., last]) if first < last => first + last,
        Some(other) => other.len(),
        None if counts[&'a'] == 2 => 7,
        None => 0,
    };
    let mut queue: VecDeque<usize> = (0..4).collect();
    while let Some(front) = queue.pop_front() {
        if front * 2 > kept || front == 3 {
            break;
        }
        queue.push_back(front + 4);
    }
    let shared = Rc::new(RefCell::new(vec![1, 2, 3]));
    shared.borrow_mut()[1] = 5;
    shared.borrow_mut().swap(0, 2);
    let (low, high) = {
        let list = shared.borrow();
        (list[0], list[2])
    };
    let waited = Duration::from_millis(5) + Duration::from_millis(longest as u64) * 2;
    let name = words.join("-") + "!";
    let grid = [[1, 2], [3, 4]];
    let sum: i32 = grid.iter().flat_map(|row| row.iter()).filter(|&&entry| entry % 2 == 0).sum();
    let square = |a: usize| -> usize { a * a };
    let bits = (low ^ high) & 3 | 8 >> 1;
    let negative = !(name.len() == 3) as usize;
    let flags = vec![true; 2];
    let both = flags[0] && flags[1] || panic!("{name}");
    let mut rows = vec![vec![0usize; 2]; 2];
    rows[1][0] += square(2);
    rows[0][1] = rows[1][0] + usize::from(both);
    let slice = &rows[1][..];
    let number = total
        + (kept + low + bits + negative + queue.len() + slice[0] + rows[0][1]) as f64
        + f64::from(sum)
        + waited.as_secs_f64() * 1000.0;
    (x * number, x[0] * number)
}

#[test]
fn plain_code_is_left_as_it_is() {
    /// The same without arrays.
    fn number(text: &str, limit: Option<&[usize]>) -> f64 {
        let (found, _) = plain_code(&v([1.0]), text, limit);
        found.to_vec()[0]
    }
    // Words "ab" and "banana": total 12, kept, the rest by hand.
    let rest = |kept: usize, queue: usize, negative: usize, waited: f64| {
        12.0 + (kept + 3 + 6 + negative + queue + 4 + 5) as f64 + 6.0 + waited
    };
    let (low, high) = (3usize, 1usize);
    assert_eq!((low ^ high) & 3 | 8 >> 1, 6);
    assert_eq!(number("ab banana", Some(&[1, 2, 5])), rest(6, 3, 1, 5.0 + 12.0));
    assert_eq!(number("aba", Some(&[5, 1])), rest(2, 3, 1, 5.0 + 6.0));
    assert_eq!(number("aa no", None), rest(7, 3, 0, 5.0 + 4.0));
    same(
        &plain_code { text: "aa no", limit: None },
        &generic!(V => (V, S), |x| (x * 55.0, x.at(0) * 55.0)),
        &v([1.0, 2.0]),
    );
}

/// Blocks, labels, nested conditions and early values.
#[differentiable]
fn control(x: Vector<f64>, #[plain] n: usize) -> Scalar<f64> {
    let start = {
        let y = x[0];
        if y > 0.0 { y } else { -y }
    };
    let mut total = start;
    'rows: for i in 0..n {
        for j in 0..n {
            if i == j {
                continue;
            }
            if i + j > 3 {
                break 'rows;
            }
            total = total + if x[i] > x[j] { x[i] } else { x[j] } * if i > j { 2.0 } else { 3.0 };
        }
    }
    let scaled = match n {
        0 => return total,
        1 | 2 => total * 2.0,
        _ if n % 2 == 1 => {
            let z = total;
            z * z
        }
        _ => total,
    };
    let Some(last) = (0..n).rev().find(|k| k % 2 == 0) else { return scaled };
    if (x < 10.0).all() && !(scaled < 0.0) || x[last] == 0.0 {
        if scaled > 1.0 {
            scaled.ln()
        } else if scaled > 0.5 {
            scaled
        } else {
            0.25
        }
    } else {
        scalar(0.0)
    }
}

#[test]
fn control_flow_mixes_both_kinds() {
    let expected = generic!(V => S, |x| {
        let larger = |i: usize, j: usize| x.at(i).max(x.at(j));
        let total = x.at(0).abs() + larger(0, 1) * 3.0 + larger(0, 2) * 3.0 + larger(1, 0) * 2.0 + larger(1, 2) * 3.0
            + larger(2, 0) * 2.0 + larger(2, 1) * 2.0;
        (&total * &total).ln()
    });
    same(&control { n: 3 }, &expected, &v([-1.5, 2.0, 0.5]));
    assert_eq!(control(&v([-1.5, 2.0]), 0).item(), 1.5);
    assert_eq!(control(&v([-0.25, 2.0]), 1).item(), 0.25);
    assert_eq!(control(&v([11.0, 2.0]), 1).item(), 0.0);
}

/// Derivatives as operands, receivers and statements; closures that shadow.
#[differentiable]
fn derivatives(x: Vector<f64>, w: Vector<f64>) -> Vector<f64> {
    let w = w * 2.0;
    let _ = grad(|x| (x * w).sum(), x);
    let norm = grad(|x| (x * x * w).sum(), x).sum();
    let value = value_and_grad(|y| (y * w).sum(), x).0;
    let shadowed = grad(|w| (w * w * x).sum(), &w);
    let pair = vjp(|y| (y * w, y * y), x);
    let pulled = pair.1(&(w, x * 0.5));
    let masked = grad(|y| build(y.len(), |i| if y[i] > 0.0 { y[i] * y[i] * w[i] } else { 0.0 }).sum(), x);
    let rolled = grad(
        |y| {
            let mut h = 1.0;
            for t in rolled(0..y.len()) {
                h = h * y[t] + w[t];
            }
            h
        },
        x,
    );
    2.0 * grad(|x| (x * w * norm).sum(), x) + shadowed * value + pulled + masked + rolled
}

#[test]
fn derivatives_stand_anywhere() {
    let expected = generic!((V, V) => V, |(x, w)| {
        let w = w * 2.0;
        let norm = (2.0 * x * &w).sum();
        let value = (x * &w).sum();
        let rolled = grad(
            |(y, w)| scan(scalar(1.0), &(y.clone(), w.clone()), 3, |h, (y, w)| (h * y + w, ())).0,
            (x, &w),
        );
        2.0 * &w * norm + 2.0 * &w * x * value + (&w * &w + x * x) + x.gt(0.0).select(2.0 * x * &w, 0.0) + rolled
    });
    same(&derivatives {}, &expected, &(v([0.5, -1.0, 2.0]), v([0.3, 0.7, -0.2])));
}

/// Functions of integers and truth values, and rows of matrices.
#[differentiable]
fn lookups(a: Matrix<f64>, order: Vector<i64>, flags: Vector<bool>) -> Vector<f64> {
    let (n, m) = (a.len(), a.shape()[1]);
    let table = build((n, m), |(i, j)| if flags[j] && i != j || order[i] < 1 { a[(i, j)] } else { a[(j % n, 0)] });
    let picked = build(n, |i| table[order[i]][order[n - 1 - i] % 2] + a[i].sum());
    let turned = build([m, n], |[j, i]| a[[i, j]] * 2);
    picked + turned[(0, ..)] + turned[1][0..n]
}

#[test]
fn integers_and_truth_values_are_arrays_too() {
    let expected = generic!((M, Vector<Concrete, i64>, Vector<Concrete, bool>) => V, |(a, order, flags)| {
        let (n, m) = (a.len(), a.shape()[1]);
        let table = build((n, m), |(i, j)| {
            cond(flags.at(&j) & i.not_equal(&j) | order.at(&i).lt(1), || a.at((&i, &j)), || a.at((&j % 2, 0)))
        });
        let picked = build(n, |i| table.at((order.at(&i), order.at(1 - &i) % 2)) + a.at(&i).sum());
        picked + a.index_axis(1, 0) * 2.0 + a.index_axis(1, 1) * 2.0
    });
    let a = Matrix::from([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]);
    same(&lookups {}, &expected, &(a, Vector::from(vec![1i64, 0]), Vector::from(vec![true, false, true])));
}

/// A function of a function, and recursion.
#[differentiable]
fn applied(x: Vector<f64>, #[plain] times: usize, #[plain] f: fn(f64) -> f64) -> Vector<f64> {
    if times == 0 { x } else { applied(&(x * f(2.0)), times - 1, f) }
}

#[test]
fn functions_recur() {
    assert_eq!(applied(&v([1.0]), 3, f64::sqrt).to_vec(), [2f64.sqrt().powi(3)]);
    assert_eq!(grad(|x| applied(x, 2, |y| y * 3.0).sum(), &v([1.0])).to_vec(), [36.0]);
}

/// A value that is kept while it is used later is another handle, in loops and closures too; trees need no `Clone`.
#[derive(Tree)]
pub(crate) struct Line<A: Algebra> {
    slope: Vector<A, f64>,
    offset: Scalar<A, f64>,
}

#[differentiable]
fn kept(x: Vector<f64>) -> (Vec<Vector<f64>>, Vector<f64>, Line) {
    let y = x * 2.0;
    let before = y;
    let mut h = y;
    let mut all = Vec::new();
    for k in 0..2 {
        let next = h * y;
        all.push(h);
        h = next + k as f64;
    }
    let line = Line { slope: y, offset: y.sum() };
    let rows = build(2, |_| y).sum_axis(0);
    let lines = (0..2).map(|_| line).collect::<Vec<_>>();
    let pair = [before, rows];
    (all, h + pair[0] * lines[1].offset + rows + before, line)
}

#[test]
fn what_is_kept_is_used_later() {
    let expected = generic!(V => (Vec<V>, V, Line<Concrete>), |x| {
        let y = x * 2.0;
        let (first, second) = (y.clone(), &y * &y);
        let h = &second * &y + 1.0 + &y * y.sum() + 2.0 * &y + &y;
        (vec![first, second], h, Line { slope: y.clone(), offset: y.sum() })
    });
    same(&kept {}, &expected, &v([0.5, -1.0, 2.0]));
}

#[differentiable]
fn out_of_range(x: Vector<f64>, #[plain] case: usize) -> Vector<f64> {
    let y: Vector<f64> = ones(7);
    match case {
        0 => x[2..9],
        1 => x + y,
        _ => {
            if (x > 0.0).all() {
                x[..2]
            } else {
                x
            }
        }
    }
}

/// Shapes that don't fit are reported at the line of the function as written.
#[test]
fn problems_name_the_line() {
    let first = line!() - 19;
    for (case, line) in [(0, first + 4), (1, first + 5), (4, first + 7)] {
        let Err(error) = stage(|x| out_of_range(x, case), &v([1.0, 2.0, 3.0])) else { panic!("shapes fit") };
        let error = error.to_string();
        assert!(error.contains(&format!("corners.rs:{line}:")), "{line}: {error}");
    }
}
