//! Arrays that are built eagerly, in bulk where the closure allows it.

use super::*;
use std::cell::{Cell, RefCell};

const N: usize = 100;

fn x() -> Vector<C, f64> {
    Vector::from((0..N).map(|at| (at as f64 * 0.37).sin()).collect::<Vec<_>>())
}

/// How often a closure is called, and the array that is built.
fn counted<A: Algebra>(f: impl Fn(Scalar<A, i64>) -> Scalar<A, f64>) -> (usize, Vector<A, f64>) {
    let calls = Cell::new(0);
    let built = build(N, |i| {
        calls.set(calls.get() + 1);
        f(i)
    });
    (calls.get(), built)
}

#[test]
fn closures_that_read_no_value_are_called_once() {
    let x = x();
    let (calls, y) = counted(|i| x.at(&i) * x.at(N as i64 - 1 - &i) + i.cast::<f64>());
    assert_eq!(calls, 1);
    let elements = x.to_vec();
    let expected: Vec<f64> = (0..N).map(|i| elements[i] * elements[N - 1 - i] + i as f64).collect();
    close(&y.to_vec(), &expected);
    // Values that do not depend on the position are repeated.
    let (calls, y) = counted(|_| x.sum());
    assert_eq!((calls, y.to_vec()), (1, vec![x.sum().item(); N]));
}

#[test]
fn closures_that_read_a_value_are_called_for_each_position() {
    let x = x();
    let (calls, y) = counted(|i| if i.item() % 2 == 0 { x.at(&i) } else { scalar(0.0) });
    assert_eq!((calls, y.at(2).item(), y.at(3).item()), (N + 1, x.at(2).item(), 0.0));
    let (calls, y) = counted(|i| cond(x.at(&i).gt(0.0), || x.at(&i), || scalar(-1.0)));
    assert_eq!(calls, N + 1);
    let expected: Vec<f64> = x.to_vec().into_iter().map(|x| if x > 0.0 { x } else { -1.0 }).collect();
    assert_eq!(y.to_vec(), expected);
    let (calls, y) = counted(|i| scalar(x.at(&i).to_ndarray().sum() + format!("{i:?}").len() as f64));
    assert_eq!((calls, y.at(5).item()), (N + 1, x.at(5).item() + 7.0));
    let (calls, _) = counted(|i| grad(|y: &Scalar<_, f64>| y * y, &x.at(&i)));
    assert_eq!(calls, N + 1);
}

/// A value that another thread reads is not of any other position.
#[test]
fn values_that_leave_the_thread_are_read() {
    let x = x();
    let (_, y) = counted(|i| {
        let at = x.at(&i);
        std::thread::scope(|scope| scope.spawn(|| scalar(at.item() * 2.0)).join().unwrap())
    });
    close(&y.to_vec(), &x.to_vec().iter().map(|x| x * 2.0).collect::<Vec<_>>());
    let (_, y) = counted(|i| std::thread::scope(|scope| scope.spawn(|| x.at(&i).sin()).join().unwrap()));
    close(&y.to_vec(), &x.sin().to_vec());
}

#[test]
fn values_that_outlive_their_closure_are_plain() {
    let x = x();
    let kept: RefCell<Vec<Scalar<C, f64>>> = RefCell::default();
    let (calls, _) = counted(|i| {
        kept.borrow_mut().push(x.at(&i));
        x.at(&i)
    });
    assert_eq!(calls, 1);
    let first = kept.borrow()[0].clone();
    assert_eq!((&first + 1.0).item(), x.at(0).item() + 1.0);
    // In another closure it keeps its value.
    let (_, y) = counted(|i| x.at(&i) + &first);
    close(&y.to_vec(), &(&x + x.at(0)).to_vec());
}

fn nested<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let rows: Matrix<A, f64> = build((8, 9), |(i, j)| {
        let inner: Vector<A, f64> = build(70, |t| x.at(&t + &i) * x.at(&j) + t.cast::<f64>());
        x.at(&i).sin() * inner.sum()
    });
    rows.sum()
}

fn of_rows<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let m: Matrix<A, f64> = x.reshape((10, 10));
    let rows: Matrix<A, f64> = build(N, |i| m.at(&i % 10).cumsum(0) * i.cast::<f64>());
    rows.sin().sum()
}

fn of_a_loop<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let y: Vector<A, f64> = build(N, |i| iterate(x.at(&i), 5, |y: Scalar<A, f64>| (y * x.at(0)).cos()));
    (y.lt(0.5).cast::<f64>() * y).sum()
}

fn choosing<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let inner = |i: &Scalar<A, i64>| -> Vector<A, f64> {
        build(N, |j| cond(x.at(&j).gt(0.0), || x.at(&j) * x.at(i), || x.at(&j)))
    };
    let y: Vector<A, f64> = build(N, |i| inner(&i).sum());
    y.sum()
}

/// Values and derivatives of both modes and of second order equal those of staged programs.
#[test]
fn all_derivatives_are_those_of_staged_programs() {
    macro_rules! check {
        ($($f:ident),*) => { $({
            let x = x();
            let staged = stage($f, &x).unwrap();
            let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{}: {a} {b}", stringify!($f));
            near($f(&x).item(), staged.interpret(&x).unwrap().item());
            let gradient = staged.grad().unwrap().interpret(&x).unwrap();
            close(&grad($f, &x).to_vec(), &gradient.to_vec());
            near(jvp($f, &x, &x).1.item(), staged.jvp().unwrap().interpret((&x, &x)).unwrap().1.item());
            let second = stage(|x: &Vector<_, f64>| hvp($f, x, x), &x).unwrap().interpret(&x).unwrap();
            close(&hvp($f, &x, &x).to_vec(), &second.to_vec());
        })* };
    }
    check!(nested, of_rows, of_a_loop);
}

#[test]
fn closures_inside_of_others_may_read_values() {
    let x = x();
    let staged = stage(choosing, &x).unwrap();
    close(&[choosing(&x).item()], &[staged.interpret(&x).unwrap().item()]);
    close(&grad(choosing, &x).to_vec(), &staged.grad().unwrap().interpret(&x).unwrap().to_vec());
}

#[test]
fn a_panic_in_a_closure_leaves_nothing_behind() {
    let x = x();
    let text = panic_of(|| counted(|i| x.at(&i) + x.slice(0, ..3).dot(&x.slice(0, ..4))));
    assert!(text.contains("traced.rs:"), "{text}");
    let (calls, y) = counted(|i| x.at(&i) * 2.0);
    assert_eq!((calls, y.to_vec()), (1, (&x * 2.0).to_vec()));
    let staged = stage(|x: &Vector<_, f64>| x * 2.0, &x).unwrap();
    assert_eq!(staged.call(&x).unwrap(), y);
}

/// Inside of a function that is staged, plain arrays are built as ever, also by closures that go on with it.
#[test]
fn plain_arrays_are_built_while_a_function_is_staged() {
    let x = x();
    let staged = stage(
        |y: &Vector<_, f64>| {
            let sums = RefCell::new(Vec::new());
            let (_, plain) = counted(|i| {
                sums.borrow_mut().push(y.sum());
                x.at(&i) * 3.0
            });
            y * constant(&plain) + &sums.borrow()[0]
        },
        &x,
    );
    close(&staged.unwrap().call(&ones(N)).unwrap().to_vec(), &(&x * 3.0 + N as f64).to_vec());
}

/// Algebras without values for positions call the closure for each.
#[test]
fn patterns_are_found_element_by_element() {
    use deltaray::sparse::{Sparsity, SparsityArray};
    let input = SparsityArray::input(deltaray::shape::Type::new(deltaray::shape::DType::F64, &[N]), 0).unwrap();
    let x: Vector<Sparsity, f64> = Tensor::from_array(input).unwrap();
    let calls = Cell::new(0);
    let y: Vector<Sparsity, f64> = build(N, |i| {
        calls.set(calls.get() + 1);
        x.at(N as i64 - 1 - &i).sin()
    });
    assert_eq!(calls.get(), N);
    assert!((0..N).all(|at| y.array().columns(at) == [(N - 1 - at) as u32]));
}

/// A program that is staged inside of a closure holds the value of that position.
#[test]
fn programs_inside_of_closures_are_for_each_position() {
    let x = x();
    let (calls, y) = counted(|i| {
        let at = x.at(&i);
        stage(|y: &Scalar<_, f64>| y * constant(&at), &scalar(0.0)).unwrap().call(&scalar(2.0)).unwrap()
    });
    assert_eq!(calls, N + 1);
    close(&y.to_vec(), &(&x * 2.0).to_vec());
    let double = stage(|y: &Scalar<_, f64>| y * 2.0, &scalar(0.0)).unwrap();
    let (_, y) = counted(|i| double.call(&x.at(&i)).unwrap());
    close(&y.to_vec(), &(&x * 2.0).to_vec());
    let (_, y) = counted(|i| double.interpret(&x.at(&i)).unwrap());
    close(&y.to_vec(), &(&x * 2.0).to_vec());
}
