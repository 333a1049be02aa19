//! The materials of a reactor, and the neutrons in them.

use deltaray::prelude::*;

/// The nuclides in each material. Rows of smaller materials are filled with −1, and reads at −1 are 0.
#[derive(Tree)]
pub struct Materials<A: Algebra> {
    /// [materials, nuclides in the largest].
    pub nuclides: Matrix<A, i64>,
    /// The number of nuclides: [materials].
    pub sizes: Vector<A, i64>,
}

/// Neutrons, each with an energy and the material that it is in.
#[derive(Tree)]
pub struct Neutrons<A: Algebra> {
    pub energies: Vector<A, f64>,
    pub materials: Vector<A, i64>,
}

/// The number of nuclides in each material of the Hoogenboom-Martin reactor: fuel, cladding, cold and hot borated water, the
/// pressure vessel, reflectors and plates, nozzles and the ends of fuel assemblies.
pub const SIZES: [usize; 12] = [34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9];

/// The relative shares of neutrons in each material.
pub const SHARES: [usize; 12] = [140, 52, 275, 134, 154, 64, 66, 55, 8, 15, 25, 13];
