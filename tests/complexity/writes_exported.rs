//! Source of loops that write: no step goes over a whole array, copies it or fills it.

use super::writes::*;
use super::*;
use deltaray::export;
use std::collections::{HashMap, HashSet};

/// Elements of the arrays that exported loops carry.
const EXPORTED: usize = 12_348;

/// A loop or copy of so many elements goes over an axis of an array; the steps and rows of the programs are fewer.
const MANY: usize = 1000;

/// The name of the function whose body a line begins.
fn head(line: &str) -> Option<&str> {
    let kinds = ["static ", "void ", "bool ", "__kernel ", "pub fn ", "fn "];
    let line = line.trim_start().trim_start_matches("pub(crate) ");
    let before = line.ends_with('{').then(|| line.split_once('('))??.0;
    kinds.iter().any(|kind| line.starts_with(kind)).then(|| before.rsplit(' ').next())?
}

/// How much deeper than a line the next one stands.
fn deeper(line: &str) -> isize {
    line.matches('{').count() as isize - line.matches('}').count() as isize
}

/// Whether a line begins the steps of a loop of the program.
fn begins_steps(line: &str) -> bool {
    let line = line.trim_start();
    let is_counted = line.starts_with("for ") && (line.contains(" step ") || line.contains(" passed "));
    line.ends_with('{') && (is_counted || line.starts_with("for (;;)") || line == "loop {")
}

/// The lines of source in C, OpenCL C or Rust that run in steps of loops: those in the loops, and those of the functions
/// that they call.
fn in_steps(source: &str) -> Vec<&str> {
    let mut bodies: HashMap<&str, Vec<&str>> = HashMap::new();
    let (mut name, mut found) = ("", Vec::new());
    // The depth of the outermost loop that a line is in, and of work done once in thousands of steps.
    let (mut depth, mut steps, mut rare) = (0, None, None);
    for line in source.lines() {
        name = head(line).unwrap_or(name);
        bodies.entry(name).or_default().push(line);
        let is_rare =
            ["if (step - first == ", "if step - first == "].iter().any(|begin| line.trim().starts_with(begin));
        match (steps, rare) {
            (None, _) if begins_steps(line) => steps = Some(depth),
            (Some(_), None) if is_rare => rare = Some(depth),
            (Some(_), None) => found.push(line),
            _ => {}
        }
        depth += deeper(line);
        rare = rare.filter(|&before| depth > before);
        steps = steps.filter(|&before| depth > before);
    }
    let mut known: HashSet<&str> = HashSet::new();
    let mut at = 0;
    while let Some(&line) = found.get(at) {
        for (name, body) in &bodies {
            // Lines before the first function have no name.
            if !name.is_empty() && line.contains(&format!("{name}(")) && known.insert(name) {
                found.extend(body);
            }
        }
        at += 1;
    }
    found
}

/// Whether a line goes over many elements, copies or fills them.
fn goes_over_many(line: &str) -> bool {
    let goes_over = line.trim_start().starts_with("for ");
    let moves = ["memcpy(", "copy_from_slice(", ".fill("].iter().any(|word| line.contains(word));
    let mut numbers = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter_map(|word| word.parse().ok());
    (goes_over || moves) && numbers.any(|number: usize| number >= MANY)
}

/// The source of a program in all languages.
fn sources(program: export::Program) -> [(&'static str, String); 3] {
    let c = export::c(program.clone()).unwrap().source;
    let opencl = export::opencl(program.clone()).unwrap().kernels;
    [("C", c), ("OpenCL C", opencl), ("Rust", export::rust(program).unwrap())]
}

macro_rules! assert_exported_in_place {
    ($($f:ident),*) => {
        let x = Vector::from(vec![0.5; EXPORTED]);
        $(
            let program = stage(|x| $f(x, 64), &x).unwrap();
            let gradient = stage(|x| $f(x, 64).sum(), &x).unwrap().value_and_grad().unwrap();
            for (language, source) in sources((&program).into()).into_iter().chain(sources((&gradient).into())) {
                let lines = in_steps(&source);
                let found: Vec<&&str> = lines.iter().filter(|line| goes_over_many(line)).collect();
                assert!(!lines.is_empty(), "{} in {language} has no steps\n{source}", stringify!($f));
                assert!(found.is_empty(), "{} in {language}: {found:#?}\n{source}", stringify!($f));
            }
        )*
    };
}

#[test]
fn exported_loops_write_arrays_where_they_are() {
    assert_exported_in_place!(folded, additions, scanned, iterated, in_rows, in_columns, in_planes, in_ranges);
}

#[test]
fn exported_loops_in_loops_choices_and_maps_write_arrays_where_they_are() {
    assert_exported_in_place!(conditionally, loop_in_loop, up_to_a_bound, built, mapped, reads_in_while_loops);
}

#[test]
fn exported_loops_with_conditions_and_checkpoints_write_arrays_where_they_are() {
    assert_exported_in_place!(with_condition, with_checkpoints);
}

/// The scan of the source sees steps that go over everything.
#[test]
fn exported_steps_that_go_over_all_elements_are_found() {
    type Program = fn(&V<Staged>) -> V<Staged>;
    let programs: [(&str, Program); 3] = [
        ("counted", |x| iterate(x.clone(), 64, |x| x.sin())),
        ("in a loop", |x| iterate(x.clone(), 64, |x| iterate(x, 3, |x| x.sin() * x.sum()))),
        ("while", |x| while_loop((x.clone(), scalar(0i64)), |(_, k)| k.lt(9), |(x, k)| (x.sin(), k + 1)).0),
    ];
    for (name, program) in programs {
        let staged = stage(program, &Vector::from(vec![0.5; EXPORTED])).unwrap();
        for (language, source) in sources((&staged).into()) {
            let found = in_steps(&source).into_iter().any(goes_over_many);
            assert!(found, "{name} in {language}\n{source}");
        }
    }
}

/// The elements of the last tensor type of a line.
fn elements(line: &str) -> usize {
    let ty = line.rsplit_once("tensor<").and_then(|(_, ty)| ty.split_once('>')).map_or("", |(ty, _)| ty);
    ty.split('x').filter_map(|extent| extent.parse::<usize>().ok()).product()
}

/// The operations in bodies of `while` whose results are as large as a carried array, except for writes, loops, and reshapes,
/// which move nothing; and the number of writes.
fn large_in_bodies(module: &str) -> (Vec<&str>, usize) {
    let (mut blocks, mut found, mut writes): (Vec<bool>, Vec<&str>, usize) = (Vec::new(), Vec::new(), 0);
    for line in module.lines().map(str::trim) {
        if blocks.contains(&true) && line.contains(" = ") {
            let is = |name: &str| line.contains(&format!("stablehlo.{name}"));
            if is("scatter") || is("dynamic_update_slice") {
                writes += 1;
            } else if !is("while") && !is("reshape") && elements(line) >= MANY {
                found.push(line);
            }
        }
        // A line `} do {` ends one block and begins another.
        for brace in line.chars() {
            match brace {
                '{' => blocks.push(line.ends_with("do {")),
                '}' => drop(blocks.pop()),
                _ => {}
            }
        }
    }
    (found, writes)
}

macro_rules! written_in_place_by_xla {
    ($($f:ident),*) => {
        let x = Vector::from(vec![0.5; EXPORTED]);
        $(
            let program = stage(|x| $f(x, 64), &x).unwrap();
            let gradient = stage(|x| $f(x, 64).sum(), &x).unwrap().value_and_grad().unwrap();
            // A write forwards; backwards elements are cleared and added to.
            for (module, least) in [(export::stablehlo(&program), 1), (export::stablehlo(&gradient), 3)] {
                let module = module.unwrap();
                let (found, writes) = large_in_bodies(&module);
                assert!(writes >= least, "{}: {writes} writes\n{module}", stringify!($f));
                assert!(found.is_empty(), "{}: {found:#?}\n{module}", stringify!($f));
            }
        )*
    };
}

/// XLA updates the operand of a scatter, or of a `dynamic_update_slice`, where it is.
#[test]
fn stablehlo_bodies_of_loops_that_write_compute_no_whole_array() {
    written_in_place_by_xla!(folded, additions, in_rows, loop_in_loop, conditionally, up_to_a_bound);
    written_in_place_by_xla!(in_columns, in_planes, built, mapped, in_ranges);
}

#[test]
fn stablehlo_bodies_that_compute_whole_arrays_are_found() {
    let staged =
        stage(|x: &V<Staged>| iterate(x.clone(), 64, |x| x.sin()), &Vector::from(vec![0.5; EXPORTED])).unwrap();
    let module = export::stablehlo(&staged).unwrap();
    let (found, writes) = large_in_bodies(&module);
    assert!(found.iter().any(|line| line.contains("sine")), "{found:#?}\n{module}");
    assert_eq!(writes, 0, "{module}");
}
