//! The order of a nest's loops: which one instructions run along, and which run together as one.

use crate::kernel::{Affine, Nest, Value};

/// The loops of a nest in the order in which they run.
#[derive(Debug)]
pub(super) struct Layout {
    /// The extents, outermost first; at least one.
    pub(super) extents: Vec<usize>,
    /// The axis of the nest whose coefficients are those of each loop: the inner one of those that run together.
    axes: Vec<Option<usize>>,
}

impl Layout {
    /// The coefficients of an affine function by loop.
    pub(super) fn by_loop(&self, at: &Affine) -> Vec<i64> {
        self.axes.iter().map(|axis| axis.map_or(0, |axis| at.coefficients[axis])).collect()
    }
}

/// What an access costs for an element, in simple operations: next to each other, the same, apart, and each on a cache line
/// of its own.
const COSTS: [f64; 4] = [1.0, 0.5, 4.0, 8.0];
/// What an instruction costs beside its elements.
const INSTRUCTION: f64 = 30.0;
/// Elements of a cache line.
const LINE: u64 = 8;

/// All affine functions of a nest that stand for memory, and all others.
fn functions(nest: &Nest) -> (Vec<&Affine>, Vec<&Affine>) {
    let (mut memory, mut numbers): (Vec<&Affine>, Vec<&Affine>) = (Vec::new(), Vec::new());
    for (value, _) in &nest.values {
        match value {
            Value::Position(at) => numbers.push(at),
            Value::Load { at, guards, .. } => {
                memory.push(at);
                numbers.extend(guards.iter().map(|guard| &guard.position));
            }
            Value::Gather { at, .. } => memory.push(at),
            Value::Guarded(_, guards) => numbers.extend(guards.iter().map(|guard| &guard.position)),
            _ => {}
        }
    }
    for store in &nest.stores {
        memory.push(&store.at);
        numbers.extend(store.guards.iter().map(|guard| &guard.position));
    }
    (memory, numbers)
}

/// Chooses the order of the loops, and joins those that all accesses go through together.
pub(super) fn layout(nest: &Nest) -> Layout {
    let (memory, numbers) = functions(nest);
    let long: Vec<usize> = (0..nest.extents.len()).filter(|&axis| nest.extents[axis] != 1).collect();
    let Some(&last) = long.last() else { return Layout { extents: vec![1], axes: vec![None] } };
    // Nearly every value is an instruction; what the vector axis does not move runs outside of it.
    let instructions = (nest.values.len() + nest.stores.len()) as f64;
    let cost = |axis: usize| -> f64 {
        let accesses = memory.iter().map(|at| match at.coefficients[axis].unsigned_abs() {
            1 => COSTS[0],
            0 => COSTS[1],
            apart if apart < LINE => COSTS[2],
            _ => COSTS[3],
        });
        accesses.sum::<f64>() + instructions * INSTRUCTION / nest.extents[axis].max(1) as f64
    };
    let mut vector = last;
    for &axis in long.iter().rev() {
        if cost(axis) < cost(vector) {
            vector = axis;
        }
    }
    let order: Vec<usize> = long.iter().copied().filter(|&axis| axis != vector).chain([vector]).collect();
    // From the inside: a loop joins the one inside of it where each access goes on from the end of that to its next step.
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for &axis in order.iter().rev() {
        let extent = nest.extents[axis];
        let joins = |&(inner, length): &(usize, usize)| {
            let goes_on =
                |at: &&Affine| at.coefficients[inner].checked_mul(length as i64) == Some(at.coefficients[axis]);
            memory.iter().all(goes_on) && numbers.iter().all(goes_on)
        };
        match loops.last_mut() {
            Some(inner) if joins(inner) => inner.1 *= extent,
            _ => loops.push((axis, extent)),
        }
    }
    loops.reverse();
    Layout {
        extents: loops.iter().map(|&(_, extent)| extent).collect(),
        axes: loops.iter().map(|&(axis, _)| Some(axis)).collect(),
    }
}
