//! Helpers that replace functions of the library give the operation table's results: they use the same formulas.

use super::{c_texts, rust_texts};
use crate::operation::{HelperFunction, Once, Unary, helpers};
use crate::shape::DType;
use crate::source::language::Helper;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Helpers, the rows of the table that they stand for, and arguments.
const ROWS: &[(&HelperFunction, Unary, &[f64])] = &[
    // Next to 3.1 are cubes for whose roots some libraries are furthest off.
    (
        &helpers::CBRT,
        Unary::Cbrt,
        &[
            0.0,
            -0.0,
            5e-324,
            -1e-310,
            1e-300,
            -8.0,
            3.102928632950838,
            -3.105893737837067,
            2.9519621738538353,
            1.7e308,
            f64::NEG_INFINITY,
            f64::INFINITY,
            f64::NAN,
        ],
    ),
    (
        &helpers::ASINH,
        Unary::Asinh,
        &[0.0, -0.0, 1e-300, -0.49, 3.0, -1e8, 1.7048e38, -1.7e308, f64::INFINITY, f64::NAN],
    ),
    (
        &helpers::ACOSH,
        Unary::Acosh,
        &[1.0, 1.0000000048, 1.0000002, 1.007, 2.6, 1e8, 3.3e38, 1.7e308, 0.5, -1e20, f64::INFINITY],
    ),
    (
        &helpers::ATANH,
        Unary::Atanh,
        &[-0.0, 1e-300, -0.12, 0.5, -0.99992, -0.9999999999999999, 1.0, -1.0, 1.5, -1e300, f64::NAN],
    ),
    (
        &helpers::LGAMMA,
        Unary::Lgamma,
        &[
            0.0,
            -0.0,
            1e-300,
            -1e-300,
            0.5,
            1.0,
            2.7,
            30.0,
            -0.3,
            -2.7479,
            -3.955,
            -8.001,
            -29.5,
            -30.5,
            -1e5 - 0.25,
            -4.0,
            1e306,
        ],
    ),
    (
        &helpers::DIGAMMA,
        Unary::Digamma,
        &[
            0.0,
            -0.0,
            1e-300,
            0.3,
            0.87,
            1.4616321449683622,
            2.05,
            7.9,
            8.0,
            1e10,
            -0.3,
            -0.5,
            -6.68,
            -1e5 - 0.125,
            -3.0,
            f64::INFINITY,
        ],
    ),
    (
        &helpers::POLYGAMMA,
        Unary::Polygamma(1),
        &[0.0, 0.2, 1.0, 9.5, 1e10, -0.7, -102.5, -1e4 - 0.25, -2.0, f64::INFINITY],
    ),
    (&helpers::POLYGAMMA, Unary::Polygamma(2), &[0.2, 1.0, 9.5, 1e10, -0.7, -102.5, -3.6, -2.0, f64::NEG_INFINITY]),
    (&helpers::POLYGAMMA, Unary::Polygamma(7), &[0.2, 1.0, 9.5, 1e10, -0.7, -102.5, -3.6]),
    (&helpers::POLYGAMMA, Unary::Polygamma(20), &[0.2, 40.0, 1e16, -0.7]),
    (&helpers::POLYGAMMA, Unary::Polygamma(170), &[10.0, 140.0, 5000.0]),
    (&helpers::POLYGAMMA, Unary::Polygamma(171), &[1.0]),
    (&helpers::POLYGAMMA, Unary::Polygamma(u32::MAX), &[1.0, 1e10]),
];

fn helpers() -> BTreeSet<Helper> {
    ROWS.iter().flat_map(|row| [DType::F32, DType::F64].map(|dtype| (row.0, dtype))).collect()
}

/// Calls of the helpers, one a line, in the language's syntax for a helper's name, a parameter before it and the bits of an
/// argument; and the table's results.
fn calls(call: impl Fn(DType, String, String) -> String) -> (String, Vec<f64>) {
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for &(HelperFunction { name, .. }, op, arguments) in ROWS {
        let order = op.parameter().map_or(String::new(), |order| format!("{order}, "));
        for &x in arguments {
            lines += &call(DType::F64, format!("{name}_f64({order}"), format!("0x{:x}", x.to_bits()));
            expected.push(op.run_f64(Once([x])));
            let x = x as f32;
            lines += &call(DType::F32, format!("{name}_f32({order}"), format!("0x{:x}", x.to_bits()));
            expected.push(f64::from(op.run_f32(Once([x]))));
        }
    }
    (lines, expected)
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Libraries of both languages have functions of their own, which differ by a unit or two.
fn compare(found: &str, expected: &[f64]) {
    let found: Vec<f64> = found.lines().map(|line| f64::from_bits(u64::from_str_radix(line, 16).unwrap())).collect();
    assert_eq!(found.len(), expected.len());
    let calls = ROWS
        .iter()
        .flat_map(|&(_, op, arguments)| arguments.iter().flat_map(move |&x| [(op, "f64", x), (op, "f32", x)]));
    for ((call, &found), &expected) in calls.zip(&found).zip(expected) {
        let tolerance = match call.1 {
            "f64" => f64::EPSILON,
            _ => f64::from(f32::EPSILON),
        };
        // Next to zeros of the gamma functions as exact as the terms that cancel there.
        let scale = if matches!(call.0, Unary::Cbrt | Unary::Asinh | Unary::Acosh | Unary::Atanh) { 0.0 } else { 1.0 };
        let same = found == expected && found.is_sign_negative() == expected.is_sign_negative();
        let units = if call.0 == Unary::Cbrt { 1.0 } else { 3.0 };
        let close = (found - expected).abs() <= units * tolerance * expected.abs().max(scale);
        assert!(
            same || close && expected != 0.0 || found.is_nan() && expected.is_nan(),
            "{call:?}: {found:?}, not {expected:?}"
        );
    }
}

/// A folder for the sources, which goes with the value.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("helpers-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn helpers_of_c_compute_what_the_table_does() {
    if Command::new("gcc").arg("--version").output().is_err() {
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "gcc is not installed");
        println!("skipped: gcc is not installed");
        return;
    }
    let (lines, expected) = calls(|dtype, head, bits| match dtype {
        DType::F64 => format!("    put(p_{head}of_bits({bits})));\n"),
        _ => format!("    put(p_{head}of_bits_f32({bits})));\n"),
    });
    let text = format!(
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n{}\n\
         static double of_bits(uint64_t bits) {{ double x; memcpy(&x, &bits, 8); return x; }}\n\
         static float of_bits_f32(uint32_t bits) {{ float x; memcpy(&x, &bits, 4); return x; }}\n\
         static void put(double x) {{ uint64_t bits; memcpy(&bits, &x, 8); printf(\"%llx\\n\", (unsigned long long)bits); }}\n\
         int main(void)\n{{\n{lines}    return 0;\n}}\n",
        c_texts(&helpers(), "p", false).join("\n\n")
    );
    let folder = Folder::new("c");
    let (source, program) = (folder.write("helpers.c", &text), folder.0.join("helpers"));
    run(Command::new("gcc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-Og", "-o"])
        .arg(&program)
        .arg(&source)
        .arg("-lm"));
    compare(&run(&mut Command::new(program)), &expected);
}

#[test]
fn helpers_of_rust_compute_what_the_table_does() {
    let (lines, expected) =
        calls(|dtype, head, bits| format!("    put({head}{}::from_bits({bits})) as f64);\n", dtype.name()));
    let folder = Folder::new("rust");
    let library = folder.write(
        "libm.rs",
        "mod c { unsafe extern \"C\" { pub fn lgamma(x: f64) -> f64; } }\npub fn lgamma(x: f64) -> f64 { unsafe { c::lgamma(x) } }\n",
    );
    let compile = |kind: &str, name: &str, source: &Path| {
        let path = folder.0.join(name);
        let mut command = Command::new("rustc");
        command
            .args(["--edition", "2021", "-C", "debuginfo=0", "-D", "warnings", "--crate-type", kind, "-o"])
            .arg(&path)
            .arg(source);
        run(command.arg("--extern").arg(format!("libm={}", folder.0.join("liblibm.rlib").display())));
        path
    };
    run(Command::new("rustc")
        .args(["--edition", "2021", "--crate-type", "rlib", "--out-dir"])
        .arg(&folder.0)
        .arg(&library));
    let text = format!(
        "{}\nfn put(x: f64) {{\n    println!(\"{{:x}}\", x.to_bits());\n}}\nfn main() {{\n{lines}}}\n",
        rust_texts(&helpers(), true).join("\n\n")
    );
    let program = compile("bin", "program", &folder.write("helpers.rs", &text));
    compare(&run(&mut Command::new(program)), &expected);
}
