//! The ways in which a program is run, and those in which it is written.

use crate::exported::documents::work;
use crate::random::arrays::array;
use crate::random::chance::Random;
use crate::random::compare::{NOT_FINITE, Scale, difference, unfair};
use crate::random::reference::{evaluate, is_single};
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program::{tidy, vjp};
use deltaray::engine::cpu::{self, Cpu};
use deltaray::export::{self, Program};
use deltaray::shape::{DType, Type, Value};
use deltaray::term::Body;
use deltaray::term::interpret::interpret;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs that go through more elements are written, and not run.
const MOST: usize = 20_000;

/// The outcomes of programs.
#[derive(Default)]
pub struct Counts {
    programs: AtomicUsize,
    compiled: AtomicUsize,
    run: AtomicUsize,
    compared: AtomicUsize,
    differentiated: AtomicUsize,
}

impl Counts {
    pub fn are_of_all_kinds(&self) -> bool {
        [&self.programs, &self.compiled, &self.run, &self.compared, &self.differentiated]
            .iter()
            .all(|count| count.load(Ordering::Relaxed) > 0)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let (programs, compiled, run) = (count(&self.programs), count(&self.compiled), count(&self.run));
        let (compared, differentiated) = (count(&self.compared), count(&self.differentiated));
        write!(
            f,
            "{programs} of them programs, {compiled} compiled, {run} run, {compared} compared with the reference, \
             {differentiated} differentiated"
        )
    }
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Numbers that are small and mostly distinct.
pub fn input(ty: &Type, random: &mut Random) -> Array {
    let element = |random: &mut Random| match ty.dtype {
        DType::F32 | DType::F64 => Value::from_f64(ty.dtype, random.between(-1.5, 1.5)),
        DType::I32 | DType::I64 => Value::from_i64(ty.dtype, random.whole(-3, 6)),
        DType::Bool => Value::Bool(random.chance(0.5)),
    };
    let elements: Vec<Value> = (0..ty.size()).map(|_| element(random)).collect();
    array(ty, &elements)
}

/// Writes a program in every language. One that is small is refused by none of those that kernels are written in.
fn write(program: &Program, is_small: bool) -> Result<(), String> {
    let sources = [
        ("Rust", export::rust(program).map(drop)),
        ("C", export::c(program).map(drop)),
        ("OpenCL C", export::opencl(program).map(drop)),
    ];
    for (language, written) in sources {
        if let (Err(error), true) = (written, is_small) {
            return Err(format!("{language}: {error}"));
        }
    }
    let _ = (export::stablehlo(program), export::html(program), export::dot(program));
    let text = export::text(program);
    let read = export::parse(&text).map_err(|error| format!("{error} in {text}"))?;
    if export::text(&read) != text {
        return Err(format!("it is printed as\n{text}and read as\n{}", export::text(&read)));
    }
    Ok(())
}

/// Compiles a program, and runs it if it may be.
fn compiled(body: &Body, inputs: Option<&[Array]>, counts: &Counts) -> Result<Option<Vec<Array>>, String> {
    let engine = Cpu::default().threads(1);
    match (cpu::Program::new(body, &engine), inputs) {
        (Ok(program), Some(inputs)) => {
            add(&counts.compiled);
            program.run(inputs).map(Some).map_err(|error| error.to_string())
        }
        // There is no memory for large ones.
        (result, None) => {
            counts.compiled.fetch_add(usize::from(result.is_ok()), Ordering::Relaxed);
            Ok(None)
        }
        (Err(error), Some(_)) => Err(error.to_string()),
    }
}

/// The results of a program on every way to run it, which are the reference's where that can tell.
fn compare(body: &Body, inputs: &[Array], of_derivatives: bool, counts: &Counts) -> Result<(), String> {
    let interpreted = interpret::<Concrete>(body, inputs.to_vec());
    add(&counts.run);
    let tidied = tidy(body);
    let ways = [
        ("interpreted", interpreted),
        ("compiled", compiled(body, Some(inputs), counts)?.expect("it is run")),
        ("simplified", interpret::<Concrete>(&tidied, inputs.to_vec())),
        ("simplified and compiled", compiled(&tidied, Some(inputs), counts)?.expect("it is run")),
    ];
    let (expected, watch) = evaluate(body, inputs);
    if unfair(&watch).is_some() || of_derivatives && watch.fragile_derivative {
        return Ok(());
    }
    add(&counts.compared);
    let relative = if is_single(body) { 1e-3 } else { 1e-9 };
    let scale = Scale { relative, largest: watch.largest, of_derivatives };
    for (way, found) in ways {
        if let Some(problem) = difference(&expected, &found, &scale).filter(|problem| problem != NOT_FINITE) {
            return Err(format!("{way}: {problem}, of\n{body}"));
        }
    }
    Ok(())
}

/// Runs and writes a program, and one in some of the gradients.
pub fn check(program: &Program, random: &mut Random, counts: &Counts) -> Result<(), String> {
    add(&counts.programs);
    let body = &*program.body;
    let is_small = work(body, MOST).is_some();
    write(program, is_small)?;
    if !is_small {
        compiled(body, None, counts)?;
        let tidied = tidy(body);
        return compiled(&tidied, None, counts).map(drop);
    }
    let inputs = |body: &Body, random: &mut Random| -> Vec<Array> {
        (0..body.arity()).map(|at| input(body.parameter_type(at), random)).collect()
    };
    let arguments = inputs(body, random);
    compare(body, &arguments, false, counts)?;
    if random.chance(0.25)
        && let Ok(gradient) = vjp(body, body.arity())
        && work(&gradient, 4 * MOST).is_some()
    {
        add(&counts.differentiated);
        let arguments = inputs(&gradient, random);
        compare(&gradient, &arguments, true, counts)?;
        write(&Program::new("gradient", tidy(&gradient)), true)?;
    }
    Ok(())
}
