//! Bundle adjustment: where cameras see points, compared with where they were observed.

use deltaray::prelude::*;
use deltaray::sparse::FloatTree;

/// What is adjusted: n cameras, m points and the weights of p observations.
#[derive(Tree)]
pub struct Scene<A: Algebra> {
    /// Rotation (3, an axis times an angle), centre (3), focal length, principal point (2), radial distortion (2): [n, 11].
    pub cameras: Matrix<A, f64>,
    /// [m, 3].
    pub points: Matrix<A, f64>,
    /// [p].
    pub weights: Vector<A, f64>,
}

/// What was observed.
#[derive(Tree)]
pub struct Observations<A: Algebra> {
    /// Which camera saw which point: [p, 2].
    pub pairs: Fixed<Matrix<A, i64>>,
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

impl FloatTree for Errors<Concrete> {
    type Element = f64;
}

fn cross<A: Algebra>(a: &Vector<A, f64>, b: &Vector<A, f64>) -> Vector<A, f64> {
    let [a, b] = [a, b].map(|x| [x.at(0), x.at(1), x.at(2)]);
    stack(&[&a[1] * &b[2] - &a[2] * &b[1], &a[2] * &b[0] - &a[0] * &b[2], &a[0] * &b[1] - &a[1] * &b[0]])
}

/// A point turned about an axis, by an angle that is the length of the axis.
fn rotate<A: Algebra>(axis: &Vector<A, f64>, x: &Vector<A, f64>) -> Vector<A, f64> {
    let square = axis.dot(axis);
    let angle = square.sqrt();
    let unit = axis / &angle;
    let turned = x * angle.cos() + cross(&unit, x) * angle.sin() + &unit * (unit.dot(x) * (1.0 - angle.cos()));
    square.gt(0.0).select(turned, x + cross(axis, x))
}

/// Where a camera sees a point.
fn project<A: Algebra>(camera: &Vector<A, f64>, point: &Vector<A, f64>) -> Vector<A, f64> {
    let seen = rotate(&camera.slice(0, ..3), &(point - camera.slice(0, 3..6)));
    let plane = seen.slice(0, ..2) / seen.at(2);
    let square = plane.dot(&plane);
    let distortion = 1.0 + camera.at(9) * &square + camera.at(10) * square.powi(2);
    plane * distortion * camera.at(6) + camera.slice(0, 7..9)
}

pub fn errors<A: Algebra>((scene, observed): &(Scene<A>, Observations<A>)) -> Errors<A> {
    let reprojection = build(scene.weights.len(), |at| {
        let camera = scene.cameras.at(observed.pairs.at((&at, 0)));
        let point = scene.points.at(observed.pairs.at((&at, 1)));
        scene.weights.at(&at) * (project(&camera, &point) - observed.features.at(&at))
    });
    Errors { reprojection, weight: 1.0 - scene.weights.powi(2) }
}
