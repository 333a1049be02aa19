//! Plain values inside of functions of arrays have the same meaning as in Rust.
// The tests are about how things are written.
#![allow(clippy::assign_op_pattern)]

use crate::harness::{S, V, generic, same, v};
use deltaray::prelude::*;
use std::ops::{Index, Range};

/// Indexed by another type than `usize`.
struct Offsets(Vec<f64>);

impl Index<i32> for Offsets {
    type Output = f64;
    fn index(&self, offset: i32) -> &f64 {
        &self.0[(offset + 1) as usize]
    }
}

impl Index<(i32, i32)> for Offsets {
    type Output = f64;
    fn index(&self, (row, column): (i32, i32)) -> &f64 {
        &self.0[(row + column + 2) as usize]
    }
}

impl Index<Range<i32>> for Offsets {
    type Output = [f64];
    fn index(&self, range: Range<i32>) -> &[f64] {
        &self.0[(range.start + 1) as usize..(range.end + 1) as usize]
    }
}

impl Index<[i32; 2]> for Offsets {
    type Output = f64;
    fn index(&self, [row, column]: [i32; 2]) -> &f64 {
        &self[(row, column)]
    }
}

/// A grid of one kind of index alone.
struct Grid(Vec<f64>);

impl Index<(i32, i32)> for Grid {
    type Output = f64;
    fn index(&self, (row, column): (i32, i32)) -> &f64 {
        &self.0[(row * 2 + column) as usize]
    }
}

#[differentiable]
fn indexed(x: Vector<f64>, #[plain] offsets: &Offsets, #[plain] grid: &Grid) -> Vector<f64> {
    let i = 1;
    let matrix = build((x.len(), 2), |(i, j)| x[i] * (j as f64));
    let plain = offsets[-1] + offsets[1] * 10.0 + offsets[(-1, 0)] * 100.0 + offsets[(-1, i)] * 1000.0;
    let list = vec![[1.0, 2.0], [3.0, 4.0]];
    let far = offsets[-1..1].len() as f64 + offsets[[-1, 0]] + list[1][0] + list[(0)][1];
    x[0] * plain + grid[(1, 1)] * x[(1)] + matrix[(0, 1)] * matrix[1][1] * far + matrix[(.., 1)] * x[0..2].sum()
}

#[test]
fn literal_positions_are_what_the_index_wants() {
    let (offsets, grid) = (Offsets(vec![1.0, 2.0, 3.0, 4.0]), Grid(vec![1.0, 2.0, 3.0, 4.0]));
    let (x, far) = (v([2.0, 3.0]), 2.0 + 2.0 + 3.0 + 2.0);
    let first = 2.0 * (1.0 + 30.0 + 200.0 + 3000.0) + 4.0 * 3.0 + 2.0 * 3.0 * far;
    assert_eq!(indexed(&x, &offsets, &grid).to_vec(), [first + 2.0 * 5.0, first + 3.0 * 5.0]);
}

#[differentiable]
fn places(x: Vector<f64>, #[plain] case: i32) -> Vector<f64> {
    let mut t = vec![1.0, 2.0, 3.0];
    t[1] += t[0];
    t[0] += t[1] * 2.0 + t.len() as f64;
    t[case as usize] -= t[0];
    let mut rows = vec![vec![1, 2], vec![3, 4]];
    rows[0][1] += rows[1][0];
    let last = rows.len() - 1;
    rows[last][0] *= rows[last][1] - 1;
    let mut arrays = vec![x, x * 2.0];
    arrays[0] += arrays[1];
    arrays[1] *= arrays[0].sum();
    let mut c = case;
    match c {
        0 => {}
        ref mut k => *k += 1,
    }
    match c {
        0 => c = 5,
        2 | 3 => c += 7,
        k => c += k,
    }
    let mut pair = [Some(1), None];
    match pair[0] {
        Some(ref mut one) => *one += 4,
        None => {}
    }
    if let Some(ref mut one) = pair[0] {
        *one += 1;
    }
    let number = c + rows[0][1] * 100 + rows[1][0] * 1000 + pair[0].unwrap_or(0) * 100_000;
    arrays[0] * (t[0] + t[1]) + arrays[1] * (number as f64)
}

#[test]
fn places_are_changed_as_in_rust() {
    // t is [10, 3, 3] before the case; the list [3x, 2x * sum(3x)].
    let x = v([1.0, -0.5]);
    for (case, t, c) in [(0, 0.0 + 3.0, 5), (1, 10.0 - 7.0, 9), (2, 13.0, 10)] {
        let number = f64::from(c + 500 + 9000 + 600_000);
        let expected: Vec<f64> = x.to_vec().iter().map(|x| 3.0 * x * t + 2.0 * x * 1.5 * number).collect();
        assert_eq!(places(&x, case).to_vec(), expected, "{case}");
    }
}

#[derive(Debug)]
enum Kind {
    Second = 2,
}

fn kind() -> Kind {
    Kind::Second
}

#[differentiable]
fn casts(x: Vector<f64>, k: Vector<i64>) -> Vector<f64> {
    fn count(k: &Vector<i64>) -> Scalar<i64> {
        k.sum() + 1
    }
    let twice = |a| a * 2;
    let single = x.sum() as f32;
    let back = single as f64 + (x.sum() as f32 as f64) + ((x.sum() * 2.0) as f32) as f64;
    let positions = k.sum() as f64 + count(k) as f64 + (k.sum() * 2 - k[0]) as f64;
    let plain =
        x.len() as f64 + kind() as i32 as f64 + twice(4) as f64 + [1usize, 5].iter().max().copied().unwrap() as f64;
    let more = [1u8, 2].iter().map(|v| v * 2).sum::<u8>() as f64 + usize::from(x.len() > 1) as f64 + 2i32.pow(3) as f64;
    x * back + positions + plain + more + x.max_all_or_first() as f64
}

/// A method of arrays that is not the library's.
trait First<A: Algebra> {
    fn max_all_or_first(&self) -> Scalar<A, f64>;
}

impl<A: Algebra> First<A> for Vector<A, f64> {
    fn max_all_or_first(&self) -> Scalar<A, f64> {
        self.at(0)
    }
}

#[test]
fn results_are_cast_like_variables() {
    let expected = generic!((V, Vector<Concrete, i64>) => V, |(x, k)| {
        let positions = k.sum().cast::<f64>() * 4.0 + 1.0 - k.at(0).cast::<f64>();
        let plain = 2.0 + 2.0 + 8.0 + 5.0 + 6.0 + 1.0 + 8.0;
        x * (x.sum() * 4.0) + positions + plain + x.at(0)
    });
    same(&casts {}, &expected, &(v([0.5, 0.25]), Vector::from(vec![3i64, 4])));
}

/// Functions of names that the library has too.
struct Solver;

impl Solver {
    fn scan(steps: usize, mut step: impl FnMut(usize)) {
        (0..steps).for_each(&mut step);
    }
}

mod other {
    pub fn reduce(steps: usize, mut step: impl FnMut(usize)) {
        (0..steps).for_each(&mut step);
    }
}

#[differentiable]
fn collected(x: Vector<f64>) -> Vector<f64> {
    fn build(steps: usize, mut step: impl FnMut(usize)) {
        (0..steps).for_each(&mut step);
    }
    let (mut count, mut list) = (0, Vec::new());
    Solver::scan(3, |t| count += t);
    other::reduce(4, |t| list.push(t));
    build(2, |t| list.push(t * 10));
    x * (count + list.len() + list[5]) as f64
}

#[test]
fn functions_of_the_same_name_may_change_what_is_outside() {
    assert_eq!(collected(&v([1.0, 2.0])).to_vec(), [19.0, 38.0]);
}

#[differentiable]
fn carried(x: Vector<f64>, w: Scalar<f64>) -> Scalar<f64> {
    let mut h: Scalar<f64> = 0.0;
    let (mut a, mut b): (Scalar<f64>, Vector<f64>) = (1.0, x);
    let (mut p, (mut q, mut r)) = (0.5, (x[0], -1.0));
    let mut pair: (Scalar<f64>, Scalar<i64>) = (2.0, 0);
    for t in rolled(0..x.len()) {
        h = h * w + x[t];
        a = a * w;
        b = b + a;
        pair = (pair.0 * w, pair.1 + t);
        let (c, (d, e)) = if x[t] > 0.0 { (0.0, (x[t], 2.0)) } else { (w, (1.0, x[t])) };
        (p, (q, r)) = (p + c, (q + d, r * e));
    }
    h + a * b.sum() + p * q + r + pair.0 * (pair.1 as f64)
}

#[test]
fn annotated_literals_are_carried() {
    let expected = generic!((V, S) => S, |(x, w)| {
        let (mut h, mut a, mut b) = (scalar(0.0), scalar(1.0), x.clone());
        let (mut p, mut q, mut r, mut s) = (scalar(0.5), x.at(0), scalar(-1.0), scalar(2.0));
        for t in 0..3 {
            h = h * w + x.at(t);
            a = a * w;
            b = b + &a;
            s = s * w;
            let positive = x.at(t).gt(0.0);
            p = p + positive.select(0.0, w);
            q = q + positive.select(x.at(t), 1.0);
            r = r * positive.select(2.0, x.at(t));
        }
        h + a * b.sum() + p * q + r + s * 3.0
    });
    same(&carried {}, &expected, &(v([0.5, -1.0, 2.0]), scalar(0.8)));
}

#[differentiable]
fn shadowed(x: Vector<f64>) -> Scalar<f64> {
    let mut s = scalar(0.0);
    let mut k = 3;
    let mut option = Some(1);
    for t in rolled(0..x.len()) {
        for mut k in 0..2 {
            k += 1;
            s = s + x[t] * k as f64;
        }
        if let Some(mut k) = option {
            k += 1;
            s = s + k as f64;
        }
        s = match option {
            Some(mut k) => {
                k *= 2;
                s * k as f64
            }
            None => s,
        };
        let increased = |mut k: i32| {
            k += 1;
            k
        };
        s = s * increased(1) as f64;
    }
    k += 1;
    option = option.map(|one| one + k);
    s + option.unwrap_or(0) as f64
}

#[test]
fn what_a_rolled_loop_binds_is_its_own() {
    let expected = generic!(V => S, |x| {
        let mut s = scalar(0.0);
        for t in 0..2 {
            s = (s + x.at(t) * 3.0 + 2.0) * 4.0;
        }
        s + 5.0
    });
    same(&shadowed {}, &expected, &v([0.5, -1.0]));
}

#[differentiable]
fn printed(x: Vector<f64>, #[plain] name: &str) -> (Vector<f64>, Vec<String>) {
    let y = x * 2.0;
    let kept = y;
    let label = format!("{name:?}");
    let held = label;
    let width = String::from("w");
    let moved = width;
    (kept, vec![held, moved, format!("{{y}} {label:>4} {width}"), format!("{:?}", y.shape())])
}

#[test]
fn formats_use_what_they_name() {
    let (found, text) = printed(&v([1.0, 2.0]), "a");
    assert_eq!(found.to_vec(), [2.0, 4.0]);
    assert_eq!(text[..3], ["\"a\"", "w", "{y}  \"a\" w"]);
}
