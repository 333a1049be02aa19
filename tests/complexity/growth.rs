//! The growth of costs with programs, at every entry point: a program of twice the length costs twice as much to stage, to
//! differentiate, to compile, to export and to print, and one of twice the nesting at most four times.
//!
//! The counts are how often the library looks at a node, how often it asks for memory, and how much it asks for. Built with
//! `-C instrument-coverage` and `--cfg counted`, as `scripts/test --long` does, every piece of the library's code counts how
//! often it runs instead: then no repeated work stays unseen.

#[path = "growth/arrays.rs"]
mod arrays;
#[path = "growth/carries.rs"]
mod carries;
#[path = "growth/constructs.rs"]
mod constructs;
#[path = "growth/levels.rs"]
mod levels;
#[path = "growth/rescalings.rs"]
mod rescalings;

use super::*;
use crate::sample::sample;
use constructs::{Construct, constructs};
use counting::asked;
use deltaray::export;

/// How often nodes were looked at.
#[cfg(not(counted))]
fn visits() -> u64 {
    deltaray::term::visits()
}

/// How often each piece of code ran, all together.
#[cfg(counted)]
fn visits() -> u64 {
    unsafe extern "C" {
        fn __llvm_profile_begin_counters() -> *const u64;
        fn __llvm_profile_end_counters() -> *const u64;
    }
    // SAFETY: what the compiler counts in lies between the two.
    let counters = unsafe {
        let (begin, end) = (__llvm_profile_begin_counters(), __llvm_profile_end_counters());
        std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin))
    };
    counters.iter().fold(0, |sum, &count| sum.wrapping_add(count))
}

/// The counts, by name.
type Counts = [(&'static str, u64); 3];

fn counted<T>(f: impl FnOnce() -> T) -> (T, Counts) {
    let before = visits();
    let (result, allocations, bytes) = asked(f);
    (result, [("visits", visits() - before), ("allocations", allocations as u64), ("bytes", bytes as u64)])
}

/// As [`counted`], for functions that write a text. Its spare capacity, at times almost as much again, is not counted.
fn counted_text(f: impl FnOnce() -> String) -> Counts {
    let (text, mut counts) = counted(f);
    counts[2].1 -= (text.capacity() - text.len()) as u64;
    counts
}

/// The cost of a program of a size at each entry point.
fn doors(construct: &Construct, size: usize) -> Vec<(&'static str, Counts)> {
    let vector = |k: usize| {
        Vector::from((0..construct.width).map(|i| 0.5 + 0.01 * ((7 * i + k) % 50) as f64).collect::<Vec<_>>())
    };
    let x: Vec<Vector<C, f64>> = (0..(construct.parameters)(size)).map(vector).collect();
    let (staged, of_staging) =
        counted(|| stage(|p: &Vec<Vector<Staged, f64>>| (construct.program)(size, p), &x).unwrap());
    let (gradient, of_gradient) = counted(|| staged.value_and_grad().unwrap());
    let (compiled, of_compiling) = counted(|| gradient.compile(Cpu::default()).unwrap());
    let mut doors = vec![("stage", of_staging), ("value_and_grad", of_gradient), ("compile", of_compiling)];
    macro_rules! count {
        ($($door:literal: $open:expr),* $(,)?) => { $(doors.push(($door, counted(|| $open).1));)* };
    }
    macro_rules! count_text {
        ($($door:literal: $open:expr),* $(,)?) => { $(doors.push(($door, counted_text(|| $open)));)* };
    }
    count! {
        "jvp": staged.jvp().unwrap(),
        "jvp of the gradient": gradient.jvp().unwrap(),
        "vjp of the gradient": gradient.vjp().unwrap(),
        "C": export::c(&gradient).unwrap(),
        "OpenCL C": export::opencl(&gradient).unwrap(),
    }
    if construct.runs {
        count! {
            "interpret": staged.interpret(&x).unwrap(),
            "call": compiled.call(&x).unwrap(),
        }
    }
    count_text! {
        "print": gradient.to_string(),
        "print kernels": compiled.to_string(),
        "Rust": export::rust(&gradient).unwrap(),
        // It lacks some operations.
        "StableHLO": export::stablehlo(&gradient).unwrap_or_default(),
        "text": export::text(&gradient),
        "dot": export::dot(&gradient),
    }
    if times() > 1 {
        // It goes through all the others.
        count_text! { "page": export::html(&staged).unwrap() }
    }
    let text = export::text(&gradient);
    count! { "parse": export::parse(&text).unwrap() }
    #[cfg(feature = "json")]
    {
        let json = export::json(&gradient);
        count_text! { "JSON": export::json(&gradient) }
        count! { "read JSON": export::from_json(&json).unwrap() }
    }
    doors
}

/// All constructs, or those whose names contain the value of the variable `DELTARAY_CONSTRUCT`.
fn all() -> impl Iterator<Item = Construct> {
    [constructs(), carries::carries(), arrays::arrays(), rescalings::rescalings(), levels::levels()]
        .into_iter()
        .flatten()
        .filter(|construct| std::env::var("DELTARAY_CONSTRUCT").map_or(true, |name| construct.name.contains(&name)))
}

/// Smaller costs are not compared.
const LEAST: u64 = 2_000;

impl Construct {
    /// The greatest factor at an entry point for a program of twice the size. Written levels are indented: the lines of a
    /// gradient that has d² nodes are d deep.
    fn limit(&self, door: &str) -> f64 {
        let is_indented = matches!(door, "print" | "print kernels" | "text");
        if is_indented && self.growth > 4.0 { self.growth.max(8.5) } else { self.growth }
    }
}

/// Checks one third of the constructs, each at its size and at twice that. `DELTARAY_SAMPLE`, a number, selects the only third that is
/// checked.
fn check(which: usize) {
    let of = 3;
    if sample().is_some_and(|sample| sample % of != which) {
        return;
    }
    let times = times();
    let mut problems = Vec::new();
    for construct in all().skip(which).step_by(of) {
        let size = times * construct.size;
        let [once, twice] = [size, 2 * size].map(|size| doors(&construct, size));
        for ((door, once), (_, twice)) in once.iter().zip(&twice) {
            for (&(what, less), &(_, more)) in once.iter().zip(twice) {
                if more > LEAST && more as f64 > construct.limit(door) * less as f64 {
                    let growth = more as f64 / less as f64;
                    problems
                        .push(format!("{}, {door}: {growth:.2}: {less} {what} of {size}, then {more}", construct.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// How many times as large programs are as in the standard run.
fn times() -> usize {
    std::env::var("DELTARAY_GROWTH").map_or(1, |times| times.parse().expect("a number"))
}

#[test]
fn of_one_third() {
    check(0);
}

#[test]
fn of_another_third() {
    check(1);
}

#[test]
fn of_the_last_third() {
    check(2);
}

/// Passes recurse into nested bodies, and each needs little enough of the stack that a test's thread of 2 MiB holds hundreds of
/// levels, even without optimisation. Readers of programs may report that one is nested too deeply.
#[test]
fn hundreds_of_levels_need_little_of_the_stack() {
    let levels = if cfg!(counted) { 100 } else { 500 };
    let all = move || {
        let construct =
            levels::levels().into_iter().find(|construct| construct.name == "nested conds in else").unwrap();
        let x = vec![full::<C, f64, _>(construct.width, 0.5)];
        let staged = stage(|p: &Vec<Vector<Staged, f64>>| (construct.program)(levels, p), &x).unwrap();
        let gradient = staged.value_and_grad().unwrap();
        drop(staged.jvp().unwrap());
        let compiled = gradient.compile(Cpu::default()).unwrap();
        assert_eq!(compiled.call(&x).unwrap().0.item(), staged.interpret(&x).unwrap().item());
        assert!(
            !compiled.to_string().is_empty() && !gradient.to_string().is_empty() && !export::dot(&gradient).is_empty()
        );
        drop((export::c(&gradient).unwrap(), export::rust(&gradient).unwrap(), export::opencl(&gradient).unwrap()));
        drop((export::stablehlo(&gradient), export::parse(&export::text(&gradient))));
        #[cfg(feature = "json")]
        drop(export::from_json(&export::json(&gradient)));
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(all).unwrap().join().unwrap();
}
