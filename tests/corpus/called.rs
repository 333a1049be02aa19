//! Every row as users call it: staged, its first call compiles it, and later ones run the kernels.

use super::check::{Scale, compare, magnitude};
use super::row::Row;
use crate::random::reference::is_single;
use deltaray::concrete::Array;
use deltaray::prelude::*;
use deltaray::shape::{DType, Value};
use deltaray::staged::Staged;
use std::time::{Duration, Instant};

/// An array of any element type.
#[derive(Tree)]
enum AnyArray<A: Algebra> {
    F32(TensorD<A, f32>),
    F64(TensorD<A, f64>),
    I32(TensorD<A, i32>),
    I64(TensorD<A, i64>),
    Bool(TensorD<A, bool>),
}

impl<A: Algebra> AnyArray<A> {
    fn of(array: A::Array) -> Self {
        let of = || match A::type_of(&array).dtype {
            DType::F32 => TensorD::from_array(array).map(AnyArray::F32),
            DType::F64 => TensorD::from_array(array).map(AnyArray::F64),
            DType::I32 => TensorD::from_array(array).map(AnyArray::I32),
            DType::I64 => TensorD::from_array(array).map(AnyArray::I64),
            DType::Bool => TensorD::from_array(array).map(AnyArray::Bool),
        };
        of().expect("the element type that was asked for")
    }
}

type Arrays<A> = Vec<AnyArray<A>>;

fn tree<A: Algebra>(arrays: Vec<A::Array>) -> Arrays<A> {
    arrays.into_iter().map(AnyArray::of).collect()
}

/// How long first calls take, and as long by the interpreter.
#[derive(Default)]
struct Latencies {
    called: Vec<Duration>,
    interpreted: Vec<Duration>,
}

fn timed<T>(times: &mut Vec<Duration>, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    times.push(start.elapsed());
    result
}

/// Compares the first two calls with the interpreter.
fn check<In: Family, Out: Family, First: Family>(
    row: &Row,
    function: &Function<In, Out, First>,
    at: &In::At<Concrete>,
    latencies: &mut Latencies,
) -> Result<Vec<Array>, String> {
    let expected = timed(&mut latencies.interpreted, || function.interpret(at)).map_err(|error| error.to_string())?;
    let expected = expected.leaves();
    let scale = Scale {
        relative: if is_single(function.program()) { 1e-4 } else { 1e-9 },
        largest: magnitude(&expected).max(magnitude(&row.inputs)),
    };
    let mut times = std::mem::take(&mut latencies.called);
    for call in 0..2 {
        let mut later = Vec::new();
        let times = if call == 0 { &mut times } else { &mut later };
        let found = timed(times, || function.call(at)).map_err(|error| error.to_string())?;
        compare(&expected, &found.leaves(), &scale)?;
    }
    latencies.called = times;
    Ok(expected)
}

fn check_row(row: &Row, latencies: &mut Latencies) -> Result<(), String> {
    let at = tree::<Concrete>(row.inputs.clone());
    let program = |inputs: &Arrays<Staged>| tree::<Staged>(row.program.staged(inputs.leaves()));
    let function = stage(program, &at).map_err(|error| error.to_string())?;
    let results = check(row, &function, &at, latencies)?;
    if !row.differentiable || row.heavy {
        return Ok(());
    }
    let ones = |array: &Array| match array.dtype().is_float() {
        true => Array::full(array.shape(), Value::from_f64(array.dtype(), 1.0)),
        false => array.clone(),
    };
    let cotangents = tree::<Concrete>(results.iter().map(ones).collect());
    let pullback = function.vjp().map_err(|error| error.to_string())?;
    check(row, &pullback, &(at, cotangents), latencies).map(|_| ())
}

/// Calls rows; an environment variable may select some.
#[test]
fn programs_compute_when_called_what_the_interpreter_does() {
    let wanted = std::env::var("DELTARAY_ROW").unwrap_or_default();
    let (mut latencies, mut findings) = (Latencies::default(), Vec::new());
    for row in super::all().iter().filter(|row| row.name.contains(&wanted)) {
        findings.extend(check_row(row, &mut latencies).err().map(|problem| format!("{}: {problem}", row.name)));
    }
    let Latencies { mut called, mut interpreted } = latencies;
    for (name, times) in [("first call", &mut called), ("interpreted", &mut interpreted)] {
        times.sort();
        let [median, worst] = [times.len() / 2, times.len() - 1].map(|at| times[at].as_secs_f64() * 1e3);
        println!("{} programs, {name}: median {median:.2} ms, at most {worst:.1} ms", times.len());
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
