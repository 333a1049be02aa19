//! Operators, indices and comparisons, of arrays and of plain values.

use crate::harness::{M, S, V, generic, same, v};
use deltaray::prelude::*;
use std::collections::HashMap;

/// Operands are used again without a clone; numbers stand at either side.
#[differentiable]
fn operators(x: Vector<f64>, y: &Vector<f64>, #[plain] rate: f64) -> Vector<f64> {
    let a = x * y + x / 2.0;
    let b = a - rate * a;
    let c = -b * a * rate + (a + b);
    let d = 1.0 - c;
    d * d - a
}

#[test]
fn operators_borrow() {
    let written = operators { rate: 0.25 };
    let expected = generic!((V, V) => V, |(x, y)| {
        let a = x * y + x / 2.0;
        let b = &a - 0.25 * &a;
        let c = -&b * &a * 0.25 + (&a + &b);
        let d = 1.0 - c;
        &d * &d - &a
    });
    same(&written, &expected, &(v([1.0, -2.0, 0.5]), v([0.3, 0.7, -1.1])));
    let (x, y) = (v([1.0, -2.0, 0.5]), v([0.3, 0.7, -1.1]));
    let found = grad(|(x, y)| operators(x, y, 0.25).sum(), (&x, &y));
    let wanted = grad(|(x, y)| expected.call::<_>(&(x.clone(), y.clone())).sum(), (&x, &y));
    assert_eq!(found, wanted);
}

/// Positions, ranges and both at once, and whatever else has an index.
#[differentiable]
fn indices(a: Matrix<f64>, x: Vector<f64>, #[plain] order: &[usize]) -> Vector<f64> {
    let n = x.len();
    let table = [2.0, 3.0];
    let names: HashMap<&str, usize> = HashMap::from([("one", 1), ("two", 2)]);
    let rows = vec![a[0], a[1] * table[0]];
    let picked = rows[names["one"]] + rows[0];
    let column = a[(.., 1)];
    let window = x[1..3];
    let corner = a[(0, 1..)];
    let element = a[(1, order[0])] * x[order[1]];
    let inner = build(n, |i| x[i] * a[(1, i)] + x[n - 1 - i] * table[1]);
    let last = &rows[rows.len() - 1];
    picked[..2] * column + window * corner * element + inner[..2] + last[1..]
}

#[test]
fn indices_read_arrays_and_everything_else() {
    let written = indices { order: &[2, 0] };
    let expected = generic!((M, V) => V, |(a, x)| {
        let picked = a.at(1) * 2.0 + a.at(0);
        let element = a.at((1, 2)) * x.at(0);
        let inner = build(3, |i| x.at(&i) * a.at((1, &i)) + x.at(2 - i) * 3.0);
        picked.slice(0, ..2) * a.index_axis(1, 1) + x.slice(0, 1..3) * a.at(0).slice(0, 1..) * element + inner.slice(0, ..2)
            + (a.at(1) * 2.0).slice(0, 1..)
    });
    same(&written, &expected, &(Matrix::from([[1.0, -2.0, 0.5], [0.2, 0.9, -1.4]]), v([1.0, 3.0, -0.5])));
}

/// `<` and its like of arrays make masks, of plain values `bool`s.
#[differentiable]
fn comparisons(x: Vector<f64>, y: Vector<f64>, #[plain] strict: bool) -> Vector<f64> {
    let n = x.len();
    let small = if n < 3 && !strict { 1.0 } else { 2.0 };
    let mask = x < y && y != 0.0 || 1.5 <= x;
    let more = strict && x > small;
    let both = (mask || more) && !(x == y);
    assert!(n >= 1 && n != 100, "{n} elements");
    let named = if "abc" == "abd" || strict { 3.0 } else { 0.5 };
    both.select(x * named, y - small)
}

#[test]
fn comparisons_are_masks_or_booleans() {
    for strict in [false, true] {
        let expected = match strict {
            false => generic!((V, V) => V, |(x, y)| {
                let mask = x.lt(y) & y.not_equal(0.0) | x.ge(1.5);
                (mask & !x.equal(y)).select(x * 0.5, y - 2.0).clone()
            })
            .call::<Concrete>(&point()),
            true => generic!((V, V) => V, |(x, y)| {
                let mask = x.lt(y) & y.not_equal(0.0) | x.ge(1.5) | x.gt(2.0);
                (mask & !x.equal(y)).select(x * 3.0, y - 2.0).clone()
            })
            .call::<Concrete>(&point()),
        };
        assert_eq!(comparisons { strict }.call::<Concrete>(&point()), expected);
    }
    same(
        &comparisons { strict: false },
        &generic!((V, V) => V, |(x, y)| {
            let mask = x.lt(y) & y.not_equal(0.0) | x.ge(1.5);
            (mask & !x.equal(y)).select(x * 0.5, y - 2.0)
        }),
        &point(),
    );
}

fn point() -> (V, V) {
    (v([1.0, 2.0, 3.0, -1.0]), v([2.0, 0.0, 3.0, -2.0]))
}

/// `&&` and `||` look at their right side only where that decides.
#[differentiable]
fn short_circuit(x: Vector<f64>, #[plain] n: usize) -> Scalar<f64> {
    let counts: Vec<usize> = vec![1, 2];
    let found = n < counts.len() && counts[n] == 2;
    let not = n >= counts.len() || counts[n] == 1;
    let factor = if found { 2.0 } else { 3.0 };
    if not { x[0] * factor } else { x[1] * factor }
}

#[test]
fn logical_operators_keep_short_circuiting() {
    let x = v([5.0, 7.0]);
    assert_eq!(short_circuit(&x, 0).item(), 15.0);
    assert_eq!(short_circuit(&x, 1).item(), 14.0);
    assert_eq!(short_circuit(&x, 9).item(), 15.0);
    same(&short_circuit { n: 1 }, &generic!(V => S, |x| x.at(1) * 2.0), &x);
}

/// Elements of Rust's own collections are assigned and changed in place.
#[differentiable]
fn collections(x: Vector<f64>) -> Vector<f64> {
    let mut parts = vec![x, x * 2.0];
    parts[1] = parts[0] * parts[1];
    parts[0] *= 3.0;
    let mut lists: Vec<Vec<usize>> = vec![vec![], vec![]];
    lists[1].push(4);
    lists[0].extend([1, 2]);
    let mut counts = [0; 3];
    counts[lists[0].len()] += lists[1][0];
    let mut sum = zeros(x.len());
    for part in &parts {
        sum += part * counts[2] as f64;
    }
    for i in 0..x.len() {
        sum = sum + x[i];
    }
    sum
}

#[test]
fn collections_stay_places() {
    let expected = generic!(V => V, |x| {
        let counted = (x * 3.0) * 4.0 + x * (x * 2.0) * 4.0;
        counted + x.sum()
    });
    same(&collections {}, &expected, &v([1.0, -2.0, 0.5]));
}

/// Single precision and integers: literals are of the type at hand.
#[differentiable]
fn literals(x: Vector<f32>, k: Vector<i64>) -> Vector<f32> {
    let shifted = (k + 1) * 2 - 1 % 2;
    let halves = 0.5 * x + 1;
    let large = x > 7 || 2 * x == x * 3;
    let chosen = build(x.len(), |i| if k[i] > 2 { halves[i] } else { 0.25 });
    large.select(0, chosen) + shifted.cast::<f32>() + if x[0] > 9 { x[0] } else { 0 }
}

#[test]
fn literals_take_the_type_at_hand() {
    let (x, k) = (Vector::from(vec![1.0f32, 2.0]), Vector::from(vec![3i64, 1]));
    assert_eq!(literals(&x, &k).to_vec(), [8.5, 3.25]);
    let slope = grad(|(x, k)| literals(x, k).sum(), (&x, &k));
    assert_eq!(slope.to_vec(), [0.5, 0.0]);
}

#[derive(Clone, Copy)]
enum Kind {
    Low = 1,
    High = 5,
}

const STEPS: i64 = 3;

/// `as` is a cast for arrays, and Rust's own for anything else: enums, `bool`s, literals of any size, and casts that wrap and
/// saturate.
#[differentiable]
fn casts(x: Vector<f64>, k: Vector<i64>, #[plain] kind: Kind, #[plain] n: i32) -> Vector<f64> {
    let plain = kind as i32 as f64 + Kind::Low as u8 as f64 + (n < 3) as i32 as f64 + STEPS as f64;
    let wrapped = n as u8 as f64 + -1.5f64 as u8 as f64 + (n - 1) as f64 + 4_000_000_000 as u32 as f64;
    let single = x as f32;
    let positive = (x > 0.0) as f64;
    let index = build(x.len(), |i| (i + 1) as f64 * x[i] + k[i] as f64);
    let truncated = x[0] as i64;
    let weights: Vec<f64> = (0..x.len()).map(|i| i as f64).collect();
    index * plain + positive * wrapped + single as f64 + (truncated as f64) + x * weights[2] + k as f64
}

#[test]
fn casts_are_of_arrays_and_of_numbers() {
    let expected = generic!((V, deltaray::tensor::Vector<Concrete, i64>) => V, |(x, k)| {
        let index = build(x.len(), |i| (&i + 1).cast::<f64>() * x.at(&i) + k.at(&i).cast::<f64>());
        let plain = 5.0 + 1.0 + 0.0 + 3.0;
        let wrapped = 44.0 + 0.0 + 299.0 + 4e9;
        let sum = index * plain + x.gt(0.0).cast::<f64>() * wrapped + x.cast::<f32>().cast::<f64>();
        sum + x.at(0).cast::<i64>().cast::<f64>() + x * 2.0 + k.cast::<f64>()
    });
    let k = deltaray::tensor::Vector::from(vec![7i64, -2, 0]);
    same(&casts { kind: Kind::High, n: 300 }, &expected, &(v([1.5, -0.25, 3.0]), k));
}

/// Matches by literals and iteration stay Rust's for values that are not arrays.
#[differentiable]
fn matched(x: Vector<f64>, #[plain] n: usize, #[plain] name: &str, #[plain] list: &[f64]) -> Scalar<f64> {
    let scale = match n {
        0 => 1.0,
        1 | 2 => 2.0,
        other => other as f64,
    };
    let shift = match name {
        "one" => 1.0,
        _ => 0.5,
    };
    let sign = match list[0] > 0.0 {
        true => 1.0,
        false => -1.0,
    };
    let mut sum = x[0] * scale + shift;
    for weight in list {
        sum += weight * x[1];
    }
    let rows = vec![x, x * 2.0];
    for row in &rows {
        sum += row.sum() * sign;
    }
    for row in rows {
        sum -= row[0];
    }
    sum
}

#[test]
fn values_are_matched_and_iterated() {
    let expected = generic!(V => S, |x| x.at(0) * 3.0 + 1.0 + x.at(1) * 2.0 - x.sum() * 3.0 - x.at(0) * 3.0);
    let written = generic!(V => S, |x| matched(x, 3, "one", &[-1.0, 3.0]));
    same(&written, &expected, &v([1.5, -0.25]));
}

struct Options {
    scale: f64,
}

const TABLE: [f64; 3] = [2.0, 3.0, 5.0];

/// The corrections that the compiler's messages, and the guide, suggest.
#[differentiable]
fn corrected(x: Vector<f64>, k: Vector<i64>, #[plain] options: &Options) -> (Vector<f64>, Scalar<f64>) {
    let table = constant(&deltaray::tensor::Vector::from(TABLE));
    let read = build(x.len(), |i| x[i] * table[i] + if i == 0 { x[1] } else { x[i] });
    let mut last = scalar(0.0);
    for i in rolled(0..x.len()) {
        last = last * 0.5 + x[i];
    }
    (read + 2.5 * (k as f64) * options.scale, last + x[x[0] as i64] + x[x.len() - 1])
}

#[test]
fn what_messages_say_to_write_is_right() {
    let expected = generic!((V, deltaray::tensor::Vector<Concrete, i64>) => (V, S), |(x, k)| {
        let table: Vector<A, f64> = constant(&deltaray::tensor::Vector::from(TABLE));
        let next = stack(&[x.at(1), x.at(1), x.at(2)]);
        let last = x.at(0) * 0.25 + x.at(1) * 0.5 + x.at(2);
        (x * table + next + k.cast::<f64>() * 5.0, last + x.at(1) + x.at(2))
    });
    let written = generic!((V, deltaray::tensor::Vector<Concrete, i64>) => (V, S), |(x, k)| {
        corrected(x, k, &Options { scale: 2.0 })
    });
    let k = deltaray::tensor::Vector::from(vec![7i64, -2, 0]);
    same(&written, &expected, &(v([1.5, -0.25, 3.0]), k));
}

/// The same of writes, and of positions and ends that are arrays.
#[differentiable]
fn corrected_writes(x: Vector<f64>, at: Vector<i64>, k: Scalar<i64>) -> (Vector<f64>, Scalar<f64>) {
    let (mut y, at) = (x.clone(), at * 1);
    let values = y.gather(&at) * 10.0;
    y = y.scatter_set(&at, &values);
    y = cond(y[0].gt(0.0), || y * 2.0, || y);
    let mut s = y.moving_slice(..k).sum();
    for i in rolled(0..k) {
        s += x[i];
    }
    (y, s)
}

#[test]
fn what_messages_of_writes_say_to_write_is_right() {
    let expected = generic!((V, deltaray::tensor::Vector<Concrete, i64>, deltaray::tensor::Scalar<Concrete, i64>) => (V, S), |(x, _, _)| {
        let y = stack(&[x.at(0) * 20.0, x.at(1) * 2.0, x.at(2) * 20.0]);
        let s = y.at(0) + y.at(1) + x.at(0) + x.at(1);
        (y, s)
    });
    let k = deltaray::tensor::Vector::from(vec![2i64, 0]);
    same(&corrected_writes {}, &expected, &(v([1.5, -0.25, 3.0]), k, scalar(2i64)));
}
