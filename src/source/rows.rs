//! Rows: the neighbours that an innermost loop goes through, as slices of its length, so that compilers see that all of its
//! steps are inside, and make vectors of them.

use super::language::ArraySlice;
use super::text::Text;
use super::writer::{NestWriter, RowNames};
use crate::kernel::{Affine, NestValue, StoreMode};

impl NestWriter<'_> {
    /// The rows that the innermost loop goes through.
    pub(crate) fn bind_rows(&mut self, text: &mut Text) {
        let axis = *self.order.last().expect("a loop");
        let extent = self.nest.extents[axis];
        let nest = self.nest;
        let loads = nest.values.iter().filter_map(|(value, dtype)| match value {
            NestValue::Load { buffer, at, guards } if guards.is_empty() => Some((*buffer, at, *dtype, false)),
            _ => None,
        });
        // A borrow for writing must be the only borrow of its array.
        let stores = nest.stores.iter().enumerate().filter_map(|(position, store)| {
            let plain = store.guards.is_empty() && store.index.is_none() && self.accesses[&store.buffer] == 1;
            let inside = match store.mode {
                StoreMode::Write => self.store_level(store) == self.depth(),
                StoreMode::Reduce(_) => self.accumulators[position].is_none(),
            };
            (plain && inside).then(|| (store.buffer, &store.at, nest.values[store.value as usize].1, true))
        });
        let mut lines = Vec::new();
        let mut rows = RowNames::new();
        for (buffer, at, dtype, writes) in loads.chain(stores) {
            if at.coefficients[axis] != 1 || rows.contains_key(&(buffer, at.clone())) {
                continue;
            }
            let mut start = at.clone();
            start.coefficients[axis] = 0;
            let offset = self.counted(&start).text;
            let (name, array) = (format!("row{}", rows.len()), (self.name)(buffer));
            let part = ArraySlice { array: &array, offset, count: Some(extent) };
            lines.push((name.clone(), self.language.bind(&name, dtype, &part, writes)));
            rows.insert((buffer, at.clone()), (name, writes));
        }
        lines.into_iter().for_each(|(name, line)| text.declare(&name, line));
        self.rows = rows;
    }

    /// The parts of rows that some steps side by side go through, from an offset on.
    pub(crate) fn bind_lanes(&mut self, text: &mut Text, lanes: usize, offset: &str) {
        let mut all: Vec<(&(u32, Affine), &(String, bool))> = self.rows.iter().collect();
        all.sort_by(|a, b| a.1.cmp(b.1));
        for ((buffer, _), (name, writes)) in all {
            let dtype = (self.dtype)(*buffer);
            let part = ArraySlice { array: name, offset: offset.into(), count: Some(lanes) };
            let lane_name = format!("lane_{name}");
            text.declare(&lane_name, self.language.bind(&lane_name, dtype, &part, *writes));
        }
    }

    /// The text of an element that an innermost loop reaches, if it belongs to a row.
    pub(crate) fn row_element(&self, buffer: u32, at: &Affine) -> Option<String> {
        let (name, _) = self.rows.get(&(buffer, at.clone()))?;
        let variable = self.variable(*self.order.last()?);
        Some(match self.lane.as_deref() {
            // The steps that are left over when the others are side by side are one sum.
            Some(lane) if lane != "0" => format!("lane_{name}[{lane}]"),
            _ => format!("{name}[{variable}]"),
        })
    }
}
