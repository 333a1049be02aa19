//! Programs as source of Rust and C, compiled, run, and compared with the interpreter.
//!
//! One run of a compiler takes many programs, and so does one run of what it makes. Arguments and results pass through
//! files of little-endian elements.

use super::{Case, all, edges};
use crate::corpus::check::magnitude;
use crate::random::arrays::elements;
use deltaray::concrete::Array;
use deltaray::export;
use deltaray::shape::{DType, Type, Value};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for what a test writes.
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

/// The first difference between results and what was expected.
fn difference(case: &Case, found: &[u8]) -> Option<String> {
    let relative = if case.is_single() { 1e-4 } else { 1e-12 };
    let around = 1.0 + magnitude(&case.expected).max(magnitude(&case.inputs));
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

/// Compares what programs wrote, one file a case.
pub fn compare(folder: &Path, names: &[(usize, &'static Case)]) {
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

/// Programs go to so many files, which compilers take at the same time.
const PARTS: usize = 2;

/// Writes a program's arguments.
pub fn inputs(folder: &Path, number: usize, case: &Case) {
    let all: Vec<u8> = case.inputs.iter().flat_map(bytes).collect();
    fs::write(folder.join(format!("{number}.in")), all).expect("the folder for temporary files can be written");
}

fn rust_type(ty: &Type) -> &'static str {
    ty.dtype.name()
}

#[test]
fn rust_sources_compute_what_the_interpreter_does() {
    let folder = folder("rust");
    let mut cases: Vec<(usize, &'static Case)> = Vec::new();
    let mut parts: Vec<String> = vec![String::new(); PARTS];
    let mut mains: Vec<String> = vec![String::new(); PARTS];
    for (number, case) in numbered() {
        let source = export::rust(&case.program).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        inputs(&folder, number, case);
        let (part, main) = (&mut parts[number % PARTS], &mut mains[number % PARTS]);
        writeln!(part, "mod case{number} {{\n{source}}}").unwrap();
        writeln!(main, "#[allow(unused)]\nfn run{number}(folder: &str) {{").unwrap();
        writeln!(main, "    let bytes = std::fs::read(format!(\"{{folder}}/{number}.in\")).unwrap();").unwrap();
        writeln!(main, "    let mut rest = &bytes[..];").unwrap();
        let mut arguments: Vec<String> = Vec::new();
        let body = &case.program.body;
        for at in 0..body.arity() {
            let ty = body.parameter_type(at);
            writeln!(main, "    let a{at} = take_{}(&mut rest, {});", rust_type(ty), ty.size()).unwrap();
            arguments.push(format!("&a{at}"));
        }
        for (at, ty) in body.result_types().enumerate() {
            let zero = match ty.dtype {
                DType::Bool => "false",
                DType::F32 | DType::F64 => "0.0",
                DType::I32 | DType::I64 => "0",
            };
            writeln!(main, "    let mut r{at} = vec![{zero}; {}];", ty.size()).unwrap();
            arguments.push(format!("&mut r{at}"));
        }
        for (name, zero) in [
            ("scratch", "0.0"),
            ("scratch_i64", "0"),
            ("scratch_f32", "0.0"),
            ("scratch_i32", "0"),
            ("scratch_bool", "false"),
        ] {
            let constant = format!("{}_{}", case.program.name, name).to_uppercase();
            if source.contains(&format!("pub const {constant}: usize")) {
                writeln!(main, "    let mut {name} = vec![{zero}; case{number}::{constant}];").unwrap();
                arguments.push(format!("&mut {name}"));
            }
        }
        writeln!(main, "    let _ = case{number}::{}({});", case.program.name, arguments.join(", ")).unwrap();
        writeln!(main, "    let mut out: Vec<u8> = Vec::new();").unwrap();
        for (at, ty) in body.result_types().enumerate() {
            let put = match ty.dtype {
                DType::Bool => "out.push(*x as u8)",
                _ => "out.extend(x.to_le_bytes())",
            };
            writeln!(main, "    r{at}.iter().for_each(|x| {put});").unwrap();
        }
        writeln!(main, "    std::fs::write(format!(\"{{folder}}/{number}.out\"), out).unwrap();\n}}").unwrap();
        cases.push((number, case));
    }
    let takes: String = ["f64", "f32", "i64", "i32"]
        .iter()
        .map(|ty| {
            format!(
                "fn take_{ty}(rest: &mut &[u8], count: usize) -> Vec<{ty}> {{\n    let (own, after) = rest.split_at(count * size_of::<{ty}>());\n    \
                 *rest = after;\n    own.chunks_exact(size_of::<{ty}>()).map(|x| {ty}::from_le_bytes(x.try_into().unwrap())).collect()\n}}\n"
            )
        })
        .collect::<String>()
        + "fn take_bool(rest: &mut &[u8], count: usize) -> Vec<bool> {\n    let (own, after) = rest.split_at(count);\n    *rest = after;\n    \
           own.iter().map(|x| *x != 0).collect()\n}\n";
    // The functions of the crate `libm` that programs may need, here those of C.
    let libm = folder.join("libm.rs");
    fs::write(&libm, LIBM).expect("the folder for temporary files can be written");
    let library = folder.join("liblibm.rlib");
    run(Command::new("rustc")
        .args(["--edition", "2021", "--crate-type", "rlib", "--crate-name", "libm", "-o"])
        .arg(&library)
        .arg(&libm));
    std::thread::scope(|scope| {
        for (part, (sources, main)) in parts.iter().zip(&mains).enumerate() {
            let (folder, cases, takes, library) = (&folder, &cases, &takes, &library);
            scope.spawn(move || {
                let calls: String = cases
                    .iter()
                    .filter(|(number, _)| number % PARTS == part)
                    .map(|(number, _)| format!("    run{number}(folder);\n"))
                    .collect();
                let text = format!(
                    "#![allow(dead_code)]\n{sources}\n{takes}\n{main}\nfn main() {{\n    let folder = &std::env::args().nth(1).unwrap()[..];\n{calls}    let _ = folder;\n}}\n"
                );
                let path = folder.join(format!("part{part}.rs"));
                fs::write(&path, text).expect("the folder for temporary files can be written");
                let program = folder.join(format!("part{part}"));
                run(Command::new("rustc").args(["--edition", "2021", "-C", "opt-level=0", "-C", "debuginfo=0", "-D", "warnings", "-o"]).arg(&program).arg(&path).arg("--extern").arg(format!("libm={}", library.display())));
                run(Command::new(&program).arg(folder));
            });
        }
    });
    compare(&folder, &cases);
}

const LIBM: &str = r#"
mod c { unsafe extern "C" { pub fn erf(x: f64) -> f64; pub fn erfc(x: f64) -> f64; pub fn lgamma(x: f64) -> f64; } }
pub fn erf(x: f64) -> f64 { unsafe { c::erf(x) } }
pub fn erfc(x: f64) -> f64 { unsafe { c::erfc(x) } }
pub fn lgamma(x: f64) -> f64 { unsafe { c::lgamma(x) } }
"#;

/// The programs, with numbers.
pub fn numbered() -> impl Iterator<Item = (usize, &'static Case)> {
    all().iter().chain(edges::all()).enumerate()
}

#[test]
fn c_sources_compute_what_the_interpreter_does() {
    if !are_installed(&["gcc", "clang"]) {
        return;
    }
    let folder = folder("c");
    let mut cases: Vec<(usize, &'static Case)> = Vec::new();
    let mut parts: Vec<(String, String)> = vec![Default::default(); PARTS];
    for (number, case) in numbered() {
        let mut program = case.program.clone();
        program.name = format!("case{number}");
        let source = export::c(&program).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        inputs(&folder, number, case);
        let (sources, calls) = &mut parts[number % PARTS];
        // The header stands where it is included.
        let include = format!("#include \"{}.h\"\n", source.name);
        assert!(source.source.contains(&include));
        sources.push_str(&source.source.replace(&include, &source.header));
        let sizes = |types: Vec<&Type>| -> String {
            types.iter().map(|ty| format!("{}, ", ty.size() * ty.dtype.bytes())).collect::<String>() + "-1"
        };
        let body = &case.program.body;
        let arguments = sizes((0..body.arity()).map(|at| body.parameter_type(at)).collect());
        let results = sizes(body.result_types().collect());
        writeln!(
            calls,
            "    {{ static const long sizes_in[] = {{{arguments}}}, sizes_out[] = {{{results}}};\n      long long iw, w; \
             case{number}_work(0, 0, &iw, &w);\n      run(folder, {number}, sizes_in, sizes_out, iw, w, (function)(void (*)(void))case{number}); }}"
        )
        .unwrap();
        cases.push((number, case));
    }
    std::thread::scope(|scope| {
        for (part, (sources, calls)) in parts.iter().enumerate() {
            let folder = &folder;
            scope.spawn(move || {
                let main = format!("{sources}{HARNESS}int main(int count, char **words)\n{{\n    const char *folder = words[count - 1];\n{calls}    return 0;\n}}\n");
                let path = folder.join(format!("part{part}.c"));
                fs::write(&path, main).expect("the folder for temporary files can be written");
                let program = folder.join(format!("part{part}"));
                let strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-o"];
                run(Command::new("gcc").args(strict).arg(&program).arg(&path).arg("-lm"));
                run(Command::new("clang").args(&strict[..5]).arg("-fsyntax-only").arg(&path));
                run(Command::new(&program).arg(folder));
            });
        }
    });
    compare(&folder, &cases);
}

/// Reads arguments, calls a function, and writes its results.
const HARNESS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
typedef int (*function)(const void **, void **, long long *, double *, int);
static void run(const char *folder, int number, const long *sizes_in, const long *sizes_out, long long iw, long long w, function f)
{
    char path[4096];
    const void *arg[256];
    void *res[256];
    sprintf(path, "%s/%d.in", folder, number);
    FILE *file = fopen(path, "rb");
    for (int i = 0; sizes_in[i] >= 0; i++) {
        void *own = malloc(sizes_in[i] + 8);
        if (fread(own, 1, sizes_in[i], file) != (size_t)sizes_in[i]) exit(2);
        arg[i] = own;
    }
    fclose(file);
    for (int i = 0; sizes_out[i] >= 0; i++) res[i] = malloc(sizes_out[i] + 8);
    long long *integers = malloc(8 * iw + 8);
    double *floats = malloc(8 * w + 8);
    if (f(arg, res, integers, floats, 0) != 0) exit(3);
    sprintf(path, "%s/%d.out", folder, number);
    file = fopen(path, "wb");
    for (int i = 0; sizes_out[i] >= 0; i++) fwrite(res[i], 1, sizes_out[i], file);
    fclose(file);
    for (int i = 0; sizes_in[i] >= 0; i++) free((void *)arg[i]);
    for (int i = 0; sizes_out[i] >= 0; i++) free(res[i]);
    free(integers);
    free(floats);
}
"#;
