//! Places in memory, positions of loops, and where guards hold.

use super::Expander;
use crate::engine::cpu::code::Base;
use crate::engine::cpu::native::program::{Address, Form, Kind, Op, Position, Predicate, Value};
use crate::engine::cpu::slot::Slot;
use crate::kernel::{Affine, Guard, ValueId};
use crate::shape::DType;
use smallvec::SmallVec;

impl Expander<'_> {
    /// The lanes of a register that there are elements for, if not all.
    pub(super) fn mask(&self, copy: usize) -> Option<Value> {
        self.rest.filter(|_| copy + 1 == self.present)
    }

    pub(super) fn place(&mut self, id: ValueId, copy: usize) -> Value {
        let copy = if self.runs[id as usize] { copy as u32 } else { 0 };
        self.values[&(id, copy)]
    }

    /// The pointer of an access with these strides in bytes.
    pub(super) fn pointer(&mut self, buffer: u32, strides: SmallVec<[isize; 4]>) -> Option<u32> {
        if let Some(&pointer) = self.pointers.get(&(buffer, strides.clone())) {
            return Some(pointer);
        }
        let pointer = self.new_pointer(buffer, &strides)?;
        self.pointers.insert((buffer, strides), pointer);
        Some(pointer)
    }

    /// A pointer that moves by these strides in bytes.
    pub(super) fn new_pointer(&mut self, buffer: u32, strides: &[isize]) -> Option<u32> {
        let pointer = self.bases.len() as u32;
        self.bases.push(match self.partials.get(&buffer) {
            Some(&position) => Base::Partial(position, 0),
            None => Base::Buffer(buffer, 0),
        });
        for (moves, &stride) in self.moves.iter_mut().zip(strides) {
            if stride != 0 {
                moves.push((Slot::try_from(pointer).ok()?, stride));
            }
        }
        Some(pointer)
    }

    pub(super) fn strides(&self, at: &Affine, dtype: DType) -> SmallVec<[isize; 4]> {
        let width = dtype.bytes() as i64;
        self.layout.by_loop(at).iter().map(|&coefficient| (coefficient * width) as isize).collect()
    }

    /// A place in a buffer, and how lanes go on from it.
    pub(super) fn access(&mut self, buffer: u32, at: &Affine, dtype: DType, copy: usize) -> Option<(Form, Address)> {
        let (width, along) = (dtype.bytes() as i64, self.along(at));
        let strides = self.strides(at, dtype);
        let pointer = self.pointer(buffer, strides)?;
        let offset = at.offset * width + (copy * self.lanes) as i64 * along * width;
        let form = match along {
            0 => Form::One,
            1 => Form::Run,
            _ => Form::Apart(i32::try_from(along * width).ok()?),
        };
        let offset = i32::try_from(offset).ok()?;
        Some((form, Address { pointer, offset, indexed: along == 1, row: None }))
    }

    /// A place at a computed position, which is the same in all lanes.
    pub(super) fn row(
        &mut self,
        (buffer, at, dtype): (u32, &Affine, DType),
        (index, stride): (Value, i64),
        copy: usize,
    ) -> Option<(Form, Address)> {
        let (form, address) = self.access(buffer, at, dtype, copy)?;
        let stride = i32::try_from(stride.checked_mul(dtype.bytes() as i64)?).ok()?;
        Some((form, Address { row: Some((index, stride)), ..address }))
    }

    /// Places at positions that are computed for each lane, as distances.
    pub(super) fn scattered(
        &mut self,
        (buffer, at, dtype): (u32, &Affine, DType),
        (index, stride): (Value, i64),
        copy: usize,
    ) -> Option<(Value, Address)> {
        let (width, along) = (dtype.bytes() as i64, self.along(at));
        let mut strides = self.strides(at, dtype);
        strides[self.layout.vector] = 0;
        let pointer = self.pointer(buffer, strides)?;
        let stride = stride.checked_mul(width)?;
        // Products of AVX2 are those of numbers without sign.
        let magnitude = i64::try_from(stride.unsigned_abs()).ok()?;
        let mut distances = match (magnitude as u64).is_power_of_two() {
            true => self.builder.compute(Op::ShiftLeft(magnitude.trailing_zeros() as u8), Kind::I64, &[index]),
            false => {
                let magnitude = self.builder.constant(Kind::I64, i32::try_from(magnitude).ok()? as u64);
                self.builder.compute(Op::Mul, Kind::I64, &[index, magnitude])
            }
        };
        if stride < 0 {
            let zero = self.builder.constant(Kind::I64, 0);
            distances = self.builder.compute(Op::Sub, Kind::I64, &[zero, distances]);
        }
        if along != 0 {
            let along = along * width;
            let at = Position { offset: (copy * self.lanes) as i64 * along, terms: SmallVec::new(), along };
            let lanes = self.position(Kind::I64, at);
            distances = self.builder.compute(Op::Add, Kind::I64, &[distances, lanes]);
        }
        let offset = i32::try_from(at.offset * width).ok()?;
        Some((distances, Address { pointer, offset, indexed: false, row: None }))
    }

    pub(super) fn position(&mut self, kind: Kind, at: Position) -> Value {
        if let Some(&value) = self.positions.get(&(kind, at.clone())) {
            return value;
        }
        let value = self.builder.position(kind, at.clone());
        self.positions.insert((kind, at), value);
        value
    }

    /// An affine function in the lanes of a register.
    pub(super) fn affine(&mut self, kind: Kind, at: &Affine, copy: usize) -> Value {
        let along = self.along(at);
        let by_loop = self.layout.by_loop(at);
        let terms = by_loop.iter().enumerate().filter(|&(axis, &by)| axis != self.layout.vector && by != 0);
        let terms = terms.map(|(axis, &by)| (axis as u32, by)).collect();
        let offset = at.offset.wrapping_add(((copy * self.lanes) as i64).wrapping_mul(along));
        self.position(kind, Position { offset, terms, along })
    }

    /// Where guards hold, and the mask too.
    pub(super) fn guarded(&mut self, guards: &[Guard], copy: usize, mask: Option<Value>) -> Option<Option<Value>> {
        let kind = self.integers;
        let mut all = mask;
        for guard in guards {
            // Positions that are not of 64 bits are of 32.
            let reach = guard.position.magnitude(&self.nest.extents)?.max(guard.extent as usize);
            if kind == Kind::I32 && i32::try_from(reach).is_err() {
                return None;
            }
            let position = self.affine(kind, &guard.position, copy);
            let extent = self.builder.constant(kind, guard.extent as u64);
            let inside = self.builder.compute(Op::Compare(Predicate::Below), kind, &[position, extent]);
            all = self.builder.both(Some(inside), all);
        }
        Some(all)
    }

    /// Where a computed position is inside.
    pub(super) fn inside(&mut self, index: Value, extent: i64, mask: Option<Value>) -> Option<Value> {
        let extent = self.builder.constant(Kind::I64, extent as u64);
        let inside = self.builder.compute(Op::Compare(Predicate::Below), Kind::I64, &[index, extent]);
        self.builder.both(Some(inside), mask)
    }
}
