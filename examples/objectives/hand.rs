//! Hand tracking: how far the points of a scan are from a posed model of a hand.

use deltaray::prelude::*;

/// A hand at rest, of bones and of vertices that move with them.
#[derive(Tree)]
pub struct Hand<A: Algebra> {
    /// The bone that each bone is attached to, an earlier one.
    #[tree(skip)]
    pub parents: Vec<Option<usize>>,
    /// Where a bone is, relative to its parent: [bones, 4, 4].
    pub base_relatives: Tensor3<A, f64>,
    /// From the hand at rest to a bone: [bones, 4, 4].
    pub inverse_base_absolutes: Tensor3<A, f64>,
    /// Homogeneous coordinates: [vertices, 4].
    pub base_positions: Matrix<A, f64>,
    /// How much each vertex moves with each bone: [vertices, bones].
    pub weights: Matrix<A, f64>,
    /// The vertices of each triangle of the surface: [triangles, 3].
    pub triangles: Matrix<A, i64>,
}

/// The scanned data.
#[derive(Tree)]
pub struct Scanned<A: Algebra> {
    /// The vertex of each point, or its triangle: [n].
    pub correspondences: Vector<A, i64>,
    /// [n, 3].
    pub points: Matrix<A, f64>,
}

/// A matrix of scalars.
#[differentiable]
fn matrix<const N: usize>(rows: &[[Scalar<f64>; N]; N]) -> Matrix<f64> {
    stack(&rows.each_ref().map(|row| stack(row)))
}

/// The turn about an axis, by an angle that is the axis' length.
#[differentiable]
fn axis_rotation(axis: &Vector<f64>) -> Matrix<f64> {
    let angle = axis.dot(axis).sqrt();
    let [x, y, z] = [0, 1, 2].map(|at| axis[at] / angle);
    let (sin, cos) = (angle.sin(), angle.cos());
    let rest = 1.0 - cos;
    let turned = matrix(&[
        [x * x * rest + cos, x * y * rest - z * sin, x * z * rest + y * sin],
        [x * y * rest + z * sin, y * y * rest + cos, y * z * rest - x * sin],
        [x * z * rest - y * sin, z * y * rest + x * sin, z * z * rest + cos],
    ]);
    let identity: Matrix<f64> = Tensor::from_elements((3, 3), vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    (angle < 1e-4).select(identity, turned)
}

/// The turn of a joint, about the first axis and then about the third one.
#[differentiable]
fn joint_rotation(flexion: &Scalar<f64>, abduction: &Scalar<f64>) -> Matrix<f64> {
    let (sx, cx) = (flexion.sin(), flexion.cos());
    let (sz, cz) = (abduction.sin(), abduction.cos());
    let [zero, one] = [0.0, 1.0].map(scalar);
    matrix(&[
        [cz, -sz * cx, sz * sx, zero],
        [sz, cz * cx, -cz * sx, zero],
        [zero, sx, cx, zero],
        [zero, zero, zero, one],
    ])
}

/// The parameters of the joints, of all bones: flexion, abduction. Of four bones of a finger the first one has both, the
/// next two a flexion; other bones stay at rest, which are read outside of the parameters.
#[differentiable]
fn joints(theta: &Vector<f64>, #[plain] bones: usize) -> [Vector<f64>; 2] {
    let (mut flexions, mut abductions) = (vec![-1; bones], vec![-1; bones]);
    for finger in 0..5 {
        let (bone, parameter) = (2 + 4 * finger, 6 + 4 * finger as i64);
        flexions[bone..bone + 3].copy_from_slice(&[parameter, parameter + 2, parameter + 3]);
        abductions[bone] = parameter + 1;
    }
    [flexions, abductions].map(|positions| theta.gather(Vector::<i64>::from_slice(&positions)))
}

/// The positions of points in a pose, [n, 3], given for each bone their position at rest, in homogeneous coordinates, times how
/// much they move with it, [n, bones, 4].
#[differentiable]
fn positions(theta: &Vector<f64>, hand: &Hand, loads: &Tensor3<f64>) -> Matrix<f64> {
    let [flexions, abductions] = joints(theta, hand.parents.len());
    let rotations = vmap(|(flexion, abduction)| joint_rotation(&flexion, &abduction), &(flexions, abductions));
    let relatives = hand.base_relatives.matmul(&rotations);
    let mut absolutes: Vec<Matrix<f64>> = Vec::new();
    for (bone, parent) in hand.parents.iter().enumerate() {
        let relative = relatives[bone];
        absolutes.push(parent.map_or(relative.clone(), |parent| absolutes[parent].dot(&relative)));
    }
    let transforms = stack(&absolutes).matmul(&hand.inverse_base_absolutes)[(.., ..3)];
    let posed = loads.contract_axes(&transforms, [1, 2], [0, 2]);
    posed.dot(&axis_rotation(&theta[..3]).transpose()) + theta[3..6]
}

/// The parameters of a pose are the hand's rotation (3) and place (3), and four of each finger.
#[differentiable]
pub fn errors((theta, hand, scanned): (Vector<f64>, Hand, Scanned)) -> Matrix<f64> {
    let weights = hand.weights.gather(&scanned.correspondences);
    let places = hand.base_positions.gather(&scanned.correspondences);
    scanned.points - positions(theta, hand, &(weights.insert_axis(2) * places.insert_axis(1)))
}

/// The derivatives of the errors by the pose: [n, 3, 26].
#[differentiable]
pub fn jacobian((theta, hand, scanned): (Vector<f64>, Hand, Scanned)) -> Tensor3<f64> {
    jacfwd(errors, (theta, hand, scanned))
}

/// As the errors of vertices, of places in triangles [n, 2].
#[differentiable]
fn surface_errors_at(theta: &Vector<f64>, us: &Matrix<f64>, hand: &Hand, scanned: &Scanned) -> Matrix<f64> {
    let corners = hand.triangles.gather(&scanned.correspondences);
    let shares = concatenate(1, &[us, (1.0 - us.sum_axis(1)).insert_axis(1)]);
    let weights = hand.weights.gather(&corners) * shares.insert_axis(2);
    let loads = weights.contract(&hand.base_positions.gather(&corners), "ncb,ncj->nbj");
    scanned.points - positions(theta, hand, &loads)
}

/// A pose, a place in the triangle of each point, a hand, and the points.
type OnSurface<A> = (Vector<A, f64>, Matrix<A, f64>, Hand<A>, Scanned<A>);

#[differentiable]
pub fn surface_errors((theta, us, hand, scanned): OnSurface) -> Matrix<f64> {
    surface_errors_at(theta, us, hand, scanned)
}

/// The derivatives of the errors by each point's own place and by the pose: [n, 3, 2 + 26]. No error depends on two places,
/// so all places move at once.
#[differentiable]
pub fn surface_jacobian((theta, us, hand, scanned): OnSurface) -> Tensor3<f64> {
    let units: Matrix<f64> = Tensor::from_elements((2, 2), vec![1.0, 0.0, 0.0, 1.0]);
    let by_place = |unit: Vector<f64>| {
        let along = unit.broadcast_to((us.len(), 2));
        jvp(
            |(us, theta, hand, scanned)| surface_errors_at(theta, us, hand, scanned),
            (us, theta, hand, scanned),
            &along,
        )
        .1
    };
    concatenate(2, &[vmap(by_place, &units).tr(&[1, 2, 0]), jacfwd(surface_errors, (theta, us, hand, scanned))])
}
