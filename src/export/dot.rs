//! Programs as pictures: graphs in Graphviz's language.

use super::Program;
use crate::array::Array;
use crate::operation::Binary;
use crate::shape::{Type, Value};
use crate::term::{Body, Op, Steps, print};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Up to how many elements of a constant are shown.
const SHOWN: usize = 6;

/// The program as a graph in the language of Graphviz, for `dot -Tsvg`.
///
/// A node is an operation with its type; edges go from operands to operations, with the operand's position or meaning where
/// that matters. The body of a loop, a conditional or a custom rule is a cluster of its own, with dashed edges from its
/// results to the operation; a body that several operations share is drawn once.
///
/// ```
/// use deltaray::prelude::*;
///
/// let difference = stage(|x: &Vector<_, f64>| x - x.sin(), &Vector::from(vec![1.0, 2.0]))?;
/// let graph = deltaray::export::dot(&difference);
/// assert!(graph.contains(r#"b0n1 [label="sin\nf64[2]"];"#));
/// assert!(graph.contains(r#"b0n1 -> b0n2 [label="1"];"#));
/// # Ok::<(), deltaray::Error>(())
/// ```
pub fn dot(program: impl Into<Program>) -> String {
    let program = program.into();
    let mut graph = DotGraph::default();
    let name = if program.name.is_empty() { "program" } else { &program.name };
    graph.line(&format!("digraph {} {{", quoted(name)));
    graph.indentation += 1;
    graph.line("node [shape=box, fontname=monospace];");
    graph.line("edge [fontname=monospace];");
    let chosen = |names: &[String], position: usize, otherwise: &str| match names.get(position) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("{otherwise} {position}"),
    };
    let roles = Roles {
        parameters: (0..program.body.arity()).map(|at| chosen(&program.parameters, at, "parameter")).collect(),
        results: (0..program.body.results.len()).map(|at| chosen(&program.results, at, "result")).collect(),
    };
    graph.body(&program.body, &roles);
    graph.indentation -= 1;
    graph.line("}");
    graph.text
}

/// The roles of a body's parameters and results.
struct Roles {
    parameters: Vec<String>,
    results: Vec<String>,
}

/// A count with the name of the things counted.
fn numbered(kind: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |at| format!("{kind} {at}"))
}

/// The bodies of an operation, with their roles, in the order of [`Op::bodies`].
fn nested(op: &Op) -> Vec<(String, Roles)> {
    match op {
        Op::Scan(scan) => {
            let parameters = numbered("carry", scan.carries).chain(numbered("slice", scan.inputs));
            let outputs = scan.body.results.len() - scan.carries;
            vec![(
                format!("step, {} times{}", scan.length, if scan.reverse { " from the last" } else { "" }),
                Roles {
                    parameters: parameters.chain(numbered("capture", scan.body.captures)).collect(),
                    results: numbered("carry", scan.carries).chain(numbered("slice", outputs)).collect(),
                },
            )]
        }
        Op::Branch(branch) => {
            let roles = |body: &Body| Roles {
                parameters: numbered("capture", body.arity()).collect(),
                results: numbered("result", body.results.len()).collect(),
            };
            vec![("true".into(), roles(&branch.then)), ("false".into(), roles(&branch.otherwise))]
        }
        Op::Sweeps(sweeps) => {
            let mut bodies = Vec::new();
            let times = match &sweeps.steps {
                Steps::Count(count) => format!("{count} times"),
                Steps::While(condition) => {
                    let captures = numbered("capture", condition.captures);
                    let parameters = numbered("carry", condition.parameters).chain(captures).collect();
                    bodies.push(("condition".into(), Roles { parameters, results: vec!["goes on".into()] }));
                    "while that holds".into()
                }
            };
            for (at, sweep) in sweeps.sweeps.iter().enumerate() {
                let kept = sweep.reads.iter().map(|(from, kept)| format!("kept {kept} of sweep {from}"));
                let parameters = numbered("carry", sweep.carries).chain(numbered("slice", sweep.inputs)).chain(kept);
                let results = numbered("carry", sweep.carries).chain(numbered("kept", sweep.keeps));
                let roles = Roles {
                    parameters: parameters.chain(numbered("capture", sweep.body.captures)).collect(),
                    results: results.chain(numbered("slice", sweep.outputs())).collect(),
                };
                bodies.push((format!("sweep {at}, {times}"), roles));
            }
            bodies
        }
        Op::Custom(custom) => {
            let roles = |body: &Body| Roles {
                parameters: numbered("parameter", body.arity()).collect(),
                results: numbered("result", body.results.len()).collect(),
            };
            let rules = [("vjp rule", &custom.vjp), ("jvp rule", &custom.jvp)];
            let rules = rules.into_iter().filter_map(|(name, rule)| Some((name.into(), roles(rule.as_ref()?))));
            std::iter::once(("value".into(), roles(&custom.value))).chain(rules).collect()
        }
        _ => Vec::new(),
    }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            // No text of a graph holds a NUL, and other control characters are invisible.
            control if control.is_control() => quoted.push(char::REPLACEMENT_CHARACTER),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

fn number(value: Value) -> String {
    match value {
        Value::F32(x) => format!("{x:?}"),
        Value::F64(x) => format!("{x:?}"),
        Value::I32(x) => x.to_string(),
        Value::I64(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
    }
}

/// The elements of a constant, where they are few or equal.
fn elements(array: &Array) -> String {
    if let Some(value) = array.uniform() {
        return number(value);
    }
    match array.size() {
        count if count <= SHOWN => {
            let elements: Vec<String> = (0..count).map(|at| number(array.element(at))).collect();
            format!("[{}]", elements.join(", "))
        }
        _ => "constant".into(),
    }
}

/// The name of an operation, with its attributes.
fn description(op: &Op) -> String {
    let name = print::name(op);
    match op {
        Op::Constant(array) => elements(array),
        Op::Unary(unary) => unary.parameter().map_or(name.clone(), |parameter| format!("{name} {parameter}")),
        Op::View(map) | Op::Accumulate(map) => format!("{name}\n{map}"),
        Op::Contract(spec) => {
            let letters = |labels: &[u8]| labels.iter().map(|&label| format!("i{label}")).collect::<Vec<_>>().join(" ");
            format!("{name}\n{}, {} -> {}", letters(&spec.left), letters(&spec.right), letters(&spec.result))
        }
        Op::Output(position) => format!("{name} {position}"),
        op => print::head(op),
    }
}

/// The role of an operand in an operation whose operands differ in role.
fn operand(op: &Op, position: usize, operands: usize) -> Option<String> {
    let indexed = |first: &str| match position {
        0 => first.to_string(),
        _ => format!("index {}", position - 1),
    };
    match op {
        _ if operands < 2 && !op.is_multiple() => None,
        Op::Binary(
            Binary::Add
            | Binary::Mul
            | Binary::Hypot
            | Binary::LogAddExp
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::BitAnd
            | Binary::BitOr
            | Binary::BitXor,
        ) => None,
        Op::Select => Some(["mask", "yes", "no"][position].into()),
        Op::Gather => Some(indexed("array")),
        Op::Scatter(_) => Some(indexed("updates")),
        Op::ScatterSet => Some(match position {
            0 => "target".into(),
            1 => "updates".into(),
            _ => format!("index {}", position - 2),
        }),
        Op::Branch(_) => Some(match position {
            0 => "condition".into(),
            _ => format!("capture {}", position - 1),
        }),
        Op::Scan(scan) => Some(match position {
            at if at < scan.carries => format!("carry {at}"),
            at if at < scan.carries + scan.inputs => format!("input {}", at - scan.carries),
            at => format!("capture {}", at - scan.carries - scan.inputs),
        }),
        Op::Sweeps(sweeps) => {
            let mut at = position;
            for (number, sweep) in sweeps.sweeps.iter().enumerate() {
                for (kind, count) in [("carry", sweep.carries), ("input", sweep.inputs)] {
                    if at < count {
                        return Some(format!("{kind} {at} of sweep {number}"));
                    }
                    at -= count;
                }
            }
            Some(format!("capture {at}"))
        }
        _ => Some(position.to_string()),
    }
}

#[derive(Default)]
struct DotGraph {
    text: String,
    indentation: usize,
    bodies: usize,
    /// The numbers of nested bodies that are drawn, which stay where they are while the program is there.
    drawn: HashMap<*const Body, usize>,
}

impl DotGraph {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 2 * self.indentation);
    }

    fn node(&mut self, name: &str, label: &str, attributes: &str) {
        self.line(&format!("{name} [label={}{attributes}];", quoted(label)));
    }

    /// Draws a body where the graph is, and results in its number.
    fn body(&mut self, body: &Body, roles: &Roles) -> usize {
        let number = self.bodies;
        self.bodies += 1;
        for (at, node) in body.nodes.iter().enumerate() {
            let name = format!("b{number}n{at}");
            let types: Vec<String> = node.types.iter().map(Type::to_string).collect();
            let types = types.join(", ");
            match &node.op {
                Op::Parameter(position) => {
                    self.node(&name, &format!("{}\n{types}", roles.parameters[*position]), ", shape=ellipse")
                }
                op => self.node(&name, &format!("{}\n{types}", description(op)), ""),
            }
            for (position, arg) in node.args.iter().enumerate() {
                let label = operand(&node.op, position, node.args.len());
                let label = label.map_or(String::new(), |label| format!(" [label={}]", quoted(&label)));
                self.line(&format!("b{number}n{arg} -> {name}{label};"));
            }
            for (nested, (kind, roles)) in node.op.bodies().into_iter().zip(nested(&node.op)) {
                self.nested(&name, nested, &kind, &roles);
            }
        }
        for (position, result) in body.results.iter().enumerate() {
            let name = format!("b{number}r{position}");
            self.node(&name, &roles.results[position], ", shape=ellipse, style=bold");
            self.line(&format!("b{number}n{result} -> {name};"));
        }
        number
    }

    /// Draws a body of an operation, unless it is there already, and connects them.
    fn nested(&mut self, operation: &str, body: &Arc<Body>, kind: &str, roles: &Roles) {
        let number = match self.drawn.get(&Arc::as_ptr(body)) {
            Some(&number) => number,
            None => {
                self.line(&format!("subgraph cluster_{} {{", self.bodies));
                self.indentation += 1;
                self.line(&format!("label={};", quoted(kind)));
                let number = self.body(body, roles);
                self.indentation -= 1;
                self.line("}");
                self.drawn.insert(Arc::as_ptr(body), number);
                number
            }
        };
        for position in 0..body.results.len() {
            self.line(&format!("b{number}r{position} -> {operation} [style=dashed, label={}];", quoted(kind)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{dot, quoted};
    use crate::export::Program;
    use crate::prelude::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a\"b\\c\nd λ"), r#""a\"b\\c\nd λ""#);
    }

    #[test]
    fn bodies_are_clusters() -> crate::Result<()> {
        let function = stage(|x: &Scalar<_, f64>| iterate(x.clone(), 3, |y| y.sin() * x), &Scalar::from(0.5))?;
        let mut program = Program::from(&function);
        program.name = "a \"loop\"".into();
        program.parameters = vec!["x".into()];
        let expected = r#"
digraph "a \"loop\"" {
  node [shape=box, fontname=monospace];
  edge [fontname=monospace];
  b0n0 [label="x\nf64", shape=ellipse];
  b0n1 [label="scan\nf64"];
  b0n0 -> b0n1 [label="carry 0"];
  b0n0 -> b0n1 [label="capture 0"];
  subgraph cluster_1 {
    label="step, 3 times";
    b1n0 [label="carry 0\nf64", shape=ellipse];
    b1n1 [label="capture 0\nf64", shape=ellipse];
    b1n2 [label="sin\nf64"];
    b1n0 -> b1n2;
    b1n3 [label="mul\nf64"];
    b1n2 -> b1n3;
    b1n1 -> b1n3;
    b1r0 [label="carry 0", shape=ellipse, style=bold];
    b1n3 -> b1r0;
  }
  b1r0 -> b0n1 [style=dashed, label="step, 3 times"];
  b0n2 [label="output 0\nf64"];
  b0n1 -> b0n2;
  b0r0 [label="result 0", shape=ellipse, style=bold];
  b0n2 -> b0r0;
}
"#;
        assert_eq!(dot(program).trim(), expected.trim());
        Ok(())
    }
}
