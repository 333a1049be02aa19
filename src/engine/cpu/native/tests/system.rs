//! Code and the system: names for a profiler, and memory that may not run.

use super::super::arena::{Functions, write_names};
use super::super::compile;
use super::super::encode::Assembler;
use super::*;
use crate::prelude::*;
use std::process::{Command, id};

#[test]
fn the_profiler_finds_names() {
    let mut functions = Functions::default();
    functions.all = vec![(0, vec![0xC3; 5]), (64, vec![0xC3])];
    functions.names = vec!["nest 3 -> b1 (sin)".into(), "9 scalar instructions".into()];
    write_names(0x7f00_0000, &functions);
    let path = format!("/tmp/perf-{}.map", id());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(text.ends_with("7f000000 5 nest 3 -> b1 (sin)\n7f000040 1 9 scalar instructions\n"), "{text}");
}

/// Forbids memory that was written to run from here on; whether the system knows how.
fn forbid() -> bool {
    unsafe extern "C" {
        fn prctl(option: i32, ...) -> i32;
    }
    const SET_MEMORY_DENY_WRITE_EXECUTE: i32 = 65;
    const REFUSE_EXECUTE_GAIN: u64 = 1;
    // SAFETY: all that it does is to refuse calls of `mprotect` in this process.
    unsafe { prctl(SET_MEMORY_DENY_WRITE_EXECUTE, REFUSE_EXECUTE_GAIN, 0u64, 0u64, 0u64) == 0 }
}

const CHILD: &str = "DELTARAY_TEST_WITHOUT_EXECUTABLE_MEMORY";

#[test]
fn without_memory_that_may_run_there_are_kernels() {
    let name = std::thread::current().name().expect("tests have names").to_string();
    if std::env::var_os(CHILD).is_none() {
        // The prohibition lasts as long as the process.
        let test = Command::new(std::env::current_exe().unwrap()).args(["--exact", &name]).env(CHILD, "1").output();
        let test = test.unwrap();
        assert!(test.status.success(), "{}", String::from_utf8_lossy(&test.stdout));
        return;
    }
    let x = Vector::from((0..100).map(|k| 0.1 * f64::from(k)).collect::<Vec<f64>>());
    let gradient = stage(|x: &Vector<_, f64>| (x.sin() * x).sum(), &x).unwrap().grad().unwrap();
    let with_code = gradient.compile(Cpu::default()).unwrap().call(&x).unwrap();
    if !forbid() {
        return;
    }
    let arena = CodeArena::new(Instructions::Avx2).expect("there are instructions");
    let mut code = Assembler::default();
    code.back();
    arena.add(code.finish(&[]), String::new).expect("it is short");
    assert!(!arena.seal(), "the system gives memory that may run");
    let compiled = gradient.compile(Cpu::default()).unwrap();
    for (a, b) in compiled.call(&x).unwrap().to_vec().iter().zip(with_code.to_vec()) {
        assert!((a - b).abs() <= 1e-14, "{a} instead of {b}");
    }
}

#[test]
fn nests_that_differ_in_buffers_share_code() {
    fn layers<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        (0..6).fold(x.clone(), |y, _| (&y / (y.sum() + 1.0)).sin())
    }
    let x = Vector::from((0..100).map(|k| 0.1 * f64::from(k)).collect::<Vec<f64>>());
    let function = stage(|x: &Vector<_, f64>| layers(x), &x).unwrap();
    let procedure = lower(function.program());
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    let arena = CodeArena::new(Instructions::Avx2).expect("there are instructions");
    let nests = procedure.steps.iter().filter_map(|step| if let Step::Nest(nest) = step { Some(nest) } else { None });
    let code = nests.filter_map(|nest| compile(target(&arena), nest, &types, true));
    let mut starts: Vec<usize> = code.map(|code| arena.start_of(&code.machine_code.unwrap()).unwrap()).collect();
    let all = starts.len();
    starts.sort_unstable();
    starts.dedup();
    assert!(all >= 6 && starts.len() <= 3, "{} functions for {all} nests", starts.len());
    let (with, without) = (Cpu::default(), Cpu::default().machine_code(false));
    let [with, without] = [with, without].map(|cpu| function.compile(cpu).unwrap().call(&x).unwrap());
    for (a, b) in with.to_vec().iter().zip(without.to_vec()) {
        assert!((a - b).abs() <= 1e-14, "{a} instead of {b}");
    }
}

#[test]
fn code_is_written_where_it_gains_more_than_it_takes() {
    fn chain<A: Algebra>(x: &Vector<A, f64>, length: usize) -> Vector<A, f64> {
        (0..length).fold(x.clone(), |y, _| (&y * x).sin())
    }
    let nest = |length: usize| {
        let function = stage(|x: &Vector<_, f64>| chain(x, length), &zeros(16)).unwrap();
        let procedure = lower(function.program());
        let [Step::Nest(nest)] = &procedure.steps[..] else { panic!("not one nest: {procedure}") };
        nest.clone()
    };
    let arena = || CodeArena::new(Instructions::Avx2).expect("there are instructions");
    let is_written = |arena: &CodeArena, length: usize, runs: usize| {
        compile(target(arena).repeated(runs), &nest(length), &[], false).is_some()
    };
    assert!(is_written(&arena(), 20, 1), "a short one");
    assert!(!is_written(&arena(), 1000, 1), "a long one");
    assert!(is_written(&arena(), 1000, 1000), "a long one in a loop");
    // Many short ones are as much as a long one.
    let all = arena();
    let written: Vec<bool> = (20..60).map(|length| is_written(&all, length, 1)).collect();
    let first = written.iter().position(|is_written| !is_written).expect("an end");
    assert!(first > 4 && written[first..].iter().all(|is_written| !is_written), "{written:?}");
}
