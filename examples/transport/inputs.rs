//! Random nuclides, materials and neutrons, the same in every run.

use crate::materials::{Materials, Neutrons, SHARES, SIZES};
use crate::rsbench::{self, ComplexTable, MOMENTA, Resonances, Windows};
use crate::xsbench::{self, Grids, Tables};
use deltaray::prelude::*;
use std::ops::Range;

/// The size of a problem.
#[derive(Clone, Debug)]
pub struct Sizes {
    pub nuclides: usize,
    /// The number of nuclides in each material.
    pub materials: Vec<usize>,
    pub neutrons: usize,
    /// The number of points of a nuclide's energy grid.
    pub points: usize,
    /// The average numbers of poles and windows of a nuclide.
    pub poles: usize,
    pub windows: usize,
    /// The extent of the region of poles, along the real axis and below it.
    pub spread: [f64; 2],
}

impl Sizes {
    /// The small reactor of the benchmarks, with a tenth of the points in its grids. As there, fewer than one pole in a hundred
    /// is so near an energy that it needs the series of the Faddeeva function.
    pub fn reactor(neutrons: usize) -> Sizes {
        Sizes {
            nuclides: 68,
            materials: SIZES.to_vec(),
            neutrons,
            points: 1130,
            poles: 1000,
            windows: 100,
            spread: [152.5, 316.2],
        }
    }
}

/// A generator of random numbers.
struct Random(u64);

impl Random {
    /// A number between 0 and 1.
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Matrix<Concrete, f64> {
        Matrix::from_elements((rows, columns), self.numbers(rows * columns))
    }

    /// A whole number in a range.
    fn whole(&mut self, range: Range<usize>) -> usize {
        range.start + (self.number() * range.len() as f64) as usize
    }

    /// A whole number within a tenth of another.
    fn about(&mut self, mean: usize) -> usize {
        self.whole(mean - mean / 10..mean + mean / 10 + 1)
    }

    fn complex(&mut self, rows: usize, columns: usize) -> ComplexTable<Concrete> {
        ComplexTable { real: self.matrix(rows, columns), imaginary: self.matrix(rows, columns) }
    }
}

fn whole_matrix(rows: &[Vec<i64>]) -> Matrix<Concrete, i64> {
    Matrix::from_elements((rows.len(), rows[0].len()), rows.concat())
}

/// Materials of random nuclides, and the concentrations of these.
pub fn materials(sizes: &Sizes) -> (Materials<Concrete>, Matrix<Concrete, f64>) {
    let mut random = Random(1);
    let largest = sizes.materials.iter().copied().max().expect("there is a material");
    let mut nuclides = Vec::new();
    for &size in &sizes.materials {
        let mut all: Vec<i64> = (0..sizes.nuclides as i64).collect();
        for at in 0..size {
            let other = random.whole(at..sizes.nuclides);
            all.swap(at, other);
        }
        all.truncate(size);
        all.resize(largest, -1);
        nuclides.push(all);
    }
    let concentrations = random.matrix(sizes.materials.len(), largest);
    let counts: Vec<i64> = sizes.materials.iter().map(|&size| size as i64).collect();
    (Materials { nuclides: whole_matrix(&nuclides), sizes: counts.into() }, concentrations)
}

/// Random neutrons, spread over materials by their shares.
fn neutrons(sizes: &Sizes) -> Neutrons<Concrete> {
    let mut random = Random(2);
    let shares = &SHARES[..sizes.materials.len()];
    let energies = random.numbers(sizes.neutrons);
    let material = |_| {
        let mut left = random.whole(0..shares.iter().sum());
        let passed = |&share: &&usize| left.checked_sub(*share).inspect(|&rest| left = rest).is_some();
        shares.iter().take_while(passed).count() as i64
    };
    let materials: Vec<i64> = (0..sizes.neutrons).map(material).collect();
    Neutrons { energies: energies.into(), materials: materials.into() }
}

/// The tables of XSBench, with neutrons.
pub fn tables(sizes: &Sizes) -> (Tables<Concrete>, xsbench::Problem<Concrete>) {
    let mut random = Random(3);
    let (nuclides, points) = (sizes.nuclides, sizes.points);
    let energies: Vec<Vec<f64>> = (0..nuclides)
        .map(|_| {
            let mut grid = random.numbers(points);
            grid.sort_by(f64::total_cmp);
            grid
        })
        .collect();
    let mut unionised = energies.concat();
    unionised.sort_by(f64::total_cmp);
    let below = |energy: f64| {
        let point = |grid: &Vec<f64>| grid.partition_point(|&at| at <= energy).clamp(1, points - 1) as i64 - 1;
        energies.iter().map(point).collect::<Vec<i64>>()
    };
    let points_below: Vec<Vec<i64>> = unionised.iter().map(|&energy| below(energy)).collect();
    let (materials, concentrations) = materials(sizes);
    let cross_sections = Tensor3::from_elements(
        (nuclides, points, xsbench::REACTIONS),
        random.numbers(nuclides * points * xsbench::REACTIONS),
    );
    let grids = Grids {
        energies: Matrix::from_elements((nuclides, points), energies.concat()),
        unionised: unionised.into(),
        points_below: whole_matrix(&points_below),
    };
    (Tables { cross_sections, concentrations }, xsbench::Problem { grids, materials, neutrons: neutrons(sizes) })
}

/// The resonances of RSBench, with neutrons.
pub fn resonances(sizes: &Sizes) -> (Resonances<Concrete>, rsbench::Problem<Concrete>) {
    let mut random = Random(4);
    let nuclides = sizes.nuclides;
    let poles: Vec<usize> = (0..nuclides).map(|_| random.about(sizes.poles)).collect();
    let windows: Vec<usize> = (0..nuclides).map(|_| random.about(sizes.windows)).collect();
    let most = |counts: &[usize]| counts.iter().copied().max().expect("there is a nuclide");
    let (most_poles, most_windows) = (most(&poles), most(&windows));
    let (mut first, mut lengths) = (Vec::new(), Vec::new());
    for (&poles, &windows) in poles.iter().zip(&windows) {
        let start = |window: usize| (window.min(windows) * poles / windows) as i64;
        first.push((0..most_windows).map(start).collect::<Vec<i64>>());
        lengths.push((0..most_windows).map(|window| start(window + 1) - start(window)).collect::<Vec<i64>>());
    }
    let momenta: Vec<Vec<i64>> =
        (0..nuclides).map(|_| (0..most_poles).map(|_| random.whole(0..MOMENTA) as i64).collect()).collect();
    let at = random.complex(nuclides, most_poles);
    let poles =
        ComplexTable { real: sizes.spread[0] * &at.real, imaginary: -sizes.spread[1] * (0.001 + &at.imaginary) };
    let background = random.numbers(nuclides * most_windows * 3);
    let (materials, concentrations) = materials(sizes);
    let resonances = Resonances {
        poles,
        total: random.complex(nuclides, most_poles),
        absorption: random.complex(nuclides, most_poles),
        fission: random.complex(nuclides, most_poles),
        background: Tensor3::from_elements((nuclides, most_windows, 3), background),
        radii: random.matrix(nuclides, MOMENTA),
        concentrations,
    };
    let longest = lengths.iter().flatten().copied().max().expect("there is a window");
    let windows = Windows {
        counts: windows.iter().map(|&count| count as i64).collect::<Vec<i64>>().into(),
        first: whole_matrix(&first),
        lengths: whole_matrix(&lengths),
        momenta: whole_matrix(&momenta),
        longest: longest as usize,
    };
    (resonances, rsbench::Problem { windows, materials, neutrons: neutrons(sizes) })
}
