//! Random programs and their gradients on a device, through OpenCL.
//!
//! `DELTARAY_DEVICE_PROGRAMS` says how many, `DELTARAY_SEED` where they start, and `DELTARAY_PROGRAM` runs the program of one
//! seed. A failure prints its seed, and the smallest program that shows it.

use crate::presence::is_there;
use crate::random::arrays::{full, numbers};
use crate::random::chance::seed_at;
use crate::random::compare::{Failure, NOT_FINITE, Pipeline, Scale, Suite, Verdict, difference, show, unfair};
use crate::random::derivatives::only_floats;
use crate::random::generate::Case;
use crate::random::pipelines::symbolic;
use crate::random::reference::{self, is_single};
use crate::random::stages::Stages;
use crate::setting;
use deltaray::concrete::{Array, Concrete};
use deltaray::error::Result;
use deltaray::opencl::{DeviceKind, OpenCl, Program};
use deltaray::simplify::fold_constants;
use deltaray::term::Body;
use deltaray::term::interpret::interpret;
use std::time::{Duration, Instant};

/// Programs in the standard run.
const PROGRAMS: u64 = 200;
/// So many programs are one source.
const TOGETHER: usize = 25;
/// Attempts to make a program smaller on which a device differs: each of them builds kernels.
const ATTEMPTS: usize = 200;

/// A program that is a fair test, with its gradient and the expected results of both.
struct Prepared {
    case: Case,
    /// The values, and from their cotangents the cotangents of all parameters.
    reverse: Body,
    arguments: Vec<Array>,
    values: Vec<Array>,
    /// The gradients, where they are defined.
    gradients: Option<Vec<Array>>,
    scale: Scale,
}

/// A program on the first of a few inputs with which it is a fair test.
fn prepared(mut case: Case) -> Option<Prepared> {
    for attempt in 1..=4 {
        let (values, watch) = reference::evaluate(&case.body, &case.inputs);
        if unfair(&watch).is_some() {
            case.redraw(attempt);
            continue;
        }
        let reverse = fold_constants(Stages::of(&case.body).tidy_reverse());
        let mut arguments = case.inputs.clone();
        arguments.extend(case.body.result_types().map(|ty| full(ty, 1.0)));
        let interpreted = interpret::<Concrete>(&reverse, arguments.clone());
        let gradients = only_floats(interpreted[values.len()..].to_vec());
        let is_finite = gradients.iter().all(|array| numbers(array).iter().all(|x| x.is_finite()));
        let gradients = (is_finite && !watch.fragile_derivative).then_some(gradients);
        let relative = if is_single(&case.body) { 1e-3 } else { 1e-9 };
        let scale = Scale { relative, largest: watch.largest, of_derivatives: false };
        return Some(Prepared { case, reverse, arguments, values, gradients, scale });
    }
    None
}

/// The results of a program on its device.
fn results(program: &Program, arguments: &[Array]) -> Result<Vec<Array>> {
    let uploaded = arguments.iter().map(|array| program.upload(array)).collect::<Result<Vec<_>>>()?;
    program.run(&uploaded)?.iter().map(|array| array.download()).collect()
}

impl Prepared {
    /// The difference between a device's results and the expected ones.
    fn problem(&self, program: &Program) -> Option<String> {
        let found = match results(program, &self.arguments) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string()),
        };
        let (values, gradients) = found.split_at(self.values.len());
        let of_values = difference(&self.values, values, &self.scale);
        of_values.map(|problem| format!("values: {problem}")).or_else(|| {
            let scale = Scale { of_derivatives: true, ..self.scale };
            let problem = difference(self.gradients.as_ref()?, &only_floats(gradients.to_vec()), &scale)?;
            Some(format!("gradients: {problem}"))
        })
    }
}

/// A program alone on a device, whose problems are panics.
fn alone(body: &Body, inputs: &[Array], options: &OpenCl) -> Vec<Array> {
    let program = Program::new(&fold_constants(body), options).unwrap_or_else(|error| panic!("{error}"));
    results(&program, inputs).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs programs one by one, to judge smaller programs.
fn suite(options: &OpenCl) -> Suite {
    let mut suite = Suite::default();
    let own = options.clone();
    let values = move |stages: &Stages<'_>, inputs: &[Array]| alone(stages.bulk(), inputs, &own);
    suite.values.push(Pipeline::new("device(bulk)", 1, values));
    suite.gradients.push(symbolic("tidy(vjp(bulk))", 1, |stages| stages.tidy_reverse().clone()));
    let own = options.clone();
    let gradients = move |stages: &Stages<'_>, inputs: &[Array]| {
        let mut arguments = inputs.to_vec();
        arguments.extend(stages.source.result_types().map(|ty| full(ty, 1.0)));
        only_floats(alone(stages.tidy_reverse(), &arguments, &own)[stages.source.results().len()..].to_vec())
    };
    suite.gradients.push(Pipeline::new("device(tidy(vjp(bulk)))", 1, gradients));
    suite
}

/// A failure among others in one source, made small.
fn failure(prepared: &Prepared, problem: String, options: &OpenCl) -> String {
    let suite = suite(options);
    match suite.judge(&prepared.case) {
        Verdict::Differ(original) => suite.shrunk(&prepared.case, original, ATTEMPTS).to_string(),
        // It may be one of the source in which it stands with others.
        _ => {
            let case = prepared.case.clone();
            let difference = "not alone, only in one source with others".into();
            Failure { seed: case.seed, case, difference, original: problem }.to_string()
        }
    }
}

/// The findings of a run of many programs.
#[derive(Default)]
struct Found {
    fair: usize,
    gradients: usize,
    infinite: usize,
    building: Duration,
    running: Duration,
    failures: Vec<String>,
}

impl Found {
    /// Runs programs that are one source.
    fn examine(&mut self, part: &[Prepared], options: &OpenCl) {
        let start = Instant::now();
        let programs = match Program::all(part.iter().map(|prepared| &prepared.reverse), options) {
            Ok(programs) => programs,
            Err(error) => {
                // Programs that do not compile on their own are to blame.
                let fails = |prepared: &&Prepared| Program::new(&prepared.reverse, options).is_err();
                let failing = part.iter().filter(fails);
                self.failures.extend(failing.map(|prepared| failure(prepared, error.to_string(), options)));
                if self.failures.is_empty() {
                    self.failures.push(format!("only together: {error}"));
                }
                return;
            }
        };
        self.building += start.elapsed();
        let start = Instant::now();
        for (prepared, program) in part.iter().zip(&programs) {
            self.fair += 1;
            self.gradients += usize::from(prepared.gradients.is_some());
            match prepared.problem(program) {
                Some(problem) if problem.contains(NOT_FINITE) => self.infinite += 1,
                Some(problem) => self.failures.push(failure(prepared, problem, options)),
                None => {}
            }
        }
        self.running += start.elapsed();
    }
}

/// With the device's defaults, and as for graphics processors, with everything shared that can be, and all loops launched by
/// the host.
fn ways() -> [OpenCl; 2] {
    // These programs are not worth keeping for other processes.
    let options = OpenCl::default().without_cache();
    [options.clone(), options.written_for(DeviceKind::Gpu).least_steps(1).single_item(0)]
}

#[test]
fn programs_compute_on_a_device_what_the_interpreter_does() {
    if !is_there() {
        return;
    }
    let programs = setting("DELTARAY_DEVICE_PROGRAMS").unwrap_or(PROGRAMS);
    let seed = setting("DELTARAY_SEED").unwrap_or(417);
    let mut found = Found::default();
    let ways = ways();
    let step = TOGETHER as u64 * ways.len() as u64;
    for first in (0..programs).step_by(step as usize) {
        for (way, options) in ways.iter().enumerate() {
            // Programs go to one way or the other in turns.
            let own = (first..programs.min(first + step)).filter(|position| position % 2 == way as u64);
            // Another program stands in for one that is a fair test with no inputs.
            let drawn = |position: u64| {
                [position, position + programs].into_iter().find_map(|at| prepared(Case::from_seed(seed_at(seed, at))))
            };
            let part: Vec<Prepared> = own.filter_map(drawn).collect();
            found.examine(&part, options);
        }
        if first / 1000 != (first + step) / 1000 {
            println!("{} programs, {} failures", found.fair, found.failures.len());
        }
        if found.failures.len() >= 10 {
            break;
        }
    }
    let Found { fair, gradients, infinite, building, running, failures } = found;
    println!("{fair} programs on a device, {gradients} with gradients: built in {building:?}, run in {running:?}");
    println!("{infinite} are not compared, for their results are not finite");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(fair as u64 * 10 >= programs * 8, "only {fair} programs are a fair test");
    assert!(gradients as u64 * 10 >= programs * 5, "only {gradients} gradients are compared");
    assert!(infinite as u64 * 50 <= programs, "{infinite} results are not finite");
}

#[test]
fn one_program_on_a_device() {
    let Some(seed) = setting("DELTARAY_PROGRAM") else { return };
    let case = Case::from_seed(seed);
    println!("{}", show(&case));
    let prepared = prepared(case).expect("the program is a fair test on some inputs");
    for options in ways() {
        let program = Program::new(&prepared.reverse, &options).unwrap_or_else(|error| panic!("{error}"));
        println!("{program}");
        let problem = prepared.problem(&program);
        assert!(problem.is_none(), "{options:?}: {problem:?}");
    }
}
