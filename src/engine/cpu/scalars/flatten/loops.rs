//! Loops: steps with jumps, and their carries.

use super::{ElementStorage, Flattener, ProcedureFrame, STEP};
use crate::engine::cpu::scalars::builder::COPIED;
use crate::engine::cpu::scalars::register::RegisterIndex;
use crate::kernel::{BufferId, BufferSource, Loop, Procedure, Step, SweepLoop};
use crate::shape::{DType, Type};
use crate::term::Steps;
use crate::term::hash::TermMap;

/// How many steps a loop that ends by a condition has, for costs.
const STEPS: f64 = 16.0;

/// A carry of a loop: in registers of its own, which get the next value at the end of a step, in memory that steps change, or in
/// memory that the next value is copied to.
enum CarryStorage {
    Registers(DType, Vec<RegisterIndex>),
    Changed(DType, RegisterIndex),
    Copied(DType, RegisterIndex),
}

impl CarryStorage {
    fn place(&self) -> ElementStorage {
        match self {
            CarryStorage::Registers(dtype, own) => ElementStorage::in_registers(*dtype, own.iter().copied()),
            CarryStorage::Changed(dtype, pointer) | CarryStorage::Copied(dtype, pointer) => {
                ElementStorage::in_memory(*dtype, *pointer)
            }
        }
    }
}

impl Flattener {
    /// The carries of a loop from some buffers to others, which are its results, with the values that it begins with.
    fn carries(
        &mut self,
        frame: &mut ProcedureFrame<'_>,
        step: &Procedure,
        (from, to): (&[BufferId], &[BufferId]),
    ) -> Option<Vec<CarryStorage>> {
        let mut carries = Vec::with_capacity(from.len());
        for (carry, (&id, &result)) in from.iter().zip(to).enumerate() {
            let ty = frame.ty(id);
            let is_large = ty.size() > self.small;
            carries.push(if step.changes(carry) && (is_large || is_written_at(step, carry as BufferId)) {
                CarryStorage::Changed(ty.dtype, self.begun(frame, id, result)?)
            } else if is_large {
                CarryStorage::Copied(ty.dtype, self.begun(frame, id, result)?)
            } else {
                let first = self.elements(frame, id)?;
                let own = first.into_iter().map(|from| self.builder.copied(from)).collect::<Option<_>>()?;
                CarryStorage::Registers(ty.dtype, own)
            });
        }
        Some(carries)
    }

    /// The memory of a loop's result, initialised with a buffer's contents.
    fn begun(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId, result: BufferId) -> Option<RegisterIndex> {
        let from = self.pointer(frame, id)?;
        let (origin, bytes) = (frame.procedure.origin(result), frame.ty(id).bytes()?);
        let to = match frame.results.get(&origin) {
            _ if frame.procedure.origin(id) == origin => from,
            Some(&pointer) => pointer,
            None => self.room(bytes)?,
        };
        if to != from {
            self.builder.copy(to, from, bytes)?;
            self.kernels += bytes as f64 / COPIED;
        }
        Some(to)
    }

    /// The places of a loop's captures; small arrays are read before it begins.
    fn captures(&mut self, frame: &mut ProcedureFrame<'_>, ids: &[BufferId]) -> Option<Vec<ElementStorage>> {
        let mut places = Vec::with_capacity(ids.len());
        for &id in ids {
            let mut place = self.place(frame, id)?.clone();
            if place.elements.is_none() && frame.ty(id).size() <= self.small {
                place.elements = Some(self.elements(frame, id)?.into_iter().map(Some).collect());
            }
            places.push(place);
        }
        Some(places)
    }

    /// A loop whose steps are counted.
    pub(super) fn repeat(&mut self, frame: &mut ProcedureFrame<'_>, repeated: &Loop) -> Option<()> {
        let (scan, step) = (&repeated.scan, &repeated.step);
        let length = scan.length;
        (length > 0).then_some(())?;
        let first = if scan.reverse { length - 1 } else { 0 };
        let mut moves: Vec<(RegisterIndex, isize)> = Vec::new();
        // A pointer to the first slice of an array, which moves with the steps.
        let mut slices = |this: &mut Flattener, pointer: RegisterIndex, ty: &Type| {
            let bytes = ty.bytes()? / length;
            let pointer = this.builder.pointer(pointer, first.checked_mul(bytes)?)?;
            let bytes = isize::try_from(bytes).ok()?;
            moves.push((pointer, if scan.reverse { -bytes } else { bytes }));
            Some(pointer)
        };
        let (carried, others) = repeated.arguments.split_at(scan.carries);
        let (inputs, captured) = others.split_at(scan.inputs);
        let mut places = Vec::with_capacity(repeated.arguments.len());
        for &id in inputs {
            let pointer = self.pointer(frame, id)?;
            let ty = frame.ty(id);
            places.push(ElementStorage::in_memory(ty.dtype, slices(self, pointer, ty)?));
        }
        places.extend(self.captures(frame, captured)?);
        let mut outputs = Vec::new();
        for &id in &repeated.results[scan.carries..] {
            let ty = frame.ty(id);
            let whole = match frame.results.get(&frame.procedure.origin(id)) {
                Some(&pointer) => pointer,
                None => self.room(ty.bytes()?)?,
            };
            frame.places.insert(frame.procedure.origin(id), ElementStorage::in_memory(ty.dtype, whole));
            outputs.push(slices(self, whole, ty)?);
        }
        let carries = self.carries(frame, step, (carried, &repeated.results))?;
        let places = carries.iter().map(CarryStorage::place).chain(places).collect();
        let count = self.builder.count(length)?;
        let before = (self.builder.cost, self.kernels);
        let head = self.builder.repeat(count)?;
        let stacked = step.results[scan.carries..].iter().copied().zip(outputs);
        let local = stacked
            .clone()
            .filter(|&(id, _)| matches!(step.buffers[step.origin(id) as usize].source, BufferSource::Local));
        let local = local.map(|(id, pointer)| (step.origin(id), pointer)).collect();
        let mut inner = self.procedure(step, places, local)?;
        for (id, pointer) in stacked {
            self.store_all(&mut inner, id, pointer)?;
        }
        let next = self.carried(&mut inner, &step.results[..scan.carries], &carries)?;
        self.kernels += STEP;
        self.builder.next(head, &next, &moves)?;
        self.times(before, length as f64);
        for (carry, &id) in carries.iter().zip(&repeated.results) {
            frame.places.insert(frame.procedure.origin(id), carry.place());
        }
        Some(())
    }

    /// The registers of carries, each with the register of its next value.
    fn carried(
        &mut self,
        frame: &mut ProcedureFrame<'_>,
        results: &[BufferId],
        carries: &[CarryStorage],
    ) -> Option<Vec<(RegisterIndex, RegisterIndex)>> {
        let mut pairs = Vec::new();
        for (&id, carry) in results.iter().zip(carries) {
            match carry {
                CarryStorage::Registers(_, own) => pairs.extend(own.iter().copied().zip(self.elements(frame, id)?)),
                CarryStorage::Changed(_, pointer) => {
                    let place = self.place(frame, id)?;
                    (place.elements.is_none() && place.pointer == Some(*pointer)).then_some(())?;
                }
                CarryStorage::Copied(_, pointer) => {
                    // The first copy must not go to where another carry is copied from.
                    let source = frame.procedure.origin(id);
                    let is_own = matches!(frame.procedure.buffers[source as usize].source, BufferSource::Parameter(_));
                    let is_there = self.place(frame, id)?.pointer == Some(*pointer);
                    (is_there || !is_own).then_some(())?;
                    self.store_all(frame, id, *pointer)?;
                }
            }
        }
        Some(pairs)
    }

    /// A loop that ends by a condition and keeps nothing.
    pub(super) fn sweeps(&mut self, frame: &mut ProcedureFrame<'_>, lowered: &SweepLoop) -> Option<()> {
        let loops = &lowered.sweeps;
        let (Steps::While(_), [sweep], Some(condition)) = (&loops.steps, &loops.sweeps[..], &lowered.condition) else {
            return None;
        };
        (sweep.keeps == 0).then_some(())?;
        let captures = self.captures(frame, &lowered.arguments[loops.captures()..])?;
        let carried = (&lowered.arguments[..sweep.carries], &lowered.results[..]);
        let carries = self.carries(frame, &lowered.bodies[0], carried)?;
        let places: Vec<ElementStorage> = carries.iter().map(CarryStorage::place).chain(captures).collect();
        let before = (self.builder.cost, self.kernels);
        self.builder.open();
        let first = self.builder.label()?;
        let mut inner = self.procedure(condition, places.clone(), TermMap::default())?;
        let holds = self.element(&mut inner, condition.results[0], 0)?;
        let end = self.builder.unless(holds)?;
        let body = &lowered.bodies[0];
        let mut inner = self.procedure(body, places, TermMap::default())?;
        let next = self.carried(&mut inner, &body.results, &carries)?;
        self.kernels += STEP;
        self.builder.assign(&next)?;
        self.builder.close();
        self.builder.jump(first)?;
        self.builder.land(end)?;
        self.times(before, STEPS);
        for (carry, &id) in carries.iter().zip(&lowered.results) {
            frame.places.insert(frame.procedure.origin(id), carry.place());
        }
        Some(())
    }
}

/// Whether steps of a procedure write elements of a buffer at computed positions.
fn is_written_at(procedure: &Procedure, id: BufferId) -> bool {
    procedure.steps.iter().any(|step| {
        let within = |inner: &Procedure, ids: &[BufferId]| {
            let own = (0..).zip(ids).filter(|&(_, &other)| procedure.origin(other) == id);
            own.into_iter().any(|(parameter, _)| is_written_at(inner, parameter))
        };
        match step {
            Step::Nest(nest) => {
                nest.stores.iter().any(|store| store.index.is_some() && procedure.origin(store.buffer) == id)
            }
            Step::Loop(repeated) => within(&repeated.step, &repeated.arguments),
            Step::Sweeps(sweeps) => sweeps.bodies.iter().any(|body| within(body, &sweeps.arguments)),
            Step::Branch(branch) => {
                [&branch.then, &branch.otherwise].iter().any(|side| within(side, &branch.arguments))
            }
            Step::Product(_) | Step::First(_) | Step::Call(_) | Step::Blocks(_) => false,
        }
    })
}
