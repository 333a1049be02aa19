//! A tool for GradBench, which compares systems for automatic differentiation: it reads messages, one JSON object a line, and
//! answers each of them. All twelve modules are here, a file each; functions that the ADBench example runs too are in
//! `examples/objectives`.
//!
//! ```text
//! cargo run --release --example gradbench                  # the tool
//! cargo run --release --example gradbench -- --print gmm   # a module's programs, for small inputs
//! ```

mod ba;
mod descent;
mod det;
mod gmm;
mod hello;
mod ht;
mod kmeans;
mod llsq;
mod lse;
mod lstm;
#[path = "../objectives/mod.rs"]
mod objectives;
mod ode;
mod particle;
mod protocol;
mod saddle;
#[cfg(test)]
mod tests;

use protocol::{Answer, Evaluation, Message, Programs};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};

/// A module: how it evaluates its functions, and how it prints its programs for small inputs.
struct Module {
    name: &'static str,
    evaluate: fn(&mut Evaluation, &str, Value) -> Answer,
    print: fn() -> deltaray::Result<String>,
}

macro_rules! modules {
    ($($name:ident)*) => {
        &[$(Module { name: stringify!($name), evaluate: $name::evaluate, print: $name::print }),*]
    };
}

const MODULES: &[Module] = modules! { ba det gmm hello ht kmeans llsq lse lstm ode particle saddle };

fn module(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.name == name)
}

/// The answer to a message, without its number.
fn answer(message: Message, programs: &mut Programs) -> Value {
    match message.kind.as_str() {
        "start" => json!({ "tool": "deltaray" }),
        "define" => match module(&message.module) {
            Some(_) => json!({ "success": true }),
            None => json!({ "success": false, "error": format!("there is no module `{}`", message.module) }),
        },
        "evaluate" => {
            let mut evaluation = Evaluation::new(&message, programs);
            let output = match module(&message.module) {
                Some(module) => (module.evaluate)(&mut evaluation, &message.function, message.input),
                None => Err(format!("there is no module `{}`", message.module).into()),
            };
            match output {
                Ok(output) => json!({ "success": true, "output": output, "timings": evaluation.timings }),
                Err(error) => json!({ "success": false, "error": error.to_string() }),
            }
        }
        _ => json!({}),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--print", name] => {
            let module = module(name).ok_or_else(|| format!("there is no module `{name}`"))?;
            println!("{}", (module.print)()?);
            return Ok(());
        }
        _ => return Err("usage: gradbench [--print MODULE]".into()),
    }
    let mut programs = Programs::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Message = serde_json::from_str(&line?)?;
        let id = message.id;
        let mut answer = answer(message, &mut programs);
        answer["id"] = json!(id);
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
