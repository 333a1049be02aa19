//! Allocations of programs that run at once: none for numbers, a node or two for the derivative of a number, and a buffer only
//! if there is none to write in.

use super::*;
use counting::asked;

/// Four operations a step.
fn steps<A: Algebra>(x: &Scalar<A, f64>, n: usize) -> Scalar<A, f64> {
    let mut y = x.clone();
    for _ in 0..n {
        y = (&y * x + 0.5).sin() - x;
    }
    y
}

/// The same with operands that are given away, and in place.
fn given<A: Algebra>(x: &Scalar<A, f64>, n: usize) -> Scalar<A, f64> {
    let mut y = x.clone();
    for _ in 0..n {
        y = (y * 0.9 + x) / 1.1;
        y -= 0.1;
    }
    y
}

const STEPS: usize = 1000;
const OPERATIONS: usize = 4 * STEPS;

#[test]
fn numbers_need_no_memory() {
    let x: Scalar<C, f64> = scalar(0.3);
    for f in [steps, given] {
        assert_eq!(asked(|| f(&x, STEPS)).1, 0);
        // Tangents are numbers too; only the lists of arguments and results remain.
        let (_, allocations, _) = asked(|| jvp(|x| given(x, STEPS), &x, &x));
        assert!(allocations < 100, "{allocations} allocations");
    }
}

#[test]
fn derivatives_of_numbers_need_a_node_or_two() {
    let x: Scalar<C, f64> = scalar(0.3);
    let first = |n: usize| asked(|| grad(|x| steps(x, n), &x));
    let second = |n: usize| asked(|| grad(|x| grad(|y| steps(y, n), x), &x));
    // Recording, transposing, and dropping the record.
    let (_, allocations, bytes) = first(STEPS);
    assert!(10 * allocations <= 13 * OPERATIONS + 1000, "{allocations} allocations");
    assert!(bytes <= 250 * OPERATIONS + 10_000, "{bytes} bytes");
    let (_, allocations, bytes) = asked(|| grad(|x| given(x, STEPS), &x));
    assert!(10 * allocations <= 11 * OPERATIONS + 1000, "{allocations} allocations");
    assert!(bytes <= 200 * OPERATIONS + 10_000, "{bytes} bytes");
    let (_, allocations, bytes) = second(STEPS);
    assert!(allocations <= 7 * OPERATIONS + 1000, "{allocations} allocations");
    assert!(bytes <= 1300 * OPERATIONS + 10_000, "{bytes} bytes");
    // And so for longer programs.
    for of in [&first as &dyn Fn(usize) -> (Scalar<C, f64>, usize, usize), &second] {
        let ((_, once, bytes), (_, often, more)) = (of(STEPS), of(8 * STEPS));
        assert!(often <= 8 * once + 100, "{once} allocations, then {often}");
        assert!(more <= 9 * bytes + 10_000, "{bytes} bytes, then {more}");
    }
}

#[test]
fn elements_are_read_without_lists() {
    let n = 1000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    fn total<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        (0..x.len()).fold(scalar(0.0), |sum, i| sum + x.at(i) * 2.0)
    }
    // The read; and nodes for the read, the product and the sum.
    let (_, allocations, _) = asked(|| total(&x));
    assert!(allocations <= n + 100, "{allocations} allocations");
    let (_, allocations, _) = asked(|| grad(total, &x));
    assert!(allocations <= 8 * n + 100, "{allocations} allocations");
}

const LENGTH: usize = 1 << 17;
const BUFFER: usize = 8 * LENGTH;

/// How many buffers of a long vector a function asks for; other memory is less than one of them.
fn buffers<T>(f: impl FnOnce() -> T) -> usize {
    asked(f).2 / BUFFER
}

#[test]
fn buffers_that_nobody_else_holds_are_written() {
    let x: &Vector<C, f64> = &Vector::from((0..LENGTH).map(|i| (i as f64).sin()).collect::<Vec<_>>());
    let y = &(x * 2.0);
    assert_eq!(buffers(|| x + y), 1);
    assert_eq!(buffers(|| ((x + y) * y - x) / (2.0 - x.exp())), 2);
    assert_eq!(buffers(|| 1.0 - (2.0 - (0.5 * x))), 1);
    assert_eq!(buffers(|| -(x + y)), 1);
    // A buffer that is given away, at either side.
    let given = || x * 2.0;
    assert_eq!(buffers(|| given() + y), 1);
    assert_eq!(buffers(|| y - given()), 1);
    // A method has its operand by reference, and one new buffer.
    assert_eq!(buffers(|| x.sin()), 1);
    assert_eq!(buffers(|| x.gt(0.0).select(x, 0.1 * x)), 1);
    let in_place = |z: &mut Vector<C, f64>| {
        *z += x;
        *z *= 0.5;
        *z -= y;
    };
    let mut own = given();
    assert_eq!(buffers(|| in_place(&mut own)), 0);
    // A buffer with another owner stays unchanged.
    let mut shared = own.clone();
    let before = own.to_vec();
    assert_eq!(buffers(|| in_place(&mut shared)), 1);
    assert!(own.to_vec() == before && shared.to_vec() != before);
}

/// A step needs its value, and the factor by which its derivative moves; the cotangent is written in place from then on.
#[test]
fn derivatives_write_cotangents_in_place() {
    let x: &Vector<C, f64> = &Vector::from((0..LENGTH).map(|i| (i as f64).sin()).collect::<Vec<_>>());
    let chain = |n: usize| move || grad(|x| (0..n).fold(x * 1.0, |y, _| (y * 0.5).sin()).sum(), x);
    let (few, many) = (buffers(chain(2)), buffers(chain(12)));
    assert!(many - few <= 10 * 3, "{few} buffers, then {many}");
    // With buffers reused, a program without derivatives needs none for a step that gives its operands away.
    let (few, many) = [2, 12].map(|n| buffers(|| (0..n).fold(x * 1.0, |y, _| (y * 0.5 + x) * 0.7))).into();
    assert_eq!((few, many), (1, 1));
}

#[test]
fn arrays_and_nodes_are_small() {
    // The parts of an array: four extents, their number, and a buffer.
    assert!(size_of::<deltaray::concrete::Array>() <= 80);
    assert!(size_of::<deltaray::dual::DualArray<C>>() <= 88);
}
