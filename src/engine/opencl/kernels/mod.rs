//! Procedures as kernels: the kernels that each step launches, and their arguments.

mod call;
mod matrix;
mod nest;
mod once;
mod parts;
#[cfg(any(test, debug_assertions))]
mod positions;
mod product;
mod recurrence;
mod scan;
mod segments;
mod sequential;
mod sort;
mod table;
mod vectors;
mod windows;

use super::code::{Action, COPIED, DeviceCode, Grid, Inner, KernelArray, SweepsCode};
use super::devices::DeviceLimits;
use super::failure::{DeviceProblem, DeviceResult};
use super::tuning::ProductOptions;
use crate::kernel::{BufferId, BufferSource, Procedure, Step};
use crate::shape::{DType, Value};
use crate::source::c::C;
use crate::source::helpers;
use crate::source::language::{Helper, Language};
use crate::source::plan::{BufferBinding, BufferPlan};
use crate::source::text::Text;
use once::{WrittenKernel, WrittenKernels, anonymous};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Kernels under construction.
pub(super) struct KernelWriter {
    language: C,
    helpers: BTreeSet<Helper>,
    text: Text,
    names: Vec<String>,
    written: WrittenKernels,
    /// Functions of single items, by their texts where they are the first ones of a source.
    alone: HashMap<String, String>,
    /// How many names of functions and known arrays beside kernels were given.
    functions: usize,
    /// The capabilities of the device.
    limits: DeviceLimits,
    /// How matrix products are computed.
    products: ProductOptions,
    /// Whether some kernels have subgroups combine the values of their items.
    has_subgroups: bool,
    /// The user's names of the program's arrays, by the buffers of its outermost procedure.
    called: BTreeMap<BufferId, String>,
}

/// The prefix of functions beside kernels.
const PREFIX: &str = "deltaray";

/// The line of a source whose kernels have subgroups combine the values of their items.
pub(super) const SUBGROUPS: &str = "#pragma OPENCL EXTENSION cl_khr_subgroups : enable";

impl KernelWriter {
    pub(super) fn new(limits: DeviceLimits, products: ProductOptions) -> KernelWriter {
        let language = C { prefix: PREFIX.into(), is_opencl: true, inline_math: false };
        let (helpers, text, names) = (BTreeSet::new(), Text::default(), Vec::new());
        KernelWriter {
            language,
            helpers,
            text,
            names,
            written: WrittenKernels::new(),
            alone: HashMap::new(),
            functions: 0,
            limits,
            products,
            has_subgroups: false,
            called: BTreeMap::new(),
        }
    }

    /// How many arrays a kernel takes at most.
    fn most_operands(&self) -> usize {
        self.limits.most_arrays().max(4)
    }

    /// How many kernels were written.
    pub(super) fn kernels(&self) -> usize {
        self.names.len()
    }

    /// The source, the names of its kernels, and whether they compute with `f64`: some operations on `f32` do.
    pub(super) fn finish(self) -> (String, Vec<String>, bool) {
        let mut functions = Text::default();
        for helper in helpers::c_texts(&self.helpers, PREFIX, true) {
            functions.lines(helper.lines());
            functions.line("");
        }
        functions.append(self.text);
        let functions = functions.finish();
        let mut source = Text::default();
        let has_doubles = functions.lines().any(names_double);
        if has_doubles {
            source.line("#pragma OPENCL EXTENSION cl_khr_fp64 : enable");
        }
        if self.has_subgroups {
            source.line(SUBGROUPS);
        }
        let is_exchanged = |(function, dtype): &Helper| function.name.contains("atomic_") && dtype.bytes() == 8;
        if self.helpers.iter().any(is_exchanged) {
            source.line("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable");
        }
        (source.finish() + &functions, self.names, has_doubles)
    }

    /// A program's kernels, whose comments call its parameters and results by these names.
    pub(super) fn program(
        &mut self,
        procedure: Procedure,
        parameters: &[String],
        results: &[String],
    ) -> DeviceResult<DeviceCode> {
        let results = procedure.results.iter().map(|&id| procedure.origin(id)).zip(results);
        let mut called: BTreeMap<BufferId, String> = results.map(|(id, name)| (id, name.clone())).collect();
        called.extend((0..procedure.parameters as BufferId).zip(parameters.iter().cloned()));
        called.retain(|_, name| !name.is_empty());
        self.called = called;
        self.procedure(procedure, &[])
    }

    /// A procedure's kernels, and those of all procedures inside. Each `changed` parameter becomes the result at a position, in
    /// the same memory.
    pub(super) fn procedure(&mut self, procedure: Procedure, changed: &[(usize, usize)]) -> DeviceResult<DeviceCode> {
        let procedure = self.with_prologues(self.with_epilogues(procedure)?)?;
        let mut plan = BufferPlan::new(&procedure, changed);
        let mut inner = Vec::new();
        for step in &procedure.steps {
            plan.next();
            // Buffers of procedures inside have no names.
            let is_nested = !step.inner().is_empty() || matches!(step, Step::Call(_));
            let called = if is_nested { std::mem::take(&mut self.called) } else { BTreeMap::new() };
            inner.push(self.step(&procedure, &mut plan, step)?);
            if is_nested {
                self.called = called;
            }
        }
        plan.next();
        let places: Vec<BufferBinding> = (0..procedure.buffers.len()).map(|id| plan.place(id as BufferId)).collect();
        let constants = procedure.buffers.iter().enumerate().filter_map(|(id, buffer)| match &buffer.source {
            BufferSource::Constant(array) if places[id] != BufferBinding::Unused => {
                Some((id as BufferId, array.clone()))
            }
            _ => None,
        });
        let (slots, copied, constants) = (plan.slots().to_vec(), plan.copied(), constants.collect());
        Ok(DeviceCode { places, slots, constants, copied, steps: inner, procedure })
    }

    fn step(&mut self, procedure: &Procedure, plan: &mut BufferPlan<'_>, step: &Step) -> DeviceResult<Inner> {
        // One kernel of many work items is better than one of a single item, whatever that would have to do.
        if let Step::Loop(repeated) = step
            && let Some(inner) = self.recurrence(procedure, plan, repeated)
        {
            return Ok(inner);
        }
        if let Some(actions) = self.sequential(procedure, plan, step) {
            return Ok(Inner::Actions(actions));
        }
        Ok(match step {
            Step::Nest(nest) => Inner::Actions(self.nest(procedure, plan, nest, false)),
            Step::Product(product) => Inner::Actions(self.product(procedure, plan, product)?),
            Step::Loop(repeated) => {
                let changed = repeated.step.changed(repeated.scan.carries);
                Inner::Loop(self.procedure(repeated.step.clone(), &changed)?)
            }
            Step::Branch(branch) => Inner::Branch(Box::new([
                self.procedure(branch.then.clone(), &branch.changed)?,
                self.procedure(branch.otherwise.clone(), &branch.changed)?,
            ])),
            Step::Sweeps(sweeps) => {
                let condition = sweeps.condition.clone().map(|condition| self.procedure(condition, &[])).transpose()?;
                let of_sweeps = sweeps.bodies.iter().zip(&sweeps.sweeps.sweeps);
                let bodies = of_sweeps.map(|(body, sweep)| self.procedure(body.clone(), &body.changed(sweep.carries)));
                let bodies = bodies.collect::<DeviceResult<Vec<DeviceCode>>>()?;
                let ends = condition.iter().chain(bodies.first()).all(DeviceCode::ends);
                let first = sweeps.bodies[0].changed(sweeps.sweeps.sweeps[0].carries).into_iter();
                let bytes = |(_, carry): (usize, usize)| {
                    let ty = &procedure.buffers[sweeps.arguments[carry] as usize].ty;
                    ty.bytes().unwrap_or(usize::MAX)
                };
                let runs_ahead = ends && first.map(bytes).fold(0, usize::saturating_add) <= COPIED;
                Inner::Sweeps(Box::new(SweepsCode { condition, bodies, runs_ahead }))
            }
            Step::Call(call) => self.call(procedure, plan, call)?,
            Step::First(_) => unreachable!("only the engine of the CPU lowers loops that go on from others"),
            Step::Blocks(_) => {
                return Err(DeviceProblem::Unsupported("blocks of rows are not lowered for devices".into()));
            }
        })
    }

    fn name(&mut self, word: &str) -> String {
        let name = format!("{word}{}", self.names.len());
        self.names.push(name.clone());
        name
    }

    /// The name of an element type.
    fn element(&self, dtype: DType) -> &'static str {
        self.language.dtype(dtype)
    }

    /// A kernel whose items are on their own: its text begins with the position of each.
    fn kernel(&mut self, word: &str, operands: &KernelOperands, items: usize, body: Text) -> Action {
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

    /// A kernel: its head, which has arrays begin where they are said to, and its text; unless one that was written does the same
    /// with other arrays.
    fn group_kernel(&mut self, word: &str, operands: &KernelOperands, grid: Grid, body: Text) -> Action {
        // Compilers that know how many work items share registers give each as many as there are.
        let required = format!("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void {word}", grid.group);
        let numbers = operands.numbers.iter().map(|&(_, number)| number).collect();
        let launched = |kernel: usize| Action::Launch { kernel, grid, operands: operands.all.clone(), numbers };
        // The user's names of arrays, by their names in the kernel.
        let called = |parameters: &[String]| -> Vec<String> {
            let called = operands.all.iter().zip(parameters).filter_map(|(operand, name)| match operand {
                KernelArray::Buffer(id) => Some(format!("{name}: {}", commented(self.called.get(id)?))),
                KernelArray::Slot(_) => None,
            });
            called.collect()
        };
        let key = anonymous(&required, &body, operands);
        if let Some(WrittenKernel { name, parameters }) = self.written.get(&key) {
            let called = called(parameters);
            if !called.is_empty() {
                self.text.line(format!("/* {name} once more, {} */", called.join(", ")));
                self.text.line("");
            }
            self.names.push(name.clone());
            return launched(self.names.len() - 1);
        }
        let parameters: Vec<String> = operands.parameters.iter().map(|(name, ..)| name.clone()).collect();
        let called = called(&parameters);
        let name = self.name(word);
        self.text.lines(called.iter().map(|called| format!("/* {called} */")));
        let parameter = |(name, dtype, writes): &(String, DType, bool)| {
            format!("{}restrict all_{name}, const long {name}_at", self.language.pointer(*dtype, *writes))
        };
        let numbers = operands.numbers.iter().map(|(name, _)| format!("const long {name}"));
        let all: Vec<String> = operands.parameters.iter().map(parameter).chain(numbers).collect();
        let number = &name[word.len()..];
        self.text.open(format!("{required}{number}({})", all.join(", ")));
        for (name, dtype, writes) in &operands.parameters {
            let pointer = self.language.pointer(*dtype, *writes);
            self.text.line(format!("{pointer}{name} = all_{name} + {name}_at;"));
        }
        self.text.append(body);
        self.text.close();
        self.text.line("");
        self.written.insert(key, WrittenKernel { name, parameters });
        launched(self.names.len() - 1)
    }
}

/// Whether a line that is no comment names the type `double`, or one of its vectors.
fn names_double(line: &str) -> bool {
    let is_comment = line.trim_start().starts_with("/*") || line.trim_start().starts_with("//");
    let words = line.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    !is_comment && words.into_iter().any(|word| word.trim_end_matches(|end: char| end.is_ascii_digit()) == "double")
}

/// A name in a comment, which it neither ends nor continues.
fn commented(name: &str) -> String {
    name.chars()
        .map(|character| {
            if character.is_control() || !character.is_ascii() || "*/\\?".contains(character) { '_' } else { character }
        })
        .collect()
}

/// The buffers of a procedure, followed by memory of a step's own.
struct KernelScope<'a> {
    procedure: &'a Procedure,
    /// Slot, element type, and number of elements.
    scratch: Vec<(usize, DType, usize)>,
}

impl KernelScope<'_> {
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

    /// Has one value written to all elements of a buffer.
    fn fill(&self, to: BufferId, value: Value) -> Action {
        let operand = self.scratch(to).map_or(KernelArray::Buffer(to), |&(slot, ..)| KernelArray::Slot(slot));
        Action::Fill { to: operand, count: self.count(to), value }
    }

    /// The arrays that a kernel takes: each once, whatever it is called.
    fn operands(&self, read: &[BufferId], written: &[BufferId]) -> KernelOperands {
        let origin = |id: BufferId| if self.scratch(id).is_some() { id } else { self.procedure.origin(id) };
        let origins: BTreeSet<BufferId> = written.iter().map(|&id| origin(id)).collect();
        let mut operands = KernelOperands::default();
        for &id in read.iter().chain(written) {
            let (name, operand) = match self.scratch(id) {
                Some(&(slot, ..)) => {
                    (format!("part{}", id as usize - self.procedure.buffers.len()), KernelArray::Slot(slot))
                }
                None => (format!("b{}", origin(id)), KernelArray::Buffer(origin(id))),
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
struct KernelOperands {
    /// Name, element type, and whether it is written.
    parameters: Vec<(String, DType, bool)>,
    all: Vec<KernelArray>,
    /// The name of each buffer.
    names: BTreeMap<BufferId, String>,
    /// Numbers that it takes after the arrays, and that differ from launch to launch: their names, and their values in one
    /// launch.
    numbers: Vec<(&'static str, i64)>,
}
