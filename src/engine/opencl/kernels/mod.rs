//! Procedures as kernels: which are launched for each step, with what.

mod call;
mod nest;
mod parts;
mod segments;
mod sort;
mod table;

use super::code::{Action, Code, Grid, Inner, Operand};
use super::devices::Limits;
use super::failure::{Outcome, Problem};
use crate::kernel::{BufferId, Procedure, Source, Step};
use crate::shape::DType;
use crate::source::c::C;
use crate::source::helpers;
use crate::source::language::Helper;
use crate::source::plan::Plan;
use crate::source::text::Text;
use std::collections::{BTreeMap, BTreeSet};

/// Kernels under construction.
pub(super) struct Writer {
    language: C,
    helpers: BTreeSet<Helper>,
    text: Text,
    names: Vec<String>,
    /// What the device can do.
    limits: Limits,
}

/// The prefix of functions that stand beside kernels.
const PREFIX: &str = "deltaray";

impl Writer {
    pub(super) fn new(limits: Limits) -> Writer {
        let language = C { prefix: PREFIX.into(), is_opencl: true };
        Writer { language, helpers: BTreeSet::new(), text: Text::default(), names: Vec::new(), limits }
    }

    /// How many kernels were written.
    pub(super) fn kernels(&self) -> usize {
        self.names.len()
    }

    /// The source, and the names of its kernels.
    pub(super) fn finish(self, doubles: bool) -> (String, Vec<String>) {
        let mut source = Text::default();
        if doubles {
            source.line("#pragma OPENCL EXTENSION cl_khr_fp64 : enable");
        }
        let is_exchanged = |(name, dtype): &Helper| name.contains("atomic_") && dtype.bytes() == 8;
        if self.helpers.iter().any(is_exchanged) {
            source.line("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable");
        }
        for helper in helpers::c_texts(&self.helpers, PREFIX, true) {
            source.lines(helper.lines());
            source.line("");
        }
        source.append(self.text);
        (source.finish(), self.names)
    }

    /// A procedure's kernels, and those of all inside of it.
    pub(super) fn procedure(&mut self, procedure: Procedure) -> Outcome<Code> {
        let mut plan = Plan::new(&procedure);
        let mut inner = Vec::new();
        for step in &procedure.steps {
            plan.next();
            inner.push(self.step(&procedure, &mut plan, step)?);
        }
        plan.next();
        let places = (0..procedure.buffers.len()).map(|id| plan.place(id as BufferId)).collect();
        let constants = procedure.buffers.iter().enumerate().filter_map(|(id, buffer)| match &buffer.source {
            Source::Constant(array) => Some((id as BufferId, array.clone())),
            _ => None,
        });
        let (slots, copied, constants) = (plan.slots().to_vec(), plan.copied(), constants.collect());
        Ok(Code { places, slots, constants, copied, steps: inner, procedure })
    }

    fn step(&mut self, procedure: &Procedure, plan: &mut Plan<'_>, step: &Step) -> Outcome<Inner> {
        Ok(match step {
            Step::Nest(nest) => Inner::Actions(self.nest(procedure, plan, nest, false)),
            Step::Product(product) => {
                let dtype = procedure.buffers[product.result.buffer as usize].ty.dtype;
                Inner::Actions(self.nest(procedure, plan, &product.as_nest(dtype), product.continues))
            }
            Step::Loop(repeated) => Inner::Loop(self.procedure(repeated.step.clone())?),
            Step::Branch(branch) => {
                Inner::Branch([self.procedure(branch.then.clone())?, self.procedure(branch.otherwise.clone())?])
            }
            Step::Sweeps(sweeps) => {
                let condition = sweeps.condition.clone().map(|condition| self.procedure(condition)).transpose()?;
                let bodies = sweeps.bodies.iter().map(|body| self.procedure(body.clone())).collect::<Outcome<_>>()?;
                Inner::Sweeps { condition, bodies }
            }
            Step::Call(call) => self.call(procedure, plan, call)?,
            Step::Blocks(_) => return Err(Problem::Unsupported("blocks of rows are not lowered for devices".into())),
        })
    }

    fn name(&mut self, word: &str) -> String {
        let name = format!("{word}{}", self.names.len());
        self.names.push(name.clone());
        name
    }

    /// A kernel whose items are on their own: its text begins with the position of each.
    fn kernel(&mut self, word: &str, operands: &Operands, items: usize, body: Text) -> Action {
        let mut text = Text::default();
        text.line("const long item = get_global_id(0);");
        text.line(format!("if (item >= {items}) return;"));
        text.append(body);
        self.group_kernel(
            word,
            operands,
            Grid { items, group: nest::group(items, self.limits.group, self.limits.is_serial) },
            text,
        )
    }

    /// A kernel: its head, which has arrays begin where they are said to, and its text.
    fn group_kernel(&mut self, word: &str, operands: &Operands, grid: Grid, body: Text) -> Action {
        let name = self.name(word);
        let parameters = &operands.parameters;
        let parameter = |(name, dtype, writes): &(String, DType, bool)| {
            format!("{}restrict all_{name}, const long {name}_at", self.language.pointer(*dtype, *writes))
        };
        let numbers = operands.numbers.iter().map(|(name, _)| format!("const long {name}"));
        let all: Vec<String> = parameters.iter().map(parameter).chain(numbers).collect();
        self.text.open(format!("__kernel void {name}({})", all.join(", ")));
        for (name, dtype, writes) in parameters {
            let pointer = self.language.pointer(*dtype, *writes);
            self.text.line(format!("{pointer}{name} = all_{name} + {name}_at;"));
        }
        self.text.append(body);
        self.text.close();
        self.text.line("");
        let numbers = operands.numbers.iter().map(|&(_, number)| number).collect();
        Action::Launch { kernel: self.names.len() - 1, grid, operands: operands.all.clone(), numbers }
    }
}

/// The buffers of a procedure, and behind them memory of a step's own.
struct Scope<'a> {
    procedure: &'a Procedure,
    /// Slot, element type, and number of elements.
    scratch: Vec<(usize, DType, usize)>,
}

impl Scope<'_> {
    fn scratch(&self, id: BufferId) -> Option<&(usize, DType, usize)> {
        (id as usize).checked_sub(self.procedure.buffers.len()).map(|at| &self.scratch[at])
    }

    /// Memory of the step's own, as a buffer.
    fn add(&mut self, slot: usize, dtype: DType, count: usize) -> BufferId {
        self.scratch.push((slot, dtype, count));
        (self.procedure.buffers.len() + self.scratch.len() - 1) as BufferId
    }

    fn dtype(&self, id: BufferId) -> DType {
        self.scratch(id).map_or_else(|| self.procedure.buffers[id as usize].ty.dtype, |&(_, dtype, _)| dtype)
    }

    fn count(&self, id: BufferId) -> usize {
        self.scratch(id).map_or_else(|| self.procedure.buffers[id as usize].ty.size(), |&(.., count)| count)
    }

    /// The arrays that a kernel takes: each once, whatever it is called.
    fn operands(&self, read: &[BufferId], written: &[BufferId]) -> Operands {
        let origin = |id: BufferId| if self.scratch(id).is_some() { id } else { self.procedure.origin(id) };
        let origins: BTreeSet<BufferId> = written.iter().map(|&id| origin(id)).collect();
        let mut operands = Operands::default();
        for &id in read.iter().chain(written) {
            let (name, operand) = match self.scratch(id) {
                Some(&(slot, ..)) => {
                    (format!("part{}", id as usize - self.procedure.buffers.len()), Operand::Slot(slot))
                }
                None => (format!("b{}", origin(id)), Operand::Buffer(origin(id))),
            };
            if !operands.all.contains(&operand) {
                operands.parameters.push((name.clone(), self.dtype(id), origins.contains(&origin(id))));
                operands.all.push(operand);
            }
            operands.names.insert(id, name);
        }
        operands
    }
}

/// The arrays that a kernel takes, and numbers.
#[derive(Default)]
struct Operands {
    /// Name, element type, and whether it is written.
    parameters: Vec<(String, DType, bool)>,
    all: Vec<Operand>,
    /// The name of each buffer.
    names: BTreeMap<BufferId, String>,
    /// Numbers that it takes behind the arrays, which differ from launch to launch: their names, and those of a launch.
    numbers: Vec<(&'static str, i64)>,
}
