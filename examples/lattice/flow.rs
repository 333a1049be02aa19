//! A fluid in a box whose lid slides, by the lattice Boltzmann method.
//!
//! Particles have one of nineteen velocities (D3Q19). In one step they stay in their cell, or move to one of six neighbours
//! across a face or of twelve across an edge. Then they collide: they relax towards an equilibrium of the same mass and momentum.
//! See "Lattice BGK models for Navier-Stokes equation" (Qian, d'Humières, Lallemand; 1992).

use deltaray::prelude::*;

/// The number of velocities.
pub const DIRECTIONS: usize = 19;

/// The velocities along z, y and x, in cells per step. From the second on they are pairs of opposites.
pub const VELOCITIES: [[i64; 3]; DIRECTIONS] = [
    [0, 0, 0],
    [0, 0, 1],
    [0, 0, -1],
    [0, 1, 0],
    [0, -1, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
];

/// The direction opposite to another.
pub fn opposite(direction: usize) -> usize {
    if direction == 0 { 0 } else { ((direction - 1) ^ 1) + 1 }
}

/// The share of a direction in a fluid at rest.
pub fn weight(direction: usize) -> f64 {
    match VELOCITIES[direction].map(i64::abs).iter().sum() {
        0 => 1.0 / 3.0,
        1 => 1.0 / 18.0,
        _ => 1.0 / 36.0,
    }
}

/// The velocity of the lid along z, y and x.
pub const LID: [f64; 3] = [0.0, 0.002, 0.005];

/// The particles of each direction, in all cells: [z, y, x].
pub type Particles<A> = [Tensor3<A, f64>; DIRECTIONS];

/// The results of a function for each direction.
fn each_direction<T>(function: impl FnMut(usize) -> T) -> [T; DIRECTIONS] {
    std::array::from_fn(function)
}

/// The kinds of cells: [z, y, x].
#[derive(Clone, Tree)]
pub struct Cavity<A: Algebra> {
    /// Walls and obstacles, which particles bounce back from. All cells at the boundary are walls.
    pub solid: Tensor3<A, bool>,
    /// The layer of fluid below the lid, which moves with it.
    pub lid: Tensor3<A, bool>,
}

/// The particles that arrive in each cell with one velocity.
#[differentiable]
fn stream(particles: Tensor3<f64>, #[plain] velocity: [i64; 3]) -> Tensor3<f64> {
    let [by_z, by_y, by_x] = velocity;
    let shape = particles.shape();
    build((shape[0], shape[1], shape[2]), |(z, y, x)| particles[(z - by_z, y - by_y, x - by_x)])
}

/// The sum of terms by their signs, unless all signs are 0.
#[differentiable]
fn signed_sum(terms: &[Tensor3<f64>], #[plain] signs: &[i64]) -> Option<Tensor3<f64>> {
    let signed = terms.iter().zip(signs).filter(|(_, sign)| **sign != 0).map(|(term, sign)| *sign as f64 * term);
    signed.reduce(|sum, term| sum + term)
}

/// The density of the fluid: the sum over all directions.
#[differentiable]
fn density(particles: &[Tensor3<f64>]) -> Tensor3<f64> {
    signed_sum(particles, &[1; DIRECTIONS]).expect("there are directions")
}

/// The momentum along each axis.
#[differentiable]
fn momentum(particles: &[Tensor3<f64>]) -> [Tensor3<f64>; 3] {
    [0, 1, 2].map(|axis| {
        let signs = VELOCITIES.map(|velocity| velocity[axis]);
        signed_sum(particles, &signs).expect("there are directions along an axis")
    })
}

/// The particles of a direction in equilibrium.
#[differentiable]
fn equilibrium(
    density: Tensor3<f64>,
    velocity: &[Tensor3<f64>; 3],
    speed: Tensor3<f64>,
    #[plain] direction: usize,
) -> Tensor3<f64> {
    let at_rest = 1.0 - 1.5 * speed;
    let share = match signed_sum(velocity, &VELOCITIES[direction]) {
        Some(along) => at_rest + 3.0 * along + 4.5 * along * along,
        None => at_rest,
    };
    weight(direction) * density * share
}

/// One step: particles stream to their next cell and collide there. `relaxation` is the share of the way to equilibrium that they
/// go, between 0 and 2; small shares make a viscous fluid.
#[differentiable]
pub fn step(particles: Particles, cavity: Cavity, #[plain] relaxation: f64) -> Particles {
    let streamed = each_direction(|direction| stream(&particles[direction], VELOCITIES[direction]));
    let (density, momentum) = (density(&streamed), momentum(&streamed));
    let velocity = [0, 1, 2].map(|axis| cavity.lid.select(LID[axis], momentum[axis] / density));
    let speed = velocity[0].powi(2) + velocity[1].powi(2) + velocity[2].powi(2);
    each_direction(|direction| {
        let equilibrium = equilibrium(&density, &velocity, &speed, direction);
        let collided = streamed[direction] + relaxation * (equilibrium - streamed[direction]);
        cavity.solid.select(streamed[opposite(direction)], collided)
    })
}

/// Twice the kinetic energy of the fluid.
#[differentiable]
fn energy(particles: Particles, cavity: Cavity) -> Scalar<f64> {
    let [z, y, x] = momentum(particles);
    cavity.solid.select(0.0, (z * z + y * y + x * x) / density(particles)).sum()
}

/// The particles after some steps.
#[differentiable]
fn advance(particles: Particles, cavity: Cavity, #[plain] relaxation: f64, #[plain] steps: usize) -> Particles {
    let mut particles = particles.clone();
    for _ in rolled(0..steps) {
        particles = step(&particles, cavity, relaxation);
    }
    particles
}

/// Twice the kinetic energy after some steps. The gradient keeps everything that it needs of each step.
#[differentiable]
pub fn flow(particles: Particles, cavity: Cavity, #[plain] relaxation: f64, #[plain] steps: usize) -> Scalar<f64> {
    energy(&advance(particles, cavity, relaxation, steps), cavity)
}

/// The same energy. The gradient keeps the particles before each stretch of steps, and everything of one stretch at a time. It
/// begins with the last stretch, which therefore is no checkpoint: it would only be computed twice.
#[differentiable]
pub fn flow_in_stretches(
    particles: Particles,
    cavity: Cavity,
    #[plain] relaxation: f64,
    #[plain] steps: usize,
    #[plain] stretch: usize,
) -> Scalar<f64> {
    let stretches = steps.saturating_sub(1) / stretch;
    let mut particles = particles.clone();
    for _ in rolled(0..stretches) {
        let inside = cavity.clone();
        particles = checkpoint(&particles, move |particles| advance(particles, &inside, relaxation, stretch));
    }
    energy(&advance(&particles, cavity, relaxation, steps - stretches * stretch), cavity)
}

/// The same energy. The gradient keeps the values that `checkpoints` selects.
#[differentiable]
pub fn flow_with(
    particles: Particles,
    cavity: Cavity,
    #[plain] relaxation: f64,
    #[plain] steps: usize,
    #[plain] checkpoints: Checkpoints,
) -> Scalar<f64> {
    let inside = cavity.clone();
    let (last, ()) = checkpoints
        .scan(particles.clone(), &(), steps, move |particles, ()| (step(&particles, &inside, relaxation), ()));
    energy(&last, cavity)
}
