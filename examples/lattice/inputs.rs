//! A box with an obstacle, and its initial particles.

use crate::flow::{Cavity, Particles, weight};
use deltaray::prelude::*;

/// A cubic box with walls, a block on its floor, and a lid at the end of the first axis.
pub fn cavity(cells: usize) -> Cavity<Concrete> {
    let inside = |at: usize| 0 < at && at < cells - 1;
    let middle = |at: usize| 3 * at >= cells && 3 * at < 2 * cells;
    let is_solid = |z: usize, y: usize, x: usize| {
        !(inside(z) && inside(y) && inside(x)) || (4 * z < cells && middle(y) && middle(x))
    };
    let of_cells = |holds: &dyn Fn(usize, usize, usize) -> bool| {
        let rows = (0..cells * cells * cells).map(|at| holds(at / (cells * cells), at / cells % cells, at % cells));
        Tensor3::from_elements((cells, cells, cells), rows.collect::<Vec<bool>>())
    };
    let is_lid = |z: usize, y: usize, x: usize| z == cells - 2 && inside(y) && inside(x);
    Cavity { solid: of_cells(&is_solid), lid: of_cells(&is_lid) }
}

/// A fluid nearly at rest: equilibrium with random deviations, the same in every run.
pub fn particles(cells: usize) -> Particles<Concrete> {
    let mut state = 1u64;
    let mut near_one = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1.0 + 0.1 * ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    std::array::from_fn(|direction| {
        let mut all = Vec::new();
        all.resize_with(cells * cells * cells, || weight(direction) * near_one());
        Tensor3::from_elements((cells, cells, cells), all)
    })
}
