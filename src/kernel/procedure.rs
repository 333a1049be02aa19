//! Lowered programs: buffers, and the steps that fill them.

use crate::kernel::access::{Affine, Guards};
use crate::kernel::buffer::{BufferId, BufferSource, ProcedureBuffer};
use crate::kernel::call::Call;
use crate::kernel::nest::{Nest, NestValue, Store, StoreMode};
use crate::operation::{Binary, Reduction};
use crate::shape::{DType, steps};
use crate::term::{self, Scan};
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;
use std::sync::Arc;

/// The roles that axes have in matrix products: they run over matrices; make up the rows of the left operand and of the
/// result; are summed, the left operand's columns and the right one's rows; make up the columns of the right operand and of
/// the result.
pub(crate) const BATCH: usize = 0;
pub(crate) const ROW: usize = 1;
pub(crate) const SUMMED: usize = 2;
pub(crate) const COLUMN: usize = 3;

/// A number for each axis of matrix products, by the axis's role; within a role the outermost first.
pub(crate) type ByRole<T> = [SmallVec<[T; 2]>; 4];

/// An operand or the result of matrix products: its element at a position is `offset + position · strides`. Axes that it
/// lacks have stride 0.
#[derive(Clone, Debug)]
pub(crate) struct Strided {
    pub(crate) buffer: BufferId,
    pub(crate) offset: usize,
    pub(crate) strides: ByRole<isize>,
}

impl Strided {
    /// Whether it reads some element at several of its own positions, as windows do.
    pub(crate) fn overlaps(&self, extents: &ByRole<usize>) -> bool {
        let axes = || extents.iter().flatten().zip(self.strides.iter().flatten()).filter(|&(_, &stride)| stride != 0);
        let reach =
            |(&extent, &stride): (&usize, &isize)| stride.unsigned_abs().saturating_mul(extent.saturating_sub(1));
        let elements = axes().map(reach).fold(1, usize::saturating_add);
        steps(axes().map(|(&extent, _)| extent)) > elements
    }
}

/// Matrix products `result = left · right`, one for each position of the batches. Rows and columns of matrices are the
/// positions of some axes together, the last of which runs first.
#[derive(Clone, Debug)]
pub(crate) struct MatrixProduct {
    pub(crate) extents: ByRole<usize>,
    pub(crate) left: Strided,
    pub(crate) right: Strided,
    pub(crate) result: Strided,
    /// Whether the products are added to the result's elements.
    pub(crate) continues: bool,
    /// Nests that compute the elements of the left and of the right operand as they are read, instead of reading them from
    /// memory. Each writes every element of the operand's buffer once, and nothing else. Engines move it here, like an
    /// epilogue.
    pub(crate) prologues: [Option<Nest>; 2],
    /// Work on each element as soon as it is known. Lowering leaves this to separate steps: engines whose kernels have a place
    /// for it move it here.
    pub(crate) epilogue: Option<Epilogue>,
}

/// Elementwise work on the elements of products.
#[derive(Clone, Debug)]
pub(crate) struct Epilogue {
    /// A nest whose positions are those of the result, each of which it reads once, by the result's own buffer, and whose
    /// stores all write.
    pub(crate) nest: Nest,
    /// Whether the products themselves are stored too.
    pub(crate) keeps_result: bool,
}

impl MatrixProduct {
    /// The positions of all axes in a role.
    pub(crate) fn count(&self, role: usize) -> usize {
        steps(self.extents[role].iter().copied())
    }

    /// Rows of the left operand, its columns, and columns of the right one.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [ROW, SUMMED, COLUMN].map(|role| self.count(role))
    }

    /// The products as a nest over all axes, which combines with the result's elements.
    pub(crate) fn as_nest(&self, dtype: DType) -> Nest {
        let extents = self.all_extents();
        let place = |operand: &Strided| {
            let strides = operand.strides.iter().flatten().map(|&stride| stride as i64);
            Affine { offset: operand.offset as i64, coefficients: strides.collect() }
        };
        let mut nest = Nest { extents: extents.into(), ..Nest::default() };
        for operand in [&self.left, &self.right] {
            let load = NestValue::Load { buffer: operand.buffer, at: place(operand), guards: Guards::new() };
            nest.values.push((load, dtype));
        }
        nest.values.push((NestValue::Binary(Binary::Mul, 0, 1), dtype));
        let (buffer, at) = (self.result.buffer, place(&self.result));
        let mode = StoreMode::Reduce(Reduction::Sum);
        nest.stores.push(Store { value: 2, buffer, at, guards: Guards::new(), index: None, mode });
        nest
    }

    /// The buffers that the operands are read from, or that they are computed of.
    pub(crate) fn sources(&self) -> Vec<BufferId> {
        let operands = [&self.left, &self.right].into_iter().zip(&self.prologues);
        operands
            .flat_map(|(operand, prologue)| match prologue {
                Some(nest) => nest.read().collect(),
                None => vec![operand.buffer],
            })
            .collect()
    }

    /// The buffers that are read, and those that are filled.
    fn touched(&self) -> (Vec<BufferId>, Vec<BufferId>) {
        let (operands, result) = (self.sources(), self.result.buffer);
        let Some(Epilogue { nest, keeps_result }) = &self.epilogue else { return (operands, vec![result]) };
        let others = nest.read().filter(|&id| id != result);
        let stored = nest.stores.iter().map(|store| store.buffer);
        (
            operands.into_iter().chain(others).collect(),
            keeps_result.then_some(result).into_iter().chain(stored).collect(),
        )
    }

    /// The extents of all axes, as an operand's places go over them.
    pub(crate) fn all_extents(&self) -> Vec<usize> {
        self.extents.iter().flatten().copied().collect()
    }
}

/// A rolled loop: the procedure of its step runs once for each.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) scan: Arc<Scan>,
    pub(crate) step: Procedure,
    /// First carries, inputs, captures.
    pub(crate) arguments: Vec<BufferId>,
    /// Last carries, stacked outputs.
    pub(crate) results: Vec<BufferId>,
}

/// A conditional: one of two procedures runs.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: BufferId,
    pub(crate) then: Procedure,
    pub(crate) otherwise: Procedure,
    pub(crate) arguments: Vec<BufferId>,
    pub(crate) results: Vec<BufferId>,
    /// The positions of arguments that sides may change in place, and of the results that those are then.
    pub(crate) changed: Vec<(usize, usize)>,
}

/// A loop with several sweeps, or ends by a condition.
#[derive(Clone, Debug)]
pub(crate) struct SweepLoop {
    pub(crate) sweeps: Arc<term::Sweeps>,
    pub(crate) condition: Option<Procedure>,
    /// The steps of the sweeps.
    pub(crate) bodies: Vec<Procedure>,
    /// For each sweep its first carries and its inputs, then captures.
    pub(crate) arguments: Vec<BufferId>,
    /// For each sweep its last carries and its stacked outputs.
    pub(crate) results: Vec<BufferId>,
    /// The results of the step before that is the first sweep, if there is one.
    pub(crate) first: Option<Vec<BufferId>>,
}

#[cfg(feature = "opencl")]
impl SweepLoop {
    /// Which of a sweep's carries stay in one place. Where the first sweep `runs_ahead` of its condition, none of its own does:
    /// its steps may turn out to be none.
    pub(crate) fn stays(&self, sweep: usize, runs_ahead: bool) -> impl Iterator<Item = bool> {
        let returns = sweep == 0 && runs_ahead && self.condition.is_some();
        (0..self.sweeps.sweeps[sweep].carries).map(move |carry| !returns && self.bodies[sweep].changes(carry))
    }
}

/// The first sweep of a loop that is a later step.
#[derive(Clone, Debug)]
pub(crate) struct First {
    /// The loop's arguments that it reads.
    pub(crate) arguments: Vec<BufferId>,
    /// Its last carries and its stacked outputs.
    pub(crate) results: Vec<BufferId>,
}

/// Steps that run for a few rows of their arrays at a time.
#[derive(Clone, Debug)]
pub(crate) struct RowBlocks {
    /// Rows of all blocks.
    pub(crate) extent: usize,
    /// Rows of a block.
    pub(crate) rows: usize,
    pub(crate) procedure: Procedure,
    /// The procedure of the last block, if it has fewer rows.
    pub(crate) rest: Option<Procedure>,
    /// The buffers that are the procedure's arguments, with the elements by which each advances per row.
    pub(crate) arguments: Vec<(BufferId, usize)>,
    /// The same for its results, and how blocks combine into those that every block continues.
    pub(crate) results: Vec<(BufferId, usize, Option<Combined>)>,
}

/// A result that every block of rows continues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combined {
    pub(crate) op: Reduction,
    /// Whether the first block continues from elements that are there, instead of from the neutral one.
    pub(crate) is_filled: bool,
}

/// A step: it fills buffers.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Nest(Nest),
    Product(Box<MatrixProduct>),
    Loop(Box<Loop>),
    Branch(Box<Conditional>),
    Sweeps(Box<SweepLoop>),
    First(First),
    Call(Call),
    Blocks(Box<RowBlocks>),
}

impl Step {
    /// The buffers that it reads, and those that it fills.
    pub(crate) fn touched(&self) -> (Vec<BufferId>, Vec<BufferId>) {
        match self {
            Step::Nest(nest) => (nest.read().collect(), nest.stores.iter().map(|store| store.buffer).collect()),
            Step::Product(product) => product.touched(),
            Step::Loop(repeated) => (repeated.arguments.clone(), repeated.results.clone()),
            Step::Branch(branch) => {
                let read = std::iter::once(branch.condition).chain(branch.arguments.iter().copied());
                (read.collect(), branch.results.clone())
            }
            Step::Sweeps(sweeps) => (sweeps.arguments.clone(), sweeps.results.clone()),
            Step::First(first) => (first.arguments.clone(), first.results.clone()),
            Step::Call(call) => (call.arguments.clone(), call.results.clone()),
            Step::Blocks(blocks) => {
                let arguments = blocks.arguments.iter().map(|&(id, _)| id);
                (arguments.collect(), blocks.results.iter().map(|&(id, ..)| id).collect())
            }
        }
    }

    /// Number of kernels: one, except for steps made of procedures. A loop's first sweep is counted with the loop.
    pub(crate) fn kernels(&self) -> usize {
        match self {
            Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) => {
                self.inner().iter().map(|procedure| procedure.kernels()).sum()
            }
            Step::First(_) => 0,
            _ => 1,
        }
    }

    /// The procedures inside, in the order of reports, without those of blocks, which are one kernel.
    pub(crate) fn inner(&self) -> SmallVec<[&Procedure; 4]> {
        match self {
            Step::Loop(repeated) => smallvec![&repeated.step],
            Step::Branch(branch) => smallvec![&branch.then, &branch.otherwise],
            Step::Sweeps(sweeps) => sweeps.condition.iter().chain(&sweeps.bodies).collect(),
            Step::Nest(_) | Step::Product(_) | Step::First(_) | Step::Call(_) | Step::Blocks(_) => SmallVec::new(),
        }
    }
}

/// A program of loop nests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Procedure {
    /// The buffers; those of the parameters first.
    pub(crate) buffers: Vec<ProcedureBuffer>,
    pub(crate) parameters: usize,
    pub(crate) results: Vec<BufferId>,
    /// Results that have elements already, from which the steps continue.
    pub(crate) continued: Vec<BufferId>,
    /// The buffers that are written to after they have been filled, by their origins.
    pub(crate) changing: HashSet<BufferId>,
    pub(crate) steps: Vec<Step>,
}

impl Procedure {
    /// Whether this, as the procedure of an operation, is its call again, so that writing that as a procedure would never end.
    pub(crate) fn leaves_alone(&self, call: &Call) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Call(inner) if inner.body == call.body))
    }

    /// Number of steps that compute something; steps inside loops and both sides of conditionals count once.
    pub(crate) fn kernels(&self) -> usize {
        self.steps.iter().map(Step::kernels).sum()
    }

    /// The buffer that holds the elements: the end of a chain of aliases.
    pub(crate) fn origin(&self, mut id: BufferId) -> BufferId {
        while let BufferSource::Alias(of) = self.buffers[id as usize].source {
            id = of;
        }
        id
    }
}

impl Procedure {
    /// The parameters, of the first so many, that are the results at their positions too, each with that position.
    pub(crate) fn changed(&self, count: usize) -> Vec<(usize, usize)> {
        (0..count).filter(|&position| self.changes(position)).map(|position| (position, position)).collect()
    }

    /// Whether a result is where the parameter at its position is.
    pub(crate) fn changes(&self, position: usize) -> bool {
        let source = self.results.get(position).map(|&result| &self.buffers[self.origin(result) as usize].source);
        matches!(source, Some(&BufferSource::Parameter(parameter)) if parameter == position)
    }

    /// Among so many results after the carries, those that are carries as they were before, not changed in place: the positions
    /// of both.
    pub(crate) fn kept_carries(&self, carries: usize, keeps: usize) -> Vec<(usize, usize)> {
        let carry_of = |kept: usize| match self.buffers[self.origin(self.results[carries + kept]) as usize].source {
            BufferSource::Parameter(carry) if carry < carries && !self.changes(carry) => Some((kept, carry)),
            _ => None,
        };
        (0..keeps).filter_map(carry_of).collect()
    }
}

/// Whether blocks write to one buffer as several results.
pub(crate) fn writes_apart(procedure: &Procedure) -> bool {
    procedure.steps.iter().any(|step| match step {
        Step::Blocks(blocks) => {
            let mut ids: Vec<BufferId> = blocks.results.iter().map(|&(id, ..)| procedure.origin(id)).collect();
            ids.sort_unstable();
            ids.windows(2).any(|pair| pair[0] == pair[1])
        }
        step => step.inner().iter().any(|inner| writes_apart(inner)),
    })
}
