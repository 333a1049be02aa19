//! Programs as the launches for their steps.

use crate::array::Array;
use crate::kernel::{BufferId, Procedure, Step};
use crate::shape::{Type, Value};
use crate::source::plan::{BufferBinding, BufferSlot};

/// The work items of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// How many there are at least: those beyond, which fill the last group, do nothing.
    pub(super) items: usize,
    /// How many are a group.
    pub(super) group: usize,
}

/// An array that a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KernelArray {
    Buffer(BufferId),
    /// Memory of the step's own.
    Slot(usize),
}

/// An action of the host for a step.
#[derive(Debug)]
pub(super) enum Action {
    /// Launches a kernel with these arrays and numbers.
    Launch { kernel: usize, grid: Grid, operands: Vec<KernelArray>, numbers: Vec<i64> },
    /// Writes one value to the first `count` elements of an array.
    Fill { to: KernelArray, count: usize, value: Value },
}

/// The first kernel of a step, by which its times are known.
pub(super) fn first_kernel(actions: &[Action]) -> Option<usize> {
    actions.iter().find_map(|action| match action {
        Action::Launch { kernel, .. } => Some(*kernel),
        Action::Fill { .. } => None,
    })
}

/// The content of a step.
#[derive(Debug)]
pub(super) enum Inner {
    /// Kernels only.
    Actions(Vec<Action>),
    /// A procedure that runs on buffers of the enclosing one.
    Call {
        code: DeviceCode,
        arguments: Vec<BufferId>,
        results: Vec<BufferId>,
    },
    Loop(DeviceCode),
    Branch(Box<[DeviceCode; 2]>),
    Sweeps(Box<SweepsCode>),
}

/// A loop with a condition, or one with several sweeps.
#[derive(Debug)]
pub(super) struct SweepsCode {
    pub(super) condition: Option<DeviceCode>,
    pub(super) bodies: Vec<DeviceCode>,
    /// Whether the first sweep's steps may be run before it is known that there are such.
    pub(super) runs_ahead: bool,
}

/// A procedure as the launches for its steps.
#[derive(Debug)]
pub(super) struct DeviceCode {
    pub(super) procedure: Procedure,
    /// Where each buffer is, aliases included.
    pub(super) places: Vec<BufferBinding>,
    pub(super) slots: Vec<BufferSlot>,
    pub(super) constants: Vec<(BufferId, Array)>,
    /// Results that are copied from other places after the last step.
    pub(super) copied: Vec<(usize, BufferId)>,
    pub(super) steps: Vec<Inner>,
}

impl DeviceCode {
    pub(super) fn ty(&self, id: BufferId) -> &Type {
        &self.procedure.buffers[id as usize].ty
    }

    /// Whether it terminates without asking the host, whatever its arguments are.
    pub(super) fn ends(&self) -> bool {
        self.steps.iter().zip(&self.procedure.steps).all(|(inner, step)| match inner {
            Inner::Actions(_) => !goes_on(step),
            Inner::Call { code, .. } | Inner::Loop(code) => code.ends(),
            Inner::Branch(_) | Inner::Sweeps(_) => false,
        })
    }
}

/// Whether the number of steps of a loop in a step is known only when it has been run.
fn goes_on(step: &Step) -> bool {
    let ends_by_condition = matches!(step, Step::Sweeps(sweeps) if sweeps.condition.is_some());
    ends_by_condition || step.inner().iter().any(|procedure| procedure.steps.iter().any(goes_on))
}

/// So many conditions are asked for at a time at most.
pub(super) const AHEAD: usize = 16;

/// Steps are run ahead where the arrays that they change in place take no more bytes: these are copied in each of them, since the
/// state before may be the last one.
pub(super) const COPIED: usize = 1 << 20;

/// Everything that is launched, in the order of the source.
pub(super) fn actions<'c>(code: &'c DeviceCode, visit: &mut impl FnMut(&'c Action)) {
    for inner in &code.steps {
        if let Inner::Actions(actions) = inner {
            actions.iter().for_each(&mut *visit);
        }
        inside(inner).for_each(|code| self::actions(code, visit));
    }
}

/// The code inside of a step.
pub(super) fn inside(inner: &Inner) -> Box<dyn Iterator<Item = &DeviceCode> + '_> {
    match inner {
        Inner::Actions(_) => Box::new(std::iter::empty()),
        Inner::Call { code, .. } | Inner::Loop(code) => Box::new(std::iter::once(code)),
        Inner::Branch(sides) => Box::new(sides.iter()),
        Inner::Sweeps(sweeps) => Box::new(sweeps.condition.iter().chain(&sweeps.bodies)),
    }
}
