//! Bundle adjustment: each observation reads one camera and one point.

use super::chance::Random;
use super::*;
use deltaray::derivative::Function;
use deltaray::sparse::Compression::{self, Columns, Reads, Rows};
use deltaray::term::Body;

/// Cameras of eleven parameters (rotation vector, centre, focal length, principal point, radial distortion), points, and a
/// weight for each observation.
type Parameters<A> = (Matrix<A, f64>, Matrix<A, f64>, Vector<A, f64>);

/// Which camera and which point each observation is of.
type Indices<A> = Fixed<(Vector<A, i64>, Vector<A, i64>)>;

/// A point turned about an axis, by the length of the axis (Rodrigues).
fn rotated<A: Algebra>(axis: &[Scalar<A, f64>; 3], point: &[Scalar<A, f64>; 3]) -> [Scalar<A, f64>; 3] {
    let square = axis.iter().fold(scalar(0.0), |sum: Scalar<A, f64>, x| sum + x * x);
    let angle = square.sqrt();
    let unit: Vec<Scalar<A, f64>> = axis.iter().map(|x| x / &angle).collect();
    let (sine, cosine) = (angle.sin(), angle.cos());
    let along = (0..3).fold(scalar(0.0), |sum: Scalar<A, f64>, i| sum + &unit[i] * &point[i]) * (1.0 - &cosine);
    std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let cross = &unit[j] * &point[k] - &unit[k] * &point[j];
        &point[i] * &cosine + cross * &sine + &unit[i] * &along
    })
}

/// Where a camera sees a point.
fn projected<A: Algebra>(camera: &Vector<A, f64>, point: &Vector<A, f64>) -> [Scalar<A, f64>; 2] {
    let three = |start: usize| -> [Scalar<A, f64>; 3] { std::array::from_fn(|i| camera.at(start + i)) };
    let centre = three(3);
    let moved = std::array::from_fn(|i| point.at(i) - &centre[i]);
    let [x, y, z] = rotated(&three(0), &moved);
    let (x, y) = (x / &z, y / z);
    let square = &x * &x + &y * &y;
    let distortion = 1.0 + camera.at(9) * &square + camera.at(10) * &square * &square;
    let scale = camera.at(6) * distortion;
    [x * &scale + camera.at(7), y * scale + camera.at(8)]
}

/// For each observation two residuals, times its weight, and one that keeps the weight near 1.
fn residuals<A: Algebra>(
    ((cameras, points, weights), features, indices): &(Parameters<A>, Matrix<A, f64>, Indices<A>),
) -> (Matrix<A, f64>, Vector<A, f64>) {
    let (camera_of, point_of) = &**indices;
    let errors = build(weights.len(), |o| {
        let [x, y] = projected(&cameras.at(camera_of.at(&o)), &points.at(point_of.at(&o)));
        let weight = weights.at(&o);
        stack(&[&weight * (x - features.at((&o, 0))), weight * (y - features.at((&o, 1)))])
    });
    (errors, 1.0 - weights * weights)
}

/// As many cameras, points and observations.
#[derive(Clone, Copy)]
struct Size(usize, usize, usize);

/// A problem by chance.
struct Problem {
    parameters: Parameters<C>,
    features: Matrix<C, f64>,
    indices: Indices<C>,
}

impl Problem {
    fn new(Size(cameras, points, observations): Size, seed: u64) -> Problem {
        let mut random = Random::new(seed);
        let mut between =
            |count: usize, low: f64, high: f64| -> Vec<f64> { (0..count).map(|_| random.between(low, high)).collect() };
        let mut camera_rows = Vec::new();
        for _ in 0..cameras {
            camera_rows.extend(between(3, 0.1, 0.4));
            camera_rows.extend(between(3, -0.5, 0.5));
            camera_rows.extend(between(1, 1.0, 2.0));
            camera_rows.extend(between(4, -0.1, 0.1));
        }
        let point_rows: Vec<f64> =
            (0..points).flat_map(|_| [between(2, -1.0, 1.0), between(1, 4.0, 6.0)].concat()).collect();
        let weights = between(observations, 0.5, 1.5);
        let features = between(2 * observations, -0.5, 0.5);
        let index = |count: usize, step: usize| -> Vector<C, i64> {
            Vector::from((0..observations).map(|o| ((o * step + o / count) % count) as i64).collect::<Vec<i64>>())
        };
        Problem {
            parameters: (
                Matrix::from_elements((cameras, 11), camera_rows),
                Matrix::from_elements((points, 3), point_rows),
                Vector::from(weights),
            ),
            features: Matrix::from_elements((observations, 2), features),
            indices: fixed((index(cameras, 1), index(points, 3))),
        }
    }

    fn arguments(&self) -> (&Parameters<C>, &Matrix<C, f64>, &Indices<C>) {
        (&self.parameters, &self.features, &self.indices)
    }

    #[allow(clippy::type_complexity)]
    fn stage(
        &self,
    ) -> Function<(Parameters<C>, Matrix<C, f64>, Indices<C>), (Matrix<C, f64>, Vector<C, f64>), Parameters<C>> {
        stage(residuals, self.arguments()).unwrap()
    }

    /// All residuals as a function of all parameters, in a row.
    fn flat<A: Algebra>(&self, x: &Vector<A, f64>) -> Vector<A, f64> {
        let (cameras, points, weights) = &self.parameters;
        let (first, second) = (cameras.size(), cameras.size() + points.size());
        let parameters = (
            x.slice(0, ..first).reshape((cameras.len(), 11)),
            x.slice(0, first..second).reshape((points.len(), 3)),
            x.slice(0, second..),
        );
        debug_assert_eq!(weights.len(), parameters.2.len());
        let (features, indices) = (constant::<A, _>(&self.features), constant::<A, _>(&self.indices));
        let (errors, of_weights) = residuals(&(parameters, features, indices));
        concatenate(0, &[errors.reshape(errors.size()), of_weights])
    }
}

/// The most elements of one array of a program.
fn largest(body: &Body) -> usize {
    body.nodes().iter().flat_map(|node| &node.types).map(|ty| ty.size()).max().unwrap_or(0)
}

const SIZES: [Size; 4] = [Size(2, 5, 10), Size(3, 20, 60), Size(10, 60, 240), Size(5, 200, 400)];

#[test]
fn two_seeds_whatever_the_number_of_observations() {
    let mut nodes = Vec::new();
    for size in SIZES {
        let problem = Problem::new(size, 7);
        let Size(cameras, points, observations) = size;
        let jacobian = problem.stage().sparse_jacobian().unwrap();
        let compressed = jacobian.compressed(problem.arguments()).unwrap();
        assert_eq!((compressed.compression(), compressed.seeds()), (Reads, 2));
        let (rows, columns) = (3 * observations, 11 * cameras + 3 * points + observations);
        assert_eq!(compressed.pattern().shape(), (rows, columns));
        // Two rows of a camera, without one coordinate of its principal point, a point and a weight; and one row of a weight.
        assert_eq!(compressed.nonzeros(), observations * (2 * (10 + 3 + 1) + 1));
        let program = compressed.program().unwrap();
        // Nothing is larger than two rows of all copies; an observation copies its camera, its point and weights.
        assert!(largest(program) <= 2 * observations * 24, "{}\n{program}", largest(program));
        nodes.push(program.node_count());
    }
    assert!(nodes.iter().all(|&count| count < 280), "{nodes:?}");
}

/// As many as parameters that meet in a row: no row has both coordinates of the principal point.
#[test]
fn columns_take_fourteen_seeds() {
    for size in SIZES {
        let problem = Problem::new(size, 8);
        let jacobian = problem.stage().sparse_jacobian().unwrap().with_compression(Columns).unwrap();
        assert_eq!(jacobian.compressed(problem.arguments()).unwrap().seeds(), 14);
    }
}

#[test]
fn the_jacobian_is_the_dense_one() {
    let problem = Problem::new(Size(3, 6, 14), 9);
    let (cameras, points, weights) = &problem.parameters;
    let x = concatenate(0, &[cameras.reshape(cameras.size()), points.reshape(points.size()), weights.clone()]);
    let dense = {
        // Staged, for element by element it takes long.
        let jacobian = stage(|x| jacfwd(|x| problem.flat(x), x), &x).unwrap();
        jacobian.call(&x).unwrap().to_vec()
    };
    let function = problem.stage();
    for compression in [Columns, Rows, Reads] {
        let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
        let found = jacobian.call(problem.arguments()).unwrap();
        close(&found.to_dense().to_vec(), &dense);
        assert_eq!(found.nonzeros(), 14 * 29);
    }
}

#[test]
fn one_array_of_all_parameters() {
    let problem = Problem::new(Size(3, 20, 60), 10);
    let (cameras, points, weights) = &problem.parameters;
    let x = concatenate(0, &[cameras.reshape(cameras.size()), points.reshape(points.size()), weights.clone()]);
    let jacobian = stage(|x| problem.flat(x), &x).unwrap().sparse_jacobian().unwrap();
    let compressed = jacobian.compressed(&x).unwrap();
    assert_eq!((compressed.compression(), compressed.seeds()), (Reads, 2));
    let tree = problem.stage().sparse_jacobian().unwrap().call(problem.arguments()).unwrap();
    assert_eq!(jacobian.call(&x).unwrap(), tree);
}

/// An array of parameters read camera by camera: the bulk form of the same.
#[test]
fn gathers_of_whole_rows() {
    let cameras = Matrix::<C, f64>::from_elements((4, 3), numbers(12).to_vec());
    let index: Vector<C, i64> = vec![0, 3, 1, 1, 2, 0, 3, 3].into();
    let function = stage(
        |(cameras, index): &(Matrix<_, f64>, Fixed<Vector<_, i64>>)| {
            let rows: Matrix<_, f64> = cameras.gather(&**index);
            rows.sin().sum_axis(1)
        },
        (&cameras, &fixed(index)),
    );
    let jacobian = function.unwrap().sparse_jacobian().unwrap();
    let index: Vector<C, i64> = vec![0, 3, 1, 1, 2, 0, 3, 3].into();
    let compressed = jacobian.compressed((&cameras, &fixed(index.clone()))).unwrap();
    assert_eq!((compressed.compression(), compressed.seeds()), (Compression::Reads, 1));
    let found = jacobian.call((&cameras, &fixed(index.clone()))).unwrap();
    let dense = found.to_dense();
    for (row, &camera) in index.to_vec().iter().enumerate() {
        for column in 0..12 {
            let expected = if column / 3 == camera as usize { cameras.to_vec()[column].cos() } else { 0.0 };
            close(&[dense.element(&[row, column]).unwrap()], &[expected]);
        }
    }
}

/// The camera, point and picture of ADBench's test, which repeats them: each observation has its known rows.
#[test]
fn the_rows_of_adbench() {
    let camera = [
        1.797201, 0.590697, -0.635786, 90.85955, 29.361415, 28.777534, 211.628116, -0.284531, -14.762924, 0.058931,
        0.069976,
    ];
    let first_row = [
        228.877202208247,
        634.574811495545,
        -782.222866259341,
        2.42892615607160,
        -11.7828079628011,
        2.54169312487743,
        -1.03657084958519,
        0.417022,
        // The second coordinate of the principal point has no part in the first.
        -350.739521096005,
        -912.107773668009,
        -2.42892615607160,
        11.7828079628011,
        -2.54169312487743,
        -0.645167039712987,
    ];
    let (cameras, points, observations) = (2, 10, 10);
    let parameters: Parameters<C> = (
        Matrix::from_elements((cameras, 11), camera.repeat(cameras)),
        Matrix::from_elements((points, 3), [4.173048, 5.586898, 1.403869].repeat(points)),
        full(observations, 0.417022),
    );
    let features = Matrix::from_elements((observations, 2), [-525.672849, 161.811929].repeat(observations));
    let of = |count: i64| -> Vector<C, i64> { Vector::from((0..10).map(|o| o % count).collect::<Vec<i64>>()) };
    let indices = fixed((of(2), of(10)));
    let jacobian = stage(residuals, (&parameters, &features, &indices)).unwrap().sparse_jacobian().unwrap();
    let found = jacobian.call((&parameters, &features, &indices)).unwrap();
    assert_eq!(found.shape(), (30, 62));
    assert_eq!(jacobian.compressed((&parameters, &features, &indices)).unwrap().seeds(), 2);
    let values = found.values().to_vec();
    for observation in 0..observations {
        let start = found.row_offsets()[2 * observation];
        for (x, y) in values[start..].iter().zip(&first_row) {
            assert!((x - y).abs() <= 1e-9 * y.abs(), "{x} instead of {y}");
        }
        let camera = 11 * (observation % cameras);
        assert_eq!(found.column_indices()[start], camera);
        assert_eq!(found.column_indices()[start + 8], camera + 9);
        // The residual of the weight has the last rows, and its derivative by the weight.
        let weight = found.row_offsets()[20 + observation];
        assert_eq!(found.column_indices()[weight], 52 + observation);
        assert!((values[weight] + 0.834044).abs() < 1e-12);
    }
}
