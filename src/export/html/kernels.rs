//! The last stage: buffers, and the kernels that fill them.

use super::links::matches;
use super::seen::Seen;
use super::stage::{LineKind, Stage, StageLine};
use crate::array::Array;
use crate::engine::report;
use crate::kernel::{BufferId, LoweredProgram, Procedure, Step, lower_traced};
use crate::prepare::prepared;
use crate::shape::Type;
use crate::simplify::TableLimits;
use crate::term::print::{Printer, TextPiece};
use crate::term::{Body, NodeId, Steps};
use std::collections::HashMap;

/// A node's line is linked to no more kernels than this.
const LINKED: usize = 12;

/// The kernels of a program, to which the lines of the stage before are linked.
pub(super) fn stage(
    body: &Body,
    parameters: &[String],
    inputs: &Option<Vec<Array>>,
    before: &mut Stage,
    seen: &Seen,
) -> Stage {
    let LoweredProgram { procedure, body: lowered, buffers } =
        prepared(body, TableLimits::MEMORY, lower_traced).expect("a program of this library's passes");
    let mut writer = KernelListing { lines: Vec::new() };
    let mut parameter_lines: Vec<usize> = Vec::new();
    for (at, buffer) in procedure.buffers[..procedure.parameters].iter().enumerate() {
        let name = parameters.get(at).cloned().unwrap_or_default();
        let (bytes, pieces) = (bytes(&buffer.ty), vec![TextPiece::Text(format!("parameter {name}"))]);
        let line = StageLine { bytes: Some(bytes), ..StageLine::plain(LineKind::Buffer, 0, pieces) };
        parameter_lines.push(writer.lines.len());
        writer.lines.push(StageLine { name: format!("b{at}"), types: buffer.ty.to_string(), ..line });
    }
    let steps = writer.procedure(&procedure, 0, 1.0);
    let results = format!("({})", list(&procedure.results));
    writer.lines.push(StageLine::plain(LineKind::Result, 0, vec![TextPiece::Text(results)]));
    let filled = FillLines { procedure: &procedure, steps: &steps, parameters: &parameter_lines };
    let kernels_of = filled.lines(&lowered, |id| buffers.get(id));
    // The program that was lowered has nodes of the stage before, and others; it is not shown.
    let lowered = lowered.widen();
    let hidden = Printer::new(&lowered).listing(false);
    let lowered = Seen::of(&lowered, &hidden, inputs);
    for (line, same) in before.lines.iter_mut().zip(matches(seen, &lowered)) {
        if line.kind != LineKind::Node {
            continue;
        }
        let nodes = same.into_iter().filter_map(|at| hidden[at].node.filter(|_| hidden[at].owner.is_none()));
        let mut links: Vec<usize> = nodes.flat_map(|(_, id)| kernels_of[id as usize].iter().copied()).collect();
        links.sort_unstable();
        links.dedup();
        links.truncate(LINKED);
        line.links = links;
    }
    let (mut operations, mut moved) = (0.0, 0.0);
    for kernel in report::kernels(&procedure, 1.0, &mut || None) {
        operations += kernel.operations;
        moved += kernel.bytes;
    }
    Stage {
        title: "Kernels",
        about: "loop nests and products, as an engine runs them",
        nodes: None,
        kernels: Some(procedure.kernels()),
        operations,
        bytes: moved,
        lines: writer.lines,
    }
}

fn bytes(ty: &Type) -> f64 {
    ty.size() as f64 * ty.dtype.bytes() as f64
}

/// The lines that fill buffers.
struct FillLines<'a> {
    procedure: &'a Procedure,
    /// The lines of the steps.
    steps: &'a [usize],
    /// The buffers of the parameters.
    parameters: &'a [usize],
}

impl FillLines<'_> {
    /// For each node the lines of the steps that fill its buffer. A node without a buffer is computed where it is needed: its
    /// lines are those of its users.
    fn lines(&self, body: &Body, buffer: impl Fn(NodeId) -> Option<BufferId>) -> Vec<Vec<usize>> {
        let mut filling: HashMap<BufferId, Vec<usize>> = HashMap::new();
        for (step, &line) in self.procedure.steps.iter().zip(self.steps) {
            for id in step.touched().1 {
                filling.entry(self.procedure.origin(id)).or_default().push(line);
            }
        }
        for (at, &line) in self.parameters.iter().enumerate() {
            filling.insert(at as BufferId, vec![line]);
        }
        let mut lines: Vec<Vec<usize>> = vec![Vec::new(); body.nodes.len()];
        for (at, node) in body.nodes.iter().enumerate().rev() {
            let stored = buffer(at as NodeId).and_then(|id| filling.get(&self.procedure.origin(id)));
            if let Some(stored) = stored {
                lines[at] = stored.clone();
            }
            lines[at].sort_unstable();
            lines[at].dedup();
            lines[at].truncate(LINKED);
            for &arg in &node.args {
                let users = lines[at].clone();
                lines[arg as usize].extend(users);
            }
        }
        lines
    }
}

struct KernelListing {
    lines: Vec<StageLine>,
}

impl KernelListing {
    fn heading(&mut self, depth: usize, text: String) {
        self.lines.push(StageLine::plain(LineKind::Heading, depth, vec![TextPiece::Text(text)]));
    }

    /// The steps of a procedure that runs so many times. Gives their lines. The recursion is as deep as bodies are nested.
    fn procedure(&mut self, procedure: &Procedure, depth: usize, times: f64) -> Vec<usize> {
        procedure.steps.iter().map(|step| self.step(procedure, step, depth, times)).collect()
    }

    fn step(&mut self, procedure: &Procedure, step: &Step, depth: usize, times: f64) -> usize {
        let line = self.lines.len();
        let kind = if depth == 0 { LineKind::Kernel } else { LineKind::InnerKernel };
        if let Some((name, operations, bytes)) = report::step(procedure, step) {
            let (buffers, types) = filled(procedure, step);
            // A nest's name says it too.
            let name = name.replace(&format!(" -> {buffers}"), "");
            self.lines.push(StageLine {
                name: buffers,
                types,
                operations: Some(operations * times),
                bytes: Some(bytes * times),
                detail: detail(step),
                ..StageLine::plain(kind, depth, vec![TextPiece::Text(name)])
            });
            if let Step::Blocks(blocks) = step {
                let blocks_of = blocks.extent as f64 / blocks.rows as f64;
                self.procedure(&blocks.procedure, depth + 1, times * blocks_of);
            }
            return line;
        }
        let (name, types) = filled(procedure, step);
        let head = match step {
            Step::Loop(repeated) => format!("loop {} of ({})", repeated.scan.length, list(&repeated.arguments)),
            Step::Branch(branch) => format!("if b{} of ({})", branch.condition, list(&branch.arguments)),
            Step::Sweeps(sweeps) => match sweeps.sweeps.steps {
                Steps::Count(count) => format!("sweeps {count} of ({})", list(&sweeps.arguments)),
                Steps::While(_) => format!("sweeps while a condition holds, of ({})", list(&sweeps.arguments)),
            },
            Step::Nest(_) | Step::Product(_) | Step::First(_) | Step::Call(_) | Step::Blocks(_) => {
                unreachable!("a kernel")
            }
        };
        self.lines.push(StageLine { name, types, ..StageLine::plain(kind, depth, vec![TextPiece::Text(head)]) });
        match step {
            Step::Loop(repeated) => {
                self.procedure(&repeated.step, depth + 1, times * repeated.scan.length as f64);
            }
            Step::Branch(branch) => {
                self.procedure(&branch.then, depth + 1, times);
                self.heading(depth, "else".into());
                self.procedure(&branch.otherwise, depth + 1, times);
            }
            Step::Sweeps(sweeps) => {
                let times = match sweeps.sweeps.steps {
                    Steps::Count(count) => times * count as f64,
                    Steps::While(_) => times,
                };
                if let Some(condition) = &sweeps.condition {
                    self.heading(depth, "while".into());
                    self.procedure(condition, depth + 1, times);
                }
                for (at, body) in sweeps.bodies.iter().enumerate() {
                    self.heading(depth, if at % 2 == 0 { "forwards".into() } else { "backwards".into() });
                    self.procedure(body, depth + 1, times);
                }
            }
            _ => {}
        }
        let inner = || self.lines[line + 1..].iter().filter(|inner| inner.depth == depth + 1);
        let operations = inner().filter_map(|inner| inner.operations).sum();
        let bytes = inner().filter_map(|inner| inner.bytes).sum();
        self.lines[line].operations = Some(operations);
        self.lines[line].bytes = Some(bytes);
        line
    }
}

/// The buffers that a step fills, and their types.
fn filled(procedure: &Procedure, step: &Step) -> (String, String) {
    let (_, mut filled) = step.touched();
    filled.dedup();
    let types: Vec<String> = filled.iter().map(|&id| procedure.buffers[id as usize].ty.to_string()).collect();
    (list(&filled), types.join(", "))
}

/// The names of buffers.
fn list(buffers: &[BufferId]) -> String {
    let names: Vec<String> = buffers.iter().map(|id| format!("b{id}")).collect();
    names.join(", ")
}

/// The loops and operations of a nest.
fn detail(step: &Step) -> String {
    match step {
        Step::Nest(nest) => {
            let text = nest.to_string();
            let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            let text = lines.join("\n");
            if nest.extents.is_empty() { text.replacen("for :", "once:", 1) } else { text }
        }
        Step::Product(product) => {
            format!("b{} = b{} · b{}", product.result.buffer, product.left.buffer, product.right.buffer)
        }
        _ => String::new(),
    }
}
