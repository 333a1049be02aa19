//! Nests that are left to kernels among the instructions.

use super::{ElementStorage, Flattener, ProcedureFrame};
use crate::array::neutral_value;
use crate::engine::cpu::assemble::assemble;
use crate::engine::cpu::edges;
use crate::engine::cpu::scalars::embedded::{EmbeddedCode, EmbeddedNest, PassedPointer};
use crate::engine::cpu::scalars::register::RegisterIndex;
use crate::engine::cpu::target::{SOME_STEPS, Target};
use crate::kernel::{BufferId, Nest, StoreMode};
use crate::shape::Value;

/// Nanoseconds of a nest that is reported by itself, and may be shared by threads.
const HEAVY: f64 = 4000.0;
/// Nanoseconds that a nest takes among instructions, without its kernels and passed arguments.
const EMBEDDED: f64 = 8.0;

/// A nest that instructions run.
pub(super) struct Embedded {
    nest: Nest,
    buffers: Vec<BufferId>,
    passed: RegisterIndex,
    fills: Vec<(PassedPointer, usize, Value)>,
}

/// The buffers that a nest reads or writes, each once.
fn touched(nest: &Nest) -> Vec<BufferId> {
    let mut buffers: Vec<BufferId> = nest.read().chain(nest.stores.iter().map(|store| store.buffer)).collect();
    buffers.sort_unstable();
    buffers.dedup();
    buffers
}

impl Flattener {
    /// Nanoseconds, about, for moving the elements that a nest reads or writes from registers to memory and back.
    pub(super) fn cost_of_moves(&self, frame: &ProcedureFrame<'_>, nest: &Nest) -> f64 {
        let touched = touched(nest);
        let count = touched.len();
        let moved = touched.into_iter().filter(|&id| {
            let place = frame.places.get(&frame.procedure.origin(id));
            frame.ty(id).size() <= self.small && place.is_none_or(|place| place.pointer.is_none())
        });
        EMBEDDED + (count as f64) / 3.0 + moved.map(|id| frame.ty(id).size() as f64).sum::<f64>()
    }

    /// A nest whose work is done by kernels, which take about `cost` nanoseconds. The arrays that it writes are in memory from
    /// here on.
    pub(super) fn embed(
        &mut self,
        frame: &mut ProcedureFrame<'_>,
        nest: &Nest,
        cost: f64,
        continues: bool,
    ) -> Option<()> {
        (cost <= HEAVY).then_some(())?;
        let mut fills: Vec<(BufferId, Value)> = Vec::new();
        for store in &nest.stores {
            let id = frame.procedure.origin(store.buffer);
            let is_there = frame.places.contains_key(&id);
            match store.mode {
                StoreMode::Write if is_there => {}
                StoreMode::Write => self.begin_in_memory(frame, id)?,
                StoreMode::Reduce(_) if continues || frame.procedure.continued.contains(&store.buffer) => {
                    is_there.then_some(())?;
                }
                StoreMode::Reduce(op) => {
                    self.begin_in_memory(frame, id)?;
                    fills.push((store.buffer, neutral_value(op, frame.ty(id).dtype)));
                }
            }
        }
        let buffers = touched(nest);
        let pointers: Vec<RegisterIndex> = buffers.iter().map(|&id| self.pointer(frame, id)).collect::<Option<_>>()?;
        for store in &nest.stores {
            self.place(frame, store.buffer)?.elements = None;
        }
        let position = |id: BufferId| buffers.iter().position(|&buffer| buffer == id).expect("a buffer of the nest");
        let fills = fills.into_iter().map(|(id, value)| (position(id), frame.ty(id).size(), value)).collect();
        let passed = self.builder.nest(self.nests.len(), &pointers, cost)?;
        self.nests.push(Embedded { nest: nest.clone(), buffers, passed, fills });
        Some(())
    }

    /// Places a buffer without elements in memory.
    fn begin_in_memory(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId) -> Option<()> {
        let ty = frame.ty(id);
        let pointer = match frame.results.get(&id) {
            Some(&pointer) => pointer,
            None => self.room(ty.bytes()?)?,
        };
        frame.places.insert(id, ElementStorage::in_memory(ty.dtype, pointer));
        Some(())
    }

    /// Gives the nests that instructions run their own.
    pub(super) fn assemble(&mut self, target: Target<'_>) -> Option<()> {
        for Embedded { nest, buffers, passed, fills } in std::mem::take(&mut self.nests) {
            let mut parts = Vec::new();
            for part in edges::parts(&nest, false).unwrap_or_else(|| vec![nest]) {
                let code = assemble(target.repeated(SOME_STEPS), &part, &[], false);
                let table = self.builder.registers(code.slots.len())?;
                parts.push(EmbeddedCode::new(code, &buffers, table));
            }
            self.builder.embed(EmbeddedNest { parts, passed, fills });
        }
        Some(())
    }
}
