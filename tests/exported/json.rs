//! Programs as JSON: read back they are the same program, and the same JSON.

use super::Case;
use super::text::{marked, same};
use deltaray::concrete::Array;
use deltaray::export::{self, Program};
use deltaray::term::{Body, Extension, Op};

/// Whether a body has constants that are compared by address, and so never equal those of another program.
fn has_large_constants<X: Extension>(body: &Body<X>) -> bool {
    let is_large = |array: &Array| array.uniform().is_none() && array.size() > 64;
    body.nodes().iter().any(|node| match &node.op {
        Op::Constant(array) => is_large(array),
        Op::Scan(scan) => has_large_constants(&scan.body),
        Op::Branch(branch) => has_large_constants(&branch.then) || has_large_constants(&branch.otherwise),
        Op::Sweeps(sweeps) => sweeps.bodies().any(|body| has_large_constants(body)),
        Op::Custom(custom) => custom.bodies().any(|body| has_large_constants(body)),
        Op::Extra(extra) => has_large_constants(&extra.as_build().body),
        _ => false,
    })
}

fn check<X: Extension>(name: &str, written: &Program<X>, read: &Program<X>) -> bool {
    let comparable = !has_large_constants(&written.body);
    assert!(!comparable || read == written, "{name}: {read} instead of {written}");
    comparable
}

/// Writes the programs, and their sources, as JSON, and reads them back.
pub fn come_back<'a>(cases: impl Iterator<Item = &'a Case>) {
    let (mut programs, mut compared, mut bytes) = (0, 0, 0);
    for case in cases {
        let json = export::json(&case.program);
        let read = export::from_json(&json).unwrap_or_else(|error| panic!("{}: {error}\n{json}", case.name));
        compared += usize::from(check(&case.name, &case.program, &read));
        assert_eq!(export::json(&read), json, "{}", case.name);
        let results = read.interpret(&case.inputs).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(same(&results, &case.expected), "{}: {results:?} instead of {:?}", case.name, case.expected);
        (programs, bytes) = (programs + 1, bytes + json.len());
        if let Some(source) = &case.source {
            let json = export::json_source(source);
            let read = export::from_json_source(&json).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            compared += usize::from(check(&case.name, source, &read));
            assert_eq!(export::json_source(&read), json, "{}", case.name);
            (programs, bytes) = (programs + 1, bytes + json.len());
        }
        if let Some(program) = marked(case) {
            let json = export::json(&program);
            let read = export::from_json(&json).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            compared += usize::from(check(&case.name, &program, &read));
            assert_eq!(export::json(&read), json, "{}", case.name);
            programs += 1;
        }
    }
    println!("{programs} programs, {compared} of them compared node by node, {bytes} bytes of JSON");
    assert!(compared > 0);
}
