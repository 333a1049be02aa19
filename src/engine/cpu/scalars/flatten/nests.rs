//! Nests, position by position.

use super::{ElementStorage, Flattener, ProcedureFrame};
use crate::array::neutral_value;
use crate::engine::cpu::scalars::builder::{INSTRUCTION, KERNEL};
use crate::engine::cpu::scalars::instruction::{Indexed, ScalarOp};
use crate::engine::cpu::scalars::register::RegisterIndex;
use crate::kernel::roots::own_cost;
use crate::kernel::{Affine, Guard, Nest, NestValue, Store, StoreMode, ValueId};
use crate::operation::{Binary, Reduction, Unary};
use crate::shape::{DType, size};

/// The place of an affine function at a position.
fn place_at(at: &Affine, position: &[usize]) -> i64 {
    let terms = at.coefficients.iter().zip(position);
    terms.fold(at.offset, |sum, (&coefficient, &k)| sum.wrapping_add(coefficient.wrapping_mul(k as i64)))
}

fn hold(guards: &[Guard], position: &[usize]) -> bool {
    guards.iter().all(|guard| (0..guard.extent).contains(&place_at(&guard.position, position)))
}

impl Flattener {
    pub(super) fn nest(&mut self, frame: &mut ProcedureFrame<'_>, nest: &Nest, continues: bool) -> Option<()> {
        let count = size(&nest.extents);
        self.values = self.values.checked_sub(count.checked_mul(nest.values.len() + nest.stores.len())?)?;
        for store in &nest.stores {
            let id = frame.procedure.origin(store.buffer);
            match store.mode {
                StoreMode::Write if frame.places.contains_key(&id) => {}
                StoreMode::Write => self.begin(frame, id, None)?,
                StoreMode::Reduce(_) if continues || frame.procedure.continued.contains(&store.buffer) => {
                    frame.places.contains_key(&id).then_some(())?;
                }
                StoreMode::Reduce(op) => {
                    let neutral = self.builder.constant(neutral_value(op, frame.ty(id).dtype))?;
                    self.begin(frame, id, Some(neutral))?;
                }
            }
        }
        if count == 0 {
            return Some(());
        }
        let fused = products(nest);
        let mut position = vec![0; nest.extents.len()];
        let mut registers: Vec<RegisterIndex> = Vec::with_capacity(nest.values.len());
        loop {
            registers.clear();
            for ((value, dtype), &is_fused) in nest.values.iter().zip(&fused) {
                let register = match is_fused {
                    true => RegisterIndex::MAX,
                    false => self.value(frame, nest, (value, *dtype), &registers, &position)?,
                };
                registers.push(register);
            }
            for store in &nest.stores {
                if hold(&store.guards, &position) {
                    self.store(frame, nest, store, &fused, &registers, &position)?;
                }
            }
            // The last axis runs first.
            let mut axis = position.len();
            loop {
                if axis == 0 {
                    return Some(());
                }
                axis -= 1;
                position[axis] += 1;
                if position[axis] < nest.extents[axis] {
                    break;
                }
                position[axis] = 0;
            }
        }
    }

    fn value(
        &mut self,
        frame: &mut ProcedureFrame<'_>,
        nest: &Nest,
        (value, dtype): (&NestValue, DType),
        registers: &[RegisterIndex],
        position: &[usize],
    ) -> Option<RegisterIndex> {
        let of = |id: ValueId| (registers[id as usize], nest.values[id as usize].1);
        let zero = crate::shape::Value::from_i64(dtype, 0);
        match value {
            NestValue::Constant(value) => self.builder.constant(*value),
            NestValue::Position(at) => self.builder.constant(crate::shape::Value::I64(place_at(at, position))),
            NestValue::Load { guards, .. } | NestValue::Guarded(_, guards) if !hold(guards, position) => {
                self.builder.constant(zero)
            }
            NestValue::Load { buffer, at, .. } => {
                self.element(frame, *buffer, usize::try_from(place_at(at, position)).ok()?)
            }
            NestValue::Guarded(a, _) => Some(of(*a).0),
            NestValue::Gather { buffer, at, stride, index, extent } => {
                let pointer = self.pointer(frame, *buffer)?;
                let place = indexed(dtype, place_at(at, position), *stride, *extent)?;
                self.builder.load_at(pointer, place, of(*index).0, !frame.is_changing(*buffer))
            }
            NestValue::Unary(op, a) => self.builder.unary(*op, dtype, of(*a).0),
            NestValue::Binary(op, a, b) => self.builder.binary(*op, dtype, of(*a).0, of(*b).0),
            NestValue::Compare(op, a, b) => self.builder.compare(*op, of(*a).1, of(*a).0, of(*b).0),
            NestValue::Select(mask, yes, no) => self.builder.select(of(*mask).0, of(*yes).0, of(*no).0),
            NestValue::Cast(to, a) => self.builder.cast(of(*a).1, *to, of(*a).0),
        }
    }

    fn store(
        &mut self,
        frame: &mut ProcedureFrame<'_>,
        nest: &Nest,
        store: &Store,
        fused: &[bool],
        registers: &[RegisterIndex],
        position: &[usize],
    ) -> Option<()> {
        let (dtype, at) = (frame.ty(store.buffer).dtype, place_at(&store.at, position));
        let value = registers[store.value as usize];
        if let Some((index, stride, extent)) = store.index {
            // From here on the elements are in memory.
            let pointer = self.pointer(frame, store.buffer)?;
            self.place(frame, store.buffer)?.elements = None;
            let (place, index) = (indexed(dtype, at, stride, extent)?, registers[index as usize]);
            let value = match store.mode {
                StoreMode::Write => value,
                StoreMode::Reduce(op) => {
                    let old = self.builder.load_at(pointer, place, index, false)?;
                    self.builder.binary(op.combining(dtype), dtype, old, value)?
                }
            };
            return self.builder.store_at(pointer, place, index, value);
        }
        let at = usize::try_from(at).ok()?;
        let value = match store.mode {
            StoreMode::Write => value,
            StoreMode::Reduce(op) => {
                let old = self.element(frame, store.buffer, at)?;
                match &nest.values[store.value as usize].0 {
                    &NestValue::Binary(_, a, b) if fused[store.value as usize] => {
                        self.builder.times_plus(dtype, registers[a as usize], registers[b as usize], old)?
                    }
                    _ => self.builder.binary(op.combining(dtype), dtype, old, value)?,
                }
            }
        };
        match self.place(frame, store.buffer)? {
            ElementStorage { elements: Some(elements), pointer: None, .. } => *elements.get_mut(at)? = Some(value),
            ElementStorage { elements: None, pointer: Some(pointer), .. } => {
                let pointer = *pointer;
                self.builder.store(dtype, pointer, at.checked_mul(dtype.bytes())?, value)?;
            }
            // There would be two versions of the elements.
            _ => return None,
        }
        Some(())
    }
}

/// The products of floats that are summed, and nothing else: they are computed with their sums.
fn products(nest: &Nest) -> Vec<bool> {
    let uses = nest.uses();
    let mut fused = vec![false; nest.values.len()];
    for store in
        nest.stores.iter().filter(|store| store.mode == StoreMode::Reduce(Reduction::Sum) && store.index.is_none())
    {
        let (value, dtype) = &nest.values[store.value as usize];
        let is_product = matches!(value, NestValue::Binary(Binary::Mul, ..)) && dtype.is_float();
        fused[store.value as usize] = is_product && uses[store.value as usize] == 1;
    }
    fused
}

/// An element at a computed position, counted in elements.
fn indexed(dtype: DType, at: i64, stride: i64, extent: i64) -> Option<Indexed> {
    let width = dtype.bytes();
    let bytes = |elements: i64| isize::try_from(elements).ok()?.checked_mul(width as isize);
    Some(Indexed { offset: bytes(at)?, stride: bytes(stride)?, extent, width })
}

/// Nanoseconds, about, of a nest's kernels.
pub(super) fn cost_of_kernels(nest: &Nest) -> f64 {
    let positions = size(&nest.extents) as f64;
    let computed =
        nest.values.iter().filter(|(value, _)| !matches!(value, NestValue::Constant(_) | NestValue::Load { .. }));
    let costs = computed.map(|(value, _)| {
        let own = value.operation().map_or(1.0, |op| own_cost(&op));
        4.0 + own * (1.0 + positions / 8.0)
    });
    15.0 + costs.sum::<f64>() + 2.0 * nest.stores.len() as f64
}

/// Nanoseconds, about, of a nest's instructions.
pub(super) fn cost_of_instructions(nest: &Nest) -> f64 {
    let of = |(value, dtype): &(NestValue, DType)| {
        let is_own = match value {
            NestValue::Constant(_) | NestValue::Position(_) => return 0.0,
            NestValue::Unary(op, _) => matches!(op, Unary::Powi(_)) || ScalarOp::unary(*op, *dtype).is_some(),
            NestValue::Binary(op, ..) => ScalarOp::binary(*op, *dtype).is_some(),
            _ => true,
        };
        // One element takes a kernel about as long as several do.
        if is_own { INSTRUCTION } else { KERNEL + value.operation().map_or(0.0, |op| own_cost(&op)) }
    };
    size(&nest.extents) as f64 * (nest.values.iter().map(of).sum::<f64>() + nest.stores.len() as f64)
}
