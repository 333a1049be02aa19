//! Runs: transfers, reports, results in place, and errors of devices.

use crate::is_there;
use deltaray::Error;
use deltaray::opencl::{DeviceKind, OpenCl, devices};
use deltaray::prelude::*;
use std::path::PathBuf;

/// A folder of a test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("deltaray-devices-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

type State<A> = (Vector<A, f64>, Vector<A, f64>, Vector<A, f64>, Scalar<A, f64>);
type Data<A> = (Matrix<A, f64>, Vector<A, f64>);

fn squared_error<A: Algebra>(w: &Vector<A, f64>, (x, y): &Data<A>) -> Scalar<A, f64> {
    (x.dot(w) - y).powi(2).mean()
}

/// A step of Adam.
fn step<A: Algebra>((state, data): &(State<A>, Data<A>)) -> (State<A>, Scalar<A, f64>) {
    let (w, mean, square, power) = state;
    let (x, y) = data;
    let (loss, slope) = value_and_grad(|w: &Vector<_, f64>| squared_error(w, &(x.lift(), y.lift())), w);
    let power = power + 1.0;
    let mean = 0.9 * mean + 0.1 * &slope;
    let square = 0.999 * square + 0.001 * slope.powi(2);
    let first = &mean / (1.0 - (power.clone() * 0.9f64.ln()).exp());
    let second = &square / (1.0 - (power.clone() * 0.999f64.ln()).exp());
    ((w - 0.05 * first / (second.sqrt() + 1e-8), mean, square, power), loss)
}

fn training() -> (State<Concrete>, Data<Concrete>) {
    let x = Matrix::from_elements([40, 5], (0..200).map(|n| f64::from(n * 37 % 101) / 101.0).collect());
    let y = Vector::from((0..40).map(|n| f64::from(n % 7) / 7.0).collect::<Vec<f64>>());
    ((zeros(5), zeros(5), zeros(5), scalar(0.0)), (x, y))
}

#[test]
fn a_hundred_steps_of_an_optimiser_stay_on_the_device() {
    if !is_there() {
        return;
    }
    let (state, data) = training();
    let staged = stage(step, (&state, &data)).unwrap();
    let (host, device) = (staged.compile(Cpu::default()).unwrap(), staged.compile(OpenCl::default()).unwrap());
    let (mut expected, mut expected_loss) = (state.clone(), scalar(0.0));
    let (mut found, data_there) = (device.upload(&state).unwrap(), device.upload(&data).unwrap());
    let mut warm = None;
    for number in 0..100 {
        host.update_with(&mut expected, &data, &mut expected_loss).unwrap();
        let loss = device.update_with(&mut found, &data_there).unwrap();
        let now = (device.program().transfers(), device.program().allocations());
        if number == 1 {
            warm = Some(now);
        }
        if number > 1 {
            assert_eq!(Some(now), warm, "step {number}");
        }
        if number == 99 {
            approx::assert_relative_eq!(loss.download().unwrap().item(), expected_loss.item(), max_relative = 1e-9);
        }
    }
    let found = found.download().unwrap();
    assert_eq!(found.3.item(), 100.0);
    for (a, b) in found.0.to_vec().iter().zip(expected.0.to_vec()) {
        approx::assert_relative_eq!(*a, b, max_relative = 1e-9);
    }
    let (before, after) = (warm.unwrap().0, device.program().transfers());
    assert_eq!((after.uploads, after.conditions), (before.uploads, 0));
    // The loss, and the four arrays of the state.
    assert_eq!((before.downloads, after.downloads, after.downloaded_bytes), (0, 5, 17 * 8));
}

fn blend<A: Algebra>((x, y): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    x * constant(&Vector::from(vec![0.5, 0.25, 4.0])) + y
}

#[test]
fn transfers_are_counted_and_known_arrays_are_uploaded_once() {
    if !is_there() {
        return;
    }
    let (x, y) = (Vector::from(vec![1.0, 2.0, 3.0]), Vector::from(vec![7.0, 6.0, 5.0]));
    let compiled = stage(blend, (&x, &y)).unwrap().compile(OpenCl::default()).unwrap();
    let (there, ones) = (compiled.upload(&x).unwrap(), compiled.upload(&y).unwrap());
    let moved = compiled.program().transfers();
    assert_eq!((moved.uploads, moved.uploaded_bytes, moved.downloads), (2, 48, 0));
    let result = compiled.call_on_device((&there, &ones)).unwrap();
    let first = compiled.program().transfers();
    for _ in 0..5 {
        compiled.call_on_device((&result, &there)).unwrap();
    }
    assert_eq!(compiled.program().transfers(), first, "runs move nothing but, first, known arrays");
    assert_eq!((first.uploads, first.known, moved.known), (2, 1, 0));
    assert_eq!(result.download().unwrap().to_vec(), [7.5, 6.5, 17.0]);
    assert_eq!(compiled.program().transfers().downloads, 1);
}

fn sum_of_all<A: Algebra>(arrays: &[Vector<A, f32>; 4]) -> Vector<A, f32> {
    arrays[1..].iter().fold(arrays[0].clone(), |sum, array| sum + array)
}

#[test]
fn uploads_that_are_not_waited_for_bring_the_elements_of_their_time() {
    if !is_there() {
        return;
    }
    const COUNT: usize = 1 << 18;
    let mut arrays = [0.0, 1.0, 2.0, 3.0].map(|x: f32| Vector::from(vec![x; COUNT]));
    let compiled = stage(sum_of_all, &arrays).unwrap().compile(OpenCl::default()).unwrap();
    let mut sums = Vec::new();
    let twice = stage(|x: &Vector<_, f32>| x + x, &arrays[0]).unwrap().compile(Cpu::default()).unwrap();
    for _ in 0..3 {
        let there = compiled.upload(&arrays).unwrap();
        // The host goes on with its arrays at once.
        arrays.iter_mut().for_each(|array| twice.update(array, ()).unwrap());
        sums.push(compiled.call_on_device(&there).unwrap());
    }
    drop(arrays);
    for (sum, expected) in sums.iter().zip([6.0, 12.0, 24.0]) {
        assert!(sum.download().unwrap().to_vec().iter().all(|&x| x == expected));
    }
}

#[test]
fn threads_share_programs_and_the_device() {
    if !is_there() {
        return;
    }
    let x = Vector::from((0..1000).map(|n| f64::from(n) / 1000.0).collect::<Vec<f64>>());
    let program = |x: &Vector<_, f64>| (x.sin() + x.cos()).exp();
    let staged = stage(program, &x).unwrap();
    let expected = staged.interpret(&x).unwrap().to_vec();
    let (plain, measured) =
        (staged.compile(OpenCl::default()).unwrap(), staged.compile(OpenCl::default().profile(true)).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (own, other) = if thread % 2 == 0 { (&plain, &measured) } else { (&measured, &plain) };
            let (x, expected) = (&x, &expected);
            scope.spawn(move || {
                for _ in 0..50 {
                    let there = own.upload(x).unwrap();
                    let found = other.call_on_device(&there).unwrap();
                    drop(there);
                    let found = found.download().unwrap().to_vec();
                    for (a, b) in found.iter().zip(expected) {
                        approx::assert_relative_eq!(*a, *b, max_relative = 1e-12);
                    }
                }
            });
        }
    });
}

/// Threads that use a device at the same time: batches that come and go, results that are held for some steps, and the memory
/// of both reused again and again.
#[test]
fn batches_of_many_threads_do_not_meet() {
    if !is_there() {
        return;
    }
    const STEPS: usize = 60;
    let staged = |count: usize| {
        let like = vec![0.0; count];
        stage(
            |(x, y): &(Vector<_, f64>, Vector<_, f64>)| x * 2.0 + y,
            (&Vector::from(like.clone()), &Vector::from(like)),
        )
    };
    // Arrays of the same size reuse each other's memory, also those of shared programs.
    let shared = staged(5000).unwrap().compile(OpenCl::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let shared = &shared;
            scope.spawn(move || {
                let count = if thread == 3 { 300 } else { 5000 };
                let profiled = staged(count).unwrap().compile(OpenCl::default().profile(thread == 2)).unwrap();
                let program = if thread < 2 { shared } else { &profiled };
                let mut held = Vec::new();
                for step in 0..STEPS {
                    let first = (thread * 1000 + step) as f64;
                    let (x, y) = (vec![first; count], (0..count).map(|at| at as f64).collect::<Vec<f64>>());
                    let batch = program.upload(&(Vector::from(x), Vector::from(y))).unwrap();
                    // One whose upload nobody waits for, and one value for all elements, which the device writes.
                    drop(program.upload(&Vector::from(vec![-1.0; count])).unwrap());
                    drop(program.upload(&Vector::<Concrete, f64>::from(vec![0.0; 1])).unwrap());
                    drop(program.upload(&zeros::<Concrete, f64, _>(count)).unwrap());
                    let found = program.call_on_device(&batch).unwrap();
                    drop(batch);
                    held.push((first, found));
                    // Some are dropped before anybody asks, and some are asked for late.
                    if step % 3 == 0 {
                        held.pop();
                    }
                    if held.len() > 4 {
                        let (first, found) = held.remove(0);
                        let found = found.download().unwrap().to_vec();
                        let wrong = (0..count).find(|&at| found[at] != 2.0 * first + at as f64);
                        assert_eq!(wrong, None, "thread {thread}, step {step}");
                    }
                }
            });
        }
    });
}

#[test]
fn batches_that_come_and_go_need_no_more_memory_in_every_step() {
    if !is_there() {
        return;
    }
    let x = Vector::from(vec![1.0; 4000]);
    let like = (&x, &x);
    let program = |(state, batch): &(Vector<_, f64>, Vector<_, f64>)| state * 0.5 + batch;
    let compiled = stage(program, like).unwrap().compile(OpenCl::default()).unwrap();
    let mut state = compiled.upload(&x).unwrap();
    for step in 0..200 {
        let batch = compiled.upload(&Vector::from(vec![f64::from(step); 4000])).unwrap();
        compiled.update(&mut state, &batch).unwrap();
    }
    assert!(state.download().unwrap().to_vec().iter().all(|&x| (x - 396.0).abs() < 1e-9));
    // Two states and a batch, and two that runs may still use while the next are written.
    assert!(compiled.program().allocations() <= 5, "{} allocations", compiled.program().allocations());
    assert_eq!(compiled.program().transfers().uploads, 201);
}

fn two_kernels<A: Algebra>(x: &Matrix<A, f64>) -> (Scalar<A, f64>, Matrix<A, f64>) {
    let total = x.exp().sum();
    let scaled = x / total.clone();
    (total, scaled)
}

#[test]
fn reports_stand_beside_those_of_the_processor() {
    if !is_there() {
        return;
    }
    let x = Matrix::from_elements([64, 64], (0..64 * 64).map(|n| f64::from(n % 97) / 97.0).collect());
    let staged = stage(two_kernels, &x).unwrap();
    let host = staged.compile(Cpu::default().profile(true)).unwrap();
    let device = staged.compile(OpenCl::default().profile(true)).unwrap();
    assert!(device.program().report().kernels.iter().all(|kernel| kernel.seconds.is_none()), "nothing has run");
    for _ in 0..3 {
        let (expected, found) = (host.call(&x).unwrap(), device.call(&x).unwrap());
        approx::assert_relative_eq!(expected.0.item(), found.0.item(), max_relative = 1e-12);
    }
    let (expected, found) = (host.program().report(), device.program().report());
    println!("{expected}\n{found}");
    assert_eq!(found.interface, expected.interface);
    assert_eq!(found.kernels.len(), expected.kernels.len());
    for (there, here) in found.kernels.iter().zip(&expected.kernels) {
        assert_eq!((there.times, there.operations, there.bytes), (here.times, here.operations, here.bytes));
        assert!(there.seconds.is_some_and(|seconds| seconds > 0.0), "{there:?}");
        let name = there.name.split([':', ',']).next().unwrap();
        assert!(device.program().source().contains(name) && there.name.ends_with(&here.name), "{there:?} {here:?}");
    }
    let unmeasured = staged.compile(OpenCl::default()).unwrap();
    unmeasured.call(&x).unwrap();
    assert!(unmeasured.program().report().kernels.iter().all(|kernel| kernel.seconds.is_none()));
}

fn decay<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    // Elements change places, so that no element is on its own.
    let end = iterate(x.clone(), 20, |x: Vector<A, f64>| build(x.len(), |i| x.at(x.len() - 1 - i) * 0.5));
    end.sum()
}

#[test]
fn loops_are_reported_with_all_their_steps() {
    if !is_there() {
        return;
    }
    let x = Vector::from(vec![1.0; 32]);
    let staged = stage(decay, &x).unwrap();
    // A kernel for each step, and one for all of them.
    for (elements, times) in [(0, 20), (64, 1)] {
        let options = OpenCl::default().profile(true).single_item(elements);
        let compiled = staged.compile(options).unwrap();
        assert_eq!(compiled.call(&x).unwrap().item(), 32.0 / f64::from(1 << 20));
        let report = compiled.program().report();
        println!("{report}");
        let is_loop = |kernel: &deltaray::engine::Kernel| kernel.times == times && kernel.operations >= 20.0 * 32.0;
        assert!(report.kernels.iter().any(is_loop), "{report}");
        assert!(report.kernels.iter().all(|kernel| kernel.seconds.is_some_and(|seconds| seconds > 0.0)));
    }
}

#[test]
fn compiled_programs_are_kept_in_a_folder() {
    if !is_there() {
        return;
    }
    let folder = Folder::new("kept");
    let cubes = |x: &Vector<_, f64>| x * x * x;
    let (x, inside) = (Vector::from(vec![1.0, 2.0, 3.0]), folder.0.join("inside"));
    let compiled = stage(cubes, &x).unwrap().compile(OpenCl::default().cache_in(&inside)).unwrap();
    assert_eq!(compiled.call(&x).unwrap().to_vec(), [1.0, 8.0, 27.0]);
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 1);
    // A path that is no folder is no cache, and no error; nor is a folder that was removed, or one full of other files.
    let (file, nowhere, other) = (folder.0.join("file"), folder.0.join("nowhere"), folder.0.join("other"));
    std::fs::write(&file, b"").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.0.join("not").join("there"), &nowhere).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("0123456789abcdef.program"), b"deltaray opencl1, but no program").unwrap();
    std::fs::remove_dir_all(&inside).unwrap();
    for (number, place) in [file, nowhere, other, inside].into_iter().enumerate() {
        // Another program each time: this process remembers those that it has built.
        let power = 4 + number as i32;
        let program = |x: &Vector<_, f64>| x.powi(power) + f64::from(power);
        let compiled = stage(program, &x).unwrap().compile(OpenCl::default().cache_in(place)).unwrap();
        let expected = [1.0, 2.0, 3.0].map(|x: f64| x.powi(power) + f64::from(power));
        assert_eq!(compiled.call(&x).unwrap().to_vec(), expected);
    }
}

#[test]
fn a_kind_that_no_device_is_of_is_an_error() {
    if !is_there() {
        return;
    }
    let all = devices().unwrap();
    for kind in [DeviceKind::Gpu, DeviceKind::Cpu, DeviceKind::Accelerator] {
        let chosen = OpenCl::of_kind(kind).device();
        match all.iter().find(|device| device.kind == kind) {
            Some(device) => assert_eq!(chosen.unwrap(), *device),
            None => {
                let error = chosen.unwrap_err().to_string();
                assert!(error.contains(&format!("no device is a {kind}; there are `{}`", all[0])), "{error}");
            }
        }
    }
    assert!(all.iter().all(|device| device.units > 0 && !device.driver.is_empty() && !device.version.is_empty()));
}

#[test]
fn memory_that_is_not_there_is_an_error_before_it_is_taken() {
    if !is_there() {
        return;
    }
    let mut small = devices().unwrap().remove(0);
    small.memory = 1 << 20;
    let x = Vector::from(vec![1.0; 1 << 14]);
    let staged = stage(|x: &Vector<_, f64>| x.exp(), &x).unwrap();
    let compiled = staged.compile(OpenCl::on(&small)).unwrap();
    // An array takes an eighth of the memory: six stay, and the seventh's result takes the last.
    let mut held = Vec::new();
    for _ in 0..6 {
        held.push(compiled.upload(&x).unwrap());
    }
    held.push(compiled.call_on_device(&held[0]).unwrap());
    held.push(compiled.call_on_device(&held[0]).unwrap());
    let error = compiled.call_on_device(&held[0]).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Device { .. }), "{text}");
    assert!(text.contains("131072 bytes of memory are needed, but of its 1048576 no more than 0 are left"), "{text}");
    assert!(compiled.upload(&x).unwrap_err().to_string().starts_with("upload on "));
    // Dropping an array makes room, whichever program had it.
    held.pop();
    let other = stage(|x: &Vector<_, f64>| x.sin(), &Vector::from(vec![0.0; 1 << 13])).unwrap();
    let other = other.compile(OpenCl::on(&small)).unwrap();
    let half = other.upload(&Vector::from(vec![0.0; 1 << 13])).unwrap();
    assert!(other.call_on_device(&half).unwrap().download().unwrap().to_vec().iter().all(|&x| x == 0.0));
}

#[test]
fn arrays_above_the_largest_are_errors() {
    if !is_there() {
        return;
    }
    let x: Vector<Concrete, f64> = zeros([1 << 50]);
    let compiled = stage(|x: &Vector<_, f64>| x.sum(), &x).unwrap().compile(OpenCl::default()).unwrap();
    let text = compiled.upload(&x).unwrap_err().to_string();
    assert!(text.contains("an array of 1125899906842624 elements of type f64 takes"), "{text}");
}

#[test]
fn arrays_without_elements_go_every_way() {
    if !is_there() {
        return;
    }
    let program = |(x, y): &(Matrix<_, f64>, Vector<_, f64>)| (x * 2.0, x.sum_axis(1), x.dot(y), x.sum());
    let (x, y): Data<Concrete> = (zeros([0, 3]), Vector::from(vec![1.0, 2.0, 3.0]));
    let compiled = stage(program, (&x, &y)).unwrap().compile(OpenCl::default().profile(true)).unwrap();
    let (doubled, rows, product, sum) = compiled.call((&x, &y)).unwrap();
    assert_eq!((doubled.shape().to_vec(), rows.to_vec(), product.to_vec()), (vec![0, 3], vec![], vec![]));
    assert_eq!(sum.item(), 0.0);
    let nothing = compiled.upload(&x).unwrap();
    assert_eq!(nothing.download().unwrap().shape().to_vec(), [0, 3]);
}

#[test]
fn arguments_of_other_types_are_errors_that_say_which() {
    if !is_there() {
        return;
    }
    let (state, data) = training();
    let compiled = stage(step, (&state, &data)).unwrap().compile(OpenCl::default()).unwrap();
    let there = compiled.upload(&data).unwrap();
    let mut wrong = state.clone();
    wrong.2 = zeros(4);
    let mut wrong = compiled.upload(&wrong).unwrap();
    let text = compiled.update_with(&mut wrong, &there).unwrap_err().to_string();
    assert!(text.starts_with("argument 0, `2`: the program was staged for f64[5], but f64[4] was given"), "{text}");
    assert_eq!(wrong.arrays().len(), 4);
}

fn special<A: Algebra>(x: &Vector<A, f32>) -> Vector<A, f32> {
    x.erf() + x.digamma() * x.logaddexp(1.0)
}

fn plain<A: Algebra>(x: &Vector<A, f32>) -> Vector<A, f32> {
    let loops = iterate(x.sigmoid(), 3, |x: Vector<A, f32>| x.reverse(0) * 0.1 + x.recip().softplus());
    (loops + x.powi(3) * x.sort(0)).cumsum(0) + x.tanh() * x.abs().pow(0.7) + x.cumprod(0) + x.sum() + x.dot(x)
}

#[test]
fn without_f64_only_programs_that_compute_with_it_are_refused() {
    if !is_there() {
        return;
    }
    let mut device = devices().unwrap().remove(0);
    device.has_doubles = false;
    let x = Vector::from((1..=200).map(|n| n as f32 * 0.01).collect::<Vec<f32>>());
    let text = stage(special, &x).unwrap().compile(OpenCl::on(&device)).unwrap_err().to_string();
    assert!(text.contains("it has no f64 (cl_khr_fp64)") && text.contains("of f32 too"), "{text}");
    let text = stage(|x: &Vector<_, f32>| x.cast::<f64>(), &x).unwrap().compile(OpenCl::on(&device)).unwrap_err();
    assert!(text.to_string().contains("stage it for arrays of f32"), "{text}");
    for options in [OpenCl::on(&device), OpenCl::on(&device).written_for(DeviceKind::Gpu).least_steps(1)] {
        let compiled = stage(plain, &x).unwrap().compile(options).unwrap();
        // Neither the type nor a number without the ending of single precision.
        let source = compiled.program().source();
        assert!(!source.contains("double") && !source.contains("cl_khr_fp64"), "{source}");
        let words = source.split(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c));
        for number in words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')) {
            assert!(number.ends_with('f'), "{number} in {source}");
        }
    }
}
