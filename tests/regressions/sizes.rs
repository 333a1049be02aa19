//! Sizes that no memory holds and no number counts.

use super::*;

/// Sizes beyond `usize` passed as equal, and flattening such an array was an internal panic; elsewhere they saturated.
#[test]
fn sizes_beyond_counting() {
    let half = || zeros::<Staged, f64, _>(1usize << 31);
    let whole = |x: &Vector<Staged, f64>| full::<Staged, bool, _>(isize::MAX as usize, x.len() == 2);
    for (error, name) in [
        (error_of(|_| zeros::<Staged, f64, _>((1 << 40, 1 << 40))), "zeros"),
        (error_of(|_| ones::<Staged, f32, _>(1usize << 62)), "ones"),
        (error_of(|_| full::<Staged, i64, _>((1 << 30, 1 << 30), 1)), "full"),
        (error_of(|_| iota::<Staged>(1 << 60)), "iota"),
        (error_of(|x| x.replicate(1 << 59)), "replicate"),
        (error_of(|x| x.broadcast_to((1 << 59, 2))), "broadcast_to"),
        (error_of(|x| x.pad(0, 1, 1 << 60)), "pad"),
        (error_of(|x| x.scatter(iota(2), 1usize << 60)), "scatter"),
        (error_of(|x| half().insert_axis(1) * half() + x.sum()), "mul"),
        (error_of(|_| half().insert_axis(1).lt(half())), "lt"),
        (error_of(|_| half().outer(&half())), "outer"),
        (error_of(|_| half().insert_axis(1).dot(&half().insert_axis(0))), "dot"),
        (error_of(|x| build((1 << 30, 1 << 30), |(i, j)| x.at(i) + x.at(j))), "build"),
        (error_of(|x| scan((), &(), 1 << 59, |(), ()| ((), x.clone())).1), "scan"),
        (error_of(|x| whole(x).cast::<i32>()), "cast"),
        (error_of(|x| stack(&[whole(x), whole(x)])), "stack"),
        (error_of(|x| concatenate(0, &[whole(x), whole(x)])), "concatenate"),
        (error_of(|x| x.reshape((1 << 50, 1 << 50))), "reshape"),
    ] {
        let Error::Operands { operation, place, .. } = error else { panic!("{error}") };
        assert_eq!(operation, name);
        assert!(place.contains(file!()), "{place}");
    }
    let message = panic_of(|| full::<Concrete, i64, _>((1 << 40, 1 << 40), 1));
    assert!(message.starts_with("full: ") && message.contains(file!()), "{message}");
    assert!(panic_of(|| v(&[1.0]).replicate(1 << 60)).starts_with("replicate: "));
    // Sizes that memory could hold are legal, also beside axes of length 0.
    assert_eq!(full::<Concrete, i64, _>((1 << 30, 1 << 29), 3).sum().item(), 3 << 59);
    assert_eq!(full::<Concrete, i32, _>((1 << 20, 3), i32::MAX).sum().item(), -3 << 20);
    assert!(full::<Concrete, f64, _>((1 << 30, 1 << 29), 1.0).sum().item() == 2f64.powi(59));
    let nothing = Tensor3::<Concrete, f64>::from_elements((0, 1 << 40, 1 << 19), Vec::new());
    assert_eq!(nothing, zeros((0, 1 << 40, 1 << 19)));
    assert_eq!(nothing.sum_axis(0).shape()[..], [1 << 40, 1 << 19]);
    assert_eq!(format!("{:?}", nothing), "[[[]]] : f64[0, 1099511627776, 524288]");
    let message = panic_of(|| Tensor3::<Concrete, f64>::from_elements((0, 1 << 40, 1 << 20), Vec::new()));
    assert!(message.starts_with("from_elements: ") && message.contains("too large for any memory"), "{message}");
    assert!(panic_of(|| zeros::<Concrete, f64, _>((0, 1 << 40, 1 << 20))).starts_with("zeros: "));
}

/// The message of the panic that a computation ends in.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic"),
        Err(payload) => *payload.downcast::<String>().expect("a panic with text"),
    }
}

/// More elements than any memory has, though not more than can be counted.
const MANY: usize = 1 << 50;

/// Allocation failed, and with it the process.
#[test]
fn arrays_that_no_memory_holds() {
    fn scattered<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        x.scatter(x.cast::<i64>(), MANY)
    }
    fn repeated<A: Algebra>(x: &Vector<A, f64>) -> Matrix<A, f64> {
        x.replicate(MANY)
    }
    fn outer<A: Algebra>(x: &Vector<A, f64>) -> Matrix<A, f64> {
        full::<A, f64, _>(MANY, 1.5).outer(x)
    }
    fn built<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        build(MANY, |i| (&i * &i).cast::<f64>() * x.at(0))
    }
    fn positions<A: Algebra>(_: &Vector<A, f64>) -> Vector<A, i64> {
        iota(MANY)
    }
    fn padded<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        x.exp().pad(0, 1, MANY)
    }
    fn steps<A: Algebra>(x: &Vector<A, f64>) -> Tensor3<A, f64> {
        scan(x.clone(), &(), 2, |c, ()| (&c * 2.0, c.replicate(MANY))).1
    }
    macro_rules! check {
        ($f:ident, $operation:literal, $staged:literal, $shape:literal) => {
            let x = v(&[1.0, 2.0]);
            let message = panic_of(|| $f(&x));
            assert!(message.starts_with(concat!($operation, ": ")), "{message}");
            assert!(message.contains(concat!($shape, " ")) && message.contains(file!()), "{message}");
            let dual = panic_of(|| grad(|x: &Vector<_, f64>| $f(x).cast::<f64>().sum(), &x));
            assert_eq!(dual, message);
            let tangent = panic_of(|| jvp(|x: &Vector<_, f64>| $f(x), &x, &x));
            assert_eq!(tangent, message);
            // Calls inside of a macro are located at the macro's place.
            let line = line!();
            let error = stage($f, &x).unwrap().interpret(&x).expect_err("no memory");
            let Error::Memory { operation, ty, place } = error else { panic!("{error}") };
            assert_eq!((&operation[..], &ty[3..]), ($staged, $shape));
            assert!(place.contains(&format!("{}:{line}:", file!())), "{place}");
            // A program that can't be compiled is tried again at the next call.
            let staged = stage($f, &x).unwrap();
            for _ in 0..2 {
                let (line, error) = (line!(), staged.call(&x).expect_err("no memory"));
                let Error::TooLarge { operation, place, .. } = error else { panic!("{error}") };
                assert_eq!(operation, "compile");
                assert!(place.contains(&format!("{}:{line}:", file!())), "{place}");
            }
        };
    }
    check!(scattered, "scatter", "scatter", "[1125899906842624]");
    check!(repeated, "replicate", "replicate", "[1125899906842624, 2]");
    check!(positions, "iota", "iota", "[1125899906842624]");
    check!(padded, "pad", "pad", "[1125899906842627]");
    check!(outer, "contract", "replicate", "[1125899906842624, 2]");
    check!(built, "build", "iota", "[1125899906842624]");
    check!(steps, "replicate", "replicate", "[1125899906842624, 2]");
}

/// Arrays whose elements are all equal take no memory, but arrays made from them did; and a pullback failed in the library.
#[test]
fn equal_elements_that_no_memory_holds() {
    let many = full::<Concrete, f64, _>((MANY, 2), 1.5);
    assert_eq!(many, many.clone());
    assert!(many != full((MANY, 2), 2.0));
    assert!(format!("{many:?}").ends_with("1.5]] : f64[1125899906842624, 2]"), "{many:?}");
    assert_eq!(many.at((MANY - 1, 1)).item(), 1.5);
    for (message, name) in [
        (panic_of(|| many.to_vec()), "to_vec"),
        (panic_of(|| many.to_ndarray()), "to_ndarray"),
        (panic_of(|| ndarray::Array2::from(many.clone())), "to_ndarray"),
        (panic_of(|| grad(|x| x.at((1, 1)), &many)), "accumulate"),
        (panic_of(|| vjp(|x| x.at((1, 1)), &many).1(&scalar(1.0))), "accumulate"),
    ] {
        assert!(message.starts_with(&format!("{name}: ")) && message.contains("[1125899906842624, 2]"), "{message}");
        assert!(message.contains(file!()), "{message}");
    }
    // Repeated addition of one number is not done step by step.
    let x = full::<Concrete, f64, _>(2, 1.0);
    assert_eq!(grad(|x| x.replicate(1 << 40).sum(), &x).to_vec(), [2f64.powi(40); 2]);
    assert_eq!(grad(|x| x.insert_axis(1).broadcast_to((2, 1 << 40)).sum(), &x).to_vec(), [2f64.powi(40); 2]);
    assert_eq!(grad(|x| x.gather(full(1 << 40, 1)).sum(), &v(&[1.0, 2.0])).to_vec(), [0.0, 2f64.powi(40)]);
    // The program computes nothing that takes memory.
    let element = stage(|x| build((1_000_000, 1_000_000), |(i, j)| x.at(i) * x.at(j)).at((1, 1)), &v(&[1.0, 3.0]));
    assert_eq!(element.unwrap().call(&v(&[1.0, 3.0])).unwrap().item(), 9.0);
    let sum = stage(|x| x.replicate(MANY).sum(), &v(&[1.0, 3.0])).unwrap();
    assert_eq!(sum.call(&v(&[1.0, 3.0])).unwrap().item(), 2f64.powi(52));
}

/// Compilation split concatenated updates along an axis that the indices did not have.
#[test]
fn parts_are_added_at_one_position_of_none() {
    fn added<A: Algebra>((x, at): &(Vector<A, f64>, Scalar<A, i64>)) -> Matrix<A, f64> {
        x.append(0, &x.sin()).scatter(at, 0)
    }
    let arguments = (v(&[1.0, 2.0]), scalar::<Concrete, i64>(0));
    let compiled = stage(added, &arguments).unwrap().compile(Cpu::default()).unwrap();
    let empty = compiled.call(&arguments).unwrap();
    assert_eq!((empty.shape().to_vec(), &empty), (vec![0, 4], &added(&arguments)));
}

/// More stores than a nest has slots for were a panic.
#[test]
fn parts_of_an_array_may_be_many() {
    fn parts<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        let few: Vec<Scalar<A, f64>> = (0..200).map(|k| x.at(k).sin()).collect();
        stack(&(0..70_000usize).map(|k| few[(k * k * 7 + k / 3) % 200].clone()).collect::<Vec<_>>())
    }
    let x: Vector<Concrete, f64> = (0..200).map(f64::from).collect::<Vec<f64>>().into();
    let staged = stage(parts, &x).unwrap();
    let (found, expected) = (staged.compile(Cpu::default()).unwrap().call(&x).unwrap(), staged.interpret(&x).unwrap());
    assert!(found.to_vec().iter().zip(expected.to_vec()).all(|(found, expected)| (found - expected).abs() < 1e-15));
}

/// Runs of loops in loops were counted in numbers that are too small for them.
#[test]
fn runs_that_are_too_many_to_count_are_reported() {
    let twice = |x: &Vector<_, f64>| {
        iterate(x.clone(), 1 << 40, |x: Vector<_, f64>| iterate(x, 1 << 40, |x: Vector<_, f64>| x.sin()))
    };
    let compiled = stage(twice, &v(&[1.0, 2.0])).unwrap().compile(Cpu::default()).unwrap();
    let report = compiled.program().report();
    assert!(report.kernels.iter().all(|kernel| kernel.times == usize::MAX && kernel.operations > 1e24), "{report}");
}

/// Sizes were counted in numbers too small for them, and placeholders had other ranks than results.
#[test]
fn windows_and_jacobians_that_no_memory_holds_are_refused() {
    const LONG: usize = 1 << 40;
    fn convolved<A: Algebra>(x: &Tensor4<A, f64>) -> Tensor4<A, f64> {
        let kernel = zeros::<A, f64, _>((2, 0, 1, 1));
        let padding = [(LONG, 0), (LONG, 1)];
        convolution_2d(x, &kernel, &Window { padding, ..Window::default() }, 1)
    }
    fn pooled<A: Algebra>(x: &Tensor4<A, f64>) -> Tensor4<A, f64> {
        mean_pool_2d(x, [LONG; 2], &Window { padding: [(LONG, 0); 2], ..Window::default() })
    }
    let (no_channel, no_sample) = (zeros((1, 0, 2, 2)), zeros((0, 1, 1, 1)));
    let long: Vector<Concrete, f64> = full(LONG, 1.0);
    let column: Matrix<Concrete, f64> = full((LONG, 1), 1.0);
    let problem_of = |staged: Result<(), Error>, eager: String| {
        for message in [staged.unwrap_err().to_string(), eager] {
            assert!(message.contains("too large for any memory") && message.contains(file!()), "{message}");
        }
    };
    problem_of(stage(convolved, &no_channel).map(|_| ()), panic_of(|| convolved(&no_channel)));
    problem_of(stage(pooled, &no_sample).map(|_| ()), panic_of(|| pooled(&no_sample)));
    problem_of(stage(|x| jacfwd(|x| x.sin(), x), &long).map(|_| ()), panic_of(|| jacfwd(|x| x.sin(), &long)));
    problem_of(stage(|x| jacrev(|x| x.sin(), x), &long).map(|_| ()), panic_of(|| jacrev(|x| x.sin(), &long)));
    problem_of(
        stage(|x| hessian(|x| x.sin().sum(), x), &long).map(|_| ()),
        panic_of(|| hessian(|x| x.sin().sum(), &long)),
    );
    problem_of(
        stage(|x| jacfwd(|x| x.sum_axis(0), x), &column).map(|_| ()),
        panic_of(|| jacfwd(|x| x.sum_axis(0), &column)),
    );
}

/// The number of steps of `0..=usize::MAX` wrapped around to none.
#[test]
fn loops_of_more_steps_than_can_be_counted_are_errors() {
    #[differentiable]
    fn sum(x: Vector<f64>, #[plain] last: usize, #[plain] down: bool) -> Scalar<f64> {
        let mut sum = scalar(0.0);
        if down {
            for k in rolled((0..=last).rev()) {
                sum += x[k];
            }
        } else {
            for k in rolled(0..=last) {
                sum += x[k];
            }
        }
        sum
    }
    let x = v(&[1.0, 2.0]);
    assert_eq!([true, false].map(|down| sum(&x, 1, down).item()), [3.0, 3.0]);
    for down in [true, false] {
        let message = error_of(|x| sum(x, usize::MAX, down)).to_string();
        assert!(message.contains(file!()) && message.contains("iota"), "{message}");
    }
}
