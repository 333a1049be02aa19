//! Functions that are staged and compiled when they are called.

use deltaray::derivative::KEPT_PROGRAMS;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

type C = Concrete;
type V<A> = Vector<A, f64>;
type S<A> = Scalar<A, f64>;

fn v(elements: &[f64]) -> V<C> {
    Vector::from_slice(elements)
}

fn loss<A: Algebra>((w, x): &(V<A>, Matrix<A, f64>)) -> S<A> {
    x.dot(w).sin().sum()
}

#[test]
fn results_go_into_arrays_that_are_there() {
    let slope = jit(|x: &V<Staged>| x.powi(2).sum()).grad();
    let mut result: V<C> = zeros(2);
    for scale in [1.0, 2.0] {
        slope.call_into(&v(&[scale, -scale]), &mut result).unwrap();
        assert_eq!(result.to_vec(), [2.0 * scale, -2.0 * scale]);
    }
    let error = slope.call_into(&v(&[1.0; 3]), &mut result).unwrap_err().to_string();
    assert!(error.starts_with("output: the program results in f64[3]") && error.contains(file!()), "{error}");
    assert_eq!((result.to_vec(), slope.programs()), (vec![4.0, -4.0], 2));
}

#[test]
fn a_program_is_made_once_for_each_structure_and_types() {
    let runs = AtomicUsize::new(0);
    let total = jit(|parts: &Vec<V<Staged>>| {
        runs.fetch_add(1, Ordering::SeqCst);
        parts.iter().fold(scalar(0.0), |sum: S<Staged>, part| sum + (part * 2.0).sum())
    })
    .on(Cpu::default().threads(1));
    let calls: [(&[&[f64]], f64); 6] = [
        (&[&[1.0, 2.0]], 6.0),
        (&[&[3.0, 4.0]], 14.0),
        (&[&[3.0], &[4.0]], 14.0),
        (&[&[1.0, 2.0]], 6.0),
        (&[&[1.0, 2.0, 3.0]], 12.0),
        (&[], 0.0),
    ];
    for (parts, expected) in calls {
        let parts: Vec<V<C>> = parts.iter().map(|part| v(part)).collect();
        assert_eq!(total.call(&parts).unwrap().item(), expected);
    }
    assert_eq!((runs.load(Ordering::SeqCst), total.programs()), (4, 4));
    total.clear();
    assert_eq!(total.call(&vec![v(&[1.0, 2.0])]).unwrap().item(), 6.0);
    assert_eq!((runs.load(Ordering::SeqCst), total.programs()), (5, 1));
}

#[test]
fn gradients_are_those_of_the_eager_function() {
    let (w, x) = (v(&[0.5, -1.0]), Matrix::from_elements((3, 2), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    let (value, slope) = value_and_grad(|w: &V<_>| loss(&(w.clone(), x.lift())), &w);
    let (found, first) = jit(loss).value_and_grad().call((&w, &x)).unwrap();
    assert!(close(&[found.item()], &[value.item()]) && close(&first.to_vec(), &slope.to_vec()));
    assert!(close(&jit(loss).grad().call((&w, &x)).unwrap().to_vec(), &slope.to_vec()));
    // The derivative by one argument that is a tuple is a tuple; both are programs of one function.
    let both = jit(loss).grad();
    let whole = (w.clone(), x.clone());
    let (first, _) = both.call(&whole).unwrap();
    assert!(close(&first.to_vec(), &slope.to_vec()));
    assert!(close(&both.call((&w, &x)).unwrap().to_vec(), &slope.to_vec()));
    assert_eq!(both.programs(), 2);
    // A function that takes the derivative itself.
    let inside = jit(|(w, x): &(V<Staged>, Matrix<Staged, f64>)| grad(|w| loss(&(w.clone(), x.lift())), w));
    assert!(close(&inside.call((&w, &x)).unwrap().to_vec(), &slope.to_vec()));
}

#[test]
fn programs_that_were_used_last_are_kept() {
    let runs = AtomicUsize::new(0);
    let double = jit(|x: &V<Staged>| {
        runs.fetch_add(1, Ordering::SeqCst);
        x * 2.0
    })
    .on(Cpu::default().threads(1));
    let call = |size: usize| assert_eq!(double.call(&ones(size)).unwrap(), full(size, 2.0));
    (1..=KEPT_PROGRAMS).for_each(call);
    // The first is used again, so that the second goes.
    call(1);
    call(KEPT_PROGRAMS + 1);
    assert_eq!((double.programs(), runs.load(Ordering::SeqCst)), (KEPT_PROGRAMS, KEPT_PROGRAMS + 1));
    call(1);
    assert_eq!(runs.load(Ordering::SeqCst), KEPT_PROGRAMS + 1);
    call(2);
    assert_eq!((double.programs(), runs.load(Ordering::SeqCst)), (KEPT_PROGRAMS, KEPT_PROGRAMS + 2));
}

#[test]
fn errors_are_returned_and_panics_leave_it_usable() {
    let fragile = jit(|(x, y): &(V<Staged>, V<Staged>)| {
        assert!(x.len() != 3, "three");
        x + y
    });
    let error = fragile.call((&v(&[1.0, 2.0]), &v(&[1.0, 2.0, 3.0, 4.0]))).unwrap_err().to_string();
    assert!(error.contains("[2]") && error.contains("[4]") && error.contains("jit.rs"), "{error}");
    let three = v(&[1.0, 2.0, 3.0]);
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| fragile.call((&three, &three)))).is_err());
        let two = v(&[1.0, 2.0]);
        assert_eq!(fragile.call((&two, &two)).unwrap(), v(&[2.0, 4.0]));
    }
    assert_eq!(fragile.programs(), 1);
    let error = jit(|x: &V<Staged>| x * 2.0).grad().call(&three).unwrap_err().to_string();
    assert!(error.starts_with("grad: ") && error.contains("f64[3]"), "{error}");
}

#[test]
fn it_is_called_from_several_threads_and_its_programs_update() {
    let step = jit(|(w, x): &(V<Staged>, V<Staged>)| w - 0.5 * (w - x));
    std::thread::scope(|scope| {
        for size in [2, 2, 3, 3] {
            let step = &step;
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(step.call((&zeros(size), &ones(size))).unwrap(), full(size, 0.5));
                }
            });
        }
    });
    assert_eq!(step.programs(), 2);
    let (mut w, x) = (v(&[0.0, 8.0]), v(&[4.0, 4.0]));
    let program = step.compiled(&(&w, &x)).unwrap();
    (0..2).for_each(|_| program.update(&mut w, &x).unwrap());
    assert_eq!((w, step.programs()), (v(&[3.0, 5.0]), 2));
}

/// A function in a box has a type that can be named, and owns its closure.
#[test]
fn boxed_functions_are_held() {
    use deltaray::derivative::{JitFn, ValueAndGradient};
    type C = V<Concrete>;
    struct Powers(i32);
    impl ArrayFn for Powers {
        type In = C;
        type Out = Scalar<Concrete, f64>;
        fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
            x.powi(self.0).sum()
        }
    }
    let held: Vec<JitFn<fn(C) -> Scalar<Concrete, f64>, ValueAndGradient>> =
        [2, 3].map(|power| jit(Powers(power).into_closure()).value_and_grad().boxed()).into();
    let of_two: JitFn<fn(C, C) -> C> = jit(|(x, y): &(V<Staged>, V<Staged>)| x * y).boxed();
    let x: C = vec![1.0, 2.0].into();
    std::thread::scope(|threads| {
        for (function, value, slope) in [(&held[0], 5.0, [2.0, 4.0]), (&held[1], 9.0, [3.0, 12.0])] {
            let x = &x;
            threads.spawn(move || {
                let found = function.call(x).unwrap();
                assert_eq!((found.0.item(), found.1.to_vec()), (value, slope.to_vec()));
            });
        }
    });
    assert_eq!(of_two.call((&x, &x)).unwrap().to_vec(), [1.0, 4.0]);
}
