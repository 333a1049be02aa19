//! The flow beside plain loops over cells, and gradients beside finite differences.

use super::*;
use deltaray::derivative::ArrayFn;
use flow::{Cavity, DIRECTIONS, LID, Particles, VELOCITIES, opposite, weight};

const CELLS: usize = 5;
const STEPS: usize = 4;

fn start() -> Start {
    (inputs::particles(CELLS), inputs::cavity(CELLS))
}

/// The position of a cell in memory.
fn place([z, y, x]: [usize; 3]) -> usize {
    (z * CELLS + y) * CELLS + x
}

/// Twice the kinetic energy after some steps, by plain loops over cells. All directions are in one vector.
fn energy(particles: &[f64], solid: &[bool], lid: &[bool]) -> f64 {
    let count = CELLS * CELLS * CELLS;
    let mut now = particles.to_vec();
    let of_cell = |now: &[f64], cell: usize| -> [f64; DIRECTIONS] {
        std::array::from_fn(|direction| now[direction * count + cell])
    };
    let moments = |values: &[f64; DIRECTIONS]| {
        let density: f64 = values.iter().sum();
        let momentum: [f64; 3] = std::array::from_fn(|axis| {
            values.iter().zip(VELOCITIES).map(|(value, velocity)| value * velocity[axis] as f64).sum()
        });
        (density, momentum)
    };
    for _ in 0..STEPS {
        // Each direction's particles go to the next cell; those that leave the box are lost.
        let mut moved = vec![0.0; DIRECTIONS * count];
        for z in 0..CELLS {
            for y in 0..CELLS {
                for x in 0..CELLS {
                    for (direction, velocity) in VELOCITIES.iter().enumerate() {
                        let to = [z, y, x].map(|at| at as i64);
                        let to = [0, 1, 2].map(|axis| to[axis] + velocity[axis]);
                        if to.iter().all(|at| (0..CELLS as i64).contains(at)) {
                            let to = place(to.map(|at| at as usize));
                            moved[direction * count + to] = now[direction * count + place([z, y, x])];
                        }
                    }
                }
            }
        }
        for cell in 0..count {
            let values = of_cell(&moved, cell);
            let (density, momentum) = moments(&values);
            let velocity = if lid[cell] { LID } else { momentum.map(|momentum| momentum / density) };
            let speed: f64 = velocity.iter().map(|along| along * along).sum();
            for (direction, towards) in VELOCITIES.iter().enumerate() {
                let along: f64 =
                    velocity.iter().zip(towards).map(|(velocity, &towards)| velocity * towards as f64).sum();
                let share = 1.0 + 3.0 * along + 4.5 * along * along - 1.5 * speed;
                let equilibrium = weight(direction) * density * share;
                let collided = (1.0 - RELAXATION) * values[direction] + RELAXATION * equilibrium;
                now[direction * count + cell] = if solid[cell] { values[opposite(direction)] } else { collided };
            }
        }
    }
    let of_fluid = |cell: usize| {
        let (density, momentum) = moments(&of_cell(&now, cell));
        momentum.iter().map(|along| along * along).sum::<f64>() / density
    };
    (0..count).filter(|&cell| !solid[cell]).map(of_fluid).sum()
}

fn all_kept() -> flow::flow {
    flow::flow { relaxation: RELAXATION, steps: STEPS }
}

fn in_stretches(stretch: usize) -> flow::flow_in_stretches {
    flow::flow_in_stretches { relaxation: RELAXATION, steps: STEPS, stretch }
}

fn with(checkpoints: Checkpoints) -> flow::flow_with {
    flow::flow_with { relaxation: RELAXATION, steps: STEPS, checkpoints }
}

/// Options of loops.
const CHECKPOINTS: [Checkpoints; 3] = [Checkpoints::Every(2), Checkpoints::Snapshots(2), Checkpoints::Bytes(100_000)];

/// The energy and its gradient, by dual arrays, by a program that is interpreted, and by one that is compiled.
fn runs<F>(
    objective: &F,
    (particles, cavity): &Start,
    eagerly: impl Fn() -> (Scalar<Concrete, f64>, Particles<Concrete>),
) -> [(f64, Vec<f64>); 3]
where
    F: ArrayFn<In = Start, Out = Scalar<Concrete, f64>>,
{
    let at = (particles, cavity);
    let staged = stage(objective.closure(), at).expect("it is staged").value_and_grad().expect("it has a gradient");
    let compiled = staged.compile(Cpu::default()).expect("it is compiled");
    [eagerly(), staged.interpret(at).expect("it runs"), compiled.call(at).expect("it runs")]
        .map(|(energy, gradient)| (energy.item(), ravel::<Concrete, f64, _>(&gradient).0.to_vec()))
}

/// The initial particles, and the box.
type Start = (Particles<Concrete>, Cavity<Concrete>);

#[test]
fn directions_are_in_pairs_and_weights_are_shares() {
    for (direction, velocity) in VELOCITIES.iter().enumerate() {
        assert_eq!(VELOCITIES[opposite(direction)], velocity.map(|along| -along));
        assert_eq!(opposite(opposite(direction)), direction);
    }
    let total: f64 = (0..DIRECTIONS).map(weight).sum();
    assert!((total - 1.0).abs() < 1e-15);
}

#[test]
fn flows_are_those_of_plain_loops() {
    let (particles, cavity) = start();
    let all = ravel::<Concrete, f64, _>(&particles).0.to_vec();
    let expected = energy(&all, &cavity.solid.to_vec(), &cavity.lid.to_vec());
    let same = |found: f64| assert!((found - expected).abs() <= 1e-12 * expected, "{found} instead of {expected}");
    same(flow::flow(&particles, &cavity, RELAXATION, STEPS).item());
    let staged = stage(all_kept().closure(), (&particles, &cavity)).expect("it is staged");
    same(staged.compile(Cpu::default()).expect("it is compiled").call((&particles, &cavity)).expect("it runs").item());
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let start = start();
    let at = (&start.0, &start.1);
    let (energy, eager) = value_and_grad(all_kept().closure(), at);
    let (point, rebuild) = ravel::<Concrete, f64, _>(&start.0);
    let (eager, _) = ravel::<Concrete, f64, _>(&eager);
    let length = (&eager * &eager).sum().item();
    let step = 1e-4 / length.sqrt();
    let value = |by: f64| {
        let moved: Particles<Concrete> = rebuild.tree::<Concrete, f64>(&(&point + by * &eager));
        flow::flow(&moved, at.1, RELAXATION, STEPS).item()
    };
    let found = (value(step) - value(-step)) / (2.0 * step);
    assert!((found - length).abs() <= 1e-6 * length, "{found} instead of {length}");

    let same = |name: &str, found: (f64, Vec<f64>)| {
        assert!((found.0 - energy.item()).abs() <= 1e-12 * energy.item(), "{name}: an energy of {}", found.0);
        let furthest = (&Vector::from(found.1) - &eager).abs().max_all().item();
        assert!(furthest <= 1e-12 * length.sqrt(), "{name}: off by {furthest}");
    };
    let all = all_kept();
    runs(&all, &start, || value_and_grad(all.closure(), at)).into_iter().for_each(|found| same("all kept", found));
    for stretch in [2, 3] {
        let objective = in_stretches(stretch);
        let found = runs(&objective, &start, || value_and_grad(objective.closure(), at));
        found.into_iter().for_each(|found| same("stretches", found));
    }
    for checkpoints in CHECKPOINTS {
        let objective = with(checkpoints);
        let found = runs(&objective, &start, || value_and_grad(objective.closure(), at));
        found.into_iter().for_each(|found| same("checkpoints", found));
    }
}
