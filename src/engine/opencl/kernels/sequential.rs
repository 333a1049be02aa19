//! Loops and conditionals with little to do in each step, as kernels of a single work item: the host launches nothing for each
//! step, and waits for no condition.

use super::{KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Grid};
use crate::kernel::{BufferSource, Procedure, ProcedureBuffer, Step};
use crate::shape::steps;
use crate::source::isolated::{Isolated, isolated};
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::procedure::FunctionWriter;
use crate::source::text::Text;
use crate::term::Steps;

/// A single work item computes no more elements than this in all, where that is known: some systems end kernels that take
/// seconds.
const MOST: usize = 1 << 24;

/// The elements that all of a step's nests compute, if each runs once; or, if `repeated`, counting known numbers of steps.
fn elements(step: &Step, repeated: bool) -> usize {
    let inside = || step.inner().into_iter().map(|inner| elements_of(inner, repeated)).fold(0, usize::saturating_add);
    match step {
        Step::Nest(nest) => steps(nest.extents.iter().copied()),
        Step::Product(product) => steps(product.all_extents()),
        Step::Loop(looped) if repeated => inside().saturating_mul(looped.scan.length),
        Step::Sweeps(sweeps) if repeated => match sweeps.sweeps.steps {
            Steps::Count(count) => inside().saturating_mul(count),
            Steps::While(_) => inside(),
        },
        Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) => inside(),
        Step::Call(call) => {
            let body = &call.body;
            let arguments = (0..body.parameters).map(|at| body.parameter_type(at).size());
            arguments.fold(1, usize::saturating_add)
        }
        // They are not lowered for devices.
        Step::First(_) | Step::Blocks(_) => usize::MAX,
    }
}

/// The same for all steps; at least the elements that the procedure may have to copy: known arrays, and results that are
/// elsewhere.
fn elements_of(procedure: &Procedure, repeated: bool) -> usize {
    let computed = procedure.steps.iter().map(|step| elements(step, repeated)).fold(0, usize::saturating_add);
    let size = |buffer: &ProcedureBuffer| buffer.ty.size();
    let known = procedure.buffers.iter().filter(|buffer| matches!(buffer.source, BufferSource::Constant(_)));
    let results = procedure.results.iter().map(|&id| &procedure.buffers[id as usize]);
    computed.max(known.chain(results).map(size).fold(0, usize::saturating_add))
}

/// Known arrays and functions as they stand before a kernel.
fn functions_of(writer: FunctionWriter<'_>) -> Text {
    let mut all = writer.constants;
    for mut text in writer.functions {
        text.tidy();
        all.append(text);
        all.line("");
    }
    all
}

impl KernelWriter {
    /// A loop or a conditional as a kernel of a single work item, if it is small enough for that, and needs no more memory
    /// than is known before it is run.
    pub(super) fn sequential(
        &mut self,
        procedure: &Procedure,
        plan: &mut BufferPlan<'_>,
        step: &Step,
    ) -> Option<Vec<Action>> {
        let has_steps = matches!(step, Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_));
        if !has_steps || elements(step, false) > self.limits.single_item || elements(step, true) > MOST {
            return None;
        }
        let Isolated { procedure: alone, interface, read, written } = isolated(procedure, step);
        let written_from = |count: usize| {
            let mut writer = FunctionWriter::new(&self.language);
            writer.count = count;
            let function = writer.procedure("alone", &alone, &interface).ok()?;
            Some((writer, function))
        };
        let (first, function) = written_from(0)?;
        // A loop that says that it could not be finished, since memory was planned ahead, is better launched by the host.
        let operands = read.len() + written.len() + function.scratch().count();
        if function.fails || operands > self.limits.most_arrays() {
            return None;
        }
        let key = functions_of(first).finish();
        let name = match self.alone.get(&key) {
            Some(name) => name.clone(),
            None => {
                let (mut writer, function) = written_from(self.functions)?;
                self.functions = writer.count;
                self.helpers.append(&mut writer.helpers);
                self.text.append(functions_of(writer));
                self.alone.insert(key, function.name.clone());
                function.name
            }
        };
        let mut scope = KernelScope { procedure, scratch: Vec::new() };
        let memory = function.scratch().map(|(dtype, count)| scope.add(plan.memory(dtype, count), dtype, count));
        let memory: Vec<_> = memory.collect();
        let filled: Vec<_> = written.iter().chain(&memory).copied().collect();
        let operands = scope.operands(&read, &filled);
        let arguments = read.iter().chain(&filled).map(|id| operands.names[id].clone());
        let call = self.language.call(&name, &arguments.collect::<Vec<String>>());
        let mut text = Text::default();
        text.line(format!("{call};"));
        Some(vec![self.group_kernel("sequential", &operands, Grid { items: 1, group: 1 }, text)])
    }
}
