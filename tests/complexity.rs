//! Sizes of programs and memory, counted: every pass and instance is linear in the program, whatever it shares, and none
//! recurses over its length. No test measures time; the guard of some minutes only ends what would never end.

use deltaray::algebra::Algebra;
use deltaray::derivative::{Function, program, stage};
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

type C = Concrete;

/// Counts the bytes that each thread holds, the most it held, and all it ever asked for.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static TOTAL: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no counters any more.
    let _ = HELD.try_with(|held| {
        let now = held.get() + bytes;
        held.set(now);
        PEAK.with(|peak| peak.set(peak.get().max(now)));
        TOTAL.with(|total| total.set(total.get() + bytes.max(0) as usize));
    });
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MEGABYTE: usize = 1 << 20;

/// The result, the most bytes that were held beyond those held before, and all bytes asked for.
fn measured<T>(f: impl FnOnce() -> T) -> (T, usize, usize) {
    let (held, total) = (HELD.get(), TOTAL.get());
    PEAK.set(held);
    let result = f();
    (result, (PEAK.get() - held) as usize, TOTAL.get() - total)
}

/// Runs a test in a thread with a small stack, and gives up on it after some minutes.
fn guarded(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let run = move || {
        test();
        done.send(()).expect("the test waits");
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread starts");
    match wait.recv_timeout(Duration::from_secs(300)) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
        Err(RecvTimeoutError::Timeout) => panic!("still running after five minutes"),
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

/// A recurrence that uses its value more than once in each step: without sharing it costs 2ⁿ.
fn blow_up<A: Algebra, R: Rank>(kind: usize, n: usize, x: &Tensor<A, f64, R>) -> Tensor<A, f64, R> {
    let mut y = x.clone();
    for _ in 0..n {
        y = match kind {
            0 => &y + &y,
            1 => &y * &y,
            2 => 0.499999985 * (&y + &y),
            3 => 0.5 * (y.sin() * y.cos() + &y),
            _ => y.gt(0.0).select(&y * 0.5 + &y, &y - 1.0),
        };
    }
    y
}

const KINDS: usize = 5;

/// Number of nodes and printed length.
fn size<In: Family, Out: Family, First: Family>(function: &Function<In, Out, First>) -> (usize, usize) {
    (function.program().node_count(), function.to_string().len())
}

/// The sizes of the programs that a function of vectors leads to, pass by pass.
fn sizes(f: &dyn Fn(&Vector<Staged, f64>) -> Vector<Staged, f64>) -> Vec<(&'static str, (usize, usize))> {
    let x = v(&[0.5, 0.25, -0.5]);
    let staged = stage(|x| f(x), &x).unwrap();
    let source = staged.source();
    let vectorised = deltaray::vectorise::vectorise(source);
    let pushed = deltaray::vectorise::push_reads(&vectorised);
    let loss = stage(|x| f(x).sum(), &x).unwrap();
    let transposed = program::value_and_gradient(loss.program(), 1).unwrap();
    let gradient = loss.value_and_grad().unwrap();
    let inner = stage(|x| grad(|y| f(y).sum(), x), &x).unwrap();
    vec![
        ("staged", (source.node_count(), source.to_string().len())),
        ("vectorised", (vectorised.node_count(), vectorised.to_string().len())),
        ("reads pushed", (pushed.node_count(), pushed.to_string().len())),
        ("simplified", size(&staged)),
        ("transposed", (transposed.node_count(), transposed.to_string().len())),
        ("gradient", size(&gradient)),
        ("vjp", size(&staged.vjp().unwrap())),
        ("jvp", size(&staged.jvp().unwrap())),
        ("gradient inside", size(&inner)),
        ("second derivative", size(&inner.jvp().unwrap())),
    ]
}

/// The sizes of a family of programs grow at most in proportion to `n`.
fn assert_linear(n: usize, f: &dyn Fn(usize, &Vector<Staged, f64>) -> Vector<Staged, f64>) {
    let (once, twice) = (sizes(&|x| f(n, x)), sizes(&|x| f(2 * n, x)));
    for ((pass, (nodes, text)), (_, (more, longer))) in once.into_iter().zip(twice) {
        assert!(10 * more <= 22 * nodes + 200, "{pass}: {nodes} nodes for {n}, {more} for {}", 2 * n);
        // Larger numbers in names and more digits: a little more than proportional.
        assert!(10 * longer <= 25 * text + 5000, "{pass}: {text} bytes for {n}, {longer} for {}", 2 * n);
    }
}

mod doublings {
    use super::*;

    #[test]
    fn alone() {
        for kind in 0..KINDS {
            guarded(move || assert_linear(100, &|n, x| blow_up(kind, n, x)));
        }
    }

    #[test]
    fn ten_thousand() {
        for kind in [0, 1, 3] {
            guarded(move || {
                let x = v(&[0.5, 0.25]);
                let staged = stage(|x| blow_up(kind, 10_000, x).sum(), &x).unwrap();
                let gradient = staged.value_and_grad().unwrap();
                assert!(gradient.to_string().len() < 10_000_000);
                assert!(gradient.program().node_count() <= 200_100);
                let (value, slope) = gradient.call(&x).unwrap();
                let (expected, expected_slope) = value_and_grad(|x| blow_up(kind, 10_000, x).sum(), &x);
                assert!((value.item() == expected.item()) || (value.item() - expected.item()).abs() < 1e-6);
                for (a, b) in slope.to_vec().into_iter().zip(expected_slope.to_vec()) {
                    assert!(a == b || (a - b).abs() <= 1e-6 * b.abs(), "{kind}: {a} and {b}");
                }
            });
        }
    }

    #[test]
    fn in_builds() {
        for kind in 0..KINDS {
            guarded(move || {
                assert_linear(100, &|n, x| build(3, |i| blow_up(kind, n, &x.at(i))));
                assert_linear(40, &|n, x| build(3, |i| blow_up(kind, n, &build(2, |j| x.at(&i + j))).sum()));
            });
        }
    }

    #[test]
    fn in_loops_and_choices() {
        for kind in 0..KINDS {
            guarded(move || {
                assert_linear(40, &|n, x| scan(x.clone(), &(), 4, |c, ()| (blow_up(kind, n, &c), ())).0);
                assert_linear(40, &|n, x| cond(x.at(0).gt(0.0), || blow_up(kind, n, x), || x.clone()));
            });
        }
    }

    #[test]
    fn of_builds() {
        // Each build reads the one before at two places.
        guarded(|| {
            assert_linear(40, &|n, x| {
                let mut y = x.clone();
                for _ in 0..n {
                    y = build(3, |i| (y.at(&i) + y.at(&i - 1)).sin());
                }
                y
            });
        });
        guarded(|| {
            assert_linear(40, &|n, x| {
                let p: Vector<Staged, i64> = constant(&Vector::<C, i64>::from_slice(&[2, 0, 0]));
                let mut y = x.clone();
                for _ in 0..n {
                    y = build(3, |i| (y.at(&i) * y.at(p.at(i))).exp());
                }
                y
            });
        });
    }

    #[test]
    fn eager() {
        for kind in 0..KINDS {
            guarded(move || {
                let x = v(&[0.5, 0.25]);
                let _ = grad(|x| blow_up(kind, 10_000, x).sum(), &x);
                let _ = grad(|x| build(2, |i| blow_up(kind, 2_000, &x.at(i))).sum(), &x);
                let _ = jvp(|x| blow_up(kind, 10_000, x), &x, &x);
                let _ = grad(|x| grad(|y| blow_up(kind, 1_000, y).sum(), x).sum(), &x);
                let _ = jvp(|x| grad(|y| blow_up(kind, 1_000, y).sum(), x), &x, &x);
                let _ = grad(|x| jvp(|y| blow_up(kind, 1_000, y), x, x).1.sum(), &x);
            });
        }
    }
}

mod chains {
    use super::*;

    const LENGTH: usize = 100_000;

    fn chain<A: Algebra>(x: &Vector<A, f64>, n: usize) -> Vector<A, f64> {
        let mut y = x.clone();
        for at in 0..n {
            y = match at % 4 {
                0 => y.sin(),
                1 => &y * x,
                2 => y.reverse(0),
                _ => y + 1.0,
            };
        }
        y
    }

    #[test]
    fn staged() {
        // Every pass once, and every intermediate program printed and dropped.
        guarded(|| {
            let types = v(&[0.5, 0.25]).types();
            let source = deltaray::staged::stage(&types, |mut inputs| {
                let x: Vector<Staged, f64> = Tensor::from_array(inputs.remove(0)).unwrap();
                vec![chain(&x, LENGTH).sum().into_array()]
            });
            let source = source.unwrap();
            assert!(source.to_string().len() < 100 * LENGTH);
            let bulk = deltaray::vectorise::vectorise(&source);
            drop(source);
            let simplified = deltaray::simplify::simplify(&bulk);
            assert!(simplified.node_count() <= bulk.node_count());
            drop(bulk);
            let pushed = deltaray::vectorise::push_reads(&simplified);
            assert!(pushed.node_count() <= simplified.node_count());
            drop(simplified);
            let transposed = program::value_and_gradient(&pushed, 1).unwrap();
            assert!(transposed.node_count() <= 5 * LENGTH);
            drop(pushed);
            let gradient = deltaray::simplify::simplify(&transposed);
            assert!(gradient.node_count() <= 5 * LENGTH);
            assert!(gradient.to_string().len() < 200 * LENGTH);
        });
    }

    #[test]
    fn through_the_whole_pipeline() {
        guarded(|| {
            let (x, n) = (v(&[0.5, 0.25]), LENGTH / 10);
            let staged = stage(|x| chain(x, n).sum(), &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            assert!(gradient.program().node_count() <= 5 * n);
            let (value, slope) = gradient.call(&x).unwrap();
            let (expected, expected_slope) = value_and_grad(|x| chain(x, n).sum(), &x);
            assert!((value.item() - expected.item()).abs() < 1e-9);
            for (a, b) in slope.to_vec().into_iter().zip(expected_slope.to_vec()) {
                assert!((a - b).abs() < 1e-9, "{a} and {b}");
            }
        });
    }

    #[test]
    fn in_a_build() {
        guarded(|| {
            let (x, n) = (v(&[0.5, 0.25]), LENGTH / 20);
            let staged = stage(
                |x| {
                    let element = |i: Scalar<Staged, i64>| {
                        let mut y = x.at(&i);
                        for _ in 0..n {
                            y = y.sin() * x.at(&i);
                        }
                        y
                    };
                    build(2, element).sum()
                },
                &x,
            );
            let staged = staged.unwrap();
            assert!(staged.source().to_string().len() < 200 * n);
            let gradient = staged.grad().unwrap();
            assert!(gradient.to_string().len() < 500 * n);
        });
    }

    #[test]
    fn eager() {
        guarded(|| {
            let x = v(&[0.5, 0.25]);
            assert!(grad(|x| chain(x, LENGTH).sum(), &x).to_vec().iter().all(|g| g.is_finite()));
            let _ = jvp(|x| chain(x, LENGTH), &x, &x);
            let _ = jvp(|x| grad(|y| chain(y, LENGTH / 10).sum(), x), &x, &x);
            let _ = grad(|x| grad(|y| chain(y, LENGTH / 10).sum(), x).sum(), &x);
            let _ = grad(|x| jvp(|y| chain(y, LENGTH / 10), x, x).1.sum(), &x);
        });
    }

    #[test]
    fn of_views() {
        guarded(|| {
            let x = v(&[0.5, 0.25, 1.0, 2.0]);
            let long = |x: &Vector<Staged, f64>| {
                let mut y = x.clone();
                for _ in 0..LENGTH / 20 {
                    y = y.pad(0, 1, 0).slice(0, ..4).reshape((2, 2)).transpose().flatten().append(0, x).slice(0, 4..);
                }
                y.sum()
            };
            let gradient = stage(long, &x).unwrap().grad().unwrap();
            assert!(gradient.to_string().len() < 100 * LENGTH);
        });
    }
}

mod passes {
    use super::*;

    #[test]
    fn grow_with_the_program() {
        // Programs of many statements of all kinds.
        guarded(|| {
            assert_linear(20, &|n, x| {
                let mut y = x.clone();
                for at in 0..n {
                    let m: Matrix<Staged, f64> = build((3, 3), |(i, j)| y.at(&i) * x.at(&j + at) + y.at(2 - i));
                    let s = m.sum_axis(1).gt(0.0).select(m.at(1), m.max_axis(0) * y.sum());
                    y = m.dot(&s).reverse(0) + s.gather(&iota(3)).scatter(&iota(3), 3);
                }
                y
            });
        });
        guarded(|| {
            assert_linear(20, &|n, x| {
                let mut y = x.clone();
                for _ in 0..n {
                    let (last, all) = scan(y.sum(), &y, 3, |c, e| (c.sin() * &e, c + e));
                    y = all * last;
                }
                y
            });
        });
    }

    #[test]
    fn loops_do_not_grow_with_their_steps() {
        let nodes = |n: usize| {
            let x: Vector<C, f64> = full(n, 0.5);
            let staged = stage(
                |x| {
                    let (last, all) = scan(scalar(1.0), x, n, |c, x| {
                        let c = c.sin() * &x + x.exp();
                        (c.clone(), c)
                    });
                    last + all.sum()
                },
                &x,
            );
            let staged = staged.unwrap();
            let gradient = staged.value_and_grad().unwrap();
            (staged.source().node_count(), staged.program().node_count(), gradient.program().node_count())
        };
        assert_eq!(nodes(10), nodes(10_000));
    }

    fn programs() -> Vec<(&'static str, Box<dyn Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>>)> {
        vec![
            ("sum", Box::new(|x| x.sum())),
            ("squares", Box::new(|x| (x * x).sum())),
            (
                "softmax",
                Box::new(|x| {
                    let e = (x - x.max_all()).exp();
                    (&e / e.sum()).at(1).ln()
                }),
            ),
            ("outer product", Box::new(|x| build((12, 12), |(i, j)| x.at(i) * x.at(j)).sum_axis(0).sin().sum())),
            ("stencil", Box::new(|x| build(12, |i| (x.at(&i - 1) - 2.0 * x.at(&i) + x.at(i + 1)).powi(2)).sum())),
            (
                "matrix product",
                Box::new(|x| {
                    let m = x.reshape((3, 4));
                    build((3, 3), |(i, j)| build(4, |k| m.at((&i, &k)) * m.at((&j, k))).sum()).exp().sum()
                }),
            ),
            (
                "layers",
                Box::new(|x| {
                    let m = x.reshape((3, 4));
                    let mut y = m.at(0);
                    for _ in 0..10 {
                        y = m.transpose().dot(&m.dot(&y).tanh()) + y.max(0.0);
                    }
                    y.sum()
                }),
            ),
            (
                "data-dependent reads",
                Box::new(|x| {
                    let p = (x * 10.0).cast::<i64>().modulo(12);
                    build(12, |i| x.at(p.at(&i)) * x.at(i)).sum()
                }),
            ),
            ("loop", Box::new(|x| scan(scalar(0.5), x, 12, |c, x| ((c * x).sin(), ())).0)),
            (
                "choice",
                Box::new(|x| build(12, |i| cond(x.at(&i).gt(0.5), || x.at(&i).sqrt(), || x.at(&i) * x.sum())).sum()),
            ),
            ("triangle", Box::new(|x| build((12, 12), |(i, j)| i.le(&j).select(x.at(&j), 0.0) * x.at(i)).sum())),
        ]
    }

    #[test]
    fn gradients_are_a_small_multiple_of_programs() {
        let x: Vector<C, f64> = full(12, 0.5);
        for (name, f) in programs() {
            let staged = stage(|x| f(x), &x).unwrap();
            let nodes = staged.program().node_count();
            let gradient = staged.value_and_grad().unwrap();
            let more = gradient.program().node_count();
            assert!(more <= 5 * nodes + 20, "{name}: {nodes} nodes, gradient {more}:\n{staged}\n{gradient}");
            let (work, more) = (staged.program().cost(), gradient.program().cost());
            let bound = 5 * work.float_operations + 200;
            assert!(more.float_operations <= bound, "{name}: {work:?} and {more:?}\n{staged}\n{gradient}");
        }
    }

    #[test]
    fn bulk_programs_do_no_more_work() {
        let x: Vector<C, f64> = full(12, 0.5);
        for (name, f) in programs() {
            let staged = stage(|x| f(x), &x).unwrap();
            let vectorised = deltaray::vectorise::vectorise(staged.source());
            let (before, after) = (staged.source().cost().float_operations, vectorised.cost().float_operations);
            assert!(after <= before, "{name}: {before} and {after}:\n{}\n{vectorised}", staged.source());
            let after = staged.program().cost().float_operations;
            assert!(after <= before, "{name}: {before} and {after}:\n{}\n{staged}", staged.source());
        }
    }
}

mod memory {
    use super::*;

    /// A table of 10¹² elements of which one element is read, or one row summed.
    #[test]
    fn large_builds_are_not_materialised() {
        let n = 1_000_000;
        let x: Vector<C, f64> = full(n, 0.5) + 0.0;
        let programs: Vec<(&str, Box<dyn Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>>)> = vec![
            (
                "an element of a triangle",
                Box::new(move |x| {
                    let table: Matrix<Staged, f64> = build((n, n), |(i, j)| i.le(&j).select(0.0, 1.0));
                    table.at((5, 3)) * x.at(0)
                }),
            ),
            (
                "a row of a triangle",
                Box::new(move |x| {
                    let table: Matrix<Staged, f64> = build((n, n), |(i, j)| i.le(&j).select(0.0, 1.0));
                    table.at(7).sum() * x.at(0)
                }),
            ),
            (
                "an element of an outer product",
                Box::new(move |x| build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at((5, 3))),
            ),
            (
                "a row of an outer product",
                Box::new(move |x| build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at(7).sum()),
            ),
            (
                "a row of nested builds",
                Box::new(move |x| build(n, |i| build(n, |j| x.at(&i) + x.at(&j)).exp()).at(n - 1).sum()),
            ),
            (
                "a computed row",
                Box::new(move |x| {
                    let row = x.at(3).cast::<i64>() + 2;
                    build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at(row).sum()
                }),
            ),
        ];
        for (name, f) in programs {
            let ((value, printed), peak, _) = measured(|| {
                let staged = stage(|x| f(x), &x).unwrap();
                let gradient = staged.value_and_grad().unwrap();
                let value = gradient.call(&x).unwrap().0.item();
                (value, format!("{staged}\n{gradient}"))
            });
            assert!(value.is_finite());
            assert!(peak < 100 * MEGABYTE, "{name}: {} MB\n{printed}", peak / MEGABYTE);
            assert!(!printed.contains("1000000, 1000000"), "{name}:\n{printed}");
        }
    }

    #[test]
    fn eager_reads_are_added_in_place() {
        let n = 100_000;
        let x: Vector<C, f64> = full(n, 0.5) + 0.0;
        let (gradient, peak, total) = measured(|| {
            grad(
                |x| {
                    let mut sum = scalar(0.0);
                    for i in 0..n {
                        sum += x.at(i) * 2.0;
                    }
                    sum
                },
                &x,
            )
        });
        assert!(gradient.to_vec().iter().all(|&g| g == 2.0));
        assert!(peak < 400 * MEGABYTE, "{} MB", peak / MEGABYTE);
        assert!(total < 1000 * MEGABYTE, "{} MB in all", total / MEGABYTE);
        let (gradient, peak, total) = measured(|| grad(|x| build(n, |i| x.at(i) * 2.0).sum(), &x));
        assert!(gradient.to_vec().iter().all(|&g| g == 2.0));
        assert!(peak < 400 * MEGABYTE, "{} MB", peak / MEGABYTE);
        assert!(total < 1000 * MEGABYTE, "{} MB in all", total / MEGABYTE);
    }

    #[test]
    fn calls_reuse_buffers() {
        let n = 1_000_000;
        let x: Vector<C, f64> = full(n, 0.5) + 0.0;
        let staged = stage(
            |x| {
                let mut y = x.clone();
                for _ in 0..5 {
                    y = ((y.sin() + x) * 0.5).exp();
                }
                y
            },
            &x,
        );
        let staged = staged.unwrap();
        let (_, peak, _) = measured(|| staged.call(&x).unwrap());
        assert!(peak <= 3 * 8 * n + MEGABYTE, "{} MB", peak / MEGABYTE);
    }
}
