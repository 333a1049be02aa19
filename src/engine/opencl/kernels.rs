//! Procedures as kernels: which are launched for each step, with what.

use super::failure::{Outcome, Problem};
use crate::algebra::Order;
use crate::concrete::Array;
use crate::kernel::{BufferId, Call, Nest, Procedure, Source, Step, lower_unblocked};
use crate::shape::{DType, Type, Value, size, steps};
use crate::source::c::C;
use crate::source::helpers;
use crate::source::language::{Helper, Language};
use crate::source::nest::{Buffers, NestWriter};
use crate::source::order::parallel_first;
use crate::source::plan::{Place, Plan, Slot};
use crate::source::procedure::touched;
use crate::source::text::Text;
use crate::source::tidy::tidied;
use crate::term::Op;
use std::collections::{BTreeMap, BTreeSet};

/// What a host does for a step.
#[derive(Debug)]
pub(super) enum Action {
    /// Launches a kernel for so many work items, on these buffers.
    Launch { kernel: usize, items: usize, operands: Vec<BufferId> },
    /// Writes one value to all elements of a buffer.
    Fill { to: BufferId, value: Value },
}

/// What is inside of a step.
#[derive(Debug)]
pub(super) enum Inner {
    /// Kernels alone.
    Actions(Vec<Action>),
    /// A procedure that runs on buffers of the one around.
    Call {
        code: Code,
        arguments: Vec<BufferId>,
        results: Vec<BufferId>,
    },
    Loop(Code),
    Branch([Code; 2]),
    Sweeps {
        condition: Option<Code>,
        bodies: Vec<Code>,
    },
}

/// A procedure as what is launched for its steps.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) procedure: Procedure,
    /// Where each buffer is, aliases included.
    pub(super) places: Vec<Place>,
    pub(super) slots: Vec<Slot>,
    pub(super) constants: Vec<(BufferId, Array)>,
    /// Results that are copied from other places after the last step.
    pub(super) copied: Vec<(usize, BufferId)>,
    pub(super) steps: Vec<Inner>,
}

impl Code {
    pub(super) fn ty(&self, id: BufferId) -> &Type {
        &self.procedure.buffers[id as usize].ty
    }
}

/// Kernels under construction.
pub(super) struct Writer {
    language: C,
    helpers: BTreeSet<Helper>,
    text: Text,
    names: Vec<String>,
}

/// The prefix of functions that stand beside kernels.
const PREFIX: &str = "deltaray";

impl Writer {
    pub(super) fn new() -> Writer {
        let language = C { prefix: PREFIX.into(), is_opencl: true };
        Writer { language, helpers: BTreeSet::new(), text: Text::default(), names: Vec::new() }
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
            inner.push(self.step(&procedure, &plan, step)?);
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

    fn step(&mut self, procedure: &Procedure, plan: &Plan<'_>, step: &Step) -> Outcome<Inner> {
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
            Step::Call(call) => self.call(procedure, call)?,
            Step::Blocks(_) => return Err(Problem::Unsupported("blocks of rows are not lowered for devices".into())),
        })
    }

    fn name(&mut self, word: &str) -> String {
        let name = format!("{word}{}", self.names.len());
        self.names.push(name.clone());
        name
    }

    /// A kernel: its head, which has arrays begin where they are said to, and the position of the work item.
    fn kernel(&mut self, word: &str, parameters: &[(String, DType, bool)], items: usize, body: Text) -> usize {
        let name = self.name(word);
        let parameter = |(name, dtype, writes): &(String, DType, bool)| {
            format!("{}restrict all_{name}, const long {name}_at", self.language.pointer(*dtype, *writes))
        };
        let all: Vec<String> = parameters.iter().map(parameter).collect();
        self.text.open(format!("__kernel void {name}({})", all.join(", ")));
        self.text.line("const long item = get_global_id(0);");
        self.text.line(format!("if (item >= {items}) return;"));
        for (name, dtype, writes) in parameters {
            let pointer = self.language.pointer(*dtype, *writes);
            self.text.line(format!("{pointer}{name} = all_{name} + {name}_at;"));
        }
        self.text.append(body);
        self.text.close();
        self.text.line("");
        self.names.len() - 1
    }

    /// The arrays that a kernel takes: each once, whatever it is called.
    fn operands(procedure: &Procedure, read: &[BufferId], written: &[BufferId]) -> Operands {
        let origins: BTreeSet<BufferId> = written.iter().map(|&id| procedure.origin(id)).collect();
        let mut operands = Operands::default();
        for &id in read.iter().chain(written) {
            let origin = procedure.origin(id);
            let name = format!("b{origin}");
            if !operands.ids.contains(&origin) {
                let dtype = procedure.buffers[id as usize].ty.dtype;
                operands.parameters.push((name.clone(), dtype, origins.contains(&origin)));
                operands.ids.push(origin);
            }
            operands.names.insert(id, name);
        }
        operands
    }

    fn nest(&mut self, procedure: &Procedure, plan: &Plan<'_>, nest: &Nest, continues: bool) -> Vec<Action> {
        let nest = &tidied(nest, &plan.unread);
        if nest.stores.is_empty() {
            return Vec::new();
        }
        let (read, written) = touched(nest);
        let operands = Writer::operands(procedure, &read, &written);
        let ty = |id: BufferId| &procedure.buffers[id as usize].ty;
        let (name, count) = (|id: BufferId| operands.names[&id].clone(), |id: BufferId| ty(id).size());
        let dtype = |id: BufferId| ty(id).dtype;
        let goes_on = |id: BufferId| continues || procedure.continued.contains(&id);
        let buffers = Buffers { name: &name, count: &count, dtype: &dtype, continues: &goes_on };
        let (order, parallel) = parallel_first(nest);
        let items = steps(order[..parallel].iter().map(|&axis| nest.extents[axis]));
        let mut loops = NestWriter::new(&self.language, nest, (order, parallel), buffers, &mut self.helpers);
        let fills = loops.fills(buffers);
        let mut text = Text::default();
        loops.write(&mut text);
        text.tidy();
        let mut actions: Vec<Action> = fills.into_iter().map(|(to, value)| Action::Fill { to, value }).collect();
        if !nest.extents.contains(&0) {
            let kernel = self.kernel("nest", &operands.parameters, items, text);
            actions.push(Action::Launch { kernel, items, operands: operands.ids });
        }
        actions
    }

    /// An operation that was left alone.
    fn call(&mut self, procedure: &Procedure, call: &Call) -> Outcome<Inner> {
        let body = &call.body;
        let node = body.node(body.results[0]);
        let (order, axis) = match node.op {
            Op::ArgSort(order, axis) => (order, axis),
            // There is no element: the position is 0.
            Op::ArgReduce(..) => {
                let fills = call.results.iter().map(|&to| Action::Fill { to, value: Value::I64(0) });
                return Ok(Inner::Actions(fills.collect()));
            }
            _ => {
                let code = self.procedure(lower_unblocked(body))?;
                return Ok(Inner::Call { code, arguments: call.arguments.clone(), results: call.results.clone() });
            }
        };
        let (array, result) = (call.arguments[0], call.results[0]);
        let shape = &body.node(node.args[0]).ty().shape;
        let (outer, extent, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
        let items = outer * inner;
        if items * extent == 0 {
            return Ok(Inner::Actions(Vec::new()));
        }
        let operands = Writer::operands(procedure, &[array], &[result]);
        let dtype = procedure.buffers[array as usize].ty.dtype;
        let name = match order {
            Order::Ascending => "arg_sort",
            Order::Descending => "arg_sort_descending",
        };
        let mut text = Text::default();
        text.line(format!("const long at = item / {inner} * {} + item % {inner};", extent * inner));
        let (keys, order) = (format!("{} + at", operands.names[&array]), format!("{} + at", operands.names[&result]));
        let given = [&keys[..], &order[..], &extent.to_string(), &inner.to_string()];
        let line = self.language.helper(name, dtype, &given, &mut self.helpers);
        text.line(format!("{line};"));
        let kernel = self.kernel("sort", &operands.parameters, items, text);
        Ok(Inner::Actions(vec![Action::Launch { kernel, items, operands: operands.ids }]))
    }
}

/// The arrays that a kernel takes.
#[derive(Default)]
struct Operands {
    /// Name, element type, and whether it is written.
    parameters: Vec<(String, DType, bool)>,
    ids: Vec<BufferId>,
    /// The name of each buffer.
    names: BTreeMap<BufferId, String>,
}
