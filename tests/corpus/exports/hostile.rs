//! Texts and JSON of programs, changed at random: a mutant that is still a program prints and runs, and all others are errors.
//!
//! `DELTARAY_MUTANTS` sets the number of mutants for each program.

use super::all;
use crate::exported::documents::{mutated, renumbered, work};
use crate::random::chance::Random;
use deltaray::concrete::Array;
use deltaray::engine::cpu::{self, Cpu};
use deltaray::export::{self, Program};

/// Programs that go through more elements are not called.
const MOST: usize = 100_000;

/// Uses an accepted program; returns whether it was small enough to run.
fn use_of(program: &Program, input: &str) -> bool {
    let text = export::text(program);
    let read = export::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}\nof\n{input}"));
    assert_eq!(export::text(&read), text, "of\n{input}");
    if work(&program.body, MOST).is_none() {
        return false;
    }
    let zeros = |at: usize| Array::zeros(program.body.parameter_type(at));
    let arguments: Vec<Array> = (0..program.body.arity()).map(zeros).collect();
    // Memory may lack, nothing else.
    let results = program.interpret(&arguments);
    if let Ok(results) = results {
        assert!(results.iter().map(Array::ty).eq(program.body.result_types().cloned()), "of\n{input}");
    }
    true
}

/// One in so many accepted programs is compiled and written in other languages too.
const COMPILED: usize = 32;

/// Compiles a program, and writes it: there may be no memory for it, and nothing else.
fn compile(program: &Program) {
    let _ = cpu::Program::new(&program.body, &Cpu::default().threads(1));
    let _ = (export::rust(program), export::c(program), export::opencl(program), export::stablehlo(program));
}

/// A changed document; the numbers of one in some are changed alone.
fn changed_one(document: &str, random: &mut Random) -> String {
    if random.chance(0.3) { renumbered(document, random) } else { mutated(document, random) }
}

/// Some dozens of programs that are not long, from all parts of the corpus.
fn samples() -> impl Iterator<Item = &'static crate::exported::Case> {
    let short: Vec<_> = all().iter().filter(|case| export::text(&case.program).len() < 3000).collect();
    let step = (short.len() / 80).max(1);
    short.into_iter().step_by(step)
}

/// How many changed texts there are of each program.
fn mutants() -> usize {
    std::env::var("DELTARAY_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn changed_texts_are_errors_or_programs() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let (mut changed, mut accepted, mut called) = (0, 0, 0);
    for case in samples() {
        let text = export::text(&case.program);
        for _ in 0..mutants() {
            let mutant = changed_one(&text, &mut random);
            changed += 1;
            // The mutant may be a source program instead.
            let _ = export::parse_source(&mutant);
            if let Ok(program) = export::parse(&mutant) {
                accepted += 1;
                if accepted % COMPILED == 0 {
                    compile(&program);
                }
                called += usize::from(use_of(&program, &mutant));
            }
        }
    }
    println!("{changed} texts, {accepted} of them programs, {called} of them called");
    assert!(accepted > 0 && called > 0 && accepted < changed);
}

#[cfg(feature = "json")]
#[test]
fn changed_json_is_an_error_or_a_program() {
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    let (mut changed, mut accepted, mut called) = (0, 0, 0);
    for case in samples() {
        let json = export::json(&case.program);
        for _ in 0..mutants() {
            let mutant = changed_one(&json, &mut random);
            changed += 1;
            let _ = export::from_json_source(&mutant);
            if let Ok(program) = export::from_json(&mutant) {
                accepted += 1;
                if accepted % COMPILED == 0 {
                    compile(&program);
                }
                let again = export::json(&program);
                let read = export::from_json(&again).unwrap_or_else(|error| panic!("{error} in {again} of {mutant}"));
                assert_eq!(export::json(&read), again, "of {mutant}");
                called += usize::from(use_of(&program, &mutant));
            }
        }
    }
    println!("{changed} documents, {accepted} of them programs, {called} of them called");
    assert!(accepted > 0 && called > 0 && accepted < changed);
}
