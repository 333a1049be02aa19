//! Loops, and writes in them.

use super::*;

/// Equal bodies are one body, but facts about a loop do not apply to another with the same body.
#[test]
fn loops_of_one_body_differ_in_length_direction_and_carries() {
    fn loops<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let long = scan(x.at(0), x, 5, |c, e| (&c * &e, e.sin()));
        let short = scan(x.at(0), &x.slice(0, ..3), 3, |c, e| (&c * &e, e.sin()));
        let back = scan_reverse(x.at(0), &x.slice(0, ..3), 3, |c, e| (&c * &e, e.sin()));
        let two = scan((x.at(0), x.at(1)), &(), 4, |(c, e), ()| ((&c * &e, e.sin()), ()));
        let (long, short, back) = (long.0 + long.1.at(4), short.0 + short.1.at(0), back.0 + back.1.at(0));
        long * short * back + two.0.0 * two.0.1
    }
    let x: Vector<Concrete, f64> = Vector::from_slice(&[0.7, 1.3, -0.4, 0.9, 1.1]);
    let (value, gradient) = value_and_grad(loops, &x);
    let staged = stage(loops, &x).unwrap().value_and_grad().unwrap();
    for (found, slopes) in [staged.interpret(&x).unwrap(), staged.compile(Cpu::default()).unwrap().call(&x).unwrap()] {
        assert!((found.item() - value.item()).abs() < 1e-12, "{staged}");
        let pairs = slopes.to_vec().into_iter().zip(gradient.to_vec());
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{:?}\n{staged}", pairs.collect::<Vec<_>>());
    }
}

/// Additions in place of scatters with their axes in an order that is no inverse of itself once wrote elsewhere.
#[test]
fn scatters_with_their_axes_turned_are_added_where_they_belong() {
    fn added<A: Algebra>(x: &Tensor<A, f64, R3>) -> Scalar<A, f64> {
        let (rows, columns) = (x.shape()[1], x.shape()[2]);
        let last = fold(x.clone(), &iota(2), |x, k| {
            let updates = x.index_axis(2, &k).transpose().sin();
            let scattered = updates.scatter((iota(rows), iota(rows) + &k), (rows, columns));
            x + scattered.tr(&[2, 0, 1])
        });
        last.sin().sum()
    }
    for shape in [(4, 3, 5), (4, 4, 4)] {
        let count = shape.0 * shape.1 * shape.2;
        let x = v(&(0..count).map(|i| (i as f64 * 0.7).cos()).collect::<Vec<_>>()).reshape(shape);
        let (value, gradient) = value_and_grad(added, &x);
        let staged = stage(added, &x).unwrap();
        let compiled = staged.compile(Cpu::default()).unwrap().call(&x).unwrap();
        assert!((compiled.item() - value.item()).abs() < 1e-12, "{compiled:?}, eagerly {value:?}");
        let (found, slopes) = staged.value_and_grad().unwrap().compile(Cpu::default()).unwrap().call(&x).unwrap();
        assert!((found.item() - value.item()).abs() < 1e-12);
        let pairs = slopes.to_vec().into_iter().zip(gradient.to_vec());
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", pairs.collect::<Vec<_>>());
    }
}

/// Compiling sums that read the array that they are added to in place once never ended.
#[test]
fn what_is_added_in_place_may_be_made_of_its_target() {
    type M<A> = Matrix<A, f64>;
    fn contracted<A: Algebra>(x: &M<A>) -> M<A> {
        fold(x.clone(), &iota(3), |y, _: Scalar<A, i64>| {
            let e = (x.insert_axis(2) + x.insert_axis(0)).cos();
            &y + (&e * y.insert_axis(1)).sum_axis(2) * 0.1
        })
    }
    fn summed<A: Algebra>(x: &M<A>) -> M<A> {
        fold(x.clone(), &iota(3), |x, _: Scalar<A, i64>| {
            let z = (x.insert_axis(2) + x.insert_axis(0)).sin();
            &x + z.sum_axis(1) * 0.1
        })
    }
    fn scattered<A: Algebra>(x: &M<A>) -> M<A> {
        let rows = x.shape()[0];
        let turned = (iota(rows) * 5 + 2).modulo(rows as i64);
        fold(x.clone(), &iota(3), |x, _: Scalar<A, i64>| &x + x.scatter(&turned, rows).sin() + x.scatter(&turned, rows))
    }
    fn shifted<A: Algebra>(x: &M<A>) -> M<A> {
        let rows = x.shape()[0];
        fold(x.clone(), &iota(3), |x, _: Scalar<A, i64>| {
            &x + x.slice(0, 1..).pad(0, 0, 1) + x.slice(0, ..rows - 1).pad(0, 1, 0)
        })
    }
    macro_rules! check {
        ($($f:ident),*) => { $(
            let x = v(&(0..34 * 34).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<_>>()).reshape((34, 34));
            let (value, gradient) = value_and_grad(|x| ($f(x) * x).sum(), &x);
            let staged = stage(|x| ($f(x) * x).sum(), &x).unwrap();
            let both = staged.value_and_grad().unwrap().compile(Cpu::default()).unwrap();
            let ((found, slopes), alone) = (both.call(&x).unwrap(), staged.compile(Cpu::default()).unwrap());
            for found in [found, alone.call(&x).unwrap()] {
                assert!((found.item() - value.item()).abs() < 1e-9 * value.item().abs(), "{}", stringify!($f));
            }
            let pairs = slopes.to_vec().into_iter().zip(gradient.to_vec());
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "{}", stringify!($f));
        )* };
    }
    check!(contracted, summed, scattered, shifted);
}

/// A write at positions along no axis, which is the updates, made compiled and exported programs panic.
#[test]
fn writes_at_positions_along_no_axis_are_the_updates() {
    let vector = Type::new(DType::F64, &[3]);
    let mut step: Graph = Graph::new(&[vector.clone(), vector.clone()], 1);
    let written = step.add(Op::ScatterSet, &[0, 1]);
    let step = Arc::new(step.finish(&[written]));
    let mut graph: Graph = Graph::new(&[vector.clone(), vector], 0);
    let written = graph.add(Op::ScatterSet, &[0, 1]);
    let scan = Scan { body: step, carries: 1, inputs: 0, length: 2, reverse: false };
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[0, 1]);
    let last = graph.add(Op::Output(0), &[scan]);
    let body = graph.finish(&[written, last]);
    let arguments = [1.0, 2.0].map(|x| Array::from_vec(&[3], vec![x; 3]));
    let expected = [&arguments[1], &arguments[1]];
    let interpreted = interpret::<Concrete>(&body, arguments.to_vec());
    let run = Program::new(&body, &Cpu::default()).unwrap().run(&arguments).unwrap();
    for found in [interpreted, run] {
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
    let program = || export::Program::new("written", body.clone());
    assert!(export::c(program()).is_ok() && export::rust(program()).is_ok() && export::opencl(program()).is_ok());
    assert!(export::stablehlo(program()).is_ok());
}

/// A `while` loop beside a loop that leaves much for its derivative was pruned again and again.
#[test]
fn loops_that_leave_much_compile_beside_while_loops() {
    fn f<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let y = fold(x.clone(), &iota(50), |y: Vector<A, f64>, _: Scalar<A, i64>| (y.sin() * &y) * y.cos() + 0.1);
        let (w, _) = while_loop((x.clone(), scalar(0i64)), |(_, i)| i.lt(3), |(a, i)| (a.sin(), i + 1));
        y.sum() + w.sum()
    }
    let x: Vector<Concrete, f64> = full(5000, 0.5);
    let gradient = stage(f, &x).unwrap().grad().unwrap().compile(Cpu::default()).unwrap().call(&x).unwrap();
    let expected = grad(f, &v(&[0.5])).at(0).item();
    assert!((gradient.at(4999).item() - expected).abs() < 1e-12);
}

/// A view inside of its array along each axis, but nowhere along both, in loops in one another.
#[test]
fn loops_read_views_that_are_outside_everywhere() {
    type Given<A> = (Vector<A, f64>, Matrix<A, f64>);
    fn f<A: Algebra>((x, m): &Given<A>) -> Scalar<A, f64> {
        let w = iterate(x.clone(), 2, |w: Vector<A, f64>| {
            iterate(w, 2, |w: Vector<A, f64>| build(3, |k| w.at(&k) * (m.at((&k - 2, &k + 4)) + 1.0)))
        });
        x.at(0).gt(0.0).select(w.at(1), scalar(0.4))
    }
    let z = (v(&[0.5, 0.6, 0.7]), full((4, 5), 0.3));
    let gradient = stage(f, &z).unwrap().grad().unwrap();
    assert_eq!(gradient.interpret(&z).unwrap().0.to_vec(), [0.0, 1.0, 0.0]);
    assert_eq!(gradient.compile(Cpu::default()).unwrap().call(&z).unwrap().0.to_vec(), [0.0, 1.0, 0.0]);
}

/// A nested loop leaves the overwritten elements in one array, which the gradient of the other array reads where nothing uses
/// the first in the end.
#[test]
fn what_was_written_over_is_read_where_its_array_is_not_used() {
    #[differentiable]
    fn products(v: Vector<f64>, w: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
        let (mut a, mut b) = (v, v);
        for j in rolled(0..2) {
            b = (a * b).sin();
            for i in rolled(0..2) {
                a[j] *= a.dot(&w);
                b[i] += b[j];
            }
        }
        (a, b)
    }
    #[differentiable]
    fn with_condition(v: Vector<f64>, w: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
        let (mut a, mut b) = (v, v);
        for j in rolled(0..3) {
            b = a * b;
            if w[j] > 0.0 {
                for i in rolled(0..2) {
                    a[j] *= a.sum();
                    b[i] += b[j] * a[i];
                }
            }
        }
        (a, b)
    }
    let x = v(&[0.4, 0.8, -0.3, 0.5, 0.9, -0.7, 0.2, 0.6]);
    let y = x.reverse(0);
    macro_rules! check {
        ($($f:ident, $of:tt;)*) => { $({
            let expected = grad(|(v, w)| $f(v, w).$of.sum(), (&x, &y));
            let staged = stage(|(v, w)| $f(v, w).$of.sum(), (&x, &y)).unwrap().grad().unwrap();
            let compiled = staged.compile(Cpu::default()).unwrap().call((&x, &y)).unwrap();
            for found in [staged.interpret((&x, &y)).unwrap(), compiled] {
                let pairs = found.to_vec().into_iter().zip(expected.to_vec());
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12), "{} of {}", $of, stringify!($f));
            }
        })* };
    }
    check!(products, 0; products, 1; with_condition, 0; with_condition, 1;);
}

/// Positions of a write that are read from the array that it changes are kept: the array that they are read from is restored
/// with them.
#[test]
fn writes_at_positions_from_the_array_itself_are_taken_back() {
    type In<A> = (Vector<A, f64>, Vector<A, i64>, Vector<A, i64>);
    fn looped<A: Algebra>((m, k, p): &In<A>, added: bool) -> Scalar<A, f64> {
        let step = |(m, k): (Vector<A, f64>, Vector<A, i64>), i: Scalar<A, i64>| {
            let u = m.gather(k.gather(iota(3))).sin();
            let next = if added { k.clone().with_added(k.at(1), i) } else { k.clone().with(k.at(1), i) };
            (m.scatter_max(p, &u), next)
        };
        fold((m.clone(), k.clone()), &iota(3), step).0.sum()
    }
    // Each array's positions are read from the other one.
    fn crossed<A: Algebra>((m, k, p): &In<A>, _: bool) -> Scalar<A, f64> {
        type State<A> = (Vector<A, f64>, Vector<A, i64>, Vector<A, i64>);
        let step = |(m, k, p): State<A>, i: Scalar<A, i64>| {
            let u = m.gather(k.gather(iota(3))).sin() * m.gather(p.gather(iota(3))).cos();
            let (at, other) = (p.at(&i), k.at(1));
            (m.scatter_max(iota(3), &u), k.with_added(at, &i), p.with(other, i))
        };
        fold((m.clone(), k.clone(), p.clone()), &iota(3), step).0.sum()
    }
    let m = Vector::from(vec![0.3, -0.8, 0.5, 0.9, -0.2, 0.1, 0.7]);
    let k = Vector::from(vec![1, 2, 0, 3, 1, 4, 2]);
    let p = Vector::from(vec![2, 0, 1, 1, 3, 0, 2]);
    let few = Vector::from(vec![2, 0, 1]);
    for added in [false, true] {
        for (is_crossed, p) in [(false, &few), (true, &p)] {
            macro_rules! f {
                () => {
                    |(m, k, p)| {
                        let all = (m.clone(), k.clone(), p.clone());
                        if is_crossed { crossed(&all, added) } else { looped(&all, added) }
                    }
                };
            }
            let expected = grad(f!(), (&m, &k, p));
            let staged = stage(f!(), (&m, &k, p)).unwrap();
            let found = staged.grad().unwrap().interpret((&m, &k, p)).unwrap();
            approx::assert_relative_eq!(found.to_vec()[..], expected.to_vec()[..], max_relative = 1e-12);
            let compiled = staged.grad().unwrap().compile(Cpu::default()).unwrap().call((&m, &k, p)).unwrap();
            assert_eq!(compiled.to_vec(), found.to_vec());
        }
    }
}

#[differentiable]
fn sums_of_a_column_in_a_conditional(x: Vector<f64>, a: Matrix<f64>) -> Scalar<f64> {
    let (mut count, mut y, mut b): (Scalar<i64>, _, _) = (scalar(0), x, a);
    let a = a * x[1];
    (count, y, b) = while_loop(
        (count, y, b),
        |(t, _, _)| t < 4,
        |(t, y, b)| {
            let (mut y, mut b) = (y, b);
            y[1] += a[(t, t)];
            if y[2] >= 2.0 {
                b[(t, t)] = a[(.., 2)].sum();
            }
            (t + 1, y, b)
        },
    );
    (b * b).sum() + y.sum() + count as f64
}

/// A sum that is an addition in place was added in place itself, and so stored nowhere, in one of the orders in which a hash map
/// may have them.
#[test]
fn sums_in_place_are_added_where_they_are_stored() {
    let n = 33;
    let x = Vector::from((0..n).map(|i| 0.1 * i as f64).collect::<Vec<_>>());
    let a = Matrix::from_elements((n, n), (0..n * n).map(|i| (0.01 * i as f64).sin()).collect::<Vec<_>>());
    let staged = stage(|(x, a)| sums_of_a_column_in_a_conditional(x, a), (&x, &a)).unwrap();
    let gradient = staged.value_and_grad().unwrap();
    let numbers =
        |(value, by_x): (Scalar<Concrete, f64>, Vector<Concrete, f64>)| [vec![value.item()], by_x.to_vec()].concat();
    let expected = numbers(gradient.interpret((&x, &a)).unwrap());
    for _ in 0..12 {
        let found = numbers(gradient.compile(Cpu::default()).unwrap().call((&x, &a)).unwrap());
        approx::assert_relative_eq!(found[..], expected[..], max_relative = 1e-12);
    }
}
