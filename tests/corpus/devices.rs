//! The corpus on a device, through OpenCL.

use crate::exported::{Case, found_difference};
use crate::exports::all;
use deltaray::engine::opencl::{DeviceKind, OpenCl, Program, devices};
use deltaray::simplify::fold_constants;

/// So many programs are one source.
const TOGETHER: usize = 60;

/// Whether there is a device; where tests may not be skipped there must be.
fn is_there() -> bool {
    let found = !devices().expect("drivers say what they have").is_empty();
    if !found {
        let text = "no OpenCL driver is installed: `scripts/install-tools` installs PoCL";
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "{text}");
        println!("skipped: {text}");
    }
    found
}

#[test]
fn programs_compute_on_a_device_what_the_interpreter_does() {
    if !is_there() {
        return;
    }
    let one_in = match std::env::var("DELTARAY_OPENCL").as_deref() {
        Ok("all") => 1,
        _ => 14,
    };
    // As the device has them, and as graphics processors do, with everything shared that can be, and all loops launched by the
    // host.
    let shared = OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1).single_item(0);
    for (options, first) in [(OpenCl::default(), 0), (shared, one_in / 2)] {
        let numbered = all().iter().enumerate();
        let cases: Vec<&Case> = numbered.filter(|(number, _)| number % one_in == first).map(|(_, case)| case).collect();
        let findings = findings(&cases, &options);
        assert!(findings.is_empty(), "{} findings, {options:?}:\n{}", findings.len(), findings.join("\n"));
    }
}

/// What differs from the interpreter's results.
fn findings(cases: &[&Case], options: &OpenCl) -> Vec<String> {
    let mut findings = Vec::new();
    for part in cases.chunks(TOGETHER) {
        let bodies: Vec<_> = part.iter().map(|case| fold_constants(&case.program.body)).collect();
        let building = std::time::Instant::now();
        let programs = Program::all(&bodies, options).unwrap_or_else(|error| panic!("{error}"));
        println!("{} programs were built in {:?}", part.len(), building.elapsed());
        for (program, case) in programs.iter().zip(part) {
            let started = std::time::Instant::now();
            let result = case.inputs.iter().map(|array| program.upload(array)).collect::<Result<Vec<_>, _>>();
            let result = result.and_then(|arguments| program.run(&arguments));
            let moved = program.transfers();
            if result.is_ok() {
                assert_eq!((moved.uploads, moved.downloads), (case.inputs.len() as u64, 0), "{}", case.name);
            }
            let result =
                result.and_then(|results| results.iter().map(|array| array.download()).collect::<Result<Vec<_>, _>>());
            let problem: Option<String> = match result {
                Ok(found) => found_difference(case, &found).filter(|_| case.defined),
                Err(error) => Some(error.to_string()),
            };
            findings.extend(problem.map(|problem| format!("{}: {problem}", case.name)));
            if started.elapsed().as_secs() > 5 {
                println!("{}: {:?}", case.name, started.elapsed());
            }
        }
    }
    findings
}
