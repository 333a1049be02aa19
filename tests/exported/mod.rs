//! Exported programs: written, compiled, run, and compared with the interpreter.
//!
//! One run of a compiler takes many programs, and so does one run of its output. Arguments and results pass through files of
//! little-endian elements. Shared by the test programs of the corpus and of random programs, neither of which uses all of it.
#![allow(dead_code)]

pub mod c;
pub mod documents;
#[cfg(feature = "json")]
pub mod json;
pub mod opencl;
pub mod rust;
pub mod text;

use crate::random::arrays::{elements, numbers};
use deltaray::concrete::Array;
use deltaray::export::Program;
use deltaray::shape::{DType, Value};
use deltaray::term::Build;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, a point, and the interpreter's results there.
pub struct Case {
    /// Its name in failures.
    pub name: String,
    /// The function as it was written; gradients have none.
    pub source: Option<Program<Build>>,
    /// The program that is exported.
    pub program: Program,
    /// The point.
    pub inputs: Vec<Array>,
    /// The interpreter's results.
    pub expected: Vec<Array>,
    /// Whether all results are defined at the point: derivatives may not be.
    pub defined: bool,
    /// The largest number that takes part, as far as is known: rounding errors are measured by it.
    pub largest: f64,
}

impl Case {
    /// A program at a point; the interpreter provides the rest.
    pub fn new(
        name: String,
        source: Option<Program<Build>>,
        program: Program,
        inputs: Vec<Array>,
        defined: bool,
    ) -> Case {
        let expected = program.interpret(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let largest = magnitude(&expected).max(magnitude(&inputs));
        Case { name, source, program, inputs, expected, defined, largest }
    }

    /// Whether floats of single precision take part.
    pub fn is_single(&self) -> bool {
        self.expected.iter().chain(&self.inputs).any(|array| array.dtype() == DType::F32)
    }
}

/// Programs go to so many files, which compilers take at the same time.
const PARTS: usize = 2;

/// The largest finite magnitude of floats.
fn magnitude(arrays: &[Array]) -> f64 {
    let floats = arrays.iter().filter(|array| array.dtype().is_float()).flat_map(numbers);
    floats.filter(|x| x.is_finite()).fold(0.0, |largest, x| largest.max(x.abs()))
}

/// A folder for a test's files.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exports-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    folder
}

fn bytes(array: &Array) -> Vec<u8> {
    let element = |value: Value| match value {
        Value::F32(x) => x.to_le_bytes().to_vec(),
        Value::F64(x) => x.to_le_bytes().to_vec(),
        Value::I32(x) => x.to_le_bytes().to_vec(),
        Value::I64(x) => x.to_le_bytes().to_vec(),
        Value::Bool(x) => vec![u8::from(x)],
    };
    elements(array).into_iter().flat_map(element).collect()
}

fn values(dtype: DType, bytes: &[u8]) -> Vec<Value> {
    let part = |part: &[u8]| match dtype {
        DType::F32 => Value::F32(f32::from_le_bytes(part.try_into().unwrap())),
        DType::F64 => Value::F64(f64::from_le_bytes(part.try_into().unwrap())),
        DType::I32 => Value::I32(i32::from_le_bytes(part.try_into().unwrap())),
        DType::I64 => Value::I64(i64::from_le_bytes(part.try_into().unwrap())),
        DType::Bool => Value::Bool(part[0] != 0),
    };
    bytes.chunks_exact(dtype.bytes()).map(part).collect()
}

/// The first difference between results and the expected ones.
fn difference(case: &Case, found: &[u8]) -> Option<String> {
    let relative = if case.is_single() { 1e-4 } else { 1e-12 };
    let around = 1.0 + case.largest;
    let mut rest = found;
    for (position, expected) in case.expected.iter().enumerate() {
        let count = expected.size() * expected.dtype().bytes();
        let (own, after) = rest.split_at_checked(count)?;
        rest = after;
        for (at, (want, have)) in elements(expected).into_iter().zip(values(expected.dtype(), own)).enumerate() {
            let equal = match want {
                Value::F32(_) | Value::F64(_) => {
                    let (a, b) = (want.to_f64(), have.to_f64());
                    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * around
                }
                _ => want == have,
            };
            if !equal {
                return Some(format!("result {position}, element {at}, is {have:?} instead of {want:?}"));
            }
        }
    }
    (!rest.is_empty()).then(|| "there are more results than expected".into())
}

/// The first difference between arrays and the expected ones.
pub fn found_difference(case: &Case, found: &[Array]) -> Option<String> {
    difference(case, &found.iter().flat_map(bytes).collect::<Vec<u8>>())
}

/// Compares the programs' output, one file a case.
pub fn compare(folder: &Path, names: &[(usize, &Case)]) {
    let mut findings = Vec::new();
    for (number, case) in names {
        let found = fs::read(folder.join(format!("{number}.out"))).unwrap_or_default();
        let count: usize = case.expected.iter().map(|array| array.size() * array.dtype().bytes()).sum();
        if found.len() != count {
            findings.push(format!("{}: {} bytes of results instead of {count}", case.name, found.len()));
        } else if let Some(problem) = difference(case, &found) {
            // Derivatives that are not defined may be any.
            if case.defined {
                findings.push(format!("{}: {problem}", case.name));
            }
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

/// Whether these programs can be run. If not, the test is skipped, but where `DELTARAY_TOOLS` is `required`, as in the checks
/// before a change lands, that is a failure.
pub fn are_installed(tools: &[&str]) -> bool {
    let missing = |tool: &&&str| Command::new(tool).arg("--version").output().is_err();
    let missing: Vec<&&str> = tools.iter().filter(missing).collect();
    if !missing.is_empty() {
        let text =
            format!("{missing:?} can not be run: `scripts/install-tools` installs what the tests of exports need");
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "{text}");
        println!("skipped: {text}");
    }
    missing.is_empty()
}

/// Runs a command, which must succeed.
pub fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let shown: String = errors.lines().take(60).map(|line| format!("{line}\n")).collect();
    assert!(output.status.success(), "{command:?}: {}\n{shown}", output.status);
}

/// Writes a program's arguments.
pub fn inputs(folder: &Path, number: usize, case: &Case) {
    let all: Vec<u8> = case.inputs.iter().flat_map(bytes).collect();
    fs::write(folder.join(format!("{number}.in")), all).expect("the folder for temporary files can be written");
}
