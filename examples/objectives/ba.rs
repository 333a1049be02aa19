//! Bundle adjustment: where cameras see points, compared with where they were observed.

use deltaray::Result;
use deltaray::prelude::*;
use deltaray::sparse::Pattern;
use serde::Deserialize;

/// The adjusted parameters: n cameras, m points and the weights of p observations.
#[derive(Tree)]
pub struct Scene<A: Algebra> {
    /// Rotation (3, an axis times an angle), centre (3), focal length, principal point (2), radial distortion (2): [n, 11].
    pub cameras: Matrix<A, f64>,
    /// [m, 3].
    pub points: Matrix<A, f64>,
    /// [p].
    pub weights: Vector<A, f64>,
}

/// The observations.
#[derive(Tree)]
pub struct Observations<A: Algebra> {
    /// Which camera saw which point: [p, 2].
    pub pairs: Matrix<A, i64>,
    /// Where on its image: [p, 2].
    pub features: Matrix<A, f64>,
}

/// How much cameras and weights are off.
#[derive(Tree)]
pub struct Errors<A: Algebra> {
    /// Of the reprojections: [p, 2].
    pub reprojection: Matrix<A, f64>,
    /// Of the weights: [p].
    pub weight: Vector<A, f64>,
}

#[differentiable]
fn cross(a: Vector<f64>, b: Vector<f64>) -> Vector<f64> {
    stack(&[a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
}

/// A point turned about an axis, by an angle that is the length of the axis.
#[differentiable]
fn rotate(axis: Vector<f64>, x: Vector<f64>) -> Vector<f64> {
    let square = axis.dot(axis);
    let turns = square > 0.0;
    let angle = square.sqrt();
    let sine = turns.select(angle.sin() / angle, 1.0);
    let versine = turns.select((1.0 - angle.cos()) / square, 0.0);
    x * angle.cos() + cross(axis, x) * sine + axis * (axis.dot(x) * versine)
}

/// Where a camera sees a point.
#[differentiable]
pub fn project(camera: Vector<f64>, point: Vector<f64>) -> Vector<f64> {
    let seen = rotate(&camera[..3], &(point - camera[3..6]));
    let plane = seen[..2] / seen[2];
    let square = plane.dot(&plane);
    let distortion = 1.0 + camera[9] * square + camera[10] * square.powi(2);
    plane * distortion * camera[6] + camera[7..9]
}

/// The parameters of one observation, of its camera, its point and its weight: [15].
#[differentiable]
fn parameters(scene: &Scene, observed: &Observations, at: &Scalar<i64>) -> Vector<f64> {
    let camera = scene.cameras[observed.pairs[(at, 0)]];
    let point = scene.points[observed.pairs[(at, 1)]];
    concatenate(0, &[camera, point, scene.weights[at].insert_axis(0)])
}

/// How far off one observation is, for its parameters.
#[differentiable]
fn reprojection_error((x, feature): (Vector<f64>, Vector<f64>)) -> Vector<f64> {
    x[14] * (project(&x[..11], &x[11..14]) - feature)
}

#[differentiable]
fn weight_error(weight: Scalar<f64>) -> Scalar<f64> {
    1.0 - weight * weight
}

#[differentiable]
pub fn errors((scene, observed): (Scene, Observations)) -> Errors {
    let reprojection =
        build(scene.weights.len(), |at| reprojection_error(&(parameters(scene, observed, &at), observed.features[at])));
    Errors { reprojection, weight: vmap(|weight| weight_error(&weight), &scene.weights) }
}

/// The entries of the Jacobian of the errors: 15 in each row of a reprojection error, one in each row of a weight's.
#[differentiable]
pub fn jacobian((scene, observed): (Scene, Observations)) -> Vector<f64> {
    let blocks = build(scene.weights.len(), |at| {
        let (x, feature) = (parameters(scene, observed, &at), observed.features[at]);
        jacrev(reprojection_error, (&x, &feature))
    });
    let weights = vmap(|weight| grad(weight_error, &weight), &scene.weights);
    concatenate(0, &[blocks.flatten(), weights])
}

/// Where the entries of the Jacobian are, whose columns are cameras, points and weights.
pub fn pattern(scene: &Scene<Concrete>, observed: &Observations<Concrete>) -> Result<Pattern> {
    let (n, m, p) = (scene.cameras.len(), scene.points.len(), scene.weights.len());
    let pairs = observed.pairs.to_vec();
    let mut columns = Vec::with_capacity(31 * p);
    for (at, pair) in pairs.chunks(2).enumerate() {
        let (camera, point) = (11 * pair[0] as usize, 11 * n + 3 * pair[1] as usize);
        for _ in 0..2 {
            columns.extend((camera..camera + 11).chain(point..point + 3));
            columns.push(11 * n + 3 * m + at);
        }
    }
    columns.extend((0..p).map(|at| 11 * n + 3 * m + at));
    let offsets = (0..2 * p).map(|row| 15 * row).chain((0..=p).map(|row| 30 * p + row));
    Pattern::new(11 * n + 3 * m + p, offsets.collect(), columns)
}

/// A scene as benchmarks write it: one camera, one point and one observation, and how many of each to make.
#[derive(Deserialize)]
pub struct Instance {
    pub n: usize,
    pub m: usize,
    pub p: usize,
    pub cam: Vec<f64>,
    pub x: Vec<f64>,
    pub w: f64,
    pub feat: Vec<f64>,
}

/// As many rows as asked for, all equal.
fn repeated(row: &[f64], count: usize) -> Matrix<Concrete, f64> {
    Matrix::from_elements((count, row.len()), row.repeat(count))
}

impl Instance {
    /// Observation i has camera and point number i, counted around.
    pub fn scene(&self) -> (Scene<Concrete>, Observations<Concrete>) {
        let pairs = (0..self.p).flat_map(|at| [(at % self.n) as i64, (at % self.m) as i64]).collect();
        let scene = Scene {
            cameras: repeated(&self.cam, self.n),
            points: repeated(&self.x, self.m),
            weights: vec![self.w; self.p].into(),
        };
        let pairs = Matrix::from_elements((self.p, 2), pairs);
        (scene, Observations { pairs, features: repeated(&self.feat, self.p) })
    }
}
