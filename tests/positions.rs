//! Positions whose products and sums leave 64 bits: an error where they are written, or the same value on every way to run a
//! program and to write one.
//!
//! `DELTARAY_DOCUMENTS` is how many changed documents are read; `DELTARAY_SEED` seeds them.

mod exported;
mod random;

#[path = "positions/programs.rs"]
mod programs;
#[path = "positions/routes.rs"]
mod routes;

use deltaray::derivative::program::bulk;
use deltaray::export::{self, Program};
use exported::documents::renumbered;
use random::chance::{Random, seed_at};
use random::compare::catching;
use random::generate::Case;
use random::stages::Stages;
use routes::Counts;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(otherwise)
}

/// Of so many documents in a row the numbers of one program are changed.
const OF_ONE: u64 = 25;

/// A program to change: one of those full of maps, or a random one, or the gradient of such.
fn original(seed: u64) -> Program {
    let mut random = Random::new(seed);
    if random.chance(0.5) {
        let mut all = programs::all();
        return all.swap_remove(random.below(all.len()));
    }
    let case = Case::from_seed(seed);
    let stages = Stages::of(&case.body);
    Program::new("random", if random.chance(0.5) { bulk(&case.body) } else { stages.tidy_reverse().clone() })
}

/// The program of a changed document, where that is one.
fn read(document: &str, is_json: bool) -> Option<Program> {
    match is_json {
        #[cfg(feature = "json")]
        true => export::from_json(document).ok(),
        _ => export::parse(document).ok(),
    }
}

#[test]
fn programs_with_far_positions_compute_the_same_on_every_way() {
    let counts = Counts::default();
    for (at, program) in programs::all().iter().enumerate() {
        routes::check(program, &mut Random::new(at as u64), &counts)
            .unwrap_or_else(|problem| panic!("{at}: {problem}"));
    }
    assert!(counts.are_of_all_kinds(), "{counts}");
}

#[test]
fn documents_with_far_positions_are_errors_or_compute_the_same_on_every_way() {
    let (count, seed) = (number("DELTARAY_DOCUMENTS", 400), number("DELTARAY_SEED", 23));
    let next = AtomicU64::new(0);
    let (counts, findings) = (Counts::default(), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block * OF_ONE >= count || findings.lock().expect("no panics").len() > 4 {
                break;
            }
            let original = original(seed_at(seed, block));
            let mut random = Random::new(seed_at(!seed, block));
            let is_json = cfg!(feature = "json") && random.chance(0.5);
            #[cfg(feature = "json")]
            let document = if is_json { export::json(&original) } else { export::text(&original) };
            #[cfg(not(feature = "json"))]
            let document = export::text(&original);
            for _ in 0..OF_ONE {
                let changed = renumbered(&document, &mut random);
                let seed = random.bits();
                let found = catching(|| match read(&changed, is_json) {
                    None => Ok(()),
                    Some(program) => routes::check(&program, &mut Random::new(seed), &counts),
                });
                if let Err(problem) = found.and_then(|found| found) {
                    findings.lock().expect("no panics").push(format!("{problem}, of\n{changed}\n"));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let findings = findings.into_inner().expect("no panics");
    println!("{count} documents, {counts}");
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    assert!(counts.are_of_all_kinds(), "{counts}");
}
