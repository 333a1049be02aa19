use super::{DeviceKind, OpenCl, devices};
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
