//! Random inputs, the same in every run.

use crate::functions::Layer;
use crate::objectives::ba::{Observations, Scene};
use crate::objectives::gmm::{Mixture, Wishart};
use crate::objectives::lstm::Network;
use crate::random::Random;
use deltaray::prelude::*;

/// Normal numbers.
pub fn normals(count: usize) -> Vector<Concrete, f64> {
    let mut random = Random::new(1);
    (0..count).map(|_| random.normal()).collect::<Vec<_>>().into()
}

/// Numbers whose products stay near one.
pub fn near_one(count: usize) -> Vector<Concrete, f64> {
    1.0 + 1e-3 * normals(count)
}

/// A table of normal numbers.
pub fn table(rows: usize, columns: usize) -> Matrix<Concrete, f64> {
    Matrix::from_elements((rows, columns), normals(rows * columns).to_vec())
}

fn scaled(rows: usize, columns: usize, scale: f64) -> Matrix<Concrete, f64> {
    scale * table(rows, columns)
}

/// Zeros and ones in turn.
pub fn halves(count: usize) -> Vector<Concrete, f64> {
    (0..count).map(|i| (i % 2) as f64).collect::<Vec<_>>().into()
}

/// Points, uniform in d dimensions, of which the last k are the centres.
pub fn clusters(k: usize, n: usize, d: usize) -> (Matrix<Concrete, f32>, Matrix<Concrete, f32>) {
    let mut random = Random::new(2);
    let points: Vec<f32> = (0..n * d).map(|_| random.uniform() as f32).collect();
    let centres = points[(n - k) * d..].to_vec();
    (Matrix::from_elements((k, d), centres), Matrix::from_elements((n, d), points))
}

/// A mixture of k Gaussians in d dimensions, n points, and a prior distribution.
pub fn mixture(n: usize, d: usize, k: usize) -> (Mixture<Concrete>, Matrix<Concrete, f64>, Wishart<Concrete>) {
    let mixture = Mixture {
        alpha: normals(k),
        means: table(k, d),
        log_diagonals: scaled(k, d, 0.1),
        lower: scaled(k, d * (d - 1) / 2, 0.1),
    };
    (mixture, table(n, d), Wishart { gamma: 1.0.into(), m: 0.0.into() })
}

/// A network of so many layers of b cells, its state, and a text of so many characters of b bits.
pub fn text(
    layers: usize,
    characters: usize,
    bits: usize,
) -> (Network<Concrete>, Matrix<Concrete, f64>, Matrix<Concrete, f64>) {
    let network = Network { main: scaled(2 * layers, 4 * bits, 0.5), extra: scaled(3, bits, 0.5) };
    let text: Vec<f64> = normals(characters * bits).to_vec().iter().map(|&x| f64::from(x > 0.0)).collect();
    (network, scaled(2 * layers, bits, 0.5), Matrix::from_elements((characters, bits), text))
}

/// n cameras, m points and p observations: cameras and points are taken in turns.
pub fn scene(n: usize, m: usize, p: usize) -> (Scene<Concrete>, Observations<Concrete>) {
    let mut cameras = scaled(n, 11, 0.1).to_vec();
    cameras.chunks_mut(11).for_each(|camera| camera[6] += 500.0);
    let mut points = table(m, 3).to_vec();
    points.chunks_mut(3).for_each(|point| point[2] += 10.0);
    let pairs: Vec<i64> = (0..p).flat_map(|at| [(at % n) as i64, (at % m) as i64]).collect();
    let scene = Scene {
        cameras: Matrix::from_elements((n, 11), cameras),
        points: Matrix::from_elements((m, 3), points),
        weights: 1.0 + 0.1 * normals(p),
    };
    (scene, Observations { pairs: Matrix::from_elements((p, 2), pairs), features: table(p, 2) })
}

/// Layers of these sizes, so many images, and their labels.
pub fn images(sizes: &[usize], count: usize) -> (Vec<Layer<Concrete>>, Matrix<Concrete, f32>, Vector<Concrete, i64>) {
    let singles = |rows: usize, columns: usize, scale: f64| {
        let elements = scaled(rows, columns, scale).to_vec().into_iter().map(|x| x as f32).collect();
        Matrix::<Concrete, f32>::from_elements((rows, columns), elements)
    };
    let layer = |pair: &[usize]| Layer {
        weights: singles(pair[0], pair[1], 1.0 / (pair[0] as f64).sqrt()),
        bias: zeros(pair[1]),
    };
    let digits: Vec<i64> = (0..count as i64).map(|i| i % sizes[sizes.len() - 1] as i64).collect();
    (sizes.windows(2).map(layer).collect(), singles(count, sizes[0], 1.0), digits.into())
}
