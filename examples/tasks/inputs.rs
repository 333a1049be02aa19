//! Random inputs, the same in every run.

use crate::functions::SparsePoints;
use crate::networks::{Kernels, Layer, LeNet, Memories, State};
use crate::objectives::ba::{Observations, Scene};
use crate::objectives::gmm::{Mixture, Wishart};
use crate::objectives::lstm::Network;
use crate::random::Random;
use deltaray::prelude::*;
use deltaray::tensor::IntoShape;

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

/// So many matrices of normal numbers, with something on the diagonal.
pub fn matrices(count: usize, n: usize) -> Tensor3<Concrete, f64> {
    let elements = normals(count * n * n).to_vec();
    Tensor3::from_elements((count, n, n), elements) + (n as f64).sqrt() * eye(n)
}

/// So many positive definite matrices.
pub fn definite(count: usize, n: usize) -> Tensor3<Concrete, f64> {
    let a = matrices(count, n);
    a.matmul(&a.tr(&[0, 2, 1])) * (1.0 / n as f64) + eye(n)
}

fn scaled(rows: usize, columns: usize, scale: f64) -> Matrix<Concrete, f64> {
    scale * table(rows, columns)
}

/// Zeros and ones in turn.
pub fn halves(count: usize) -> Vector<Concrete, f64> {
    (0..count).map(|i| (i % 2) as f64).collect::<Vec<_>>().into()
}

/// Points, uniform in d dimensions; the last k are the centres.
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

/// The same in single precision.
pub fn single_mixture(
    n: usize,
    d: usize,
    k: usize,
) -> (Mixture<Concrete, f32>, Matrix<Concrete, f32>, Wishart<Concrete, f32>) {
    let (mixture, points, _) = mixture(n, d, k);
    let mixture = Mixture {
        alpha: mixture.alpha.cast(),
        means: mixture.means.cast(),
        log_diagonals: mixture.log_diagonals.cast(),
        lower: mixture.lower.cast(),
    };
    (mixture, points.cast(), Wishart { gamma: 1.0.into(), m: 0.0.into() })
}

/// Sparse points, n of them in d dimensions with so many values in the mean, the first dimensions more often than the last;
/// and the first k as centres.
pub fn sparse_clusters(k: usize, n: usize, d: usize, mean: usize) -> (Matrix<Concrete, f32>, SparsePoints<Concrete>) {
    let mut random = Random::new(3);
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut centres = vec![0.0; k * d];
    for point in 0..n {
        let count = (random.uniform() * (2 * mean) as f64).ceil();
        for at in 0..count as usize {
            let column = (d as f64 * ((at as f64 + 1.0 - random.uniform()) / count).powi(2)) as usize;
            let value = random.uniform() as f32;
            columns.push(column as i64);
            values.push(value);
            if point < k {
                centres[point * d + column] = value;
            }
        }
        offsets.push(columns.len() as i64);
    }
    let points = SparsePoints { offsets: offsets.into(), columns: columns.into(), values: values.into() };
    (Matrix::from_elements((k, d), centres), points)
}

/// Normal numbers in single precision, times a scale.
fn singles<S: IntoShape>(shape: S, scale: f64) -> Tensor<Concrete, f32, S::Rank> {
    let shape = shape.into_shape();
    (scale * normals(shape.iter().product())).cast::<f32>().reshape(&shape[..]).into_rank()
}

/// A layer whose weights are scaled as if each output were a sum of so many terms.
fn layer(inputs: usize, outputs: usize, terms: usize) -> Layer<Concrete> {
    Layer { weights: singles((inputs, outputs), 1.0 / (terms as f64).sqrt()), bias: zeros(outputs) }
}

fn layers(sizes: &[usize]) -> Vec<Layer<Concrete>> {
    sizes.windows(2).map(|pair| layer(pair[0], pair[1], pair[0])).collect()
}

/// Labels in turns.
fn labels(count: usize, classes: usize) -> Vector<Concrete, i64> {
    (0..count as i64).map(|i| i % classes as i64).collect::<Vec<_>>().into()
}

/// Layers of these sizes, so many images, and their labels.
pub fn images(sizes: &[usize], count: usize) -> (Vec<Layer<Concrete>>, Matrix<Concrete, f32>, Vector<Concrete, i64>) {
    (layers(sizes), singles((count, sizes[0]), 1.0), labels(count, sizes[sizes.len() - 1]))
}

/// LeNet-5, so many images of 28 × 28, and their labels.
pub fn pictures(count: usize) -> (LeNet<Concrete>, Tensor4<Concrete, f32>, Vector<Concrete, i64>) {
    let kernels = |outputs: usize, channels: usize| Kernels {
        weights: singles((outputs, channels, 5, 5), 0.2 / (channels as f64).sqrt()),
        bias: zeros(outputs),
    };
    let network = LeNet { kernels: vec![kernels(6, 1), kernels(16, 6)], layers: layers(&[400, 120, 84, 10]) };
    (network, singles((count, 1, 28, 28), 1.0), labels(count, 10))
}

type Sequences = Tensor3<Concrete, f32>;

/// Memories of h cells for inputs of d elements, their state, inputs and targets.
pub fn sequences(
    batch: usize,
    steps: usize,
    d: usize,
    h: usize,
) -> (Memories<Concrete>, State<Concrete>, Sequences, Sequences) {
    let network = Memories { input: layer(d, 4 * h, h), hidden: layer(h, 4 * h, h), output: layer(h, d, h) };
    let inputs = || singles((steps, batch, d), 1.0);
    (network, (singles((batch, h), 0.1), singles((batch, h), 0.1)), inputs(), inputs())
}
