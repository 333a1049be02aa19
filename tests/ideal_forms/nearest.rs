//! Derivatives of smallest and largest elements of rows: one update for each row, and work for that alone.

use super::{checked, count, gradient, matrix, prints};
use deltaray::derivative::stage;
use deltaray::prelude::*;
use deltaray::term::Op;

/// Squared distances of points [n, d] from the nearest of the centres [k, d], summed.
fn cost<A: Algebra>((centres, points): &(Matrix<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
    let distances =
        build((points.shape()[0], centres.shape()[0]), |(i, j)| (points.at(i) - centres.at(j)).powi(2).sum());
    distances.min_axis(1).sum()
}

#[test]
fn the_gradient_of_a_nearest_distance_moves_the_nearest_centre() {
    let body = gradient(checked(&stage(cost, &(matrix(3, 2), matrix(7, 2))).unwrap()));
    assert_eq!(count(&body, |op| matches!(op, Op::Contract(_))), 0, "{body}");
    // Beside the distances, nothing has a row for each centre of each point.
    let wide = |op: &Op| matches!(op, Op::Scatter(extents) if extents.len() > 1);
    assert_eq!(count(&body, wide), 0, "{body}");
}

#[test]
fn expanded_squares_are_added_up_by_nearest_centre() {
    let expanded = stage(
        |(centres, points)| {
            let from_origin = centres.powi(2).sum_axis(1) - 2.0 * points.dot(&centres.transpose());
            points.powi(2).sum() + from_origin.min_axis(1).sum()
        },
        &(matrix(5, 3), matrix(100, 3)),
    )
    .unwrap();
    prints(
        &gradient(checked(&expanded)),
        "c p dt",
        r#"
        program f(c: f64[5, 3], p: f64[100, 3], dt: f64) -> (f64[5, 3], f64[100, 3]):
            let m1: f64 = dt * -2.0
            let m2: f64[100, 5] = replicate[100] (sum[1] (powi[2] c)) - contract "ij,kj->ik" p c * 2.0
            let m3: i64[100] = argmin[1] m2
            let m4: f64[5, 3] = replicate[1: 3] (scatter [5] (replicate[100] dt) [m3]) * (c * 2.0)
            let m5: f64[100, 3] = replicate[100, 3] m1 * gather c [m3]
            (m4 + scatter [5] p [m3] * replicate[5, 3] m1, replicate[100, 3] dt * (p * 2.0) + m5)
        "#,
    );
}

#[test]
fn the_largest_element_that_keeps_exponentials_small_costs_no_matrix() {
    let stable = stage(|x| x.logsumexp_axis(1).sum(), &matrix(4, 6)).unwrap();
    prints(
        checked(&stable.grad().unwrap()),
        "x",
        r#"
        program f(x: f64[4, 6]) -> f64[4, 6]:
            let m1: f64[4] = max[1] x
            let m2: f64[4] = select(and(not and(m1 < inf, m1 > -inf), m1 == m1), 0.0, m1)
            let m3: f64[4, 6] = exp (x - replicate[1: 6] m2)
            replicate[1: 6] (recip (sum[1] m3)) * m3
        "#,
    );
    let naive = stage(
        |x| {
            let largest = x.max_axis(1);
            let shifted = build((4, 6), |(i, j)| x.at((&i, &j)) - largest.at(&i));
            (shifted.exp().sum_axis(1).ln() + largest).sum()
        },
        &matrix(4, 6),
    )
    .unwrap();
    prints(
        &gradient(checked(&naive)),
        "x dt",
        r#"
        program f(x: f64[4, 6], dt: f64) -> f64[4, 6]:
            let m1: f64[4, 6] = exp (x - replicate[1: 6] (max[1] x))
            let m2: f64[4] = replicate[4] dt
            let m3: f64[4, 6] = replicate[1: 6] (m2 * recip (sum[1] m1)) * m1
            m3 + scatter [4, 6] (m2 - sum[1] m3) [iota 4, argmax[1] x]
        "#,
    );
}
