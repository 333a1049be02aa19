//! The comparison: every pipeline computes the same, within rounding.

use super::arrays::{elements, floats, numbers};
use super::chance::{Random, seed_at};
use super::frequency::Frequency;
use super::generate::Case;
use super::reference::{self, Watch, is_single};
use super::shrink;
use super::stages::Stages;
use deltaray::concrete::Array;
use deltaray::shape::Value;
use deltaray::term::{Body, Build};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// Runs a program on inputs.
pub type Run = Box<dyn Fn(&Stages<'_>, &[Array]) -> Vec<Array> + Send + Sync>;

/// One way to compute something of a program.
pub struct Pipeline {
    /// Its name in failures.
    pub name: String,
    /// The share of programs: one in so many.
    pub one_in: u64,
    /// Computes it.
    pub run: Run,
}

impl Pipeline {
    /// A pipeline from its name and function, for one program in so many.
    pub fn new(
        name: &str,
        one_in: u64,
        run: impl Fn(&Stages<'_>, &[Array]) -> Vec<Array> + Send + Sync + 'static,
    ) -> Pipeline {
        Pipeline { name: name.into(), one_in, run: Box::new(run) }
    }
}

/// Whether a program is one of those that a pipeline or law is for; each name has its own.
fn chosen(name: &str, one_in: u64, case: &Case) -> bool {
    let salt: u64 = name.bytes().map(u64::from).sum();
    (case.seed >> 7).wrapping_add(salt).is_multiple_of(one_in)
}

/// The judgement of a [`Law`]: a description of the violation.
pub type Judgement = Result<(), String>;

/// A property of a program other than the equality of two results.
pub struct Law {
    /// Its name in failures.
    pub name: String,
    /// Whether it is about derivatives, and so left out where those are ill-defined.
    pub of_derivatives: bool,
    /// The share of programs that it is judged on: one in so many.
    pub one_in: u64,
    /// Judges.
    #[allow(clippy::type_complexity)]
    pub judge: Box<dyn Fn(&Case, &Stages<'_>, &Scale) -> Judgement + Send + Sync>,
}

/// The scale for comparing numbers of a program.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The relative tolerance.
    pub relative: f64,
    /// The largest intermediate of the program.
    pub largest: f64,
    /// Whether derivatives are compared, whose intermediates nobody watches: they may be larger than the program's.
    pub of_derivatives: bool,
}

impl Scale {
    /// Whether two numbers are as close as rounding allows: |a − b| ≤ 1e-9 · (1 + largest intermediate) in double
    /// precision. For derivatives, the largest intermediate is estimated from the numbers around, the largest of which is
    /// `around`: a product of that and an intermediate of the program.
    pub fn close(&self, a: f64, b: f64, around: f64) -> bool {
        let factor = if self.of_derivatives { 1.0 + around.min(1e3) } else { 1.0 };
        (a - b).abs() <= self.relative * (1.0 + self.largest.max(around)) * factor
    }
}

/// The pipelines and laws that programs go through.
#[derive(Default)]
pub struct Suite {
    /// Compute the results; compared with the reference.
    pub values: Vec<Pipeline>,
    /// Compute the gradients of the sum of all float results with respect to the float parameters; compared with the first
    /// of them, which is compared with finite differences.
    pub gradients: Vec<Pipeline>,
    /// Further properties.
    pub laws: Vec<Law>,
    /// How often a result was not finite where the program's intermediates are, and so was not compared: an intermediate
    /// of that pipeline, such as 1 / x of a guarded read that falls outside, was not.
    pub infinite: AtomicUsize,
    /// Of how many programs finite differences have settled the derivative so far.
    pub settled: AtomicUsize,
    /// How long pipelines and laws took, by name.
    pub spent: Mutex<BTreeMap<String, Duration>>,
}

/// The outcome of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All pipelines agree, derivatives included.
    Agree,
    /// All pipelines agree on the values; derivatives are ill-defined here.
    ValuesAgree,
    /// The program is no fair test on these inputs: why.
    Unfair(&'static str),
    /// Some pipeline differs: how.
    Differ(String),
}

/// A program on which pipelines differ.
pub struct Failure {
    /// The seed that makes the original program.
    pub seed: u64,
    /// The shrunk program.
    pub case: Case,
    /// How they differ on the shrunk program.
    pub difference: String,
    /// How they differ on the original program.
    pub original: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.original)?;
        writeln!(f, "shrunk: {}", self.difference)?;
        writeln!(f, "{}", show(&self.case))
    }
}

/// A program and its inputs as text.
pub fn show(case: &Case) -> String {
    let mut text = format!("{}\n", case.body);
    for (position, input) in case.inputs.iter().enumerate() {
        match input.uniform() {
            Some(value) => text.push_str(&format!("input {position}: {} full of {value:?}\n", input.ty())),
            None => text.push_str(&format!("input {position}: {} {:?}\n", input.ty(), numbers(input))),
        }
    }
    text
}

/// The findings of a run of many programs.
#[derive(Default)]
pub struct Report {
    /// How often constructs occurred.
    pub frequency: Frequency,
    /// Programs on which values and derivatives agree.
    pub agree: usize,
    /// Programs on which values agree, with ill-defined derivatives.
    pub values_agree: usize,
    /// Programs that were no fair test on any inputs drawn, by the reason.
    pub unfair: BTreeMap<&'static str, usize>,
    /// The failures.
    pub failures: Vec<Failure>,
}

thread_local! {
    /// Whether panics on this thread are findings, which are reported with their program.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    /// Where the last panic on this thread was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs work: its result, or where and why it panics.
pub fn catching<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let standard = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CATCHING.get() && std::env::var_os("DELTARAY_PROGRAM").is_none() {
                PLACE
                    .set(info.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default());
            } else {
                standard(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_string()));
        format!("panics at {}: {}", PLACE.take(), text.unwrap_or_default())
    })
}

/// The difference of a result that is not finite from one that is.
pub const NOT_FINITE: &str = "not finite";

/// The first difference between arrays that should be equal.
pub fn difference(expected: &[Array], found: &[Array], scale: &Scale) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} arrays instead of {}", found.len(), expected.len()));
    }
    let magnitude = |array: &Array| numbers(array).iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
    let floats = expected.iter().filter(|array| array.dtype().is_float());
    let around = floats.map(magnitude).fold(0.0f64, f64::max);
    for (position, (want, have)) in expected.iter().zip(found).enumerate() {
        if want.ty() != have.ty() {
            return Some(format!("array {position} is of type {} instead of {}", have.ty(), want.ty()));
        }
        for (at, (a, b)) in elements(want).into_iter().zip(elements(have)).enumerate() {
            let equal = match (a, b) {
                (Value::F32(_) | Value::F64(_), _) => scale.close(a.to_f64(), b.to_f64(), around),
                _ => a == b,
            };
            if !equal && a.to_f64().is_finite() && !b.to_f64().is_finite() {
                return Some(NOT_FINITE.into());
            }
            if !equal {
                return Some(format!("array {position}, element {at}, is {b:?} instead of {a:?}"));
            }
        }
    }
    None
}

impl Suite {
    /// Leaves out the pipelines and laws whose names contain a word.
    pub fn leave_out(&mut self, word: &str) {
        self.values.retain(|pipeline| !pipeline.name.contains(word));
        self.gradients.retain(|pipeline| !pipeline.name.contains(word));
        self.laws.retain(|law| !law.name.contains(word));
    }

    /// Whether a difference is of a result that is not finite; counts it.
    fn is_infinite(&self, problem: &str) -> bool {
        let infinite = problem.contains(NOT_FINITE);
        self.infinite.fetch_add(usize::from(infinite), Ordering::Relaxed);
        infinite
    }

    /// Runs work of a pipeline or law: its result, or its panic.
    fn catching<T>(&self, name: &str, work: impl FnOnce() -> T) -> Result<T, String> {
        let start = Instant::now();
        let result = catching(work);
        let mut spent = self.spent.lock().expect("no panics");
        *spent.entry(name.into()).or_default() += start.elapsed();
        result
    }

    /// Runs a program through all pipelines.
    pub fn judge(&self, case: &Case) -> Verdict {
        let reference = || reference::evaluate(&case.body, &case.inputs);
        let (expected, watch) = match self.catching("reference", reference) {
            Ok(evaluated) => evaluated,
            Err(problem) => return Verdict::Differ(format!("reference: {problem}")),
        };
        if let Some(reason) = unfair(&watch) {
            return Verdict::Unfair(reason);
        }
        let relative = if is_single(&case.body) { 1e-3 } else { 1e-9 };
        let scale = Scale { relative, largest: watch.largest, of_derivatives: false };
        let stages = Stages::of(&case.body);
        for pipeline in self.values.iter().filter(|pipeline| chosen(&pipeline.name, pipeline.one_in, case)) {
            match self.catching(&pipeline.name, || (pipeline.run)(&stages, &case.inputs)) {
                Err(problem) => return Verdict::Differ(format!("{}: {problem}", pipeline.name)),
                Ok(found) => {
                    let problem = difference(&expected, &found, &scale);
                    if let Some(problem) = problem.filter(|problem| !self.is_infinite(problem)) {
                        return Verdict::Differ(format!("{}: {problem}", pipeline.name));
                    }
                }
            }
        }
        let scale = Scale { of_derivatives: true, ..scale };
        let verdict = match self.judge_gradients(case, &stages, &watch, &scale) {
            Ok(verdict) => verdict,
            Err(problem) => return Verdict::Differ(problem),
        };
        for law in &self.laws {
            if (law.of_derivatives && verdict != Verdict::Agree) || !chosen(&law.name, law.one_in, case) {
                continue;
            }
            let judgement = self.catching(&law.name, || (law.judge)(case, &stages, &scale)).unwrap_or_else(Err);
            if let Some(problem) = judgement.err().filter(|problem| !self.is_infinite(problem)) {
                return Verdict::Differ(format!("{}: {problem}", law.name));
            }
        }
        verdict
    }

    fn judge_gradients(
        &self,
        case: &Case,
        stages: &Stages<'_>,
        watch: &Watch,
        scale: &Scale,
    ) -> Result<Verdict, String> {
        let Some(first) = self.gradients.first() else { return Ok(Verdict::Agree) };
        let compute = |pipeline: &Pipeline| {
            let run = || (pipeline.run)(stages, &case.inputs);
            self.catching(&pipeline.name, run).map_err(|problem| format!("{}: {problem}", pipeline.name))
        };
        // A gradient must be computed even where it is ill-defined.
        let expected = compute(first)?;
        let finite = expected.iter().all(|array| numbers(array).iter().all(|x| x.is_finite()));
        let defined = finite && !watch.fragile_derivative;
        if defined && !is_single(&case.body) {
            let settled = self.catching("finite differences", || against_differences(case, watch, &expected, scale));
            let settled = settled.and_then(|settled| settled).map_err(|e| format!("{}: {e}", first.name))?;
            self.settled.fetch_add(usize::from(settled), Ordering::Relaxed);
        }
        let others = self.gradients[1..].iter();
        for pipeline in others.filter(|pipeline| chosen(&pipeline.name, pipeline.one_in, case)) {
            let found = compute(pipeline)?;
            if !defined {
                continue;
            }
            let problem = difference(&expected, &found, scale);
            if let Some(problem) = problem.filter(|problem| !self.is_infinite(problem)) {
                return Err(format!("{}: {problem} (by {})", pipeline.name, first.name));
            }
        }
        Ok(if defined { Verdict::Agree } else { Verdict::ValuesAgree })
    }

    /// Runs programs that are made of seeds, and shrinks those on which pipelines differ; stops after `most_failures`.
    pub fn explore(&self, made: fn(u64) -> Case, seed: u64, programs: u64, most_failures: usize) -> Report {
        const THREADS: u64 = 2;
        let stop = AtomicBool::new(false);
        let report = Mutex::new(Report::default());
        // The program that each thread is at, so that one that makes a pass hang is named.
        let at: Vec<Mutex<(u64, Instant)>> = (0..THREADS).map(|_| Mutex::new((0, Instant::now()))).collect();
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for thread in 0..THREADS {
                let (stop, report, at) = (&stop, &report, &at[thread as usize]);
                workers.push(scope.spawn(move || {
                    let mut frequency = Frequency::default();
                    for position in (thread..programs).step_by(THREADS as usize) {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let case = made(seed_at(seed, position));
                        *at.lock().expect("no panics") = (case.seed, Instant::now());
                        frequency.count(&case);
                        self.examine(case, report, stop, most_failures);
                    }
                    report.lock().expect("no panics").frequency.merge(&frequency);
                }));
            }
            while workers.iter().any(|worker| !worker.is_finished()) {
                std::thread::sleep(Duration::from_millis(20));
                for place in &at {
                    let (seed, since) = *place.lock().expect("no panics");
                    if since.elapsed() > Duration::from_secs(300) {
                        eprintln!("the program of seed {seed} takes more than five minutes:");
                        eprintln!("{}", show(&made(seed)));
                        std::process::abort();
                    }
                }
            }
        });
        report.into_inner().expect("no panics")
    }

    /// Runs a program through all pipelines, on other inputs where it is no fair test on its own.
    pub fn judge_fairly(&self, case: &mut Case) -> Verdict {
        let mut verdict = self.judge(case);
        for attempt in 1..4 {
            if matches!(verdict, Verdict::Unfair(_)) {
                case.redraw(attempt);
                verdict = self.judge(case);
            }
        }
        verdict
    }

    /// A program on which pipelines differ, made as small as so many attempts make it.
    pub fn shrunk(&self, case: &Case, original: String, most_attempts: usize) -> Failure {
        let kind = kind_of(&original);
        let same = |case: &Case| matches!(self.judge(case), Verdict::Differ(found) if kind_of(&found) == kind);
        let small = shrink::minimal(case, most_attempts, &same);
        let difference = match self.judge(&small) {
            Verdict::Differ(difference) => difference,
            _ => "no difference, when run again".into(),
        };
        Failure { seed: case.seed, case: small, difference, original }
    }

    fn examine(&self, mut case: Case, report: &Mutex<Report>, stop: &AtomicBool, most_failures: usize) {
        let verdict = self.judge_fairly(&mut case);
        let failure = match &verdict {
            Verdict::Differ(original) => Some(self.shrunk(&case, original.clone(), 3000)),
            _ => None,
        };
        let mut report = report.lock().expect("no panics");
        match verdict {
            Verdict::Agree => report.agree += 1,
            Verdict::ValuesAgree => report.values_agree += 1,
            Verdict::Unfair(reason) => *report.unfair.entry(reason).or_default() += 1,
            Verdict::Differ(_) => {}
        }
        report.failures.extend(failure);
        if report.failures.len() >= most_failures {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The common part of two differences that probably have one cause: the pipeline, and the place of a panic.
fn kind_of(difference: &str) -> String {
    let (pipeline, problem) = difference.split_once(": ").unwrap_or((difference, ""));
    let place = problem.strip_prefix("panics at ").and_then(|rest| rest.split_once(": "));
    format!("{pipeline} {}", place.map_or("", |(place, _)| place))
}

/// Why a program is no fair test of values, if it is none.
pub fn unfair(watch: &Watch) -> Option<&'static str> {
    if !watch.finite {
        Some("an intermediate is not finite")
    } else if watch.largest > 1e7 {
        Some("an intermediate is very large")
    } else if watch.fragile_value {
        Some("a decision is too close to call")
    } else {
        None
    }
}

/// The sum of all float results.
fn loss(body: &Body<Build>, inputs: &[Array]) -> (f64, Watch) {
    let (results, watch) = reference::evaluate(body, inputs);
    let floats = results.iter().filter(|array| array.dtype().is_float());
    (floats.flat_map(numbers).sum(), watch)
}

/// Compares gradients with five-point differences of the reference along a random direction, where the same decisions are
/// taken at all five points, and two step sizes agree: whether that was so.
fn against_differences(case: &Case, watch: &Watch, gradients: &[Array], scale: &Scale) -> Result<bool, String> {
    let mut random = Random::new(case.seed);
    let direction: Vec<Vec<f64>> =
        case.inputs.iter().map(|input| (0..input.size()).map(|_| random.between(-1.0, 1.0)).collect()).collect();
    let moved = |step: f64| -> Vec<Array> {
        let input = |(input, along): (&Array, &Vec<f64>)| {
            if !input.dtype().is_float() {
                return input.clone();
            }
            let elements: Vec<f64> = numbers(input).iter().zip(along).map(|(x, d)| x + step * d).collect();
            floats(&input.ty(), &elements)
        };
        case.inputs.iter().zip(&direction).map(input).collect()
    };
    let slope = |h: f64| -> Option<f64> {
        let mut sum = 0.0;
        for (steps, factor) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            let (value, seen) = loss(&case.body, &moved(steps * h));
            if seen.decisions != watch.decisions || !seen.finite {
                return None;
            }
            sum += factor * value;
        }
        Some(sum / (12.0 * h))
    };
    let (Some(coarse), Some(fine)) = (slope(4e-4), slope(2e-4)) else { return Ok(false) };
    let float_inputs = case.inputs.iter().zip(&direction).filter(|(input, _)| input.dtype().is_float());
    let mut inner = 0.0;
    let mut around = fine.abs();
    for ((_, along), gradient) in float_inputs.zip(gradients) {
        for (g, d) in numbers(gradient).iter().zip(along) {
            inner += g * d;
            around = around.max((g * d).abs());
        }
    }
    let tolerance = 1e-6 * (1.0 + around) + 1e-10 * scale.largest;
    if (coarse - fine).abs() > tolerance {
        return Ok(false);
    }
    if (fine - inner).abs() <= tolerance {
        return Ok(true);
    }
    Err(format!("the derivative along a direction is {inner}, but differences give {fine}"))
}
