//! Machines and their steps, and the memory of their runs. Steps have machines of their own, so that all of these types refer to
//! one another; what is done with each is in its file.

use super::code::NestCode;
use super::matrix::CompiledMatrix;
use super::memory::BufferLocation;
use super::product::CompiledProduct;
use super::records::{RecordLayout, Records};
use super::recurrence::CompiledRecurrence;
use super::scalars::Scalars;
use super::split::PartialBuffer;
use super::table::{BufferFill, PointerTable};
use super::threads::Worker;
use super::vector::Instructions;
use crate::array::Array;
use crate::engine::arrays::CacheLine;
use crate::kernel::{BufferId, Call};
use crate::shape::Type;
use crate::term::Checkpoints;
use crate::term::schedule::{Begun, Counts};
use std::collections::HashMap;
use std::sync::Mutex;

/// A procedure as instructions.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) types: Vec<Type>,
    pub(super) places: Vec<BufferLocation>,
    /// Known arrays that are read as buffers.
    pub(super) constants: HashMap<BufferId, Array>,
    /// Bytes of the procedure's memory.
    pub(super) memory: usize,
    pub(super) steps: Vec<CompiledStep>,
    /// For each step how many kernels it is in reports. One without is part of the kernel of the next that has some.
    pub(super) kernels: Vec<usize>,
    pub(super) arguments: usize,
    pub(super) results: usize,
    /// The buffers that are arguments or results, and that steps without a table, or copies, touch.
    pub(super) moving: Vec<BufferId>,
    /// The results that are copied from elsewhere at the end: their positions, from where, and their bytes.
    pub(super) copies: Vec<(usize, BufferId, usize)>,
    /// Pointers of the tables of nests.
    pub(super) table: usize,
    pub(super) isa: Instructions,
    /// Bytes of memory for partial results.
    pub(super) partials: usize,
}

/// The memory of one run.
#[derive(Debug)]
pub(super) struct Workspace {
    /// The memory of buffers, which bases point into.
    #[allow(dead_code, reason = "only its place is used")]
    pub(super) memory: Vec<CacheLine>,
    /// Where buffers are. The bases of arguments and results are set in each run, if something reads them here.
    pub(super) bases: Vec<*mut u8>,
    /// The tables of nests, and the registers that they were set for.
    pub(super) table: Vec<*mut u8>,
    pub(super) registers: *const CacheLine,
    /// The steps' own memory.
    pub(super) spaces: Vec<Space>,
    /// Partial results of the chunks of a nest, or the registers of a recurrence.
    pub(super) partials: Vec<CacheLine>,
    /// The seconds of each step, where they are measured.
    pub(super) times: Vec<f64>,
}

// SAFETY: the pointers are set at the beginning of a run, by whoever holds the workspace.
unsafe impl Send for Workspace {}

/// A step as instructions.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all steps are nests")]
pub(super) enum CompiledStep {
    /// Without a table where threads share the work.
    Nest {
        fills: Vec<BufferFill>,
        code: NestCode,
        table: Option<PointerTable>,
    },
    Product(Box<CompiledProduct>),
    Matrix(Box<CompiledMatrix>),
    Loop(Box<CompiledLoop>),
    Branch(Box<CompiledBranch>),
    Sweeps(Box<CompiledSweeps>),
    /// The first sweep of the loop at a later position.
    First {
        results: Vec<BufferId>,
        of: usize,
    },
    Recurrence(Box<CompiledRecurrence>),
    Scalars(Box<Scalars>),
    Blocks(Box<CompiledBlocks>),
    Call(Call),
}

/// A step's own memory in a run.
#[derive(Debug)]
pub(super) enum Space {
    Nothing,
    Loop(Box<LoopSpace>),
    Branch(Box<BranchSpace>),
    Sweeps(Box<SweepsSpace>),
    /// Registers, followed by memory.
    Scalars(Vec<CacheLine>),
    /// By thread.
    Blocks(Vec<Mutex<BlocksSpace>>),
}

#[derive(Debug)]
pub(super) struct CompiledLoop {
    pub(super) arguments: Vec<BufferId>,
    pub(super) results: Vec<BufferId>,
    pub(super) length: usize,
    pub(super) reverse: bool,
    pub(super) step: Box<Machine>,
    /// Bytes of carries.
    pub(super) carries: Vec<usize>,
    /// The carries that steps change where they are.
    pub(super) in_place: Vec<bool>,
    /// Carries that are outputs too, as they were before the step: the positions of both. They are written where they will be read
    /// and stay.
    pub(super) stacked: Vec<(usize, usize)>,
    /// The positions, among the step's arguments and results, of slices, and the bytes of those.
    pub(super) slices: Vec<(usize, usize)>,
}

/// The memory of a loop.
#[derive(Debug)]
pub(super) struct LoopSpace {
    pub(super) workspace: Workspace,
    /// Where the step's arguments are, then its results.
    pub(super) pointers: Vec<*mut u8>,
    /// The other place of carries that alternate between places.
    pub(super) turns: Vec<CacheLine>,
    /// The two places of each carry.
    pub(super) places: Vec<[*mut u8; 2]>,
}

// SAFETY: the pointers are set at the beginning of a run, by whoever holds the space.
unsafe impl Send for LoopSpace {}

#[derive(Debug)]
pub(super) struct CompiledBranch {
    pub(super) condition: BufferId,
    /// Where the condition holds, and where it does not.
    pub(super) sides: [Box<Machine>; 2],
    pub(super) arguments: Vec<BufferId>,
    pub(super) results: Vec<BufferId>,
    /// The positions of arguments that sides may change in place, of the results that those are then, and their bytes.
    pub(super) changed: Vec<(usize, usize, usize)>,
}

/// The memory of a conditional.
#[derive(Debug)]
pub(super) struct BranchSpace {
    pub(super) sides: [Workspace; 2],
    pub(super) pointers: Vec<*mut u8>,
}

// SAFETY: the pointers are set before they are read, by whoever holds the space.
unsafe impl Send for BranchSpace {}

#[derive(Debug)]
pub(super) struct CompiledBlocks {
    pub(super) extent: usize,
    pub(super) rows: usize,
    pub(super) block: Box<Machine>,
    /// For the last rows, if they are fewer.
    pub(super) rest: Option<Box<Machine>>,
    /// Buffers, and the bytes by which they advance per row.
    pub(super) arguments: Vec<(BufferId, usize)>,
    pub(super) results: Vec<(BufferId, usize)>,
    /// Runs of blocks that go to different threads, which depend on the blocks alone.
    pub(super) chunks: usize,
    /// Results that every chunk has for itself at first.
    pub(super) partials: Vec<BlockPartial>,
    /// Bytes of these.
    pub(super) memory: usize,
    /// Lines of memory for each operand of products that blocks have in common.
    pub(super) kept: Vec<usize>,
}

/// A result of blocks that every chunk has for itself at first.
#[derive(Debug)]
pub(super) struct BlockPartial {
    /// Its position among the results.
    pub(super) position: usize,
    pub(super) buffer: PartialBuffer,
    /// Whether the result has elements already.
    pub(super) is_filled: bool,
}

/// The memory that a thread needs to run blocks.
#[derive(Debug)]
pub(super) struct BlocksSpace {
    pub(super) worker: Worker,
    pub(super) block: Workspace,
    pub(super) rest: Option<Workspace>,
    pub(super) pointers: Vec<*mut u8>,
}

// SAFETY: the pointers are set before they are read, by whoever holds the slot.
unsafe impl Send for BlocksSpace {}

#[derive(Debug)]
pub(super) struct CompiledSweeps {
    /// How many steps there are, unless the condition says that.
    pub(super) count: Option<usize>,
    pub(super) condition: Option<Box<Machine>>,
    pub(super) sweeps: Vec<CompiledSweep>,
    pub(super) reverse: bool,
    pub(super) checkpoints: Checkpoints,
    pub(super) captures: Vec<BufferId>,
    /// The results of the first sweep, in the procedure that the loop is a step of.
    pub(super) results: Vec<BufferId>,
    /// Where these are when it is run ahead.
    pub(super) first: Option<Vec<BufferId>>,
}

/// One sweep. Its step's arguments are carries, slices of inputs, reads, and captures; the results are carries, kept values,
/// and slices of outputs.
#[derive(Debug)]
pub(super) struct CompiledSweep {
    pub(super) step: Box<Machine>,
    pub(super) starts: Vec<BufferId>,
    pub(super) finals: Vec<BufferId>,
    /// Where carries are in a state.
    pub(super) state: RecordLayout,
    /// The carries that the step changes in place: in the first of the two places for states, or where the first value is,
    /// if the result is there.
    pub(super) in_place: Vec<bool>,
    /// The buffers of inputs and outputs, by the positions of slices among the step's pointers, with the slices' bytes.
    pub(super) slices: Vec<Slice>,
    /// The positions of the reads, the sweeps that kept them, and their places in those sweeps' records.
    pub(super) reads: Vec<(usize, usize, usize)>,
    /// The place of each kept value in a record, and whether it is read. Unread values share one record for all steps, after
    /// the others.
    pub(super) keeps: Vec<(usize, bool)>,
    /// The kept values that are carries before the step: the positions of both.
    pub(super) carried: Vec<(usize, usize)>,
    /// Bytes of a record with the values that are read, and of one with all values.
    pub(super) record: usize,
    pub(super) all: usize,
}

#[derive(Debug)]
pub(super) struct Slice {
    pub(super) position: usize,
    pub(super) buffer: BufferId,
    pub(super) bytes: usize,
}

/// The memory of such a loop.
#[derive(Debug)]
pub(super) struct SweepsSpace {
    pub(super) condition: Option<StepSpace>,
    /// The result of the condition.
    pub(super) holds: Vec<CacheLine>,
    pub(super) sweeps: Vec<SweepSpace>,
    /// Where buffers are while the first sweep runs ahead, the work left to do then, and the first step on the tapes.
    pub(super) bases: Vec<*mut u8>,
    pub(super) begun: Option<(Begun, usize)>,
    /// The counts of the last run.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare it with that of plain arrays"))]
    pub(super) counts: Counts,
}

/// The memory of a step, or of the condition.
#[derive(Debug)]
pub(super) struct StepSpace {
    pub(super) workspace: Workspace,
    /// Where its arguments are, then its results.
    pub(super) pointers: Vec<*mut u8>,
}

// SAFETY: the pointers are set before they are read, by whoever holds the space.
unsafe impl Send for StepSpace {}

#[derive(Debug)]
pub(super) struct SweepSpace {
    pub(super) step: StepSpace,
    /// The two places of the state, and which one is written next.
    pub(super) turns: Vec<CacheLine>,
    pub(super) turn: usize,
    /// States.
    pub(super) stored: Records,
    pub(super) tape: Records,
    /// The number of steps with a record.
    pub(super) kept: usize,
    /// The record of values that are not kept.
    pub(super) dropped: Vec<CacheLine>,
}
