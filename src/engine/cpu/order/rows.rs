//! Orders of nests that read rows at computed positions, or add to them.

use super::{Choice, Loop, NEXT, Order, Wrapped};
use crate::kernel::{Affine, Mode, Value, ValueId};

/// The cost of a copy of a short row from a computed position, beside its elements, in simple operations on an element.
const ROW_COPY: f64 = 8.0;

impl Choice<'_> {
    /// The cost of copies of rows of so many elements, for all positions of the nest.
    pub(super) fn copies(&self, row: usize) -> f64 {
        let elements: f64 = self.nest.extents.iter().map(|&extent| extent as f64).product();
        elements / row as f64 * ROW_COPY + elements * NEXT
    }

    /// The order of a nest that does nothing but copy rows from computed positions: instructions run along the positions, and
    /// copy a row for each.
    pub(super) fn rows_order(&self) -> Option<Order> {
        let [store] = &self.nest.stores[..] else { return None };
        let Value::Gather { at, index, .. } = &self.nest.values[store.value as usize].0 else { return None };
        let is_plain = store.mode == Mode::Write && store.index.is_none() && store.guards.is_empty();
        let is_moved = |axis: usize| self.moved[*index as usize] >> (axis % 64) & 1 == 1;
        let is_next = |axis: usize| at.coefficients[axis] == 1 && store.at.coefficients[axis] == 1;
        let inner = self.long.iter().copied().find(|&axis| is_next(axis) && !is_moved(axis)).filter(|_| is_plain)?;
        let mut rest: Vec<usize> = self.long.iter().copied().filter(|&axis| axis != inner).collect();
        let mut row: Loop = (inner, self.nest.extents[inner]);
        while let Some(place) = rest.iter().rposition(|&axis| !is_moved(axis) && self.joins(axis, row)) {
            row.1 *= self.nest.extents[rest.remove(place)];
        }
        // Positions that are the same for all rows are not worth a choice of their own.
        let axis = rest.iter().copied().rev().find(|&axis| is_moved(axis))?;
        rest.retain(|&other| other != axis);
        let mut along: Loop = (axis, self.nest.extents[axis]);
        while let Some(place) = rest.iter().rposition(|&axis| self.joins(axis, along)) {
            along.1 *= self.nest.extents[rest.remove(place)];
        }
        (row.1 > 1).then(|| Order {
            outer: self.joined(&rest),
            vector: along,
            inner: Vec::new(),
            row: row.1,
            wrapped: None,
        })
    }

    /// The accesses at computed positions, each with its position.
    fn computed(&self) -> Vec<(ValueId, &Affine)> {
        let stored = self.nest.stores.iter().filter_map(|store| Some((store.index?.0, &store.at)));
        let read = self.nest.values.iter().filter_map(|(value, _)| match value {
            Value::Gather { at, index, .. } => Some((*index, at)),
            _ => None,
        });
        read.chain(stored).collect()
    }

    /// The places of positions in memory, if all of them are read as they are, and are nothing but positions.
    fn places(&self, computed: &[(ValueId, &Affine)]) -> Option<Vec<&Affine>> {
        let is_position = |id: ValueId| computed.iter().any(|&(index, _)| index == id);
        let is_number = |(value, _): &(Value, _)| {
            !matches!(value, Value::Gather { .. }) && value.operands().iter().any(|&id| is_position(id))
        };
        if self.nest.values.iter().any(is_number) || self.nest.stores.iter().any(|store| is_position(store.value)) {
            return None;
        }
        let place = |&(index, _): &(ValueId, _)| match &self.nest.values[index as usize].0 {
            Value::Load { at, guards, .. } if guards.is_empty() => Some(at),
            _ => None,
        };
        computed.iter().map(place).collect()
    }

    /// The order in which instructions run along rows at computed positions and go on with the next row where one ends, as all
    /// other accesses do, and what it costs.
    pub(super) fn wrapped_order(&self) -> Option<(Order, f64)> {
        let computed = self.computed();
        if computed.is_empty() {
            return None;
        }
        let places = self.places(&computed)?;
        let is_moved = |axis: usize| computed.iter().any(|&(id, _)| self.moved[id as usize] >> (axis % 64) & 1 == 1);
        let is_next = |axis: usize| computed.iter().all(|(_, at)| at.coefficients[axis] == 1);
        let inner = self.long.iter().copied().rev().find(|&axis| is_next(axis) && !is_moved(axis))?;
        let mut rest: Vec<usize> = self.long.iter().copied().filter(|&axis| axis != inner).collect();
        let mut row: Loop = (inner, self.nest.extents[inner]);
        while let Some(at) = rest.iter().rposition(|&axis| !is_moved(axis) && self.joins(axis, row)) {
            row.1 *= self.nest.extents[rest.remove(at)];
        }
        let axis = rest.iter().copied().rev().find(|&axis| is_moved(axis))?;
        rest.retain(|&other| other != axis);
        let mut along: Loop = (axis, self.nest.extents[axis]);
        while let Some(at) = rest.iter().rposition(|&axis| self.joins(axis, along)) {
            along.1 *= self.nest.extents[rest.remove(at)];
        }
        let goes_on = |at: &Affine| at.coefficients[inner].checked_mul(row.1 as i64) == Some(at.coefficients[axis]);
        let is_apart = |at: &Affine| computed.iter().any(|&(_, of)| std::ptr::eq(of, at));
        let is_place = |at: &Affine| places.iter().any(|&place| std::ptr::eq(place, at));
        let fits = |at: &&Affine| is_place(at) || if is_apart(at) { at.coefficients[axis] == 0 } else { goes_on(at) };
        if row.1 == 1 || !self.memory.iter().all(fits) || !self.numbers.iter().all(|at| goes_on(at)) {
            return None;
        }
        let vector = (inner, row.1.checked_mul(along.1)?);
        let wrapped = Some(Wrapped { row: row.1, axis });
        let order = Order { outer: self.joined(&rest), vector, inner: Vec::new(), row: 1, wrapped };
        let cost = self.cost(&order) + computed.len() as f64 * self.copies(row.1);
        Some((order, cost))
    }
}
