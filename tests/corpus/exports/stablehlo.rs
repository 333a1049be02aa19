//! The programs as StableHLO modules: all of them are written; `scripts/check-stablehlo` has JAX run them.

use super::all;
use super::edges;
use crate::exported::Case;
use deltaray::concrete::Array;
use deltaray::export;
use deltaray::shape::{DType, Value};
use std::fmt::Write;
use std::path::Path;

/// An array as a line: its role, its type, its extents, and its elements' bytes in hexadecimal digits.
fn line(what: &str, array: &Array) -> String {
    let extents: Vec<String> = array.shape().iter().map(usize::to_string).collect();
    let mut text = format!("{what} {} {} ", array.dtype().name(), extents.join(","));
    for at in 0..array.size() {
        let bytes = match array.element(at) {
            Value::F32(x) => x.to_le_bytes().to_vec(),
            Value::F64(x) => x.to_le_bytes().to_vec(),
            Value::I32(x) => x.to_le_bytes().to_vec(),
            Value::I64(x) => x.to_le_bytes().to_vec(),
            Value::Bool(x) => vec![u8::from(x)],
        };
        bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
    }
    text
}

/// Whether some array of the program has elements of a type.
fn has(case: &Case, dtype: DType) -> bool {
    case.program.body.nodes().iter().any(|node| node.types.iter().any(|ty| ty.dtype == dtype))
}

/// Elements beyond which an array is not written.
const MOST: usize = 1 << 20;

/// Writes the modules, inputs and results to a folder. Results of the corpus are compared relative to a program's largest,
/// results of other programs each on its own.
fn write_all(folder: &Path) {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let edges = edges::all();
    let cases = all().iter().map(|case| ("corpus", case)).chain(edges.iter().map(|case| ("edge", case)));
    for (number, (part, case)) in cases.enumerate() {
        let precision = if has(case, DType::F32) { "single" } else { "double" };
        let mut text = format!("{}\n{precision} {part}\n", case.name);
        match export::stablehlo(&case.program) {
            Ok(module) => {
                std::fs::write(folder.join(format!("{number:05}.mlir")), module).expect("modules can be written")
            }
            Err(error) => writeln!(text, "error {error}").unwrap(),
        }
        let arrays = || case.inputs.iter().map(|a| ("input", a)).chain(case.expected.iter().map(|a| ("result", a)));
        if arrays().any(|(_, array)| array.size() > MOST) {
            text.push_str("error arrays of the point are too large\n");
        } else {
            arrays().for_each(|(what, array)| writeln!(text, "{}", line(what, array)).unwrap());
        }
        std::fs::write(folder.join(format!("{number:05}.case")), text).expect("points can be written");
    }
}

#[test]
fn written() {
    let edges = edges::all();
    for case in all().iter().chain(edges) {
        // The page of the guide says that all are.
        let module = export::stablehlo(&case.program).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let results = module.lines().filter(|line| line.trim_start().starts_with("return")).count();
        assert_eq!(results, 1, "{}: one function\n{module}", case.name);
    }
    if let Ok(folder) = std::env::var("DELTARAY_STABLEHLO") {
        write_all(Path::new(&folder));
    }
}
