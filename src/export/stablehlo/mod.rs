//! Programs as StableHLO modules, the text that XLA, JAX, IREE and their relatives take.

mod body;
mod dialect;
mod elementwise;
mod indexing;
mod loops;
mod matrix;
mod operations;
mod sweeps;
mod views;
mod writer;

use crate::error::{Error, Result};
use crate::export::Program;
use crate::export::names::Identifiers;
use writer::{Handle, ModuleWriter, list, tensor};

/// The error for an operation that can't be expressed.
fn problem(operation: &str, problem: impl Into<String>) -> Error {
    Error::Export { target: "StableHLO", operation: operation.into(), problem: problem.into() }
}

/// The program as a StableHLO module: the text of one function, `@main`.
///
/// The function takes the program's parameters, in their order and by their names, and returns its results, whose names are in
/// a comment. Types are those of the program, with `i1` for booleans. The meaning is the program's: reads outside are 0, and
/// integer division and saturating casts work as here. A few functions, as the error function, are operations of the dialect
/// CHLO, which the StableHLO project defines too, and which its consumers expand.
///
/// ```
/// use deltaray::prelude::*;
///
/// let square = stage(|x: &Vector<_, f64>| (x * x).sum(), &Vector::from(vec![1.0, 2.0, 3.0]))?;
/// let module = deltaray::export::stablehlo(&square)?;
/// assert!(module.contains("stablehlo.dot_general"));
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Export`] where a read moves through more positions than 64 bits count, a parameter or constant is
/// [too large](crate::shape::Type::check_size), or there are more nodes in nested bodies than
/// [`MAX_NESTED_NODES`](crate::term::MAX_NESTED_NODES).
pub fn stablehlo(program: impl Into<Program>) -> Result<String> {
    let program = program.into();
    if let Err(problem) = program.body.validate_given() {
        return Err(Error::Export { target: "StableHLO", operation: "export".into(), problem });
    }
    let mut names = Identifiers::default();
    let arguments: Vec<Handle> = (0..program.body.arity())
        .map(|position| {
            let name = program.parameters.get(position).filter(|name| !name.is_empty());
            let name = names.choose(&name.cloned().unwrap_or_else(|| format!("p{position}")));
            Handle::new(&format!("%{name}"), program.body.parameter_type(position).clone())
        })
        .collect();
    let results: Vec<String> = program.body.result_types().map(tensor).collect();
    let mut writer = ModuleWriter::default();
    let name = if program.name.is_empty() { "program" } else { &program.name };
    writer.line(&format!("module @{} {{", Identifiers::default().choose(name)));
    writer.indented(|writer| -> Result<()> {
        for (position, name) in program.results.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            writer.line(&format!("// Result {position}: {}", name.escape_default()));
        }
        let parameters = list(&arguments, |argument| format!("{}: {}", argument.name, tensor(&argument.ty)));
        writer.line(&format!("func.func public @main({parameters}) -> ({}) {{", results.join(", ")));
        writer.indented(|writer| -> Result<()> {
            let returned = body::body(writer, &program.body, &arguments)?;
            match returned.is_empty() {
                true => writer.line("return"),
                false => {
                    let names = list(&returned, |value| value.name.to_string());
                    writer.line(&format!("return {names} : {}", results.join(", ")));
                }
            }
            Ok(())
        })?;
        writer.line("}");
        Ok(())
    })?;
    writer.line("}");
    Ok(writer.finish())
}

#[cfg(test)]
mod tests;
