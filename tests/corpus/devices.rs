//! The corpus on a device, through OpenCL.

use crate::exported::{Case, found_difference};
use crate::exports::all;
use crate::presence::is_there;
use deltaray::engine::opencl::{DeviceKind, OpenCl, Program};
use deltaray::simplify::fold_constants;

/// So many programs are one source.
const TOGETHER: usize = 60;

#[test]
fn programs_compute_on_a_device_what_the_interpreter_does() {
    if !is_there() {
        return;
    }
    let one_in = match std::env::var("DELTARAY_OPENCL").as_deref() {
        Ok("all") => 1,
        _ => 14,
    };
    // As the device has them, and as graphics processors do, with everything shared that can be.
    let shared = OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1);
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
