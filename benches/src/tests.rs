//! Gradients beside central differences, on inputs that do not fill their last vectors.

use crate::*;

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 % 1009) as f64 / 1009.0 - 0.5) * 2.0).collect()
}

/// Compares a gradient with central differences.
fn check(x: &[f64], f: impl Fn(&[f64], &mut [f64]) -> f64) {
    let mut gradient = vec![0.0; x.len()];
    f(x, &mut gradient);
    for at in 0..x.len() {
        let value = |step: f64| {
            let mut moved = x.to_vec();
            moved[at] += step;
            f(&moved, &mut vec![0.0; x.len()])
        };
        let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
        let error = (difference - gradient[at]).abs();
        assert!(error < 1e-7 * (1.0 + difference.abs()), "{at}: {} instead of {difference}", gradient[at]);
    }
}

#[test]
fn gradients_of_elements_rows_and_points() {
    let (x, w) = (numbers(27), numbers(35)[8..].to_vec());
    check(&x, chain);
    check(&x, |x, gradient| cumulative_sum(x, &w, gradient));
    check(&x, |x, gradient| cumulative_product(x, &w, gradient));
    let zero: Vec<f64> = x.iter().enumerate().map(|(at, x)| if at == 11 { 0.0 } else { x + 1.0 }).collect();
    check(&zero, |x, gradient| cumulative_product(x, &w, gradient));
    check(&numbers(18 * 11), |x, gradient| log_sum_exp(x, 11, gradient));
    let (points, labels) = (numbers(11 * 19), numbers(19).iter().map(|x| f64::from(*x > 0.0)).collect::<Vec<_>>());
    check(&numbers(11), |weights, gradient| logistic(weights, &points, &labels, gradient));
}

/// Parts of some numbers, of so many each.
fn split<const N: usize>(x: &[f64], counts: [usize; N]) -> [Vec<f64>; N] {
    let mut rest = x;
    counts.map(|count| {
        let (part, behind) = rest.split_at(count);
        rest = behind;
        part.to_vec()
    })
}

#[test]
fn gradients_of_mixtures() {
    let (n, d, k) = (70, 3, 4);
    let counts = [k, k * d, k * d, k * d * (d - 1) / 2];
    let points = numbers(n * d);
    check(&numbers(counts.iter().sum()), |x, gradient| {
        let [alpha, means, log_diagonals, lower] = split(x, counts);
        let mixture = Mixture { alpha, means, log_diagonals, lower };
        let mut by_mixture = mixture.clone();
        let prior = Wishart { gamma: 1.3, m: 2.0 };
        let value = gaussian_mixture(&mixture, &points, prior, &mut by_mixture, &mut Workspace::default());
        let Mixture { alpha, means, log_diagonals, lower } = by_mixture;
        gradient.copy_from_slice(&[alpha, means, log_diagonals, lower].concat());
        value
    });
}

#[test]
fn gradients_of_networks() {
    for (layers, bits) in [(1, 8), (2, 11), (3, 3)] {
        let (text, state) = (numbers(bits * 6), numbers(2 * layers * bits));
        let text: Vec<f64> = text.iter().map(|x| f64::from(*x > 0.0)).collect();
        let counts = [8 * layers * bits, 3 * bits];
        check(&numbers(counts[0] + counts[1]), |x, gradient| {
            let [main, extra] = split(x, counts);
            let network = Network { main, extra };
            let mut by_network = network.clone();
            let value = diagonal_lstm(&network, &state, &text, &mut by_network, &mut Tape::default());
            gradient.copy_from_slice(&[by_network.main, by_network.extra].concat());
            value
        });
    }
}

#[test]
fn derivatives_of_centres() {
    for (k, n, columns) in [(5, 150, 35), (3, 200, 50), (2, 3, 2)] {
        let points: Vec<f32> = numbers(n * columns).iter().map(|&x| x as f32).collect();
        let centres = points[..k * columns].to_vec();
        let (mut gradient, mut curvature) = (centres.clone(), centres.clone());
        k_means(&centres, &points, columns, &mut gradient, &mut curvature);
        let (mut expected, mut counts) = (vec![0.0; k * columns], vec![0.0; k * columns]);
        for point in points.chunks(columns) {
            let distance = |centre: usize| -> f32 {
                let row = &centres[centre * columns..][..columns];
                row.iter().zip(point).map(|(c, p)| (c - p) * (c - p)).sum()
            };
            let nearest = (0..k).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).expect("there are centres");
            for column in 0..columns {
                let at = nearest * columns + column;
                expected[at] += 2.0 * (centres[at] - point[column]);
                counts[at] += 2.0;
            }
        }
        assert_eq!(curvature, counts);
        for (found, expected) in gradient.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
        }
    }
}

/// The reprojection error of one observation, for its parameters.
fn reprojection_error(x: &[f64], feature: &[f64]) -> [f64; 2] {
    let (axis, angle) = (&x[..3], (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt());
    let from_centre = [x[11] - x[3], x[12] - x[4], x[13] - x[5]];
    let unit: Vec<f64> = axis.iter().map(|x| if angle == 0.0 { 0.0 } else { x / angle }).collect();
    let along: f64 = unit.iter().zip(&from_centre).map(|(a, b)| a * b).sum();
    let turned = |at: usize| {
        let (next, last) = ((at + 1) % 3, (at + 2) % 3);
        let across = unit[next] * from_centre[last] - unit[last] * from_centre[next];
        from_centre[at] * angle.cos() + across * angle.sin() + unit[at] * along * (1.0 - angle.cos())
    };
    let plane = [turned(0) / turned(2), turned(1) / turned(2)];
    let radius = plane[0] * plane[0] + plane[1] * plane[1];
    let distortion = 1.0 + x[9] * radius + x[10] * radius * radius;
    [0, 1].map(|at| x[14] * (plane[at] * distortion * x[6] + x[7 + at] - feature[at]))
}

#[test]
fn jacobians_of_bundles() {
    let (cameras, points, count) = (3, 4, 11);
    let mut scene = Scene {
        cameras: numbers(11 * cameras),
        points: numbers(3 * points),
        weights: numbers(count),
        pairs: (0..count).flat_map(|at| [(at % cameras) as i64, (at % points) as i64]).collect(),
        features: numbers(2 * count),
    };
    // A rotation by zero does not divide by zero.
    scene.cameras[..3].fill(0.0);
    scene.points.iter_mut().skip(2).step_by(3).for_each(|depth| *depth += 5.0);
    let mut jacobian = vec![0.0; 31 * count];
    bundle_jacobian(&scene, &mut jacobian);
    for at in 0..count {
        let (camera, point) = (scene.pairs[2 * at] as usize, scene.pairs[2 * at + 1] as usize);
        let x = [&scene.cameras[11 * camera..][..11], &scene.points[3 * point..][..3], &[scene.weights[at]]].concat();
        for parameter in 0..15 {
            let errors = |step: f64| {
                let mut moved = x.clone();
                moved[parameter] += step;
                reprojection_error(&moved, &scene.features[2 * at..][..2])
            };
            let (above, below) = (errors(1e-5), errors(-1e-5));
            for row in 0..2 {
                let difference = (above[row] - below[row]) / 2e-5;
                let found = jacobian[30 * at + 15 * row + parameter];
                assert!((found - difference).abs() < 1e-7, "{at} {parameter}: {found} instead of {difference}");
            }
        }
        assert_eq!(jacobian[30 * count + at], -2.0 * scene.weights[at]);
    }
}
