//! How far the cameras see points from where they were observed.

use crate::ba::project;
use deltaray::prelude::*;

/// The adjusted parameters.
#[derive(Clone, Tree)]
pub struct Scene<A: Algebra> {
    /// Rotation (3, an axis times an angle), centre (3), focal length, principal point (2), radial distortion (2): [n, 11].
    pub cameras: Matrix<A, f64>,
    /// [m, 3].
    pub points: Matrix<A, f64>,
}

/// The observations.
#[derive(Clone, Tree)]
pub struct Observed<A: Algebra> {
    /// Which camera saw which point: [p, 2]. The pattern of the Jacobian follows of them.
    pub pairs: Fixed<Matrix<A, i64>>,
    /// Where on its image: [p, 2].
    pub features: Matrix<A, f64>,
    /// How much an observation counts: [p].
    pub weights: Vector<A, f64>,
}

/// The weighted errors of all observations: [p, 2].
pub fn residuals<A: Algebra>((scene, observed): &(Scene<A>, Observed<A>)) -> Matrix<A, f64> {
    build(observed.weights.len(), |at| {
        let camera = scene.cameras.at(observed.pairs.at((&at, 0)));
        let point = scene.points.at(observed.pairs.at((&at, 1)));
        (project(&camera, &point) - observed.features.at(&at)) * observed.weights.at(&at)
    })
}
