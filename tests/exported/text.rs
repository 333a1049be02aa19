//! Programs as text: printed, read back and printed again they are the same text, and compute the same, bit for bit.

use super::Case;
use deltaray::algebra::Algebra;
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative;
use deltaray::export::{self, Program};
use deltaray::operation::Unary;
use deltaray::term::{Body, Build, Extension, Op, interpret_source};

/// Whether arrays are the same in type and bits.
pub fn same(a: &[Array], b: &[Array]) -> bool {
    let equal = |a: &Array, b: &Array| a.ty() == b.ty() && (0..a.size()).all(|at| a.element(at) == b.element(at));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

fn check_names<X: Extension>(name: &str, written: &Program<X>, read: &Program<X>) {
    assert_eq!(written.name, read.name, "{name}");
    assert_eq!(read.parameters.len(), read.body.arity(), "{name}");
    for (at, parameter) in written.parameters.iter().enumerate().filter(|(_, parameter)| !parameter.is_empty()) {
        assert_eq!(*parameter, read.parameters[at], "{name}");
    }
    assert_eq!(written.results, read.results, "{name}");
    assert_eq!(written.body.parameters(), read.body.parameters(), "{name}");
}

/// The bulk program of a function that is differentiated by rules of its own, or has other marks for differentiation.
pub fn marked(case: &Case) -> Option<Program> {
    let source = case.source.as_ref()?;
    let has_marks = |body: &Body<Build>| {
        let mut open = vec![body];
        while let Some(body) = open.pop() {
            for node in body.nodes() {
                match &node.op {
                    Op::Custom(_) | Op::Mark | Op::Unary(Unary::StopGradient) => return true,
                    Op::Extra(build) => open.push(&build.body),
                    Op::Scan(scan) => open.push(&scan.body),
                    Op::Branch(branch) => open.extend([&*branch.then, &branch.otherwise]),
                    Op::Sweeps(sweeps) => open.extend(sweeps.bodies().map(|body| &**body)),
                    _ => {}
                }
            }
        }
        false
    };
    has_marks(&source.body).then(|| Program::new(source.name.clone(), derivative::program::bulk(&source.body)))
}

/// A program with marks for differentiation.
fn differentiable(case: &Case, program: &Program) {
    let text = export::text(program);
    let read = export::parse(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name));
    assert_eq!(export::text(&read), text, "{}", case.name);
    let results = [program, &read].map(|program| program.interpret(&case.inputs).expect("there is memory"));
    assert!(same(&results[0], &results[1]), "{}: {results:?} of\n{text}", case.name);
}

/// The exported program; results in the length of its text.
fn bulk(case: &Case) -> usize {
    let text = export::text(&case.program);
    let read = export::parse(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name));
    assert_eq!(export::text(&read), text, "{}", case.name);
    check_names(&case.name, &case.program, &read);
    let results = read.interpret(&case.inputs).unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name));
    assert!(same(&results, &case.expected), "{}: {results:?} instead of {:?} of\n{text}", case.name, case.expected);
    // Displayed text is read back too, if it is complete.
    let displayed = case.program.to_string();
    if !displayed.contains('#') {
        let read = export::parse(&displayed).unwrap_or_else(|error| panic!("{}: {error}\n{displayed}", case.name));
        assert_eq!(read.to_string(), displayed, "{}", case.name);
    }
    text.len()
}

/// Whether no array is large, so that a source program can be run element by element.
fn is_small(body: &Body<Build>) -> bool {
    body.nodes().iter().all(|node| {
        let bodies = match &node.op {
            Op::Extra(build) => vec![&build.body],
            Op::Scan(scan) => vec![&scan.body],
            Op::Branch(branch) => vec![&branch.then, &branch.otherwise],
            Op::Sweeps(sweeps) => sweeps.bodies().collect(),
            Op::Custom(custom) => custom.bodies().collect(),
            _ => Vec::new(),
        };
        node.types.iter().all(|ty| ty.size() < 1_000_000) && bodies.into_iter().all(|body| is_small(body))
    })
}

/// The program as it was written; results in the length of its text.
fn source(case: &Case, program: &Program<Build>) -> usize {
    let text = export::text_source(program);
    let read = export::parse_source(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name));
    assert_eq!(export::text_source(&read), text, "{}", case.name);
    check_names(&case.name, program, &read);
    let run = |program: &Program<Build>| {
        let inputs = case.inputs.iter().cloned().map(Concrete::constant).collect();
        interpret_source::<Concrete>(&program.body, inputs)
    };
    if is_small(&program.body) {
        let (expected, found) = (run(program), run(&read));
        assert!(same(&found, &expected), "{}: {found:?} instead of {expected:?} of\n{text}", case.name);
    }
    text.len()
}

/// Prints the programs, and their sources, and reads them back.
pub fn are_read_back<'a>(cases: impl Iterator<Item = &'a Case>) {
    let (mut bulks, mut sources, mut marks, mut bytes) = (0, 0, 0, 0);
    for case in cases {
        bytes += bulk(case);
        bulks += 1;
        if let Some(program) = &case.source {
            bytes += source(case, program);
            sources += 1;
            if let Some(program) = marked(case) {
                differentiable(case, &program);
                marks += 1;
            }
        }
    }
    println!("{bulks} bulk programs, {marks} with marks, {sources} source programs, {bytes} bytes of text");
    assert!(bulks > 0 && sources > 0);
}
