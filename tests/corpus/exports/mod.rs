//! Exported programs: those of every row of the corpus, and those of its values and cotangents, through every exporter, run
//! there, and compared with the interpreter.
//!
//! `DELTARAY_ROW` exports the rows whose names contain a word.

mod casadi;
mod dot;
mod edges;
mod hostile;
mod html;
#[cfg(feature = "json")]
mod json;
mod opencl;
mod sources;
mod stablehlo;
mod text;

use crate::corpus::check::{stage, with_ones};
use crate::corpus::row::Row;
use crate::exported::Case;
use deltaray::concrete::Array;
use deltaray::derivative::program::{bulk, tidy, vjp};
use deltaray::export::Program;
use deltaray::term::{Body, Build};
use std::sync::OnceLock;

/// An identifier for a row's name.
fn identifier(prefix: &str, name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("{prefix}_{}", name.chars().map(legal).collect::<String>())
}

/// A program as it runs, without marks.
fn finished(body: &Body) -> Body {
    tidy(&body.without_marks())
}

fn cases(row: &Row) -> Vec<Case> {
    let source = stage(row);
    let differentiable = bulk(&source);
    let reverse = vjp(&differentiable, differentiable.arity()).expect("well-formed programs can be differentiated");
    let arguments = with_ones(row, &differentiable);
    let case =
        |name: &str, prefix: &str, source: Option<Body<Build>>, body: Body, inputs: Vec<Array>, defined: bool| {
            let program = Program::new(identifier(prefix, row.name), body);
            let source = source.map(|source| Program::new(program.name.clone(), source));
            Case::new(name.to_string(), source, program, inputs, defined)
        };
    let gradient = format!("gradient of {}", row.name);
    vec![
        case(row.name, "row", Some(source), finished(&differentiable), row.inputs.clone(), true),
        case(&gradient, "gradient", None, finished(&tidy(&reverse)), arguments, row.differentiable),
    ]
}

/// All programs, of the rows that were asked for.
pub fn all() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| some(1, 0))
}

/// The programs of one in so many rows of those that were asked for, the first one at this position.
pub fn some(one_in: usize, first: usize) -> Vec<Case> {
    let wanted = std::env::var("DELTARAY_ROW").unwrap_or_default();
    let rows = crate::corpus::all();
    let rows = rows.iter().filter(|row| row.name.contains(&wanted));
    rows.skip(first).step_by(one_in).flat_map(cases).collect()
}

#[test]
fn all_programs_are_prepared() {
    let start = std::time::Instant::now();
    let count = all().len();
    println!("{count} programs in {:.1} s", start.elapsed().as_secs_f64());
    assert!(count > 0);
}
