//! Texts and JSON of programs, changed at random: what is still a program prints and runs, and all else is an error.
//!
//! `DELTARAY_MUTANTS` is how many changed ones there are of each program.

use super::all;
use deltaray::concrete::Array;
use deltaray::export::{self, Program};
use deltaray::shape::Type;
use deltaray::term::{Body, Op, Steps};

/// Pseudo-random numbers, the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// The ends of a short span.
    fn span(&mut self, length: usize) -> (usize, usize) {
        let start = self.below(length);
        (start, length.min(start + 1 + self.below(24)))
    }
}

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "255",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "0.5",
];

/// The runs of digits of a text.
fn digits(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut start = None;
    for at in 0..=bytes.len() {
        let is_digit = bytes.get(at).is_some_and(u8::is_ascii_digit);
        match (is_digit, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                runs.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    runs
}

fn mutated(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(2) {
        if bytes.is_empty() {
            break;
        }
        let (start, end) = random.span(bytes.len());
        match random.below(9) {
            0 => bytes[start] ^= 1 << random.below(8),
            1 => bytes[start] = b" \n()[]{},:;.=+-*/<>#\"0129aeimpsx_"[random.below(33)],
            2 => bytes.truncate(start),
            3 => drop(bytes.drain(start..end)),
            4 => {
                let span = bytes[start..end].to_vec();
                bytes.splice(start..start, span);
            }
            5 => {
                let (from, to) = random.span(bytes.len());
                let span = bytes[from..to].to_vec();
                bytes.splice(start..end, span);
            }
            _ => {
                let runs = digits(&bytes);
                if !runs.is_empty() {
                    let (start, end) = runs[random.below(runs.len())];
                    let other = runs[random.below(runs.len())];
                    let number = match random.below(3) {
                        0 => bytes[other.0..other.1].to_vec(),
                        _ => NUMBERS[random.below(NUMBERS.len())].into(),
                    };
                    bytes.splice(start..end, number);
                }
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many elements a program goes through at most; `None` where that is not known, or too many.
fn work(body: &Body) -> Option<usize> {
    const MOST: usize = 100_000;
    let mut total: usize = 0;
    for node in body.nodes() {
        let nested = match &node.op {
            Op::Scan(scan) => work(&scan.body)?.checked_mul(scan.length)?,
            Op::Branch(branch) => work(&branch.then)?.checked_add(work(&branch.otherwise)?)?,
            Op::Custom(custom) => work(&custom.value)?,
            Op::Sweeps(sweeps) => {
                let Steps::Count(count) = sweeps.steps else { return None };
                let mut each: usize = 1;
                for sweep in &sweeps.sweeps {
                    each = each.checked_add(work(&sweep.body)?)?;
                }
                // Steps are run again.
                each.checked_mul(count)?.checked_mul(count.max(1))?
            }
            Op::Contract(spec) => {
                let shapes: Vec<&[usize]> = node.args.iter().map(|&arg| &body.node(arg).ty().shape[..]).collect();
                let extent = |&label| spec.extent(label, shapes[0], shapes[1]);
                let right = spec.right.iter().filter(|label| !spec.left.contains(label));
                spec.left.iter().chain(right).map(extent).try_fold(1, usize::checked_mul)?
            }
            _ => 1,
        };
        let operands = node.args.iter().flat_map(|&arg| &body.node(arg).types);
        let elements = operands.chain(&node.types).map(Type::size).try_fold(0, usize::checked_add)?;
        total = total.checked_add(nested)?.checked_add(elements).filter(|&total| total <= MOST)?;
    }
    Some(total)
}

/// What an accepted program does; whether it was small enough to run.
fn use_of(program: &Program, input: &str) -> bool {
    let text = export::text(program);
    let read = export::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}\nof\n{input}"));
    assert_eq!(export::text(&read), text, "of\n{input}");
    if work(&program.body).is_none() {
        return false;
    }
    let zeros = |at: usize| Array::zeros(program.body.parameter_type(at));
    let arguments: Vec<Array> = (0..program.body.arity()).map(zeros).collect();
    // Memory may lack, nothing else.
    let results = program.call(&arguments);
    if let Ok(results) = results {
        assert!(results.iter().map(Array::ty).eq(program.body.result_types().cloned()), "of\n{input}");
    }
    true
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
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut changed, mut accepted, mut called) = (0, 0, 0);
    for case in samples() {
        let text = export::text(&case.program);
        for _ in 0..mutants() {
            let mutant = mutated(&text, &mut random);
            changed += 1;
            // A source program may be what it is now.
            let _ = export::parse_source(&mutant);
            if let Ok(program) = export::parse(&mutant) {
                accepted += 1;
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
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut changed, mut accepted, mut called) = (0, 0, 0);
    for case in samples() {
        let json = export::json(&case.program);
        for _ in 0..mutants() {
            let mutant = mutated(&json, &mut random);
            changed += 1;
            let _ = export::from_json_source(&mutant);
            if let Ok(program) = export::from_json(&mutant) {
                accepted += 1;
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
