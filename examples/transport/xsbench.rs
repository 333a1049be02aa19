//! Cross sections by interpolation between the points of tables, as XSBench looks them up.
//!
//! Each nuclide has an energy grid of its own. The unionised grid holds the energies of all nuclides in ascending order, and
//! for each energy its position in the grid of every nuclide. So a lookup searches once, in the unionised grid.

use crate::materials::{Materials, Neutrons};
use deltaray::prelude::*;

/// The reactions of a cross section: total, elastic, absorption, fission, and neutrons from fission.
pub const REACTIONS: usize = 5;

/// The data that the gradient is taken by.
#[derive(Tree)]
pub struct Tables<A: Algebra> {
    /// Microscopic cross sections at the points of each nuclide's grid: [nuclides, points, reactions].
    pub cross_sections: Tensor3<A, f64>,
    /// Concentrations of the nuclides in each material: [materials, nuclides in the largest].
    pub concentrations: Matrix<A, f64>,
}

/// The energy grids.
#[derive(Tree)]
pub struct Grids<A: Algebra> {
    /// Of each nuclide, ascending: [nuclides, points].
    pub energies: Matrix<A, f64>,
    /// Of all nuclides together, ascending: [nuclides · points].
    pub unionised: Vector<A, f64>,
    /// For each energy of the unionised grid the point below it in each nuclide's grid, never the last point: [nuclides · points,
    /// nuclides].
    pub points_below: Matrix<A, i64>,
}

/// Everything else that lookups need.
#[derive(Tree)]
pub struct Problem<A: Algebra> {
    pub grids: Grids<A>,
    pub materials: Materials<A>,
    pub neutrons: Neutrons<A>,
}

/// The last point of an ascending grid that is not above an energy, by bisection; never the grid's last point.
#[differentiable]
fn bisect(grid: Vector<f64>, energy: Scalar<f64>) -> Scalar<i64> {
    let (mut low, mut high) = (scalar(0), scalar(grid.len() as i64 - 1));
    let halvings = (grid.len() - 1).next_power_of_two().ilog2() as usize;
    for _ in rolled(0..halvings) {
        let middle = (low + high) / 2;
        if grid[middle] > energy {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

/// The macroscopic cross sections for each neutron: [neutrons, reactions].
#[differentiable]
pub fn macroscopic(tables: Tables, problem: Problem) -> Matrix<f64> {
    let (grids, materials, neutrons) = (&problem.grids, &problem.materials, &problem.neutrons);
    // It bounds the loop over a material's nuclides, whose number is known only when the program runs.
    let largest = scalar(tables.concentrations.shape()[1] as i64);
    build(neutrons.energies.len(), |neutron| {
        let (energy, material) = (neutrons.energies[neutron], neutrons.materials[neutron]);
        let position = bisect(&grids.unionised, &energy);
        let mut sums: Vector<f64> = zeros(REACTIONS);
        for part in rolled(0..materials.sizes[material].min(&largest)) {
            let nuclide = materials.nuclides[(material, part)];
            let below = grids.points_below[(position, nuclide)];
            let above = below + 1;
            let (energy_below, energy_above) = (grids.energies[(nuclide, below)], grids.energies[(nuclide, above)]);
            let share = (energy_above - energy) / (energy_above - energy_below);
            let upper = tables.cross_sections[(nuclide, above)];
            let microscopic = upper - share * (upper - tables.cross_sections[(nuclide, below)]);
            sums += tables.concentrations[(material, part)] * microscopic;
        }
        sums
    })
}

/// The sum of all of them.
#[differentiable]
pub fn total(tables: Tables, problem: Problem) -> Scalar<f64> {
    macroscopic(tables, problem).sum()
}
