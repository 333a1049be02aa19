//! Inline functions in C and in Rust compute what the formulas compute here, which the tests of the processor's kernels hold
//! against exact results; and stay close to the operation table's functions where compilers fuse products and sums.

use super::recorded::Separate;
use super::{Elementary, all};
use crate::elementary;
use crate::elementary::lanes::Real;
use crate::operation::HelperFunction;
use crate::shape::DType;
use crate::source::helpers::{c_texts, rust_texts};
use crate::source::language::Helper;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A float of either type.
trait Float: Real {
    fn with_bits(bits: u64) -> Self;
    fn to(self) -> u64;
    fn wide(self) -> f64;
    /// The distance to the next larger size.
    fn unit(self) -> f64;
}

macro_rules! float {
    ($t:ident, $bits:ident) => {
        impl Float for $t {
            fn with_bits(bits: u64) -> $t {
                $t::from_bits(bits as $bits)
            }
            fn to(self) -> u64 {
                self.to_bits().into()
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn unit(self) -> f64 {
                let size = self.abs().max($t::MIN_POSITIVE).min($t::MAX);
                f64::from(size) - f64::from($t::from_bits(size.to_bits() - 1))
            }
        }
    };
}

float!(f32, u32);
float!(f64, u64);

/// Arguments of all sizes: those with special bits, and some where functions bend.
fn arguments<T: Float>() -> Vec<T> {
    let special = [
        0.0,
        1.0,
        0.5,
        f64::INFINITY,
        f64::NAN,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        f64::MAX,
        1e-45,
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::MAX),
        1e6,
        1000000.1,
        1500.0,
        1500.1,
        1e9,
        1e22,
        708.0,
        709.9,
        744.9,
        87.9,
        103.9,
    ];
    let mut arguments: Vec<T> = special.iter().flat_map(|&x| [x, -x]).map(T::from_f64).collect();
    let mut state = 1u64;
    for at in 0..6000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let within = |width: f64| T::from_f64(((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * width);
        arguments.push(match at % 6 {
            0 => T::with_bits(state >> if T::DTYPE == DType::F32 { 32 } else { 0 }),
            1 => within(1.5),
            2 => within(20.0),
            3 => within(800.0),
            4 => within(2e6),
            _ => within(1e-3),
        });
    }
    arguments
}

/// A function, and for each argument, or pair of neighbours among them, its formula's result, whether that holds, and the
/// operation table's result.
struct Row<T> {
    function: Elementary,
    results: Vec<(T, bool, T)>,
}

fn rows<T: Float>(arguments: &[T]) -> Vec<Row<T>> {
    let functions = all().into_iter().filter(|(_, dtype, _)| *dtype == T::DTYPE).map(|(function, ..)| function);
    let row = |function: Elementary| {
        let result = |at: usize| {
            let (x, y) = (arguments[at], arguments[(at + 1) % arguments.len()]);
            let (formula, table) = match function {
                Elementary::Unary(op) => (elementary::unary::<T, Separate>(op, x), T::by_table(op, x)),
                Elementary::Binary(op) => (elementary::binary::<T, Separate>(op, x, y), T::pair_by_table(op, x, y)),
            };
            let (value, outside) = formula.expect("a function with a formula");
            (value, outside, table)
        };
        Row { function, results: (0..arguments.len()).map(result).collect() }
    };
    functions.map(row).collect()
}

/// A program that writes the results of all functions, and whether they hold, as bits.
struct Program {
    c: String,
    rust: String,
    expected: usize,
}

fn program() -> Program {
    let mut used: BTreeSet<Helper> = BTreeSet::new();
    let (mut c, mut rust, mut expected) = (String::new(), String::new(), 0);
    let functions: &'static [(Elementary, DType, super::InlineFunction)] = all().leak();
    for dtype in [DType::F32, DType::F64] {
        let (ty, bits, name) =
            if dtype == DType::F32 { ("float", "uint32_t", "f32") } else { ("double", "uint64_t", "f64") };
        let count = if dtype == DType::F32 { arguments::<f32>().len() } else { arguments::<f64>().len() };
        for (function, _, inline) in functions.iter().filter(|(_, of, _)| *of == dtype) {
            let arguments = if matches!(function, Elementary::Unary(_)) { "x[i]" } else { "x[i], x[(i + 1) % n]" };
            let call = |helper: &HelperFunction| format!("{}_{name}({arguments})", helper.name);
            let value = call(&inline.value);
            let outside = inline.outside.as_ref().map_or("0".into(), call);
            let outside_in_c = if outside == "0" { outside.clone() } else { format!("p_{outside}") };
            let outside_in_rust = if outside == "0" { "{ let _ = i; 0 }".into() } else { outside.clone() };
            c += &format!(
                "    {{ enum {{ n = {count} }}; static {ty} x[n], y[n]; static {bits} outside[n];\n      read_all(\"{name}.in\", x, sizeof x);\n      \
                 for (int i = 0; i < n; i++) {{ y[i] = p_{value}; outside[i] = ({bits}){outside_in_c}; }}\n      \
                 fwrite(y, sizeof y, 1, out); fwrite(outside, sizeof outside, 1, out); }}\n"
            );
            rust += &format!(
                "    {{ let x = {name}s(); let n = x.len();\n      for i in 0..n {{ out.extend(({value}).to_ne_bytes()); }}\n      \
                 for i in 0..n {{ out.extend((({outside_in_rust}) as i{}).to_ne_bytes()); }} }}\n",
                &name[1..]
            );
            used.insert((&inline.value, dtype));
            used.extend(inline.outside.as_ref().map(|outside| (outside, dtype)));
            expected += 2 * count * dtype.bytes();
        }
    }
    let c = format!(
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n{}\n\
         static void read_all(const char *name, void *to, size_t bytes)\n{{\n    FILE *file = fopen(name, \"rb\");\n    \
         if (!file || fread(to, 1, bytes, file) != bytes) memset(to, 0, bytes);\n    if (file) fclose(file);\n}}\n\
         int main(void)\n{{\n    FILE *out = fopen(\"c.out\", \"wb\");\n{c}    fclose(out);\n    return 0;\n}}\n",
        c_texts(&used, "p", false).join("\n\n")
    );
    let rust = format!(
        "{}\nfn f32s() -> Vec<f32> {{\n    let bytes = std::fs::read(\"f32.in\").unwrap();\n    \
         bytes.chunks(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap())).collect()\n}}\n\
         fn f64s() -> Vec<f64> {{\n    let bytes = std::fs::read(\"f64.in\").unwrap();\n    \
         bytes.chunks(8).map(|x| f64::from_ne_bytes(x.try_into().unwrap())).collect()\n}}\n\
         fn main() {{\n    let mut out: Vec<u8> = Vec::new();\n{rust}    std::fs::write(\"rust.out\", out).unwrap();\n}}\n",
        rust_texts(&used, true).join("\n\n")
    );
    Program { c, rust, expected }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with the arguments.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("inline-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let singles: Vec<u8> = arguments::<f32>().into_iter().flat_map(f32::to_ne_bytes).collect();
    let doubles: Vec<u8> = arguments::<f64>().into_iter().flat_map(f64::to_ne_bytes).collect();
    fs::write(folder.join("f32.in"), singles).unwrap();
    fs::write(folder.join("f64.in"), doubles).unwrap();
    folder
}

/// Compares the results of functions of a type: they are the formulas' bits, or some units from the table's results.
fn compare<T: Float>(found: &mut &[u8], is_exact: bool, by: &str) {
    let arguments = arguments::<T>();
    let mut take = || {
        let (own, rest) = found.split_at(T::DTYPE.bytes());
        *found = rest;
        own.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte))
    };
    for Row { function, results } in rows::<T>(&arguments) {
        let values: Vec<T> = results.iter().map(|_| T::with_bits(take())).collect();
        let outside: Vec<bool> = results.iter().map(|_| take() != 0).collect();
        for (at, (value, is_outside, table)) in results.into_iter().enumerate() {
            let place = (by, function, T::DTYPE, arguments[at], arguments[(at + 1) % arguments.len()]);
            assert_eq!(outside[at], is_outside, "{place:?}");
            let (found, both_nan) = (values[at], values[at].wide().is_nan() && value.wide().is_nan());
            if is_outside || both_nan {
                continue;
            }
            if is_exact {
                assert_eq!(found.to(), value.to(), "{place:?}: {found:?} instead of {value:?}");
            }
            // Both have errors of two units, of three where they are made of several functions; and formulas have no
            // exponentials below full precision.
            let (found, table, unit): (f64, f64, f64) = (found.wide(), table.wide(), table.unit());
            let size = if T::DTYPE == DType::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
            let close =
                f64::abs(found - table) <= 6.0 * unit || found == table || found == 0.0 && f64::abs(table) < size;
            assert!(close, "{place:?}: {found:?} instead of {table:?}");
        }
    }
}

fn check(folder: &Path, output: &str, expected: usize, is_exact: bool, by: &str) {
    let found = fs::read(folder.join(output)).unwrap();
    assert_eq!(found.len(), expected);
    let mut rest = &found[..];
    compare::<f32>(&mut rest, is_exact, by);
    compare::<f64>(&mut rest, is_exact, by);
}

#[test]
fn inline_functions_in_c_compute_the_formulas() {
    if ["gcc", "clang"].iter().any(|tool| Command::new(tool).arg("--version").output().is_err()) {
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "gcc or clang is not installed");
        println!("skipped: gcc or clang is not installed");
        return;
    }
    let folder = folder("c");
    let program = program();
    fs::write(folder.join("inline.c"), &program.c).unwrap();
    let native = if cfg!(target_arch = "x86_64") { "-march=native" } else { "-O3" };
    // Products and sums are never fused by these options, or may be.
    for (compiler, options, is_exact) in [
        ("gcc", &["-O2", "-ffp-contract=off"][..], true),
        ("gcc", &["-O3", native, "-std=c99"], true),
        ("gcc", &["-O3", native], false),
        ("clang", &["-O2", native, "-ffp-contract=off"], true),
        ("clang", &["-O3", native, "-ffp-contract=fast"], false),
    ] {
        let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fno-math-errno"];
        run(Command::new(compiler)
            .current_dir(&folder)
            .args(strict)
            .args(options)
            .args(["-o", "inline", "inline.c", "-lm"]));
        run(Command::new(folder.join("inline")).current_dir(&folder));
        check(&folder, "c.out", program.expected, is_exact, &format!("{compiler} {options:?}"));
    }
    // As if numbers were real, functions are the library's; and nothing is unused then.
    run(Command::new("gcc").current_dir(&folder).args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-ffast-math",
        "-fsyntax-only",
        "inline.c",
    ]));
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn inline_functions_in_rust_compute_the_formulas() {
    let folder = folder("rust");
    let program = program();
    fs::write(folder.join("inline.rs"), &program.rust).unwrap();
    run(Command::new("rustc").current_dir(&folder).args([
        "--edition",
        "2021",
        "-C",
        "opt-level=1",
        "-D",
        "warnings",
        "inline.rs",
    ]));
    run(Command::new(folder.join("inline")).current_dir(&folder));
    check(&folder, "rust.out", program.expected, true, "rustc");
    let _ = fs::remove_dir_all(folder);
}
