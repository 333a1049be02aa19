//! Procedures as text, for people.

use crate::kernel::access::{Affine, Guards};
use crate::kernel::nest::{Nest, NestValue, StoreMode};
use crate::kernel::procedure::{First, Procedure, Step};
use crate::term::Steps;
use std::fmt::{self, Display, Write};

const NAMES: [char; 8] = ['i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'];

impl Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (axis, &coefficient) in self.coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0) {
            if !text.is_empty() {
                text.push_str(" + ");
            }
            match coefficient {
                1 => write!(text, "{}", NAMES[axis % NAMES.len()])?,
                _ => write!(text, "{coefficient}*{}", NAMES[axis % NAMES.len()])?,
            }
        }
        match (text.is_empty(), self.offset) {
            (true, offset) => write!(f, "{offset}"),
            (false, 0) => f.write_str(&text),
            (false, offset) => write!(f, "{text} + {offset}"),
        }
    }
}

fn guarded(guards: &Guards) -> String {
    guards.iter().map(|guard| format!(" if 0 <= {} < {}", guard.position, guard.extent)).collect()
}

impl Display for Nest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loops: Vec<String> =
            self.extents.iter().enumerate().map(|(axis, n)| format!("{} < {n}", NAMES[axis % NAMES.len()])).collect();
        writeln!(f, "  for {}:", loops.join(", "))?;
        for (id, (value, dtype)) in self.values.iter().enumerate() {
            let text = match value {
                NestValue::Constant(value) => format!("{value:?}"),
                NestValue::Position(at) => format!("{at}"),
                NestValue::Load { buffer, at, guards } => format!("b{buffer}[{at}]{}", guarded(guards)),
                NestValue::Gather { buffer, at, stride, index, extent } => {
                    format!("b{buffer}[{at} + {stride}*v{index}] if 0 <= v{index} < {extent}")
                }
                NestValue::Unary(op, a) => match op.parameter() {
                    Some(parameter) => format!("{} {parameter} v{a}", op.name()),
                    None => format!("{} v{a}", op.name()),
                },
                NestValue::Binary(op, a, b) => format!("{} v{a} v{b}", op.name()),
                NestValue::Compare(op, a, b) => format!("{} v{a} v{b}", op.name()),
                NestValue::Select(mask, yes, no) => format!("select v{mask} v{yes} v{no}"),
                NestValue::Cast(_, a) => format!("cast v{a}"),
                NestValue::Guarded(a, guards) => format!("v{a}{}", guarded(guards)),
            };
            writeln!(f, "    v{id}: {dtype} = {text}")?;
        }
        for store in &self.stores {
            let mode = match store.mode {
                StoreMode::Write => "=".to_string(),
                StoreMode::Reduce(op) => format!("{op:?}="),
            };
            let index = store.index.map(|(index, stride, _)| format!(" + {stride}*v{index}")).unwrap_or_default();
            let guards = guarded(&store.guards);
            writeln!(f, "    b{}[{}{index}] {mode} v{}{guards}", store.buffer, store.at, store.value)?;
        }
        Ok(())
    }
}

impl Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&mut LineWriter { f, indentation: 0, begins: true })
    }
}

/// Writes lines directly to the formatter with the indentation of nested procedures: each line is written once, however deep.
struct LineWriter<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    indentation: usize,
    /// Whether a line begins.
    begins: bool,
}

impl Write for LineWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            if self.begins {
                write!(self.f, "{:1$}", "", self.indentation)?;
            }
            self.f.write_str(line)?;
            self.begins = line.ends_with('\n');
        }
        Ok(())
    }
}

impl LineWriter<'_, '_> {
    fn indented(&mut self, procedure: &Procedure) -> fmt::Result {
        self.indentation += 4;
        procedure.write(self)?;
        self.indentation -= 4;
        Ok(())
    }
}

impl Procedure {
    fn write(&self, f: &mut LineWriter<'_, '_>) -> fmt::Result {
        for (id, buffer) in self.buffers.iter().enumerate() {
            writeln!(f, "  b{id}: {} {:?}", buffer.ty, source(&buffer.source))?;
        }
        for step in &self.steps {
            match step {
                Step::Nest(nest) => write!(f, "{nest}")?,
                Step::Product(product) => {
                    for prologue in product.prologues.iter().flatten() {
                        write!(f, "{prologue}")?;
                    }
                    let sign = if product.continues { "+=" } else { "=" };
                    writeln!(
                        f,
                        "  b{} {sign} b{} · b{}: batches, rows, summed, columns {:?}",
                        product.result.buffer, product.left.buffer, product.right.buffer, product.extents
                    )?;
                    if let Some(epilogue) = &product.epilogue {
                        write!(f, "{}", epilogue.nest)?;
                    }
                }
                Step::Loop(inner) => {
                    writeln!(f, "  loop {} times: {:?} -> {:?}", inner.scan.length, inner.arguments, inner.results)?;
                    f.indented(&inner.step)?;
                }
                Step::Branch(branch) => {
                    writeln!(f, "  if b{}: {:?} -> {:?}", branch.condition, branch.arguments, branch.results)?;
                    f.indented(&branch.then)?;
                    writeln!(f, "  else:")?;
                    f.indented(&branch.otherwise)?;
                }
                Step::Sweeps(inner) => {
                    let (arguments, results) = (&inner.arguments, &inner.results);
                    match inner.sweeps.steps {
                        Steps::Count(count) => write!(f, "  {count} steps")?,
                        Steps::While(_) => write!(f, "  steps while a condition holds")?,
                    }
                    writeln!(f, ", keeping {:?}: {arguments:?} -> {results:?}", inner.sweeps.checkpoints)?;
                    if let Some(first) = &inner.first {
                        writeln!(f, "  after the first sweep that has filled {first:?}")?;
                    }
                    if let Some(condition) = &inner.condition {
                        writeln!(f, "  condition:")?;
                        f.indented(condition)?;
                    }
                    for (body, sweep) in inner.bodies.iter().zip(&inner.sweeps.sweeps) {
                        writeln!(f, "  sweep, reads {:?}:", sweep.reads)?;
                        f.indented(body)?;
                    }
                }
                Step::First(First { arguments, results }) => {
                    writeln!(f, "  the first sweep of a loop below: {arguments:?} -> {results:?}")?;
                }
                Step::Blocks(blocks) => {
                    let (arguments, results) = (&blocks.arguments, &blocks.results);
                    writeln!(f, "  {} of {} rows: {arguments:?} -> {results:?}", blocks.rows, blocks.extent)?;
                    f.indented(&blocks.procedure)?;
                }
                Step::Call(call) => {
                    let op = call.body.nodes.get(call.body.arity()).map(|node| crate::term::print::name(&node.op));
                    writeln!(f, "  call {} {:?} -> {:?}", op.unwrap_or_default(), call.arguments, call.results)?;
                }
            }
        }
        writeln!(f, "  results {:?}", self.results)
    }
}

fn source(source: &crate::kernel::BufferSource) -> String {
    use crate::kernel::BufferSource;
    match source {
        BufferSource::Parameter(position) => format!("parameter {position}"),
        BufferSource::Constant(_) => "constant".into(),
        BufferSource::Local => "local".into(),
        BufferSource::Alias(of) => format!("as b{of}"),
    }
}
