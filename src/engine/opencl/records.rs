//! Arrays of one type by their number, in few allocations: tapes, stored states, and the places of carries.

use super::failure::DeviceResult;
use super::memory::{DevicePointer, DeviceShare, DeviceView};
use crate::shape::Type;

/// An allocation has as much room as all before it together, but no less than the first of these numbers of bytes, and no more
/// than the second, where more than one record is in it.
const LEAST: usize = 1 << 12;
const MOST: usize = 1 << 26;

/// Arrays of one type, by number.
#[derive(Debug)]
pub(super) struct DeviceRecords {
    pub(super) ty: Type,
    /// For each allocation the number of its first record.
    blocks: Vec<(usize, DevicePointer)>,
    /// How many records there is room for.
    room: usize,
}

impl DeviceRecords {
    /// No records yet.
    pub(super) fn new(ty: &Type) -> DeviceRecords {
        DeviceRecords { ty: ty.clone(), blocks: Vec::new(), room: 0 }
    }

    /// Has room for so many records, where those that there are stay.
    pub(super) fn reserve(&mut self, shared: &DeviceShare, records: usize) -> DeviceResult<()> {
        let bytes = self.bytes().max(1);
        while self.room < records {
            let more = self.room.max(records - self.room).max(LEAST / bytes).min(MOST / bytes).max(1);
            let block = shared.memory(self.ty.dtype, more.saturating_mul(self.ty.size()))?;
            self.blocks.push((self.room, block));
            self.room += more;
        }
        Ok(())
    }

    /// A record that there is room for.
    pub(super) fn view(&self, number: usize) -> DeviceView<'_> {
        let block = self.blocks.partition_point(|&(first, _)| first <= number) - 1;
        let (first, place) = &self.blocks[block];
        DeviceView::from(place).moved((number - first) * self.ty.size())
    }

    /// Bytes of a record.
    pub(super) fn bytes(&self) -> usize {
        self.ty.bytes().unwrap_or(usize::MAX)
    }
}
