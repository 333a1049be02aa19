//! Random programs agree across all instances and passes.
//!
//! `DELTARAY_RANDOM_PROGRAMS` sets the number of programs, `DELTARAY_SEED` the first seed; a failure names the seed of its
//! program, and `DELTARAY_PROGRAM` runs one program by that seed, with `DELTARAY_FAMILY=writes` one of the loops that write, with
//! `DELTARAY_FAMILY=whole` one of whole numbers.
//! `DELTARAY_WITHOUT` leaves out the pipelines and laws whose names contain one of its words, which are separated by commas.
//! Pipelines on devices have further variables: `random/devices.rs`.

#[cfg(feature = "opencl")]
#[path = "random/devices.rs"]
mod devices;
#[cfg(feature = "opencl")]
#[path = "devices/presence.rs"]
mod presence;
mod random;

use deltaray::concrete::Concrete;
use deltaray::operation::Binary;
use deltaray::simplify::{Simplifier, rules, simplify_replacing};
use deltaray::term::{Body, Build, NodeId, Op, interpret_source};
use random::chance::seed_at;
use random::compare::{Pipeline, Report, Suite, Verdict, show};
use random::frequency::Frequency;
use random::generate::Case;
use random::pipelines::{everything, value};
use random::shrink::minimal;
use random::stages::Stages;
use random::undone::puts_back;
use random::{whole, writes};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text}")))
}

quickcheck::quickcheck! {
    fn programs_are_well_formed(case: Case) -> bool {
        case.body.is_well_formed() && case.inputs.len() == case.body.arity()
    }
}

/// Programs per run: the full number is for optimised code, see `scripts/test --long`.
const PROGRAMS: u64 = if cfg!(debug_assertions) { 450 } else { 10_000 };

#[test]
fn all_pipelines_agree() {
    let programs = setting("DELTARAY_RANDOM_PROGRAMS").unwrap_or(PROGRAMS);
    let seed = setting("DELTARAY_SEED").unwrap_or(20_240_607);
    let start = Instant::now();
    let suite = suite();
    let report = suite.explore(Case::from_seed, seed, programs, 10);
    println!("{}", report.frequency.table());
    tell(&suite, &report, start);
    let rare = report.frequency.rarer_than(SHARE);
    assert!(rare.is_empty() || programs < 500, "in less than 5 % of the programs: {rare:?}");
    let infinite = suite.infinite.load(Ordering::Relaxed);
    assert!(infinite as u64 * 1000 <= programs, "{infinite} results are not finite");
    assert_fair(&suite, &report, programs);
}

#[test]
fn loops_that_write_agree() {
    let programs = setting("DELTARAY_RANDOM_PROGRAMS").unwrap_or(PROGRAMS) / 5;
    let seed = setting("DELTARAY_SEED").unwrap_or(77);
    let start = Instant::now();
    let suite = suite();
    let report = suite.explore(writes::case, seed, programs, 10);
    tell(&suite, &report, start);
    assert_fair(&suite, &report, programs);
}

#[test]
fn engines_agree_on_whole_numbers() {
    let programs = setting("DELTARAY_RANDOM_PROGRAMS").unwrap_or(PROGRAMS);
    let seed = setting("DELTARAY_SEED").unwrap_or(29);
    for position in 0..programs {
        let case = whole::case(seed_at(seed, position));
        if let Some(original) = whole::difference(&case) {
            let small = minimal(&case, 1000, &|case| whole::difference(case).is_some());
            let difference = whole::difference(&small);
            panic!("seed {}: {original}; shrunk: {difference:?}\n{}", case.seed, show(&small));
        }
    }
}

/// All pipelines and laws except for those that the environment leaves out.
fn suite() -> Suite {
    let mut suite = everything();
    if let Ok(names) = std::env::var("DELTARAY_WITHOUT") {
        names.split(',').for_each(|name| suite.leave_out(name));
    }
    suite
}

/// Prints the findings of a run.
fn tell(suite: &Suite, report: &Report, start: Instant) {
    println!(
        "{} agree, {} agree in values where derivatives are ill-defined, others are no fair test: {:?}; {:.1} s",
        report.agree,
        report.values_agree,
        report.unfair,
        start.elapsed().as_secs_f64()
    );
    for (name, time) in suite.spent.lock().expect("no panics").iter() {
        println!("{:8.1} s  {name}", time.as_secs_f64());
    }
    let settled = suite.settled.load(Ordering::Relaxed);
    let infinite = suite.infinite.load(Ordering::Relaxed);
    println!(
        "finite differences settle {settled} gradients; {infinite} results are not compared, for they are not finite"
    );
    for failure in &report.failures {
        println!("{failure}");
    }
}

/// Pipelines agree, most programs are a fair test, and many gradients are compared with differences.
fn assert_fair(suite: &Suite, report: &Report, programs: u64) {
    assert!(report.failures.is_empty(), "pipelines differ on {} programs", report.failures.len());
    let fair = report.agree + report.values_agree;
    assert!(fair as u64 * 10 >= programs * 8, "only {fair} programs are a fair test");
    let settled = suite.settled.load(Ordering::Relaxed);
    assert!(settled as u64 * 10 >= programs * 5, "only {settled} gradients are compared with differences");
}

/// The least share of programs that every construct must occur in.
const SHARE: f64 = 0.05;

/// The same of programs that are only written, so that it is known without optimised code too.
#[test]
fn every_construct_is_common() {
    let mut frequency = Frequency::default();
    (0..1000).for_each(|position| frequency.count(&Case::from_seed(seed_at(1, position))));
    let rare = frequency.rarer_than(SHARE);
    println!("{}", frequency.table());
    assert!(rare.is_empty(), "in too few programs: {rare:?}");
}

/// Derivatives restore the elements that loops wrote over, where that is less than keeping the array of each step.
#[test]
fn arrays_are_put_back_often() {
    const COUNT: u64 = 500;
    let puts_back_in_reverse = |position: &u64| {
        let case = Case::from_seed(seed_at(1, *position));
        let stages = Stages::of(&case.body);
        !puts_back(stages.bulk()) && puts_back(stages.reverse())
    };
    let often = (0..COUNT).filter(puts_back_in_reverse).count();
    println!("the derivatives of {often} programs of {COUNT} put elements back");
    assert!(often as f64 >= SHARE * COUNT as f64, "of {often} programs of {COUNT}");
}

#[test]
fn a_rare_construct_is_found() {
    let cases = || (0..500).map(|position| Case::from_seed(seed_at(1, position)));
    let has_scan = |case: &Case| case.body.nodes().iter().any(|node| matches!(node.op, Op::Scan(_) | Op::Sweeps(_)));
    let mut frequency = Frequency::default();
    cases().filter(|case| !has_scan(case)).for_each(|case| frequency.count(&case));
    cases().filter(has_scan).take(3).for_each(|case| frequency.count(&case));
    assert!(frequency.rarer_than(SHARE).contains(&"reverse scan"), "{}", frequency.table());
}

#[test]
fn one_program() {
    let Some(seed) = setting("DELTARAY_PROGRAM") else { return };
    let family = std::env::var("DELTARAY_FAMILY").unwrap_or_default();
    let mut case = match family.as_str() {
        "writes" => writes::case(seed),
        "whole" => whole::case(seed),
        _ => Case::from_seed(seed),
    };
    println!("{}", show(&case));
    if family == "whole" {
        return assert_eq!(whole::difference(&case), None);
    }
    match everything().judge_fairly(&mut case) {
        Verdict::Differ(problem) => panic!("{problem}"),
        verdict => println!("{verdict:?}"),
    }
}

/// A pipeline with one operation in place of another, everywhere.
fn mutated(from: Op<Build>, to: Op<Build>) -> Suite {
    let mut suite = Suite::default();
    suite.values.push(Pipeline::new("mutated", 1, move |stages, inputs| {
        let source = stages.source;
        let mut nodes = source.nodes().to_vec();
        for node in nodes.iter_mut().filter(|node| node.op == from) {
            node.op = to.clone();
        }
        let body = Body::new(source.parameters(), source.captures(), nodes, source.results().to_vec());
        interpret_source::<Concrete>(&body.expect("operations of one type"), inputs.to_vec())
    }));
    suite
}

#[test]
fn a_wrong_operation_is_found_and_shrunk() {
    let suite = mutated(Op::Binary(Binary::Sub), Op::Binary(Binary::Add));
    // Some are made of a reshape or a product that no edit takes away.
    let report = suite.explore(Case::from_seed, 1, 1000, 10);
    let smallest = report.failures.iter().min_by_key(|failure| failure.case.body.node_count());
    let failure = smallest.expect("a difference within 1000 programs");
    let nodes = failure.case.body.node_count();
    assert!(nodes <= 5, "shrunk to {nodes} nodes only:\n{failure}");
}

/// A wrong rule: the operands of a difference in the wrong order.
fn turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    match (op, args) {
        (Op::Binary(Binary::Sub), [left, right]) if left < right => Some(arena.add(op.clone(), &[*right, *left])),
        _ => None,
    }
}

#[test]
fn a_wrong_rule_is_found() {
    let (replaced, _) = rules().next().expect("a rule");
    let mut suite = Suite::default();
    suite
        .values
        .push(value("wrong", 1, move |stages| simplify_replacing(stages.vectorised(), Some((replaced, turned)))));
    let report = suite.explore(Case::from_seed, 1, 1000, 1);
    assert!(!report.failures.is_empty(), "a difference within 1000 programs");
}
