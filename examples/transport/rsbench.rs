//! Cross sections from the poles and residues of resonances, as RSBench looks them up.
//!
//! The multipole representation needs little memory and many operations. The energies of a nuclide are divided into windows;
//! a cross section is a smooth background plus a sum over the poles of one window, each broadened by thermal motion.

use crate::complex::{Complex, faddeeva};
use crate::materials::{Materials, Neutrons};
use deltaray::prelude::*;

/// The number of angular momenta, from 0.
pub const MOMENTA: usize = 4;

/// The inverse of the width by which thermal motion broadens a resonance.
pub const BROADENING: f64 = 0.5;

/// A table of complex numbers: [nuclides, poles].
#[derive(Tree)]
pub struct ComplexTable<A: Algebra> {
    pub real: Matrix<A, f64>,
    pub imaginary: Matrix<A, f64>,
}

#[differentiable]
impl<A: Algebra> ComplexTable<A> {
    fn at(&self, nuclide: Scalar<i64>, pole: Scalar<i64>) -> Complex {
        Complex { real: self.real[(nuclide, pole)], imaginary: self.imaginary[(nuclide, pole)] }
    }
}

/// The data that the gradient is taken by.
#[derive(Tree)]
pub struct Resonances<A: Algebra> {
    /// The poles, which lie below the real axis.
    pub poles: ComplexTable<A>,
    /// The residues of the total cross section, of absorption and of fission.
    pub total: ComplexTable<A>,
    pub absorption: ComplexTable<A>,
    pub fission: ComplexTable<A>,
    /// The background of these three in each window: [nuclides, windows, 3].
    pub background: Tensor3<A, f64>,
    /// The scattering radius for each angular momentum, in wave lengths at energy 1: [nuclides, momenta].
    pub radii: Matrix<A, f64>,
    /// Concentrations of the nuclides in each material: [materials, nuclides in the largest].
    pub concentrations: Matrix<A, f64>,
}

/// The windows of energies, and their poles.
#[derive(Tree)]
pub struct Windows<A: Algebra> {
    /// The number of windows, which divide the energies from 0 to 1 equally: [nuclides].
    pub counts: Vector<A, i64>,
    /// The first pole of each window, and the number of its poles: [nuclides, windows].
    pub first: Matrix<A, i64>,
    pub lengths: Matrix<A, i64>,
    /// The angular momentum of each pole: [nuclides, poles].
    pub momenta: Matrix<A, i64>,
    /// The largest number of poles in a window.
    #[tree(skip)]
    pub longest: usize,
}

/// Everything else that lookups need.
#[derive(Tree)]
pub struct Problem<A: Algebra> {
    pub windows: Windows<A>,
    pub materials: Materials<A>,
    pub neutrons: Neutrons<A>,
}

/// The phase shift of neutrons of an angular momentum that are scattered by a hard sphere, whose radius is in wave lengths.
#[differentiable]
fn phase(momentum: Scalar<i64>, radius: Scalar<f64>) -> Scalar<f64> {
    let square = radius * radius;
    let tangent = if momentum == 0 {
        0.0
    } else if momentum == 1 {
        radius
    } else if momentum == 2 {
        3.0 * radius / (3.0 - square)
    } else {
        radius * (15.0 - square) / (15.0 - 6.0 * square)
    };
    radius - tangent.atan()
}

/// The part of one pole in the total cross section of a nuclide, in absorption and in fission. It is 0 for a pole of −1, whose
/// residues read as 0.
#[differentiable]
fn resonance(
    resonances: Resonances,
    windows: Windows,
    nuclide: Scalar<i64>,
    pole: Scalar<i64>,
    energy: Scalar<f64>,
) -> [Scalar<f64>; 3] {
    let position = resonances.poles.at(nuclide, pole);
    let z = Complex { real: BROADENING * (energy - position.real), imaginary: -BROADENING * position.imaginary };
    let shape = faddeeva(&z);
    let momentum = windows.momenta[(nuclide, pole)];
    let turn = 2.0 * phase(&momentum, &(resonances.radii[(nuclide, momentum)] * energy.sqrt()));
    let turned = shape.times(&Complex { real: turn.cos(), imaginary: -turn.sin() });
    [
        resonances.total.at(nuclide, pole).real_of_product(&turned),
        resonances.absorption.at(nuclide, pole).real_of_product(&shape),
        resonances.fission.at(nuclide, pole).real_of_product(&shape),
    ]
}

/// The window of a nuclide that an energy is in.
#[differentiable]
fn window(windows: Windows, nuclide: Scalar<i64>, energy: Scalar<f64>) -> Scalar<i64> {
    let count = windows.counts[nuclide];
    ((energy * (count as f64)) as i64).min(count - 1)
}

/// The macroscopic cross sections for each neutron: total, absorption, fission, elastic: [neutrons, 4].
#[differentiable]
pub fn macroscopic(resonances: Resonances, problem: Problem) -> Matrix<f64> {
    let Problem { windows, materials, neutrons } = problem;
    let concentrations = &resonances.concentrations;
    let largest = concentrations.shape()[1];
    build(neutrons.energies.len(), |neutron| {
        let (energy, material) = (neutrons.energies[neutron], neutrons.materials[neutron]);
        let backgrounds = build(largest, |part| {
            let nuclide = materials.nuclides[(material, part)];
            let window = window(&windows, &nuclide, &energy);
            concentrations[(material, part)] * energy * resonances.background[(nuclide, window)]
        });
        let of_pole = |part: &Scalar<i64>, step: Scalar<i64>| {
            let nuclide = materials.nuclides[(material, part)];
            let window = window(&windows, &nuclide, &energy);
            let (first, length) = (windows.first[(nuclide, window)], windows.lengths[(nuclide, window)]);
            let pole = if step < length { first + step } else { -1 };
            let parts = resonance(resonances, &windows, &nuclide, &pole, &energy);
            let [total, absorption, fission] = parts.map(|added| concentrations[(material, part)] * added);
            (total, absorption, fission)
        };
        let poles = iota(windows.longest);
        let (total, absorption, fission) =
            vmap(|part: Scalar<i64>| vmap(|step: Scalar<i64>| of_pole(&part, step), &poles), &iota(largest));
        let sums = backgrounds.sum_axis(0) + stack(&[total.sum(), absorption.sum(), fission.sum()]);
        stack(&[sums[0], sums[1], sums[2], sums[0] - sums[1]])
    })
}

/// A weighted sum of all of them. With equal weights the derivatives by absorption would cancel.
#[differentiable]
pub fn total(resonances: Resonances, problem: Problem) -> Scalar<f64> {
    let weights: Vector<f64> = Vector::from_slice(&[0.4, 0.3, 0.2, 0.1]);
    (weights * macroscopic(resonances, problem)).sum()
}
