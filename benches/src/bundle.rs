//! Bundle adjustment: the Jacobian of reprojection errors, in closed form, of eight observations at once.

use crate::functions::sin_cos;
use crate::lanes::Lanes;
use crate::machine::{Machine, compiled};

/// The adjusted parameters and the observations.
pub struct Scene {
    /// Rotation (3, an axis times an angle), centre (3), focal length, principal point (2), radial distortion (2), of one
    /// camera after the other.
    pub cameras: Vec<f64>,
    pub points: Vec<f64>,
    /// Of the observations.
    pub weights: Vec<f64>,
    /// Which camera saw which point.
    pub pairs: Vec<i64>,
    /// Where on its image.
    pub features: Vec<f64>,
}

compiled! {
    /// The entries of the Jacobian that are not zero: of each observation two rows of 15, by its camera, its point and its
    /// weight; then of each the derivative of the error of its weight, 1 − w².
    pub fn bundle_jacobian(scene: &Scene, jacobian: &mut [f64]) -> () = bundle_kernel;
}

/// The entries of each observation in the Jacobian, and the parameters that it depends on besides its feature.
const ENTRIES: usize = 30;
const PARAMETERS: usize = 15;

#[inline(always)]
fn bundle_kernel<M: Machine>(scene: &Scene, jacobian: &mut [f64]) {
    let count = scene.weights.len();
    let (blocks, weights) = jacobian.split_at_mut(ENTRIES * count);
    for (derivative, weight) in weights.iter_mut().zip(&scene.weights) {
        *derivative = -2.0 * weight;
    }
    for (group, rows) in blocks.chunks_mut(8 * ENTRIES).enumerate() {
        let (mut parameters, mut features) = ([[0.0; 8]; PARAMETERS], [[0.0; 8]; 2]);
        for lane in 0..8 {
            // Behind the last observation it is taken again.
            let at = (8 * group + lane).min(count - 1);
            let camera = &scene.cameras[11 * scene.pairs[2 * at] as usize..][..11];
            let point = &scene.points[3 * scene.pairs[2 * at + 1] as usize..][..3];
            for part in 0..11 {
                parameters[part][lane] = camera[part];
            }
            for part in 0..3 {
                parameters[11 + part][lane] = point[part];
            }
            parameters[14][lane] = scene.weights[at];
            (features[0][lane], features[1][lane]) = (scene.features[2 * at], scene.features[2 * at + 1]);
        }
        let entries = blocks_of::<M>(&parameters, &features);
        for lane in 0..rows.len() / ENTRIES {
            let row = &mut rows[lane * ENTRIES..][..ENTRIES];
            for part in 0..ENTRIES {
                row[part] = entries[part][lane];
            }
        }
    }
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn dot<M: Machine>(a: [f64; 3], b: [f64; 3]) -> f64 {
    M::fused(a[0], b[0], M::fused(a[1], b[1], a[2] * b[2]))
}

/// The two rows of each of eight observations.
#[inline(always)]
fn blocks_of<M: Machine>(parameters: &[Lanes; PARAMETERS], features: &[Lanes; 2]) -> [Lanes; ENTRIES] {
    let mut entries = [[0.0; 8]; ENTRIES];
    for lane in 0..8 {
        let axis = [parameters[0][lane], parameters[1][lane], parameters[2][lane]];
        let mut from_centre = [0.0; 3];
        for at in 0..3 {
            from_centre[at] = parameters[11 + at][lane] - parameters[3 + at][lane];
        }
        let (focal, weight) = (parameters[6][lane], parameters[14][lane]);
        let (first, second) = (parameters[9][lane], parameters[10][lane]);

        // The turned point is x cos θ + (a × x) s + a (a·x) v, where s is sin θ / θ and v is (1 − cos θ) / θ².
        let square = dot::<M>(axis, axis);
        let angle = square.sqrt();
        let inverse = if square > 0.0 { 1.0 / square } else { 0.0 };
        let (sine, cosine) = sin_cos::<M>(angle);
        let sine = if square > 0.0 { sine * angle * inverse } else { 1.0 };
        let versine = (1.0 - cosine) * inverse;
        let (along, across) = (dot::<M>(axis, from_centre), cross(axis, from_centre));
        let mut turned = [0.0; 3];
        for at in 0..3 {
            turned[at] = M::fused(from_centre[at], cosine, M::fused(across[at], sine, axis[at] * (along * versine)));
        }

        let depth = 1.0 / turned[2];
        let (u, v) = (turned[0] * depth, turned[1] * depth);
        let radius = M::fused(u, u, v * v);
        let distortion = M::fused(M::fused(second, radius, first), radius, 1.0);
        let slope = 2.0 * M::fused(2.0 * second, radius, first);
        let scale = weight * focal;
        let plane = [u, v];
        // The slopes of s and v along the axis.
        let sine_slope = (cosine - sine) * inverse;
        let versine_slope = M::fused(-2.0, versine, sine) * inverse;
        for row in 0..2 {
            // By u and v, then by the turned point.
            let by_u = scale * M::fused(slope * u, plane[row], if row == 0 { distortion } else { 0.0 });
            let by_v = scale * M::fused(slope * v, plane[row], if row == 1 { distortion } else { 0.0 });
            let g = [by_u * depth, by_v * depth, -M::fused(by_u, u, by_v * v) * depth];
            let (axis_along, turned_back) = (dot::<M>(axis, g), cross(g, axis));
            let common = M::fused(
                axis_along * along,
                versine_slope,
                M::fused(dot::<M>(across, g), sine_slope, -sine * dot::<M>(from_centre, g)),
            );
            let around = cross(from_centre, g);
            for at in 0..3 {
                let mixed = M::fused(along, g[at], axis_along * from_centre[at]);
                let by_axis = M::fused(common, axis[at], M::fused(sine, around[at], versine * mixed));
                let turn = M::fused(sine, turned_back[at], axis[at] * (axis_along * versine));
                let by_point = M::fused(g[at], cosine, turn);
                entries[15 * row + at][lane] = by_axis;
                entries[15 * row + 3 + at][lane] = -by_point;
                entries[15 * row + 11 + at][lane] = by_point;
            }
            let image = plane[row] * distortion;
            let by_first = scale * plane[row] * radius;
            entries[15 * row + 6][lane] = weight * image;
            entries[15 * row + 7 + row][lane] = weight;
            entries[15 * row + 9][lane] = by_first;
            entries[15 * row + 10][lane] = by_first * radius;
            entries[15 * row + 14][lane] = M::fused(image, focal, parameters[7 + row][lane]) - features[row][lane];
        }
    }
    entries
}
