//! Programs as source of Rust.

use super::{Case, PARTS, compare, folder, inputs, run};
use deltaray::export::RustOptions;
use deltaray::shape::{DType, Type};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn rust_type(ty: &Type) -> &'static str {
    ty.dtype.name()
}

/// Compiles the programs as Rust, runs them, and compares; in a folder of this name.
pub fn compute_what_the_interpreter_does(name: &str, cases: &[(usize, &Case)]) {
    compare(&results(name, cases, RustOptions::default(), "0"), cases);
}

/// Compiles the programs as Rust at a level of optimisation and runs them. The folder has their results.
pub fn results(name: &str, cases: &[(usize, &Case)], options: RustOptions, level: &str) -> PathBuf {
    let folder = folder(&format!("{name}-rust"));
    let mut parts: Vec<String> = vec![String::new(); PARTS];
    let mut mains: Vec<String> = vec![String::new(); PARTS];
    for &(number, case) in cases {
        let source = options.export(&case.program).unwrap_or_else(|error| panic!("{}: {error}", case.name));
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
        // Memory of the main type comes first.
        let mut memory = [
            ("scratch", "0.0"),
            ("scratch_i64", "0"),
            ("scratch_f32", "0.0"),
            ("scratch_i32", "0"),
            ("scratch_bool", "false"),
        ];
        let has = |dtype: DType| case.inputs.iter().chain(&case.expected).any(|array| array.dtype() == dtype);
        if has(DType::F32) && !has(DType::F64) {
            memory[..3].rotate_right(1);
        }
        for (name, zero) in memory {
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
    // The functions of the crate `libm` that programs may need, here the functions of C.
    let libm = folder.join("libm.rs");
    fs::write(&libm, LIBM).expect("the folder for temporary files can be written");
    let library = folder.join("liblibm.rlib");
    run(Command::new("rustc")
        .args(["--edition", "2021", "--crate-type", "rlib", "--crate-name", "libm", "-o"])
        .arg(&library)
        .arg(&libm));
    std::thread::scope(|scope| {
        for (part, (sources, main)) in parts.iter().zip(&mains).enumerate() {
            let (folder, takes, library) = (&folder, &takes, &library);
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
                run(Command::new("rustc").args(["--edition", "2021", "-C", "debuginfo=0", "-D", "warnings", "-C"]).arg(format!("opt-level={level}")).arg("-o").arg(&program).arg(&path).arg("--extern").arg(format!("libm={}", library.display())));
                run(Command::new(&program).arg(folder));
            });
        }
    });
    folder
}

const LIBM: &str = r#"
mod c { unsafe extern "C" { pub fn erf(x: f64) -> f64; pub fn erfc(x: f64) -> f64; pub fn lgamma(x: f64) -> f64; } }
pub fn erf(x: f64) -> f64 { unsafe { c::erf(x) } }
pub fn erfc(x: f64) -> f64 { unsafe { c::erfc(x) } }
pub fn lgamma(x: f64) -> f64 { unsafe { c::lgamma(x) } }
"#;
