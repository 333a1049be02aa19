//! A seeded wrong rule in each pass is found by random programs, and the same passes without it agree on the same programs.
//!
//! `DELTARAY_MUTANT` runs only the wrong rules whose names contain it.

mod random;

#[path = "mutations/algebra.rs"]
mod algebra;
#[path = "mutations/mutants.rs"]
mod mutants;
#[path = "mutations/rewrite.rs"]
mod rewrite;
#[path = "mutations/rules.rs"]
mod rules;

use deltaray::concrete::{Array, Concrete};
use deltaray::dual::{Dual, DualArray};
use deltaray::term::interpret_source;
use mutants::{Kind, Mutant, mutants, tangents};
use random::arrays::numbers;
use random::chance::seed_at;
use random::compare::{Scale, catching, difference, unfair};
use random::derivatives::{gradient, only_floats};
use random::generate::Case;
use random::reference::{evaluate, is_single};
use random::stages::Stages;
use std::sync::Mutex;
use std::time::Instant;

/// In so many programs every mistake must be found.
const PROGRAMS: u64 = 4000;
const SEED: u64 = 7;

/// The outcome of the search for a mistake.
#[derive(Clone, Debug)]
struct Finding {
    /// The number of the program, from 0 on.
    position: u64,
    /// The difference.
    text: String,
}

/// The correct results for a pipeline of each kind; `None` where the program is no fair test.
struct Expected {
    scale: Scale,
    values: Vec<Array>,
    derivatives: Option<(Vec<Array>, Vec<Array>)>,
}

impl Expected {
    fn of(case: &Case, stages: &Stages<'_>, derivatives: bool) -> Option<Expected> {
        let (values, watch) = evaluate(&case.body, &case.inputs);
        if unfair(&watch).is_some() {
            return None;
        }
        let relative = if is_single(&case.body) { 1e-3 } else { 1e-9 };
        let scale = Scale { relative, largest: watch.largest, of_derivatives: false };
        let derivatives = (derivatives && !watch.fragile_derivative).then(|| {
            let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(&case.body, at);
            (only_floats(gradient::<Concrete>(&run, case.inputs.clone())), tangents(stages, &case.inputs))
        });
        let finite = |arrays: &[Array]| arrays.iter().all(|array| numbers(array).iter().all(|x| x.is_finite()));
        let derivatives = derivatives.filter(|(gradient, tangents)| finite(gradient) && finite(tangents));
        Some(Expected { scale, values, derivatives })
    }

    fn of_kind(&self, kind: Kind) -> Option<&[Array]> {
        match kind {
            Kind::Values => Some(&self.values),
            Kind::Gradient => self.derivatives.as_ref().map(|(gradient, _)| &gradient[..]),
            Kind::Tangents => self.derivatives.as_ref().map(|(_, tangents)| &tangents[..]),
        }
    }
}

/// The difference between a pipeline's result and the correct one; panics count.
fn differs(mutant: &Mutant, stages: &Stages<'_>, case: &Case, expected: &Expected, wrong: bool) -> Option<String> {
    let right = expected.of_kind(mutant.kind)?;
    match catching(|| (mutant.run)(stages, &case.inputs, wrong)) {
        Ok(found) => {
            let of_derivatives = !matches!(mutant.kind, Kind::Values);
            difference(right, &found, &Scale { of_derivatives, ..expected.scale })
        }
        Err(problem) => Some(problem),
    }
}

#[test]
fn seeded_mistakes_are_found() {
    let start = Instant::now();
    let mut mutants = mutants();
    if let Ok(name) = std::env::var("DELTARAY_MUTANT") {
        mutants.retain(|mutant| mutant.pass.contains(&name) || mutant.rule.contains(&name));
    }
    let found: Mutex<Vec<Option<Finding>>> = Mutex::new(vec![None; mutants.len()]);
    const THREADS: u64 = 2;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (mutants, found) = (&mutants, &found);
            scope.spawn(move || {
                for position in (thread..PROGRAMS).step_by(THREADS as usize) {
                    // Mistakes found at an earlier program are done, whichever thread had it.
                    let open: Vec<usize> = {
                        let found = found.lock().expect("no panics");
                        let earlier = |at: &usize| found[*at].as_ref().is_none_or(|f| f.position > position);
                        (0..mutants.len()).filter(earlier).collect()
                    };
                    if open.is_empty() {
                        break;
                    }
                    let case = Case::from_seed(seed_at(SEED, position));
                    if rewrite::has_condition(&case.body) {
                        continue;
                    }
                    let stages = Stages::of(&case.body);
                    let derivatives = open.iter().any(|&at| mutants[at].kind != Kind::Values);
                    let Some(expected) = Expected::of(&case, &stages, derivatives) else { continue };
                    for at in open {
                        let mutant = &mutants[at];
                        if let Some(problem) = differs(mutant, &stages, &case, &expected, false) {
                            panic!(
                                "without the mistake, {}, {}, seed {}: {problem}",
                                mutant.pass, mutant.rule, case.seed
                            );
                        }
                        if let Some(text) = differs(mutant, &stages, &case, &expected, true) {
                            found.lock().expect("no panics")[at] = Some(Finding { position, text });
                        }
                    }
                }
            });
        }
    });
    let found = found.into_inner().expect("no panics");
    println!("{:<20}{:<55}{:>9}", "pass", "wrong rule", "programs");
    for (mutant, finding) in mutants.iter().zip(&found) {
        let programs = finding.as_ref().map_or("never".into(), |finding| (finding.position + 1).to_string());
        let text = finding.as_ref().map_or("", |finding| finding.text.lines().next().unwrap_or(""));
        println!("{:<20}{:<55}{programs:>9}  {text:.70}", mutant.pass, mutant.rule);
    }
    println!("{:.1} s", start.elapsed().as_secs_f64());
    let missed: Vec<&str> =
        mutants.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(mutant, _)| &mutant.rule[..]).collect();
    assert!(missed.is_empty(), "not found by {PROGRAMS} programs: {missed:?}");
}
