//! The names in a file.

use super::words::Words;
use crate::export::Program;
use crate::export::names::Identifiers;
use crate::source::language::{DTYPES, scratch_name};

/// The names in a file.
pub(super) struct FileNames {
    pub(super) function: String,
    pub(super) arguments: Vec<String>,
    pub(super) results: Vec<String>,
}

/// Whether a name of an array may be one that is made in a file: with a number, or of the program, its memory, or a helper.
fn is_made(name: &str, function: &str) -> bool {
    const WHOLE: &str =
        "at tape step first end count stretch stretches current number passed block lane row swapped item run";
    const NUMBERED: &str = "a b r s v i sum from to row lane_row total factor batch KNOWN then otherwise step sweep condition \
        block operation memory known whole first last end near nearer bound";
    let holds = |words: &str, name: &str| words.split(' ').any(|word| word == name);
    let letters = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '_');
    let is_memory = DTYPES.iter().any(|&dtype| scratch_name(dtype) == name);
    let is_helper = DTYPES.iter().any(|dtype| name.ends_with(&format!("_{}", dtype.name())));
    let of_program = name.to_lowercase().starts_with(&format!("{}_", function.to_lowercase()));
    let numbered = letters.len() < name.len() && holds(NUMBERED, letters);
    holds(WHOLE, name) || numbered || is_memory || is_helper || of_program
}

impl FileNames {
    /// The nearest names to those of a program that have no other meaning.
    pub(super) fn new(program: &Program, words: &Words, fallback: &str) -> FileNames {
        let name = if program.name.is_empty() { fallback } else { &program.name };
        let function = Identifiers::without(words.anywhere.iter().chain(&words.functions)).choose(name);
        let mut taken = Identifiers::without(&words.anywhere);
        taken.choose(&function);
        let mut choose = |wanted: String| {
            let wanted = if is_made(&wanted, &function) { format!("{wanted}_in") } else { wanted };
            taken.choose(&wanted)
        };
        let given = |names: &[String], at: usize| names.get(at).filter(|name| !name.is_empty()).cloned();
        let body = &program.body;
        let arguments =
            (0..body.arity()).map(|at| choose(given(&program.parameters, at).unwrap_or(format!("p{at}")))).collect();
        let results = (0..body.results.len())
            .map(|at| choose(format!("out_{}", given(&program.results, at).unwrap_or(at.to_string()))))
            .collect();
        FileNames { function, arguments, results }
    }
}
