//! Bodies and fluids in time.

use deltaray::prelude::*;

/// The accelerations of bodies by all others, softened where two are close.
#[differentiable]
fn acceleration(
    positions: Matrix<f64>,
    masses: Vector<f64>,
    #[plain] gravity: f64,
    #[plain] softening: f64,
) -> Matrix<f64> {
    let n = positions.len();
    let apart = build((n, n), |(i, j)| positions[j] - positions[i]);
    let squares = (apart * apart).sum_axis(2) + softening * softening;
    let weights = masses / (squares * squares.sqrt());
    gravity * (apart * weights.insert_axis(2)).sum_axis(1)
}

/// The kinetic and the potential energy.
#[differentiable]
fn energy(
    positions: Matrix<f64>,
    velocities: Matrix<f64>,
    masses: Vector<f64>,
    #[plain] gravity: f64,
) -> (Scalar<f64>, Scalar<f64>) {
    let n = positions.len();
    let kinetic = 0.5 * (masses * (velocities * velocities).sum_axis(1)).sum();
    let pairs = build((n, n), |(i, j)| {
        if i < j {
            let apart = positions[j] - positions[i];
            masses[i] * masses[j] / (apart * apart).sum().sqrt()
        } else {
            0.0
        }
    });
    (kinetic, -gravity * pairs.sum())
}

/// Bodies that attract each other: their energies at all steps.
#[differentiable]
pub fn nbody(
    mut positions: Matrix<f64>,
    mut velocities: Matrix<f64>,
    masses: Vector<f64>,
    #[plain] steps: usize,
) -> (Vector<f64>, Vector<f64>) {
    let (gravity, softening, dt) = (1.0, 0.1, 0.01);
    velocities -= (masses.insert_axis(1) * velocities).mean_axis(0) / masses.mean();
    let (mut kinetic, mut potential) = (zeros(steps + 1), zeros(steps + 1));
    (kinetic[0], potential[0]) = energy(&positions, &velocities, masses, gravity);
    let mut force = acceleration(&positions, masses, gravity, softening);
    for step in rolled(0..steps) {
        velocities += force * (dt / 2.0);
        positions += velocities * dt;
        force = acceleration(&positions, masses, gravity, softening);
        velocities += force * (dt / 2.0);
        (kinetic[step + 1], potential[step + 1]) = energy(&positions, &velocities, masses, gravity);
    }
    (kinetic, potential)
}

/// The differences of neighbours along rows, and along columns, without the boundary.
#[differentiable]
fn differences(x: Matrix<f64>) -> (Matrix<f64>, Matrix<f64>) {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let along = x[(1..rows - 1, 2..)] - x[(1..rows - 1, ..columns - 2)];
    (along, x[(2.., 1..columns - 1)] - x[(..rows - 2, 1..columns - 1)])
}

/// How a velocity changes by convection and diffusion, without the boundary.
#[differentiable]
fn moved(x: Matrix<f64>, u: Matrix<f64>, v: Matrix<f64>, #[plain] dt: f64, #[plain] dx: f64) -> Matrix<f64> {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let (inner_rows, inner_columns) = (1..rows - 1, 1..columns - 1);
    let middle = x[(inner_rows, inner_columns)];
    let (left, right) = (x[(inner_rows, ..columns - 2)], x[(inner_rows, 2..)]);
    let (below, above) = (x[(..rows - 2, inner_columns)], x[(2.., inner_columns)]);
    let convection =
        u[(inner_rows, inner_columns)] * (middle - left) + v[(inner_rows, inner_columns)] * (middle - below);
    let diffusion = right - 2.0 * middle + left + (above - 2.0 * middle + below);
    middle - dt / dx * convection + 0.1 * dt / (dx * dx) * diffusion
}

/// The flow in a cavity under a lid that moves: velocities and pressure after some steps, each with some of Jacobi's iterations
/// for the pressure.
#[differentiable]
pub fn cavity_flow(
    mut u: Matrix<f64>,
    mut v: Matrix<f64>,
    mut p: Matrix<f64>,
    #[plain] steps: usize,
    #[plain] iterations: usize,
) -> (Matrix<f64>, Matrix<f64>, Matrix<f64>) {
    let (rows, columns) = (u.shape()[0], u.shape()[1]);
    let (dt, dx) = (0.001, 2.0 / (rows as f64 - 1.0));
    for _ in rolled(0..steps) {
        let ((ux, uy), (vx, vy)) = (differences(&u), differences(&v));
        let (ux, uy, vx, vy) = (ux / (2.0 * dx), uy / (2.0 * dx), vx / (2.0 * dx), vy / (2.0 * dx));
        let source = (ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy;
        for _ in rolled(0..iterations) {
            let along = p[(1..rows - 1, 2..)] + p[(1..rows - 1, ..columns - 2)];
            let across = p[(2.., 1..columns - 1)] + p[(..rows - 2, 1..columns - 1)];
            p[(1..rows - 1, 1..columns - 1)] = (along + across) / 4.0 - dx * dx / 4.0 * source;
            p[(.., columns - 1)] = p[(.., columns - 2)];
            p[0] = p[1];
            p[(.., 0)] = p[(.., 1)];
            p[rows - 1] = 0.0;
        }
        let (px, py) = differences(&p);
        let next_u = moved(&u, &u, &v, dt, dx) - dt / (2.0 * dx) * px;
        let next_v = moved(&v, &u, &v, dt, dx) - dt / (2.0 * dx) * py;
        u[(1..rows - 1, 1..columns - 1)] = next_u;
        v[(1..rows - 1, 1..columns - 1)] = next_v;
        (u[0], u[(.., 0)], u[(.., columns - 1)]) = (0.0, 0.0, 0.0);
        u[rows - 1] = 1.0;
        (v[0], v[rows - 1], v[(.., 0)], v[(.., columns - 1)]) = (0.0, 0.0, 0.0, 0.0);
    }
    (u, v, p)
}

/// The neighbours of all elements but those of the first and the last row: left, right, below and above. The last column is
/// beside the first.
#[differentiable]
fn neighbours(x: Matrix<f64>) -> (Matrix<f64>, Matrix<f64>, Matrix<f64>, Matrix<f64>) {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let inner = x[1..rows - 1];
    let left = concatenate(1, &[inner[(.., columns - 1..)], inner[(.., ..columns - 1)]]);
    let right = concatenate(1, &[inner[(.., 1..)], inner[(.., ..1)]]);
    (left, right, x[..rows - 2], x[2..])
}

/// One step in a channel: velocities and pressure after it.
#[differentiable]
fn channel_step(
    mut u: Matrix<f64>,
    mut v: Matrix<f64>,
    mut p: Matrix<f64>,
    #[plain] iterations: usize,
) -> (Matrix<f64>, Matrix<f64>, Matrix<f64>) {
    let (rows, columns) = (u.shape()[0], u.shape()[1]);
    let (density, viscosity, force) = (1.0, 0.1, 1.0);
    let (dx, dy) = (2.0 / (columns as f64 - 1.0), 2.0 / (rows as f64 - 1.0));
    let dt = 0.1 / ((rows as f64 - 1.0) * (columns as f64 - 1.0));
    let (dx2, dy2) = (dx * dx, dy * dy);
    let (left_u, right_u, below_u, above_u) = neighbours(&u);
    let (left_v, right_v, below_v, above_v) = neighbours(&v);
    let (ux, uy) = ((right_u - left_u) / (2.0 * dx), (above_u - below_u) / (2.0 * dy));
    let (vx, vy) = ((right_v - left_v) / (2.0 * dx), (above_v - below_v) / (2.0 * dy));
    let source = density * ((ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy);
    for _ in rolled(0..iterations) {
        let (left, right, below, above) = neighbours(&p);
        let mean = ((right + left) * dy2 + (above + below) * dx2) / (2.0 * (dx2 + dy2));
        p[1..rows - 1] = mean - dx2 * dy2 / (2.0 * (dx2 + dy2)) * source;
        p[rows - 1] = p[rows - 2];
        p[0] = p[1];
    }
    let (left_p, right_p, below_p, above_p) = neighbours(&p);
    let (inner_u, inner_v) = (u[1..rows - 1], v[1..rows - 1]);
    let convection_u = inner_u * (inner_u - left_u) / dx + inner_v * (inner_u - below_u) / dy;
    let convection_v = inner_u * (inner_v - left_v) / dx + inner_v * (inner_v - below_v) / dy;
    let diffusion_u = (right_u - 2.0 * inner_u + left_u) / dx2 + (above_u - 2.0 * inner_u + below_u) / dy2;
    let diffusion_v = (right_v - 2.0 * inner_v + left_v) / dx2 + (above_v - 2.0 * inner_v + below_v) / dy2;
    let slope_x = (right_p - left_p) / (2.0 * density * dx);
    let slope_y = (above_p - below_p) / (2.0 * density * dy);
    u[1..rows - 1] = inner_u + dt * (viscosity * diffusion_u - convection_u - slope_x + force);
    v[1..rows - 1] = inner_v + dt * (viscosity * diffusion_v - convection_v - slope_y);
    (u[0], u[rows - 1], v[0], v[rows - 1]) = (0.0, 0.0, 0.0, 0.0);
    (u, v, p)
}

/// The flow through a channel that a force drives, until it hardly changes any more, with some of Jacobi's iterations for the
/// pressure in each step.
#[differentiable]
pub fn channel_flow(
    u: Matrix<f64>,
    v: Matrix<f64>,
    p: Matrix<f64>,
    #[plain] iterations: usize,
) -> (Matrix<f64>, Matrix<f64>, Matrix<f64>) {
    let start = (u, v, p, scalar(1.0));
    let (u, v, p, _) = while_loop(
        start,
        |(_, _, _, change)| change > 0.001,
        |(u, v, p, _)| {
            let before = u.sum();
            let (u, v, p) = channel_step(&u, &v, &p, iterations);
            let after = u.sum();
            (u, v, p, (after - before) / after)
        },
    );
    (u, v, p)
}
