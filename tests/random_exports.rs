//! Random programs and their gradients are exported: as Rust, C, OpenCL C, text and JSON, run there, and compared with
//! the interpreter.
//!
//! `DELTARAY_RANDOM_PROGRAMS` says how many programs are written step by step, `DELTARAY_SEED` where they start.

mod exported;
mod random;

use deltaray::concrete::Array;
use deltaray::derivative::program::{bulk, tidy, vjp};
use deltaray::export::{self, Program};
use deltaray::shape::DType;
use deltaray::term::{Body, Build, Checkpoints, Op, Steps};
use exported::Case;
use random::arrays::{full, numbers};
use random::chance::seed_at;
use random::{compare, families, generate, reference};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Programs that are written step by step.
const PROGRAMS: u64 = 80;
/// Programs of each of the families that such programs seldom or never belong to.
const OF_EACH_FAMILY: u64 = 8;
/// Of so many programs one is run as OpenCL C, beside the first of each family: a kernel takes some tenths of a second to
/// build. `DELTARAY_OPENCL=all` runs all.
const RUN_ONE_IN: usize = 23;

/// A program and its reverse derivative at a point. Values may be compared everywhere, derivatives where they are defined.
fn pair(name: &str, body: &Body<Build>, inputs: &[Array], largest: f64, defined: bool) -> [Case; 2] {
    let differentiable = bulk(body);
    let reverse = vjp(&differentiable, differentiable.arity()).expect("well-formed programs can be differentiated");
    let finished = |body: &Body| tidy(&body.without_marks());
    let program = Program::new("random", finished(&differentiable));
    let source = Program::new("random", body.clone());
    let value = Case::new(name.into(), Some(source), program, inputs.to_vec(), true);
    let mut arguments = inputs.to_vec();
    arguments.extend(differentiable.result_types().map(|ty| full(ty, 1.0)));
    let program = Program::new("gradient", finished(&tidy(&reverse)));
    let gradient = Case::new(format!("gradient of {name}"), None, program, arguments, defined);
    [value, gradient].map(|case| Case { largest: case.largest.max(largest), ..case })
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text}")))
}

/// The programs that are a fair test, that is without infinities and close decisions, with their gradients.
fn step_by_step() -> impl Iterator<Item = [Case; 2]> {
    let programs = setting("DELTARAY_RANDOM_PROGRAMS").unwrap_or(PROGRAMS);
    let seed = setting("DELTARAY_SEED").unwrap_or(31);
    (0..programs).filter_map(move |position| {
        let written = generate::Case::from_seed(seed_at(seed, position));
        let (_, watch) = reference::evaluate(&written.body, &written.inputs);
        if compare::unfair(&watch).is_some() {
            return None;
        }
        let name = format!("random program of seed {}", written.seed);
        Some(pair(&name, &written.body, &written.inputs, watch.largest, !watch.fragile_derivative))
    })
}

fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        let members = families::members(OF_EACH_FAMILY);
        let members = members.map(|member| pair(&member.name, &member.body, &member.inputs, 0.0, true));
        members.chain(step_by_step()).flatten().collect()
    })
}

fn numbered() -> Vec<(usize, &'static Case)> {
    cases().iter().enumerate().collect()
}

/// The bodies that stand in an operation.
fn bodies(op: &Op) -> Vec<&Body> {
    match op {
        Op::Scan(scan) => vec![&scan.body],
        Op::Branch(branch) => vec![&branch.then, &branch.otherwise],
        Op::Sweeps(sweeps) => sweeps.bodies().map(|body| &**body).collect(),
        _ => Vec::new(),
    }
}

/// The features found in a body, and in those nested in it.
fn look(body: &Body, is_in_branch: bool, is_in_loop: bool, found: &mut BTreeSet<&'static str>) {
    for node in body.nodes() {
        if node.types.iter().any(|ty| ty.size() == 0) {
            found.insert("arrays without elements");
        }
        let mut is_loop = false;
        match &node.op {
            Op::ScatterSet if is_in_loop => _ = found.insert("loops that write"),
            Op::ArgSort(..) if body.node(node.args[0]).ty().dtype == DType::Bool => {
                _ = found.insert("truth values as keys")
            }
            Op::Scan(_) => is_loop = true,
            Op::Sweeps(sweeps) => {
                is_loop = true;
                let keeps_all = sweeps.checkpoints == Checkpoints::All;
                if !keeps_all && sweeps.sweeps.len() > 1 {
                    found.insert(match sweeps.steps {
                        Steps::Count(_) => "derivatives of counted loops with checkpoints",
                        Steps::While(_) => "derivatives of conditional loops with checkpoints",
                    });
                }
            }
            _ => {}
        }
        if is_loop && is_in_branch && is_in_loop {
            found.insert("loops in loops in conditionals");
        }
        for inner in bodies(&node.op) {
            let is_branch = matches!(node.op, Op::Branch(_));
            look(inner, is_in_branch || is_branch, (is_in_loop && !is_branch) || is_loop, found);
        }
    }
}

/// The kinds of programs that a case is one of.
fn kinds(case: &Case) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let body = &case.program.body;
    look(body, false, false, &mut found);
    let is_nan = |position: usize| numbers(&case.inputs[position]).iter().any(|x| x.is_nan());
    for node in body.nodes() {
        if matches!(node.op, Op::ArgSort(..))
            && let Op::Parameter(position) = body.node(node.args[0]).op
            && is_nan(position)
        {
            found.insert("NaN among keys");
        }
    }
    // Blocks of rows concern loop nests, so their source shows them.
    if export::rust(&case.program).is_ok_and(|source| source.contains("fn block")) {
        found.insert("blocks of rows");
    }
    found
}

#[test]
fn every_kind_is_there() {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for case in cases() {
        let side = usize::from(case.source.is_none());
        kinds(case).into_iter().for_each(|kind| counts.entry(kind).or_default()[side] += 1);
    }
    let fair = cases().len() / 2;
    println!("{fair} programs; of each kind, programs and gradients: {counts:#?}");
    let wanted = [
        ("blocks of rows", [2, 4]),
        ("derivatives of counted loops with checkpoints", [0, 4]),
        ("loops in loops in conditionals", [4, 4]),
        ("NaN among keys", [2, 2]),
        ("truth values as keys", [1, 1]),
        ("arrays without elements", [4, 4]),
        ("loops that write", [4, 4]),
    ];
    for (kind, least) in wanted {
        let found = counts.get(kind).copied().unwrap_or_default();
        assert!((0..2).all(|side| found[side] >= least[side]), "{kind}: {found:?} programs and gradients");
    }
    let written = setting("DELTARAY_RANDOM_PROGRAMS").unwrap_or(PROGRAMS) as usize;
    assert!(fair * 10 >= (written + 6 * OF_EACH_FAMILY as usize) * 7, "only {fair} programs are a fair test");
}

#[test]
fn rust_sources_compute_what_the_interpreter_does() {
    exported::rust::compute_what_the_interpreter_does("random", &numbered());
}

#[test]
fn c_sources_compute_what_the_interpreter_does() {
    exported::c::compute_what_the_interpreter_does("random", &numbered());
}

#[test]
fn opencl_sources_are_accepted_and_compute_what_the_interpreter_does() {
    let everything = std::env::var("DELTARAY_OPENCL").is_ok_and(|which| which == "all");
    let chosen = |number: usize| {
        let name = &cases()[number].name;
        // A loop in a loop of this one was wrong where compilers were promised that arrays of functions are apart.
        everything || number % RUN_ONE_IN == 7 || (name.ends_with(" 0") && !name.contains("rows"))
    };
    exported::opencl::compute_what_the_interpreter_does("random", &numbered(), chosen);
}

#[test]
fn printed_programs_are_read_back() {
    exported::text::are_read_back(cases().iter());
}

#[cfg(feature = "json")]
#[test]
fn programs_come_back_from_json() {
    exported::json::come_back(cases().iter());
}
