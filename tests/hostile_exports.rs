//! Programs that exporters must not take at face value: with names that mean something elsewhere, or nothing, and of sizes
//! that can not be counted, or of a length that compilers notice.

#[path = "large/chains.rs"]
mod chains;
mod exported;
mod random;

use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Order, Reduction};
use deltaray::error::Error;
use deltaray::export::{self, Program};
use deltaray::operation::{Binary, Unary};
use deltaray::shape::{DType, Type};
use deltaray::term::{Graph, NodeId, Op};
use exported::{Case, are_installed, folder, run};
use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// Names that mean something in a language or one of its libraries, that a file gives its own parts, that no language has
/// letters for, or that would end the construct around them.
const NAMES: &[&str] = &[
    "",
    "f",
    "aux",
    "con",
    "nul",
    "prn",
    "x",
    "_",
    "__",
    "_x",
    "2x",
    "λ",
    "变量",
    "a b",
    "a.b",
    "params.w1",
    "tanh",
    "tanhf",
    "lgamma_r",
    "main",
    "run",
    "step1",
    "step",
    "block",
    "scratch",
    "scratch_f64",
    "sigmoid",
    "sigmoid_f64",
    "arg_sort",
    "known_0",
    "KNOWN_0",
    "memory0",
    "item",
    "i0",
    "v0",
    "p0",
    "out_0",
    "w",
    "iw",
    "arg",
    "mem",
    "class",
    "template",
    "new",
    "this",
    "int",
    "double",
    "bool",
    "true",
    "NULL",
    "NAN",
    "INFINITY",
    "INT64_MAX",
    "int64_t",
    "errno",
    "printf",
    "malloc",
    "exit",
    "cexp",
    "isalpha",
    "strtold",
    "math",
    "stdint",
    "string",
    "stdin",
    "assert",
    "y0",
    "index",
    "M_PI",
    "linux",
    "kernel",
    "__kernel",
    "global",
    "get_global_id",
    "double4",
    "half",
    "image2d_t",
    "fn",
    "self",
    "Self",
    "crate",
    "super",
    "gen",
    "f64",
    "usize",
    "str",
    "Vec",
    "Some",
    "Option",
    "core",
    "std",
    "libm",
    "drop",
    "vec",
    "main_parts",
    "r#type",
    "*/",
    "*/ } int broken; /*",
    "//",
    "/* /* ",
    "a\nb",
    "a\r\nb",
    "} fn broken() {",
    "a\\",
    "a\\\nb",
    "??/",
    "\"",
    "\"; broken",
    "' or '",
    "\u{2028}next",
    "\u{0}zero",
    "\t",
    "<script>",
    "-->",
    "%s %n",
    "{}",
    "$0 @",
    "#define x",
    "program",
    "let",
    "f64[3]",
];

/// A program that needs helpers, memory, known arrays and functions, all of whose arrays have a name, which is its own.
fn named(name: &str) -> Program {
    let vector = Type::new(DType::F64, &[40]);
    let mut graph: Graph = Graph::new(&[vector.clone(), vector], 0);
    let logistic = graph.add(Op::Unary(Unary::Sigmoid), &[0]);
    let tanh = graph.add(Op::Unary(Unary::Tanh), &[1]);
    let product = graph.add(Op::Binary(Binary::Mul), &[logistic, tanh]);
    let order = graph.add(Op::ArgSort(Order::Ascending, 0), &[product]);
    let sorted = graph.add(Op::Gather, &[logistic, order]);
    let known = (0..40).map(|at| f64::from(at) * 0.25).collect();
    let known = graph.add(Op::Constant(deltaray::concrete::Array::from_vec(&[40], known)), &[]);
    let sum = graph.add(Op::Binary(Binary::Add), &[sorted, known]);
    let body = graph.finish(&[sum, order]);
    Program::new(name, body).with_parameters([name, name]).with_results([name, name])
}

#[test]
fn names_of_rust_programs_are_legal() {
    let folder = folder("names-rust");
    let mut all = String::from("#![allow(dead_code)]\n");
    for (number, name) in NAMES.iter().enumerate() {
        let source = export::rust(named(name)).unwrap();
        writeln!(all, "mod case{number} {{\n{source}}}").unwrap();
        // A file of a crate may hold it alone, and be used from without.
        assert!(source.contains("pub fn "), "{name:?}");
    }
    let path = folder.join("names.rs");
    fs::write(&path, all).expect("the folder for temporary files can be written");
    let options = ["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "-D", "warnings", "-o"];
    run(Command::new("rustc").args(options).arg(folder.join("names.rmeta")).arg(&path));
}

#[test]
fn names_of_c_programs_are_legal_and_headers_are_those_of_cpp_too() {
    if !are_installed(&["gcc"]) {
        return;
    }
    // Headers that programs also include: a program must not have the name of one of their functions.
    let mut whole = String::from("#include <stdlib.h>\n#include <stdio.h>\n#include <string.h>\n#include <errno.h>\n");
    let mut headers = String::from("#include <cmath>\n#include <cstdlib>\n");
    let mut seen = HashSet::new();
    for name in NAMES {
        let source = export::c(named(name)).unwrap();
        let include = format!("#include \"{}.h\"\n", source.name);
        assert!(source.source.starts_with(&include), "{name:?}");
        assert!(!["aux", "con", "nul", "prn"].contains(&&source.name[..]), "a device of Windows");
        // Names that differ only in capitals are files that overwrite each other.
        if seen.insert(source.name.to_uppercase()) {
            whole.push_str(&source.source.replace(&include, &source.header));
            headers.push_str(&source.header);
        }
    }
    let folder = folder("names-c");
    let check = |compiler: &str, standard: &str, name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("the folder for temporary files can be written");
        let strict = [standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        run(Command::new(compiler).args(strict).arg(&path));
    };
    check("gcc", "-std=c99", "names.c", &whole);
    if are_installed(&["g++"]) {
        check("g++", "-std=c++11", "names.cpp", &headers);
    }
}

#[test]
fn names_of_opencl_programs_are_legal() {
    if !are_installed(&["clang"]) {
        return;
    }
    let mut all = String::new();
    let mut seen = HashSet::new();
    for name in NAMES {
        let source = export::opencl(named(name)).unwrap();
        let plan: serde_json::Value =
            serde_json::from_str(&source.plan).unwrap_or_else(|error| panic!("{name:?}: {error}"));
        let labels = plan["buffers"].as_array().unwrap().iter().filter(|buffer| buffer["position"] == 0);
        labels.for_each(|buffer| assert_eq!(buffer["label"], *name));
        // Names that are spelled alike would be one program twice.
        if seen.insert(plan["name"].as_str().unwrap().to_string()) {
            all.push_str(&source.kernels);
        }
    }
    let path = folder("names-opencl").join("names.cl");
    fs::write(&path, all).expect("the folder for temporary files can be written");
    let options =
        ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-Wall", "-Werror"];
    run(Command::new("clang").args(options).arg(&path));
}

/// The lines of a text without its words: their indentation.
fn shape_of(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.chars().take_while(|character| *character == ' ').count()).collect()
}

#[test]
fn names_are_no_text_of_their_own() {
    let plain = named("plain");
    let stablehlo = export::stablehlo(&plain).unwrap();
    let dot = export::dot(&plain);
    for name in NAMES {
        let program = named(name);
        let module = export::stablehlo(&program).unwrap();
        let comments = if name.is_empty() { 2 } else { 0 };
        assert_eq!(shape_of(&module).len(), shape_of(&stablehlo).len() - comments, "{name:?}:\n{module}");
        assert!(module.chars().all(|character| character == '\n' || !character.is_control()), "{name:?}:\n{module}");
        let graph = export::dot(&program);
        assert_eq!(shape_of(&graph), shape_of(&dot), "{name:?}:\n{graph}");
        assert!(graph.chars().all(|character| character == '\n' || !character.is_control()), "{name:?}:\n{graph}");
        let page = export::html(&program).unwrap();
        assert!(!page.contains("<script>") || !name.contains("script") || page.matches("<script>").count() == 1);
        let text = export::text(&program);
        let read = export::parse(&text).unwrap_or_else(|error| panic!("{name:?}: {error}\n{text}"));
        assert_eq!(export::text(&read), text, "{name:?}");
        #[cfg(feature = "json")]
        {
            let json = export::json(&program);
            let read = export::from_json(&json).unwrap_or_else(|error| panic!("{name:?}: {error}\n{json}"));
            assert!(read.name == *name && read.parameters == program.parameters && read.results == program.results);
        }
    }
}

/// The program of these operations.
fn sized(parameters: &[Type], build: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Program {
    let mut graph = Graph::new(parameters, 0);
    let results = build(&mut graph);
    Program::new("sized", graph.finish(&results))
}

fn floats(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

/// Programs that no machine has memory for, and whether they may be written anyway: sizes that are only counted may be large.
fn large() -> Vec<(&'static str, Program, bool)> {
    let scalar = || floats(&[]);
    let all = |rank: usize| (0..rank).collect();
    let replicated = |graph: &mut Graph, id: NodeId, shape: &[usize]| {
        graph.add(Op::View(AffineMap::broadcast(&[], shape, &[])), &[id])
    };
    vec![
        (
            "a parameter",
            sized(&[floats(&[1 << 57])], |graph| vec![graph.add(Op::Reduce(Reduction::Sum, all(1)), &[0])]),
            false,
        ),
        (
            "parameters together",
            sized(&[floats(&[1 << 55]), floats(&[1 << 55]), floats(&[1 << 55])], |graph| {
                let sum = graph.add(Op::Binary(Binary::Add), &[0, 1]);
                let sum = graph.add(Op::Binary(Binary::Add), &[sum, 2]);
                vec![graph.add(Op::Reduce(Reduction::Sum, all(1)), &[sum])]
            }),
            false,
        ),
        ("a result", sized(&[scalar()], |graph| vec![replicated(graph, 0, &[1 << 40, 1 << 18])]), false),
        (
            "a result of truth values",
            sized(&[Type::new(DType::Bool, &[])], |graph| vec![replicated(graph, 0, &[1 << 60])]),
            false,
        ),
        (
            "an intermediate",
            sized(&[scalar()], |graph| {
                let many = replicated(graph, 0, &[1 << 58]);
                let order = graph.add(Op::ArgSort(Order::Ascending, 0), &[many]);
                let cast = graph.add(Op::Cast(DType::F64), &[order]);
                vec![graph.add(Op::Reduce(Reduction::Sum, all(1)), &[cast])]
            }),
            false,
        ),
        (
            "a sum of what is nowhere",
            sized(&[scalar()], |graph| {
                let many = replicated(graph, 0, &[1 << 40, 1 << 18]);
                let sine = graph.add(Op::Unary(Unary::Sin), &[many]);
                vec![graph.add(Op::Reduce(Reduction::Sum, all(2)), &[sine])]
            }),
            true,
        ),
        (
            "a product of what is nowhere",
            sized(&[scalar(), scalar()], |graph| {
                let left = replicated(graph, 0, &[1 << 29, 1 << 29]);
                let right = replicated(graph, 1, &[1 << 29, 1 << 29]);
                let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[left, right]);
                vec![graph.add(Op::Reduce(Reduction::Max, all(2)), &[product])]
            }),
            true,
        ),
        (
            "an inner product of what is nowhere",
            sized(&[scalar(), scalar()], |graph| {
                let left = replicated(graph, 0, &[1 << 29, 1 << 29]);
                let right = replicated(graph, 1, &[1 << 29, 1 << 29]);
                let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[0, 1], &[])), &[left, right]);
                vec![product]
            }),
            true,
        ),
    ]
}

#[test]
fn sizes_beyond_counting_are_errors() {
    for (name, program, may_be_written) in large() {
        let written = [
            ("Rust", export::rust(&program).map(drop)),
            ("C", export::c(&program).map(drop)),
            ("OpenCL C", export::opencl(&program).map(drop)),
        ];
        for (language, result) in written {
            match result {
                Ok(()) => assert!(may_be_written, "{name} is written as {language}"),
                Err(Error::Export { target, .. }) => assert_eq!(target, language, "{name}"),
                Err(other) => panic!("{name}: {other}"),
            }
        }
        // Nothing is counted in these.
        export::stablehlo(&program).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (text, graph) = (export::text(&program), export::dot(&program));
        assert!(text.len() < 2000 && graph.len() < 20_000, "{name}");
        assert_eq!(export::text(export::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))), text);
    }
}

/// Nodes of chains that are compiled: longer ones are only written, in optimised code. Of Rust's compiler, long functions take
/// time that grows with the square of their length: one of 12,000 lines takes most of a minute.
const COMPILED: usize = 500;

#[test]
fn long_chains_are_compiled() {
    let point = || deltaray::concrete::Array::from_vec(&[chains::WIDTH], vec![0.5, -0.75, 1.25, 0.25, -1.0]);
    let case = |(name, step): (&str, chains::Step)| {
        Case::new(name.into(), None, chains::chain("chain", step, COMPILED), vec![point()], true)
    };
    let cases: Vec<Case> = chains::KINDS.map(case).into();
    let numbered: Vec<(usize, &Case)> = cases.iter().enumerate().collect();
    exported::rust::compute_what_the_interpreter_does("chains", &numbered);
    exported::c::compute_what_the_interpreter_does("chains", &numbered);
}
