//! Elementary functions that are written inline, in exported C and Rust: in loops of several lengths, of both types, with
//! arguments in the ranges of formulas and out of them, and in sums.

mod exported;
mod random;

use deltaray::concrete::Array;
use deltaray::export::{COptions, CasadiOptions, OpenClOptions, Program, PythonPackage, RustOptions};
use deltaray::operation::{Binary, Reduction, UNARY_ROWS, Unary};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type, Value};
use deltaray::staged::Staged;
use deltaray::term::{Graph, Op};
use exported::{Case, c, opencl, rust};
use random::arrays::{elements, floats};
use std::fs;
use std::path::Path;

/// All functions of the elements of two arrays, of sums of elements, and the sums of some over a third array.
fn program(dtype: DType, length: usize) -> Program {
    let ty = Type::new(dtype, &[length]);
    let mut graph = Graph::new(&[ty.clone(), ty.clone(), ty], 0);
    let [x, y, z] = [0, 1, 2];
    let takes_floats = |op: &&Unary| op.domain().accepts(dtype) && op.parameter().is_none();
    let is_elementary = |op: &&Unary| !matches!(op, Unary::Lgamma | Unary::Digamma);
    let functions: Vec<Unary> = UNARY_ROWS.iter().filter(takes_floats).filter(is_elementary).copied().collect();
    let binary = [Binary::LogAddExp, Binary::Pow, Binary::Xlogy];
    let mut results: Vec<u32> = binary.iter().map(|&op| graph.add(Op::Binary(op), &[x, y])).collect();
    results.extend(functions.iter().map(|&op| graph.add(Op::Unary(op), &[x])));
    let sum = graph.add(Op::Binary(Binary::Add), &[x, z]);
    results.push(graph.add(Op::Unary(Unary::Tan), &[sum]));
    let [sine, tangent] = [Unary::Sin, Unary::Tanh].map(|op| graph.add(Op::Unary(op), &[z]));
    let product = graph.add(Op::Binary(Binary::Mul), &[sine, tangent]);
    results.push(graph.add(Op::Reduce(Reduction::Sum, vec![0].into()), &[product]));
    let cosine = graph.add(Op::Unary(Unary::Cos), &[z]);
    results.push(graph.add(Op::Reduce(Reduction::Max, vec![0].into()), &[cosine]));
    Program::new("", graph.finish(&results))
}

/// Elements that are near zero, and one in some hundred that is special.
fn arguments(ty: &Type, seed: u64, special: &[f64]) -> Array {
    let mut state = seed;
    let element = |at: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let number = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        match at {
            _ if at % 263 == 7 => special[at / 263 % special.len()],
            // Parts without special elements come before and after.
            _ if (600..700).contains(&at) => special[at % special.len()],
            _ => number * [1.0, 3.0, 30.0][at % 3],
        }
    };
    let numbers: Vec<f64> = (0..ty.shape[0]).map(element).collect();
    floats(ty, &numbers)
}

fn cases() -> Vec<Case> {
    let special = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1e-310,
        -1e-40,
        1e7,
        -4e30,
        1e300,
        -745.0,
        710.0,
        1.0,
        -1.0,
    ];
    let huge = [2e6, -1e9, 1e22, 3e37];
    let mut cases = Vec::new();
    for dtype in [DType::F64, DType::F32] {
        for length in [1, 16, 41, 2100] {
            let mut program = program(dtype, length);
            program.name = format!("functions_{}_{length}", dtype.name());
            let ty = Type::new(dtype, &[length]);
            let inputs = vec![arguments(&ty, 1, &special), arguments(&ty, 2, &special), arguments(&ty, 3, &huge)];
            cases.push(Case::new(program.name.clone(), None, program, inputs, true));
        }
    }
    cases.push(moving());
    cases
}

/// Sums of functions over loops whose ends move.
fn moving() -> Case {
    const LENGTH: usize = 1100;
    let sums = |x: &Vector<Staged, f64>| {
        let begin = fold(zeros(LENGTH), &iota(LENGTH), |y, j| {
            y.with(&j, x.moving_slice(..&j).map(|s| (s + x.at(&j)).sin()).sum())
        });
        let end = fold(begin, &iota(LENGTH), |y, j| {
            let sum = y.at(&j) + x.moving_slice(&j..).map(|s| (s + x.at(&j)).cos()).sum();
            y.with(&j, sum)
        });
        let inner = &iota(LENGTH) / 2;
        fold(end, &iota(LENGTH), |y, j| {
            let largest = x.moving_slice(inner.at(&j)..j.clone()).map(|s| (s + x.at(&j)).sin()).max_all();
            let sum = y.at(&j) + largest;
            y.with(&j, sum)
        })
    };
    let program = Program::from(&stage(sums, &zeros(LENGTH)).unwrap()).with_name("moving");
    let inputs = vec![arguments(&Type::new(DType::F64, &[LENGTH]), 4, &[2e6, -1e9, 1e22])];
    Case::new("moving".into(), None, program, inputs, true)
}

/// Compares results with the interpreter's: to some units in the last place, or in sums as many as they have terms.
fn compare(folder: &Path, cases: &[(usize, &Case)]) {
    for (number, case) in cases {
        let found = fs::read(folder.join(format!("{number}.out"))).expect("results");
        let mut rest = &found[..];
        for (position, expected) in case.expected.iter().enumerate() {
            let (own, after) = rest.split_at(expected.size() * expected.dtype().bytes());
            rest = after;
            let (epsilon, smallest) = match expected.dtype() {
                DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
                _ => (f64::EPSILON, f64::MIN_POSITIVE),
            };
            let scale = match position {
                // Next to its zero, `logaddexp` is as exact as its terms.
                0 if case.inputs.len() == 3 => 1.0,
                // Partial sums are larger than sums.
                _ if case.inputs.len() == 1 => 16.0 * case.inputs[0].size() as f64,
                _ if expected.shape().is_empty() => case.inputs[0].size() as f64,
                _ => 0.0,
            };
            let found = own.chunks(expected.dtype().bytes()).map(|bytes| match expected.dtype() {
                DType::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
                _ => f64::from_le_bytes(bytes.try_into().unwrap()),
            });
            for (at, (found, expected)) in found.zip(elements(expected).into_iter().map(Value::to_f64)).enumerate() {
                let is_close = (found - expected).abs() <= 6.0 * epsilon * expected.abs().max(scale).max(smallest);
                let is_same = found == expected || found.is_nan() && expected.is_nan();
                // Formulas have no exponentials below full precision.
                let vanishes = found == 0.0 && expected.abs() < smallest;
                let place = format!("{}: result {position}, element {at}", case.name);
                assert!(is_same || is_close || vanishes, "{place}: {found:?} instead of {expected:?}");
            }
        }
        assert!(rest.is_empty());
    }
}

#[test]
fn c_computes_what_the_interpreter_does() {
    let cases = cases();
    let cases: Vec<(usize, &Case)> = cases.iter().enumerate().collect();
    let options = COptions::default().inline_math(true);
    let native: &[&str] = if cfg!(target_arch = "x86_64") { &["-O2", "-march=native"] } else { &["-O2"] };
    if let Some(folder) = c::results("inline", &cases, options, native) {
        compare(&folder, &cases);
    }
}

#[test]
fn rust_computes_what_the_interpreter_does() {
    let cases = cases();
    let cases: Vec<(usize, &Case)> = cases.iter().enumerate().collect();
    compare(&rust::results("inline", &cases, RustOptions::default().inline_math(true), "1"), &cases);
}

#[test]
fn opencl_computes_what_the_interpreter_does() {
    let cases = cases();
    let cases: Vec<(usize, &Case)> = cases.iter().enumerate().collect();
    // Of single precision, quotients may have errors of their own.
    let doubles = &cases[..4];
    let options = OpenClOptions::default().inline_math(true);
    if let Some(folder) = opencl::results("inline", &cases, options, |number| number < doubles.len()) {
        compare(&folder, doubles);
    }
}

/// Functions that hold for all arguments are inline everywhere, those with a limited range in loops; and by default none is.
#[test]
fn functions_are_inline_where_they_are_wanted() {
    let program = program(DType::F64, 100);
    let source = |inline: bool| COptions::default().inline_math(inline).export(&program).unwrap().source;
    let (plain, inline) = (source(false), source(true));
    assert!(plain.contains("tanh(") && !plain.contains("_inline_") && !plain.contains("_outside_"));
    for name in ["tanh_inline_f64(v", "sin_inline_f64(v", "sin_outside_f64(v", " sin(v"] {
        assert!(inline.contains(name), "{name}");
    }
    assert!(!inline.contains(" tanh(v"));
    let package = PythonPackage::new("functions").inline_math(true).function(&program).unwrap();
    assert!(package.files().any(|(name, text)| name.ends_with(".c") && text.contains("tanh_inline_f64(v")));
    let function = stage(|x: &Vector<Staged, f64>| x.tanh().sum(), &zeros(20)).unwrap();
    let files = CasadiOptions::default().inline_math(true).export(&function).unwrap();
    assert!(files.source.contains("tanh_inline_f64("));
}
