use super::{Device, DeviceKind, OpenCl, devices};
use crate::prelude::*;

#[test]
fn a_device_that_is_not_there_is_an_error_that_lists_those_that_are() {
    let error = OpenCl::named("no such device").device().unwrap_err().to_string();
    let expected = if devices().unwrap().is_empty() {
        "no driver of any device"
    } else {
        "no device is called `no such device`; there are"
    };
    assert!(error.contains(expected), "{error}");
}

/// A device that no other test uses, so that what is taken of it can be counted.
fn own_device(number: u64) -> Option<Device> {
    let mut device = devices().unwrap().into_iter().next()?;
    device.memory -= number;
    Some(device)
}

fn halvings<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let known = constant::<A, Vector<_, f64>>(&Vector::from((0..100).map(f64::from).collect::<Vec<f64>>()));
    let counted = iterate(x.clone(), 9, |x: Vector<A, f64>| x * 0.5 + known.sin());
    let (sum, _) = while_loop(
        (counted, scalar(1.0)),
        |(_, n): &(Vector<A, f64>, Scalar<A, f64>)| n.lt(&scalar(50.0)),
        |(x, n)| (x.cos(), n * 2.0),
    );
    sum.sum()
}

#[test]
fn the_memory_of_a_program_is_what_is_taken_for_it() {
    let Some(device) = own_device(1) else { return };
    let x = Vector::from(vec![0.5; 100]);
    let staged = stage(halvings, &x).unwrap();
    let expected = staged.call(&x).unwrap().item();
    let compiled = staged.compile(OpenCl::on(&device)).unwrap();
    let there = compiled.upload(&x).unwrap();
    let before = compiled.program().taken();
    let result = compiled.call_on_device(&there).unwrap();
    // The result takes 64 bytes.
    assert_eq!(compiled.program().taken() - before - 64, compiled.program().memory() as u64);
    approx::assert_relative_eq!(result.download().unwrap().item(), expected, max_relative = 1e-12);
    let moved = compiled.program().transfers();
    assert_eq!((moved.uploads, moved.downloads, moved.conditions), (1, 1, 7));
    // Once the program is gone nothing waits.
    let other = staged.compile(OpenCl::on(&device)).unwrap();
    drop(compiled);
    assert_eq!(other.program().taken(), before + 64);
    drop((there, result));
    assert_eq!(other.program().taken(), 0);
}

#[test]
fn a_gradient_is_computed_on_a_device() {
    if devices().unwrap().is_empty() {
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "no OpenCL driver is installed");
        eprintln!("skipped: no OpenCL driver is installed (pocl-opencl-icd is one)");
        return;
    }
    fn loss<A: Algebra>((x, w): &(Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
        x.dot(w).tanh().sum()
    }
    let (x, w) = (Matrix::from([[1.0, 2.0], [3.0, 4.0], [0.5, 0.25]]), Vector::from(vec![0.25, -0.5]));
    let staged = stage(loss, (&x, &w)).unwrap().value_and_grad().unwrap();
    let (value, slope) = staged.call((&x, &w)).unwrap();
    let compiled = staged.compile(OpenCl::default()).unwrap();
    println!("{}", compiled.program());
    let (found, found_slope) = compiled.call((&x, &w)).unwrap();
    approx::assert_relative_eq!(found.item(), value.item(), max_relative = 1e-12);
    for (a, b) in found_slope.to_vec().iter().zip(slope.to_vec()) {
        approx::assert_relative_eq!(*a, b, max_relative = 1e-12);
    }
    // Arrays stay where they are.
    let (there, weights) = (compiled.upload(&x).unwrap(), compiled.upload(&w).unwrap());
    let result = compiled.call_on_device((&there, &weights)).unwrap();
    assert_eq!(result.download().unwrap().0.item(), found.item());
    let other = compiled.upload(&Matrix::from([[1.0]])).unwrap();
    let error = compiled.call_on_device((&other, &weights)).unwrap_err().to_string();
    assert!(error.contains("f64[3, 2], but f64[1, 1] was given"), "{error}");
    assert!(matches!(compiled.program().device().kind, DeviceKind::Cpu | DeviceKind::Gpu | DeviceKind::Accelerator));
}
