//! The steps of machines, and the memory of each in a run.

use super::assemble::assemble;
use super::code::Scratch;
use super::compiled::{
    CompiledBlocks, CompiledBranch, CompiledLoop, CompiledStep, CompiledSweeps, Machine, Space, Workspace,
};
use super::matrix::CompiledMatrix;
use super::memory::BufferLocation;
use super::native::compile_product;
use super::product::CompiledProduct;
use super::recurrence::CompiledRecurrence;
use super::scalars::Scalars;
use super::table::{BufferFill, PointerTable};
use super::target::Target;
use super::threads::PackingLines;
use crate::array::{OutOfMemory, neutral_value};
use crate::kernel::roots::own_cost;
use crate::kernel::{BATCH, COLUMN, Loop, MatrixProduct, Nest, Procedure, ROW, Step, StoreMode};
use crate::operation::Binary;
use crate::shape::Type;
use crate::term::Op;
use crate::term::recurrence::Recurrence;
use smallvec::{SmallVec, smallvec};

impl Space {
    /// The memory of the machines inside, in the order of [`CompiledStep::machines`].
    pub(super) fn workspaces(&mut self) -> SmallVec<[&mut Workspace; 4]> {
        match self {
            Space::Loop(space) => smallvec![&mut space.workspace],
            Space::Branch(space) => space.sides.iter_mut().collect(),
            Space::Sweeps(space) => space.workspaces().collect(),
            Space::Nothing | Space::Scalars(_) | Space::Blocks(_) => SmallVec::new(),
        }
    }
}

impl CompiledStep {
    /// A step of a procedure; `None` where its memory can't be counted.
    ///
    /// # Errors
    ///
    /// As [`Machine::new`].
    pub(super) fn new(
        target: Target<'_>,
        procedure: &Procedure,
        step: &Step,
        types: &[Type],
        cut: bool,
    ) -> Result<Option<Box<CompiledStep>>, OutOfMemory> {
        if let Some(flat) = CompiledStep::without_machines(target, procedure, step, types, cut) {
            return Ok(Some(flat));
        }
        Ok(match step {
            Step::Loop(repeated) => CompiledLoop::new(target, repeated, types, cut)?
                .map(|repeated| CompiledStep::boxed(CompiledStep::Loop, repeated)),
            Step::Branch(branch) => CompiledBranch::new(target, branch, types, cut)?
                .map(|branch| CompiledStep::boxed(CompiledStep::Branch, branch)),
            Step::Sweeps(sweeps) => CompiledSweeps::new(target, sweeps, types, cut)?
                .map(|sweeps| CompiledStep::boxed(CompiledStep::Sweeps, sweeps)),
            Step::Blocks(blocks) => CompiledBlocks::new(target, blocks, types)?
                .map(|blocks| CompiledStep::boxed(CompiledStep::Blocks, blocks)),
            Step::Nest(_) | Step::Product(_) | Step::First(_) | Step::Call(_) => unreachable!("they have no machines"),
        })
    }

    /// A step that runs no machine of its own; `None` where it does.
    fn without_machines(
        target: Target<'_>,
        procedure: &Procedure,
        step: &Step,
        types: &[Type],
        cut: bool,
    ) -> Option<Box<CompiledStep>> {
        let scalars = || Scalars::of(target, procedure, std::slice::from_ref(step), &step.touched().1);
        if let Step::Loop(repeated) = step {
            if target.code.is_some()
                && is_one_chain(repeated)
                && let Some(scalars) = scalars()
            {
                return Some(Box::new(CompiledStep::Scalars(Box::new(scalars))));
            }
            if let Some(recurrence) = CompiledRecurrence::new(target, repeated) {
                return Some(Box::new(CompiledStep::Recurrence(Box::new(recurrence))));
            }
        }
        Some(Box::new(match step {
            Step::Nest(nest) => CompiledStep::Nest {
                fills: fills(nest, procedure),
                code: assemble(target, nest, types, cut),
                table: None,
            },
            Step::Product(product) => match nest_of_product(target, procedure, product, types, cut) {
                Some(nest) => nest,
                None => {
                    let dtype = types[product.result.buffer as usize].dtype;
                    CompiledStep::Product(Box::new(CompiledProduct::new(product, dtype)))
                }
            },
            // The loop is not there yet.
            Step::First(first) => CompiledStep::First { results: first.results.clone(), of: usize::MAX },
            Step::Call(call) => match CompiledMatrix::new(call, types) {
                Some(matrix) => CompiledStep::Matrix(Box::new(matrix)),
                None => CompiledStep::Call(call.clone()),
            },
            Step::Blocks(_) => return None,
            Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) => CompiledStep::Scalars(Box::new(scalars()?)),
        }))
    }

    /// A step that runs machines, made in a function of its own: functions that recurse into machines keep small frames.
    fn boxed<T>(of: fn(Box<T>) -> CompiledStep, inner: Box<T>) -> Box<CompiledStep> {
        Box::new(of(inner))
    }

    /// Gives a nest its table, after `first` pointers of others, and returns where the next table begins.
    pub(super) fn tabulate(&mut self, places: &[BufferLocation], first: usize) -> usize {
        match self {
            CompiledStep::Nest { fills, code, table } if code.split.chunks == 1 => {
                table.insert(PointerTable::of(code, fills, places, first)).end()
            }
            _ => first,
        }
    }

    /// Sets the constant part of a nest's table.
    pub(super) fn begin(&self, pointers: &mut [*mut u8], scratch: &mut Scratch, bases: &[*mut u8]) {
        if let CompiledStep::Nest { fills, code, table: Some(table) } = self {
            table.begin(code, fills, pointers, scratch, bases);
        }
    }

    /// The machines inside whose kernels are reported one by one, in the order of reports.
    pub(super) fn machines(&self) -> SmallVec<[&Machine; 4]> {
        match self {
            CompiledStep::Loop(repeated) => smallvec![&*repeated.step],
            CompiledStep::Branch(branch) => branch.sides.iter().map(|side| &**side).collect(),
            CompiledStep::Sweeps(sweeps) => sweeps.machines().collect(),
            _ => SmallVec::new(),
        }
    }

    /// Bytes of memory for so many threads, without partial results.
    pub(super) fn memory(&self, threads: usize) -> usize {
        let own = match self {
            CompiledStep::Loop(repeated) => repeated.memory(),
            CompiledStep::Sweeps(sweeps) => sweeps.memory(),
            CompiledStep::Scalars(scalars) => scalars.memory(),
            CompiledStep::Blocks(blocks) => blocks.thread_memory().saturating_mul(threads),
            _ => 0,
        };
        self.machines().iter().map(|machine| machine.total_memory(threads)).fold(own, usize::saturating_add)
    }

    /// Bytes for partial results, or for the registers of a recurrence.
    pub(super) fn partials(&self) -> usize {
        match self {
            CompiledStep::Nest { code, .. } => code.split.memory,
            CompiledStep::Recurrence(recurrence) => recurrence.memory(),
            CompiledStep::Blocks(blocks) => blocks.memory,
            _ => 0,
        }
    }

    /// Whether some kernel is cut for several threads.
    pub(super) fn is_parallel(&self) -> bool {
        match self {
            CompiledStep::Nest { code, .. } => code.split.chunks > 1,
            CompiledStep::Product(product) => product.chunks > 1,
            CompiledStep::Matrix(matrix) => matrix.is_parallel(),
            CompiledStep::Blocks(blocks) => blocks.chunks > 1,
            _ => self.machines().iter().any(|machine| machine.is_parallel()),
        }
    }

    /// Lines of memory that threads need for products.
    pub(super) fn packing_lines(&self) -> PackingLines {
        match self {
            CompiledStep::Product(product) => PackingLines::alike(product.packing_lines()),
            CompiledStep::Matrix(matrix) => matrix.packing_lines(),
            _ => {
                self.machines().iter().map(|machine| machine.packing_lines()).fold(Default::default(), PackingLines::or)
            }
        }
    }

    /// Memory for a run.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn space(&self, scratch: &mut Scratch, profile: bool, threads: usize) -> Result<Space, OutOfMemory> {
        Ok(match self {
            CompiledStep::Nest { code, .. } => {
                scratch.reserve(code);
                Space::Nothing
            }
            CompiledStep::Loop(repeated) => Space::Loop(Box::new(repeated.space(scratch, profile, threads)?)),
            CompiledStep::Branch(branch) => Space::Branch(Box::new(branch.space(scratch, profile, threads)?)),
            CompiledStep::Sweeps(sweeps) => Space::Sweeps(Box::new(sweeps.space(scratch, profile, threads)?)),
            CompiledStep::Blocks(blocks) => Space::Blocks(blocks.slots(threads)?),
            CompiledStep::Scalars(scalars) => {
                scalars.reserve(scratch);
                Space::Scalars(scalars.space()?)
            }
            CompiledStep::Product(..)
            | CompiledStep::Matrix(_)
            | CompiledStep::Recurrence(_)
            | CompiledStep::First { .. }
            | CompiledStep::Call(_) => Space::Nothing,
        })
    }
}

/// Operations of a step that run while others wait for the step before, and the cost of one that is no function.
const BESIDES: usize = 12;
const SIMPLE: f64 = 4.0;

/// Whether a loop is a recurrence of single numbers by few simple operations: as machine code, one loop computes all of them in the
/// time for which carries wait for each other. Running totals, which may take several steps at a time, have loops of their own.
fn is_one_chain(repeated: &Loop) -> bool {
    let is_single = repeated.scan.carries > 0 && repeated.scan.body.parameter_type(0).size() == 1;
    let Some(recurrence) = Recurrence::of(&repeated.scan).filter(|_| is_single) else { return false };
    let ops = || recurrence.steps.iter().map(|step| step.op.op());
    let is_total = |op: &Op| matches!(op, Op::Binary(Binary::Add | Binary::Sub | Binary::Max | Binary::Min));
    let is_running_total = ops().count() == 1 && ops().all(|op| is_total(&op));
    ops().count() <= BESIDES && ops().all(|op| own_cost(&op) <= SIMPLE) && !is_running_total
}

/// The buffers that a nest combines into, with the values to fill them with first. Buffers that have elements already are left
/// out.
fn fills(nest: &Nest, procedure: &Procedure) -> Vec<BufferFill> {
    let mut fills: Vec<BufferFill> = Vec::new();
    for store in &nest.stores {
        if let StoreMode::Reduce(op) = store.mode
            && !procedure.continued.contains(&store.buffer)
        {
            let ty = &procedure.buffers[store.buffer as usize].ty;
            fills.push(BufferFill { buffer: store.buffer, count: ty.size(), value: neutral_value(op, ty.dtype) });
        }
    }
    fills
}

/// A product as a nest, where machine code for that is faster than a product of packed matrices.
fn nest_of_product(
    target: Target<'_>,
    procedure: &Procedure,
    product: &MatrixProduct,
    types: &[Type],
    cut: bool,
) -> Option<CompiledStep> {
    let buffer = product.result.buffer;
    let count = types[buffer as usize].size();
    // Other elements of the buffer would be lost.
    if product.count(BATCH) * product.count(ROW) * product.count(COLUMN) != count {
        return None;
    }
    let code = compile_product(target, product, types, cut)?;
    let nest = product.as_nest(types[buffer as usize].dtype);
    let fills = if product.continues { Vec::new() } else { fills(&nest, procedure) };
    Some(CompiledStep::Nest { fills, code, table: None })
}
