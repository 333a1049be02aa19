//! Errors: without a device, and with arguments of another structure.

use crate::is_there;
use deltaray::opencl::{OpenCl, devices};
use deltaray::prelude::*;

/// Tells a child process which error it must find.
const CHILD: &str = "DELTARAY_WITHOUT_DEVICES";

/// Runs this test again in a child process with another environment, without devices, whose error must contain these words.
/// Returns whether this is the child.
fn has_no_device(name: &str, (variable, value): (&str, &std::path::Path), words: &str) {
    if std::env::var_os(CHILD).is_some() {
        let x = Vector::from(vec![1.0, 2.0]);
        assert_eq!(devices().unwrap(), []);
        let error = stage(|x: &Vector<_, f64>| x + x, &x).unwrap().compile(OpenCl::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name]).env(CHILD, "1").env_remove("POCL_CACHE_DIR").env(variable, value);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_drivers_there_is_no_device() {
    let (name, nowhere) = ("errors::without_drivers_there_is_no_device", std::path::Path::new("/nonexistent"));
    has_no_device(name, ("OCL_ICD_VENDORS", nowhere), "no driver of any device is installed");
}

/// PoCL has none where it can't write to its folder.
#[test]
fn a_driver_without_devices_is_named() {
    let is_pocl = |device: &deltaray::opencl::Device| device.platform.contains("Portable Computing Language");
    if std::env::var_os(CHILD).is_none() && !(is_there() && devices().unwrap().iter().all(is_pocl)) {
        println!("skipped: all devices must be PoCL's");
        return;
    }
    let (name, nothing) = ("errors::a_driver_without_devices_is_named", std::path::Path::new("/dev/null"));
    has_no_device(
        name,
        ("XDG_CACHE_HOME", nothing),
        "Portable Computing Language is installed, but says that it has none",
    );
}

/// A list of vectors and another one, whose numbers of parts the types do not say.
#[allow(clippy::ptr_arg)] // A tree is a `Vec`, not a slice.
fn lists<A: Algebra>((a, b): &(Vec<Vector<A, f64>>, Vec<Vector<A, f64>>)) -> Vec<Vector<A, f64>> {
    let sum = |all: &[Vector<A, f64>]| all.iter().skip(1).fold(all[0].clone(), |sum, one| sum + one);
    let total = sum(a) + 10.0 * sum(b);
    a.iter().map(|one| one + &total).collect()
}

#[test]
fn arguments_of_another_structure_are_an_error_on_the_device_too() {
    if !is_there() {
        return;
    }
    let parts = |count: usize| (0..count).map(|at| Vector::from(vec![at as f64])).collect::<Vec<_>>();
    let program = stage(lists, (&parts(2), &parts(1))).unwrap().compile(OpenCl::default()).unwrap();
    let upload = |count: usize| program.upload(&parts(count)).unwrap();
    let (one, two) = (upload(1), upload(2));
    let line = line!() + 1;
    let error = program.call_on_device((&one, &two)).unwrap_err().to_string();
    assert!(error.contains("1 part instead of 2") && error.contains(&format!("errors.rs:{line}:")), "{error}");
    let error = program.call_on_device((&one, &one)).unwrap_err().to_string();
    assert!(error.contains("1 part instead of 2"), "{error}");
    let mut state = upload(1);
    let error = program.update(&mut state, &two).unwrap_err().to_string();
    assert!(error.contains("1 part instead of 2"), "{error}");
    assert_eq!(state.download().unwrap()[0].to_vec(), [0.0], "the state is as it was");
    let mut state = upload(2);
    let error = program.update(&mut state, &two).unwrap_err().to_string();
    assert!(error.contains("2 parts instead of 1"), "{error}");
    program.update(&mut state, &one).unwrap();
    assert_eq!(state.download().unwrap()[1].to_vec(), [2.0]);
}
