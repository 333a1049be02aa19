//! The corpus on a device, through OpenCL.

use crate::exported::{Case, found_difference};
use crate::exports::some;
use crate::presence::is_there;
use crate::sample::sample;
use deltaray::concrete::Array;
use deltaray::engine::Kernel;
use deltaray::engine::cpu::{self, Cpu};
use deltaray::engine::opencl::{DeviceArray, DeviceKind, OpenCl, Program};
use deltaray::simplify::fold_constants;
use std::time::{Duration, Instant};

/// So many programs are one source.
const TOGETHER: usize = 60;

/// Of so many programs one is run, where a sample is asked for.
const ONE_IN: usize = 4;

/// `DELTARAY_OPENCL` selects rows: `all` in both forms; `default` all with the device's defaults, or one of [`ONE_IN`] where
/// `DELTARAY_SAMPLE` selects it; else few of each form.
#[test]
fn programs_compute_on_a_device_what_the_interpreter_does() {
    if !is_there() {
        return;
    }
    let rows = 112;
    let first = sample().unwrap_or(0) % rows;
    let [default, shared] = match std::env::var("DELTARAY_OPENCL").as_deref() {
        Ok("all") => [Some((1, 0)), Some((1, 0))],
        Ok("default") => [Some(sample().map_or((1, 0), |sample| (ONE_IN, sample % ONE_IN))), None],
        Ok(other) => panic!("no part of the corpus: {other}"),
        Err(_) => [Some((rows, first)), Some((rows, (first + rows / 2) % rows))],
    };
    // With the device's defaults, and as for graphics processors, with everything shared that can be, and all loops launched by
    // the host.
    let for_graphics = OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1).single_item(0);
    for (options, part) in [(OpenCl::default(), default), (for_graphics, shared)] {
        let Some((one_in, first)) = part else { continue };
        let cases = some(one_in, first);
        let (findings, [device, processor]) = findings(&cases, &options);
        println!("{} programs, {options:?}:\non the device {device}\non the processor {processor}", cases.len());
        assert!(findings.is_empty(), "{} findings, {options:?}:\n{}", findings.len(), findings.join("\n"));
    }
}

/// How many steps a kernel of the processor's program is: those that go over blocks of rows are several.
fn steps(kernel: &Kernel) -> usize {
    match kernel.name.split_once(" rows: ") {
        Some((_, inside)) => inside.split("; ").count(),
        None => 1,
    }
}

/// The kernels that are launched for a step, and its name.
fn launched(kernel: &Kernel) -> (Vec<&str>, &str) {
    let is_kernel = |word: &str| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        name.len() < word.len() && !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    for (at, _) in kernel.name.rmatch_indices(": ").chain([(0, "")]) {
        let before = kernel.name[..at].rsplit(": ").next().unwrap_or("");
        if !before.is_empty() && before.split(", ").all(is_kernel) {
            return (before.split(", ").collect(), &kernel.name[at + 2..]);
        }
    }
    (Vec::new(), &kernel.name)
}

/// The most steps of an operation on matrices, in addition to one.
const WRITTEN_OUT: usize = 40;

/// A device with more steps than the processor, or more kernels for a step than it should have. It has fewer steps where loops
/// are one kernel. A nest is one kernel for its writes, and at most two for each of its reductions, which are computed in parts
/// first; sorts take as many as they need. A device may have a separate step for each of `repeated` results, which repeat one
/// element.
fn miscounted(program: &Program, cpu: &cpu::Program, repeated: usize) -> Option<String> {
    let (own, other) = (program.report(), cpu.report());
    let expected: usize = other.kernels.iter().map(steps).sum();
    // The processor has no kernel for a loop that only passes values on.
    let is_loop = |name: &str| ["recurrence", "sequential"].iter().any(|word| name.contains(word));
    let moves = |kernel: &&Kernel| is_loop(&kernel.name) && kernel.operations == 0.0;
    let found = own.kernels.iter().filter(|kernel| !moves(kernel)).count();
    // For the derivative of a loop that goes back over its steps, a device runs the loop first, by several kernels perhaps; the
    // processor goes on where it ended. A kernel is then launched in two places.
    let named = |kernels: &[Kernel], words: &[&str]| {
        let is_one = |kernel: &&Kernel| words.iter().any(|word| kernel.name.contains(word));
        kernels.iter().filter(is_one).count()
    };
    let more = |words: &[&str]| named(&own.kernels, words).saturating_sub(named(&other.kernels, words));
    let in_steps = || own.kernels.iter().filter(|kernel| kernel.name.starts_with("step: "));
    let is_run_again = in_steps().any(|kernel| in_steps().filter(|other| other.name == kernel.name).count() > 1);
    let run_first = if more(&["while: "]) > 0 || is_run_again { more(&["while: ", "step: "]) } else { 0 };
    // Most operations on dense and sparse matrices are written out as loops, with steps before and after them; some are a step, as
    // on processors.
    let is_system = |name: &str| name.starts_with("solve_") && (name.contains("_lower") || name.contains("_upper"));
    let has_kernels = |name: &str| matches!(name, "cholesky" | "lu") || is_system(name);
    let is_written_out = |name: &str| {
        let written_out = [
            "cholesky",
            "lu",
            "qr",
            "full_qr",
            "solve_",
            "eigh",
            "svd",
            "inverse_",
            "unique",
            "pseudo_inverse",
            "sparse_",
        ];
        !has_kernels(name) && written_out.iter().any(|op| name.starts_with(op))
    };
    // Names begin with the part of a construct that a kernel is in.
    let own_name = |kernel: &Kernel| kernel.name.rsplit(": ").next().unwrap_or_default().to_string();
    let written_out = other.kernels.iter().filter(|kernel| is_written_out(&own_name(kernel))).count();
    if found > expected + repeated + run_first + WRITTEN_OUT * written_out {
        return Some(format!("{found} steps instead of {expected}:\n{own}{other}"));
    }
    let mut all = 0;
    for kernel in &own.kernels {
        let (kernels, name) = launched(kernel);
        let count = kernels.len();
        all += count;
        let most = match name.split_once("-> ") {
            Some((_, rest)) if name.starts_with("nest") => {
                let (stores, work) = rest.split_once(" (").unwrap_or((rest, ""));
                let stores = stores.split(", ").count();
                // Of long lists of operations a name has the first ones only.
                let reduces = ["sum", "max", "min", ".."].iter().any(|word| work.contains(word));
                // A loop that is one scan for each of its carries, where some carries depend on others.
                let are_scans = kernels.iter().all(|kernel| kernel.starts_with("scan"));
                match (reduces, are_scans) {
                    (true, _) => 2 * stores,
                    (false, true) => stores,
                    (false, false) => 1,
                }
            }
            _ if name.contains("product") => 2,
            _ => usize::MAX,
        };
        if count > most {
            return Some(format!("{count} kernels instead of {most} at most for {}", kernel.name));
        }
    }
    (all != program.kernels()).then(|| format!("{} kernels, of which {all} are reported:\n{own}", program.kernels()))
}

/// How long programs take in all.
#[derive(Default)]
struct Times {
    built: Duration,
    run: Duration,
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Times { built, run } = self;
        write!(f, "built in {:.2} s, run once each in {:.3} s", built.as_secs_f64(), run.as_secs_f64())
    }
}

fn timed<T>(time: &mut Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    *time += start.elapsed();
    result
}

/// The differences from the interpreter's results, and the times on the device and on the processor. On a device programs run
/// twice: its driver may compile kernels at their first launch.
fn findings(cases: &[Case], options: &OpenCl) -> (Vec<String>, [Times; 2]) {
    let (mut findings, mut device, mut processor) = (Vec::new(), Times::default(), Times::default());
    for part in cases.chunks(TOGETHER) {
        let bodies: Vec<_> = part.iter().map(|case| fold_constants(&case.program.body)).collect();
        let programs = timed(&mut device.built, || Program::all(&bodies, options));
        let programs = programs.unwrap_or_else(|error| panic!("{error}"));
        for ((program, case), body) in programs.iter().zip(part).zip(&bodies) {
            let cpu = timed(&mut processor.built, || cpu::Program::new(body, &Cpu::default().threads(1)));
            let cpu = cpu.expect("there is memory");
            let results = timed(&mut processor.run, || cpu.run(&case.inputs)).expect("there is memory");
            // The processor computes one element of a result that repeats it, and so perhaps in a nest with other numbers.
            let repeated =
                results.iter().filter(|result| !result.shape().is_empty() && result.uniform().is_some()).count();
            findings.extend(miscounted(program, &cpu, repeated).map(|problem| format!("{}: {problem}", case.name)));
            let arguments = case.inputs.iter().map(|array| program.upload(array)).collect::<Result<Vec<_>, _>>();
            let download = |results: Vec<DeviceArray>| {
                results.iter().map(|array| array.download()).collect::<Result<Vec<Array>, _>>()
            };
            let first = timed(&mut device.built, || {
                arguments.and_then(|arguments| {
                    let results = program.run(&arguments)?;
                    let moved = program.transfers();
                    if (moved.uploads, moved.downloads) != (case.inputs.len() as u64, 0) {
                        findings.push(format!("{}: a run moves arrays: {moved:?}", case.name));
                    }
                    download(results)?;
                    Ok(arguments)
                })
            });
            let result =
                first.and_then(|arguments| timed(&mut device.run, || program.run(&arguments).and_then(download)));
            let problem: Option<String> = match result {
                Ok(found) => found_difference(case, &found).filter(|_| case.defined),
                Err(error) => Some(error.to_string()),
            };
            findings.extend(problem.map(|problem| format!("{}: {problem}", case.name)));
        }
    }
    (findings, [device, processor])
}
