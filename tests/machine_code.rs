//! Kernels compiled with a user's profile that optimises but keeps debug assertions and checks of overflow, as cargo compiles
//! dependencies under `[profile.dev.package."*"] opt-level = 1`, the lowest level that optimises. A check, or a helper that is
//! not inlined, costs such a kernel its vectors, or its fused multiply-add, and most of its speed; and there the compiler makes
//! no vectors of its own, so that a kernel has those that it is written with.
#![cfg(target_arch = "x86_64")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the kernels alone, with options of the profile and of the compiler, and returns where everything is written.
fn compiled(name: &str, profile: &[(&str, &str)], options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS");
    cargo.args(["rustc", "--quiet", "--package", "deltaray-machine-code", "--lib", "--target-dir"]).arg(&folder);
    for (option, value) in profile {
        cargo.arg("--config").arg(format!("profile.dev.{option}={value}"));
    }
    cargo.args(["--", "-Csymbol-mangling-version=v0"]).args(options);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// The assembly of the kernels alone.
fn assembly() -> String {
    let profile = [
        ("opt-level", "1"),
        ("debug-assertions", "true"),
        ("overflow-checks", "true"),
        ("debug", "false"),
        ("codegen-units", "1"),
        ("package.libm.opt-level", "0"),
    ];
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine_code/kernels.s");
    compiled("machine_code", &profile, &[&format!("--emit=asm={}", file.display())]);
    std::fs::read_to_string(file).expect("the assembly has been written")
}

/// The assembly of operations on matrices, compiled as in a release without optimisation across units of code, where most functions
/// are in other units than their callers.
fn assembly_of_matrices() -> String {
    let profile = [
        ("opt-level", "3"),
        ("debug-assertions", "false"),
        ("overflow-checks", "false"),
        ("debug", "false"),
        ("codegen-units", "16"),
        ("lto", "\"off\""),
    ];
    let folder = compiled("machine_code_of_matrices", &profile, &["--cfg=matrices", "--emit=asm"]).join("debug/deps");
    let files = std::fs::read_dir(folder).expect("the folder has been written");
    let files = files.map(|file| file.expect("the folder is read").path());
    let is_own = |file: &PathBuf| {
        file.extension().is_some_and(|extension| extension == "s")
            && file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("deltaray_machine_code"))
    };
    files.filter(is_own).map(|file| std::fs::read_to_string(file).expect("the assembly has been written")).collect()
}

/// The functions that a line of assembly calls, jumps to, or takes the address of.
fn called(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some((before, _)) = line.split_once("@GOTPCREL") {
        return before.rsplit(|c: char| !(c.is_alphanumeric() || "_.$".contains(c))).next();
    }
    let target = line.strip_prefix("call").or_else(|| line.strip_prefix("jmp"))?.split_whitespace().last()?;
    (!target.starts_with(['*', '.'])).then_some(target.split('@').next().unwrap_or(target))
}

/// Whether a function is a kernel, by its symbol.
fn is_kernel(symbol: &str) -> bool {
    let levels = ["4avx2", "8portable", "7of_rows", "6of_one"];
    let others = ["7scatter", "5chain5links", "5chain4rows", "5chain6eights", "8multiply4wide", "8multiply6narrow"];
    // The code that drops an array after a panic in the closure of its `map` is a function of its own.
    let is_drop = symbol.contains("4Drop4drop");
    symbol.starts_with("_R") && !is_drop && levels.iter().chain(&others).any(|part| symbol.contains(part))
}

/// Whether a kernel hands its operands, or copies of them, to the loop that computes.
fn is_wrapper(kernel: &str) -> bool {
    kernel.contains("8operands6Copied")
}

/// Whether a kernel may call a function.
fn is_allowed(kernel: &str, function: &str) -> bool {
    let is_of = |parts: &[&str]| parts.iter().any(|part| kernel.contains(part));
    let is_one = |parts: &[&str]| parts.iter().any(|part| function.contains(part));
    match function {
        // The standard library computes these for one element at a time; they should be one instruction for many.
        "fma" | "fmaf" => false,
        // Moves of a whole run, or row, and of a block without vectors: the portable instructions lack many.
        "memcpy" | "memset" => {
            is_of(&["StridedCopy", "6Powers", "8portable", "4rows", "5chain", "4gemm", "9copy_rows"])
        }
        _ if !function.starts_with("_R") && !function.starts_with("_ZN") => true,
        // Calls made once for a run, a row, or a block of it, not for each element.
        _ if is_one(&["panic", "slice_index_fail", "is_aligned_to"]) => {
            is_of(&["StridedCopy", "6Powers", "5chain", "4gemm", "9copy_rows"])
        }
        _ => {
            is_one(&["15correct_outside", "9corrected", "9polygamma", "4libm"])
                || is_of(&["4gemm"]) && is_one(&["6Places2at"])
                || is_wrapper(kernel) && is_one(&["13masked_kernel", "14copying_kernel"])
        }
    }
}

/// Whether a kernel computes all of a block in registers unless it calls a function for each element. Rests of runs of booleans
/// are copied to the stack.
fn is_in_registers(kernel: &str) -> bool {
    let is_of = |parts: &[&str]| parts.iter().any(|part| kernel.contains(part));
    is_of(&["4avx2"])
        && !is_wrapper(kernel)
        && is_of(&[
            "elementwise7MapLoop",
            "elementwise7Combine",
            "elementwise7Compare",
            "elementwise10SelectLoop",
            "convert8CastLoop",
            "convert12CastBooleans",
            "elementwise11MultiplyAdd",
        ])
        && !is_of(&["7MapLoopb", "7Combineb", "7Compareb", "10SelectLoopb", "11MultiplyAddb"])
        // Nor for quotients of integers.
        && !is_of(&["3Rem", "4Quot", "6Modulo", "8FloorDiv"])
        // There is no such instruction.
        && !is_of(&["4avx2INtNtB6_7convert8CastLoopxfE"])
}

#[test]
fn kernels_hold_no_calls_and_no_checks_in_builds_with_debug_assertions() {
    let assembly = assembly();
    let (mut kernels, mut vectors, mut in_registers, mut problems) = (0, 0, 0, BTreeSet::new());
    let mut kernel: Option<&str> = None;
    let (mut is_wide, mut calls, mut is_on_stack) = (false, false, false);
    for line in assembly.lines() {
        if let Some(label) = line.strip_suffix(':').filter(|label| !label.starts_with(['.', '\t', '#'])) {
            kernel = is_kernel(label).then_some(label);
            (is_wide, calls, is_on_stack) = (false, false, false);
            kernels += usize::from(kernel.is_some());
        }
        let Some(kernel) = kernel else { continue };
        if line.trim_start().starts_with(".size")
            && kernel.contains("9functions12FunctionLoop")
            && kernel.contains("4avx2")
        {
            vectors += 1;
            if !is_wide {
                problems.insert((kernel, "no vectors"));
            }
        }
        if line.trim_start().starts_with(".size") && is_in_registers(kernel) && !calls {
            in_registers += 1;
            if is_on_stack || !is_wide {
                problems.insert((kernel, "elements that are not in registers"));
            }
        }
        calls |= line.trim_start().starts_with("call");
        is_on_stack |= line.contains("(%rsp");
        is_wide |= line.contains("%zmm") || line.contains("%ymm");
        // A register of the narrower of two types.
        is_wide |= kernel.contains("convert8CastLoop") && line.trim_start().starts_with("vmovup");
        // Sums of integers in several places are read so by a compiler that takes each place for a sum of its own.
        if kernel.contains("9reduction") && line.trim_start().starts_with("vpgather") {
            problems.insert((kernel, "reads of scattered elements"));
        }
        if let Some(function) = called(line).filter(|function| !is_allowed(kernel, function)) {
            problems.insert((kernel, function));
        }
    }
    assert!(kernels > 500, "{kernels} kernels");
    assert!(vectors > 30, "{vectors} kernels of vector functions");
    assert!(in_registers > 80, "{in_registers} kernels in registers");
    let mut report = String::new();
    for (kernel, function) in &problems {
        writeln!(report, "{kernel}\n    {function}").unwrap();
    }
    assert!(problems.is_empty(), "{} problems in {kernels} kernels:\n{report}", problems.len());
}

/// Whether a line computes with floats by an instruction that every machine has.
fn is_portable_arithmetic(line: &str) -> bool {
    let instruction = line.split_whitespace().next().unwrap_or_default();
    let operation = instruction.strip_suffix(['d', 's']).and_then(|rest| rest.strip_suffix(['s', 'p']));
    matches!(operation, Some("add" | "sub" | "mul" | "div" | "sqrt" | "min" | "max" | "ucomi"))
}

/// Generic code of other crates is compiled for every machine where it is not inlined: a loop over elements in it takes twice the
/// time. So such functions may only be called for what is done with rows and columns as a whole.
#[test]
fn operations_on_matrices_compute_with_the_machines_instructions() {
    let assembly = assembly_of_matrices();
    // Whether a function computes with floats as every machine can, and what it calls.
    let mut functions: BTreeMap<&str, (bool, BTreeSet<&str>)> = BTreeMap::new();
    let mut function: Option<&mut (bool, BTreeSet<&str>)> = None;
    for line in assembly.lines() {
        if let Some(label) = line.strip_suffix(':').filter(|label| !label.starts_with(['.', '\t', '#'])) {
            function = Some(functions.entry(label).or_default());
        } else if let Some((is_portable, calls)) = &mut function {
            *is_portable |= is_portable_arithmetic(line);
            calls.extend(called(line));
        }
    }
    let kernels: Vec<&str> = functions.keys().copied().filter(|name| name.contains("9with_avx2")).collect();
    let mut problems = BTreeSet::new();
    for &kernel in &kernels {
        let (mut seen, mut open) = (BTreeSet::from([kernel]), vec![kernel]);
        while let Some(function) = open.pop() {
            let Some((is_portable, calls)) = functions.get(function) else { continue };
            if *is_portable {
                problems.insert((kernel, function));
            }
            open.extend(calls.iter().filter(|call| !call.contains("panic") && seen.insert(call)));
        }
    }
    assert!(kernels.len() > 15, "{} kernels", kernels.len());
    let mut report = String::new();
    for (kernel, function) in &problems {
        writeln!(report, "{kernel}\n    {function}").unwrap();
    }
    assert!(problems.is_empty(), "{} problems in {} kernels:\n{report}", problems.len(), kernels.len());
}
