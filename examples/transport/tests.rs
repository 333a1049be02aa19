//! Cross sections beside plain loops, and gradients beside finite differences.

use super::*;
use complex::{Complex, QUADRATURE, TERMS, WIDTH, faddeeva};
use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;
use materials::Materials;
use rsbench::{BROADENING, ComplexTable, Resonances};
use std::f64::consts::PI;
use xsbench::Tables;

/// A small problem, in which many poles are near the energies.
fn small() -> Sizes {
    let spread = [12.0, 12.0];
    Sizes { nuclides: 6, materials: vec![5, 2, 3], neutrons: 7, points: 9, poles: 300, windows: 30, spread }
}

fn close(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-11 * (1.0 + expected.abs()), "{name}: {found} instead of {expected}");
    }
}

/// Compares values and gradients of all engines, and the gradient with a finite difference along itself.
fn check<T, P, F>(name: &str, objective: F, eagerly: impl Fn((&T, &P)) -> (Scalar<Concrete, f64>, T), at: &(T, P))
where
    T: Tree<Concrete>,
    P: Tree<Concrete>,
    F: ArrayFn<In = (T::Family, P::Family), Out = Scalar<Concrete, f64>>,
{
    let (first, problem) = at;
    let at = (first, problem);
    let (value, eager) = eagerly(at);
    let (eager, _) = ravel::<Concrete, f64, _>(&eager);
    let staged = stage(objective.closure(), at).expect("it is staged").value_and_grad().expect("it has a gradient");
    for (found, gradient) in [
        staged.interpret(at).expect("it runs"),
        staged.compile(Cpu::default()).expect("it is compiled").call(at).expect("it runs"),
    ] {
        close(name, &[found.item()], &[value.item()]);
        close(name, &ravel::<Concrete, f64, _>(&gradient).0.to_vec(), &eager.to_vec());
    }
    let length = (&eager * &eager).sum().item();
    let (point, rebuild) = ravel::<Concrete, f64, _>(first);
    let step = 1e-4 / length.sqrt();
    let value = |by: f64| {
        let moved: T = rebuild.tree::<Concrete, f64>(&(&point + by * &eager));
        staged.interpret((&moved, problem)).expect("it runs").0.item()
    };
    let found = (value(step) - value(-step)) / (2.0 * step);
    assert!((found - length).abs() <= 1e-6 * (1.0 + length), "{name}: {found} instead of {length}");
}

/// The nuclides in a material, with their concentrations.
fn parts(materials: &Materials<Concrete>, concentrations: &Matrix<Concrete, f64>, material: i64) -> Vec<(usize, f64)> {
    let nuclide = |part: i64| materials.nuclides.at((material, part)).item() as usize;
    let sizes = materials.sizes.to_vec();
    (0..sizes[material as usize]).map(|part| (nuclide(part), concentrations.at((material, part)).item())).collect()
}

/// The cross sections of a nuclide between two points of its grid, which it finds by a linear search.
fn interpolated(tables: &Tables<Concrete>, energies: &Matrix<Concrete, f64>, nuclide: usize, energy: f64) -> Vec<f64> {
    let grid = energies.at(nuclide).to_vec();
    let mut above = 1;
    while above < grid.len() - 1 && grid[above] <= energy {
        above += 1;
    }
    let share = (energy - grid[above - 1]) / (grid[above] - grid[above - 1]);
    let at = |point: usize| tables.cross_sections.at((nuclide, point)).to_vec();
    at(above - 1).into_iter().zip(at(above)).map(|(low, high)| low + share * (high - low)).collect()
}

#[test]
fn table_lookups_are_those_of_plain_loops() {
    let (tables, problem) = inputs::tables(&small());
    let mut expected = Vec::new();
    for (energy, material) in problem.neutrons.energies.to_vec().into_iter().zip(problem.neutrons.materials.to_vec()) {
        let mut sums = vec![0.0; xsbench::REACTIONS];
        for (nuclide, concentration) in parts(&problem.materials, &tables.concentrations, material) {
            let found = interpolated(&tables, &problem.grids.energies, nuclide, energy);
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += concentration * found);
        }
        expected.extend(sums);
    }
    close("plain", &xsbench::macroscopic(&tables, &problem).to_vec(), &expected);
    let staged = stage(xsbench::macroscopic {}.closure(), (&tables, &problem)).expect("it is staged");
    let compiled = staged.compile(Cpu::default()).expect("it is compiled");
    close("compiled", &compiled.call((&tables, &problem)).expect("it runs").to_vec(), &expected);
}

#[test]
fn gradients_by_tables_are_those_of_finite_differences() {
    let eagerly = |at: (&_, &_)| value_and_grad(xsbench::total {}.closure(), at);
    check("xsbench", xsbench::total {}, eagerly, &inputs::tables(&small()));
}

fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn quotient(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (real, imaginary) = product(a, (b.0, -b.1));
    (real / (b.0 * b.0 + b.1 * b.1), imaginary / (b.0 * b.0 + b.1 * b.1))
}

/// The two approximations of the Faddeeva function, as their formulas state them.
fn plain_faddeeva(z: (f64, f64)) -> (f64, f64) {
    let square = product(z, z);
    if z.0.hypot(z.1) >= 6.0 {
        let sum = QUADRATURE.iter().fold((0.0, 0.0), |sum, (node, weight)| {
            let term = quotient((*weight, 0.0), (square.0 - node, square.1));
            (sum.0 + term.0, sum.1 + term.1)
        });
        return product((0.0, 1.0), product(z, sum));
    }
    let modulus = (-WIDTH * z.1).exp();
    let wave = (modulus * (WIDTH * z.0).cos(), modulus * (WIDTH * z.0).sin());
    let start = quotient((1.0 - wave.0, -wave.1), (WIDTH * z.0, WIDTH * z.1));
    let sum = (1..=TERMS).fold((0.0, 0.0), |sum, n| {
        let frequency = (f64::from(n) * PI).powi(2);
        let sign = (-1.0f64).powi(n);
        let below = (frequency - WIDTH * WIDTH * square.0, -WIDTH * WIDTH * square.1);
        let term = quotient((sign * wave.0 - 1.0, sign * wave.1), below);
        let coefficient = (-frequency / (WIDTH * WIDTH)).exp();
        (sum.0 + coefficient * term.0, sum.1 + coefficient * term.1)
    });
    let series = product(z, sum);
    let scale = 2.0 * WIDTH;
    product((0.0, 1.0), (start.0 + scale * series.0, start.1 + scale * series.1))
}

#[test]
fn the_faddeeva_function_is_close_to_what_it_approximates() {
    let found = |real: f64, imaginary: f64| {
        let value = faddeeva::<Concrete>(&Complex { real: scalar(real), imaginary: scalar(imaginary) });
        (value.real.item(), value.imaginary.item())
    };
    // On the imaginary axis it is exp(y²) erfc(y).
    for (y, exact, error) in [(0.5, 0.615_690_344_192_925_9, 1e-3), (2.0, 0.255_395_676_310_505_75, 1e-3)] {
        let (real, imaginary) = found(0.0, y);
        assert!((real - exact).abs() < error && imaginary.abs() < error, "{real}, {imaginary} at {y}");
    }
    let (real, _) = found(0.0, 10.0);
    assert!((real - 0.056_140_992_743_822_59).abs() < 1e-7, "{real}");
    for z in [(0.3, 0.2), (-2.0, 4.0), (5.0, 3.0), (-7.0, 0.1), (30.0, 40.0)] {
        let expected = plain_faddeeva(z);
        let found = found(z.0, z.1);
        close("w", &[found.0, found.1], &[expected.0, expected.1]);
    }
}

/// The total, absorption, fission and elastic cross sections of a nuclide, pole by pole.
fn of_resonances(
    resonances: &Resonances<Concrete>,
    windows: &rsbench::Windows<Concrete>,
    nuclide: usize,
    energy: f64,
) -> [f64; 4] {
    let count = windows.counts.at(nuclide).item();
    let window = ((energy * count as f64) as i64).min(count - 1);
    let radii: Vec<f64> = resonances.radii.at(nuclide).to_vec().iter().map(|radius| radius * energy.sqrt()).collect();
    let phases = [
        radii[0],
        radii[1] - radii[1].atan(),
        radii[2] - (3.0 * radii[2] / (3.0 - radii[2].powi(2))).atan(),
        radii[3] - (radii[3] * (15.0 - radii[3].powi(2)) / (15.0 - 6.0 * radii[3].powi(2))).atan(),
    ];
    let background = resonances.background.at((nuclide, window)).to_vec();
    let [mut total, mut absorption, mut fission] = [0, 1, 2].map(|reaction| energy * background[reaction]);
    let first = windows.first.at((nuclide, window)).item();
    for pole in first..first + windows.lengths.at((nuclide, window)).item() {
        let at = |table: &ComplexTable<Concrete>| {
            (table.real.at((nuclide, pole)).item(), table.imaginary.at((nuclide, pole)).item())
        };
        let position = at(&resonances.poles);
        let shape = plain_faddeeva((BROADENING * (energy - position.0), -BROADENING * position.1));
        let phase = phases[windows.momenta.at((nuclide, pole)).item() as usize];
        let turn = ((2.0 * phase).cos(), -(2.0 * phase).sin());
        total += product(at(&resonances.total), product(shape, turn)).0;
        absorption += product(at(&resonances.absorption), shape).0;
        fission += product(at(&resonances.fission), shape).0;
    }
    [total, absorption, fission, total - absorption]
}

#[test]
fn sums_over_poles_are_those_of_plain_loops() {
    let (resonances, problem) = inputs::resonances(&small());
    let mut expected = Vec::new();
    for (energy, material) in problem.neutrons.energies.to_vec().into_iter().zip(problem.neutrons.materials.to_vec()) {
        let mut sums = [0.0; 4];
        for (nuclide, concentration) in parts(&problem.materials, &resonances.concentrations, material) {
            let found = of_resonances(&resonances, &problem.windows, nuclide, energy);
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += concentration * found);
        }
        expected.extend(sums);
    }
    close("plain", &rsbench::macroscopic(&resonances, &problem).to_vec(), &expected);
    let staged = stage(rsbench::macroscopic {}.closure(), (&resonances, &problem)).expect("it is staged");
    let compiled = staged.compile(Cpu::default()).expect("it is compiled");
    close("compiled", &compiled.call((&resonances, &problem)).expect("it runs").to_vec(), &expected);
}

#[test]
fn gradients_by_resonances_are_those_of_finite_differences() {
    let eagerly = |at: (&_, &_)| value_and_grad(rsbench::total {}.closure(), at);
    check("rsbench", rsbench::total {}, eagerly, &inputs::resonances(&small()));
}
