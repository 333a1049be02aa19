use super::stage::{LineKind, Stage};
use super::{Stages, html};
use crate::prelude::*;
use std::panic::Location;

fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

fn shown(stages: impl Into<Stages>) -> Vec<Stage> {
    stages.into().shown(Location::caller()).expect("a page")
}

/// The names of the lines that the lines of this name are linked to.
fn linked<'a>(stages: &'a [Stage], stage: usize, name: &str) -> Vec<&'a str> {
    let lines = stages[stage].lines.iter().filter(|line| line.name == name);
    lines.flat_map(|line| &line.links).map(|&to| &stages[stage + 1].lines[to].name[..]).collect()
}

/// The titles of the stages.
fn titles(stages: &[Stage]) -> Vec<&str> {
    stages.iter().map(|stage| stage.title).collect()
}

#[test]
fn nodes_are_linked_by_what_they_compute() -> crate::Result<()> {
    let function = stage(self_convolution, &Vector::from(vec![1.0, 2.0, 3.0, 4.0]))?;
    let stages = shown(&function);
    assert_eq!(titles(&stages), ["Staged", "Vectorised", "Simplified", "Dual", "Transposed", "Gradient", "Kernels"]);
    // The reads and the product inside of the build are bulk reads and a bulk product.
    assert_eq!(linked(&stages, 0, "m2"), ["p0", "m2"]);
    assert_eq!(linked(&stages, 0, "m5"), ["m6"]);
    assert_eq!(linked(&stages, 0, "m6"), ["m7"]);
    assert_eq!(linked(&stages, 0, "m1"), ["m7"]);
    assert_eq!(linked(&stages, 0, "m7"), ["m8"]);
    // The product goes into a contraction.
    assert_eq!(linked(&stages, 1, "m7"), [""; 0]);
    assert_eq!(linked(&stages, 1, "m8"), ["m2"]);
    // The gradient is a sum, and one that is reversed.
    assert_eq!(linked(&stages, 4, "m7"), ["m4"]);
    let kernels = &stages[6];
    assert_eq!(kernels.kernels, Some(1));
    assert_eq!(linked(&stages, 5, "m2"), ["b1, b2"]);
    assert_eq!(linked(&stages, 5, "m4"), ["b1, b2"]);
    assert_eq!(linked(&stages, 5, "p0"), ["b0"]);
    // `3 - i` has an operand that is written as a number.
    assert_eq!(stages[0].lines[4].constants, [3]);
    // The Delta's operands are lines of the stage that computes them.
    let delta: Vec<String> = stages[3]
        .lines
        .iter()
        .filter(|line| line.kind == LineKind::Delta)
        .map(|line| format!("{} = {:?}", line.name, line.pieces))
        .collect();
    assert_eq!(delta.len(), 2, "{delta:?}");
    assert!(delta[0].contains("Name(\"p0\", 0)"), "{delta:?}");
    assert!(delta[1].contains("Name(\"a0\", 1)") && delta[1].contains("Name(\"d0\", 5)"), "{delta:?}");
    Ok(())
}

#[test]
fn totals_are_sums_of_lines() -> crate::Result<()> {
    let function = stage(self_convolution, &Vector::from(vec![1.0; 100]))?;
    let stages = shown(&function);
    assert_eq!((stages[0].nodes, stages[0].operations, stages[0].bytes), (Some(10), 200.0, 1608.0));
    assert_eq!(stages[0].operations, function.source().cost().float_operations as f64);
    assert_eq!(stages[2].nodes, Some(function.differentiable().node_count()));
    let gradient = function.value_and_grad()?;
    assert_eq!(stages[5].nodes, Some(gradient.program().node_count()));
    let report = crate::engine::cpu::Program::new(gradient.program(), &Cpu::default())?.report();
    assert_eq!(stages[6].kernels, Some(report.kernels.len()));
    assert_eq!(stages[6].operations, report.kernels.iter().map(|kernel| kernel.operations).sum::<f64>());
    assert_eq!(stages[6].bytes, report.kernels.iter().map(|kernel| kernel.bytes).sum::<f64>());
    Ok(())
}

#[test]
fn loops_are_linked_by_their_outputs_and_steps() -> crate::Result<()> {
    let powers = |x: &Vector<_, f64>| {
        let (last, all): (Scalar<_, f64>, Vector<_, f64>) =
            scan(scalar(1.0), x, x.len(), |y: Scalar<_, f64>, x: Scalar<_, f64>| {
                let next = (y * x).sin();
                (next.clone(), next)
            });
        last + all.sum()
    };
    let stages = shown(&stage(powers, &Vector::from(vec![1.0, 2.0, 3.0]))?);
    let of = |stage: usize, text: &str| {
        let is_it = |line: &&super::stage::StageLine| format!("{:?}", line.pieces).contains(text);
        stages[stage].lines.iter().filter(is_it).collect::<Vec<_>>()
    };
    for at in [0, 1, 2, 3, 4] {
        let scans = of(at, "scan[3]");
        assert!(!scans.is_empty() && !scans[0].links.is_empty(), "{at}: {scans:?}");
        let steps = of(at, "sin ");
        assert!(steps.iter().any(|line| line.kind == LineKind::Inner && !line.links.is_empty()), "{at}: {steps:?}");
    }
    let scans = of(5, "scan[3]");
    assert!(scans.iter().all(|line| !line.links.is_empty()), "{scans:?}");
    Ok(())
}

#[test]
fn loops_that_may_not_end_are_not_run() -> crate::Result<()> {
    let f = |x: &Scalar<_, f64>| {
        let y: Scalar<_, f64> = while_loop(x.clone(), |y| y.lt(1e9), |y| y * x);
        (y + x).sin()
    };
    let stages = shown(&stage(f, &Scalar::from(2.0))?);
    // The result is linked through all stages all the same.
    let results = |stage: &Stage| stage.lines.iter().rfind(|line| line.kind == LineKind::Node).cloned();
    for stage in &stages[..2] {
        let result = results(stage).expect("a line");
        assert!(!result.links.is_empty(), "{}: {result:?}", stage.title);
    }
    Ok(())
}

#[test]
fn programs_that_take_too_long_are_linked_by_structure() -> crate::Result<()> {
    let squares = |x: &Vector<_, f64>| (x * x).sum();
    let stages = shown(&stage(squares, &zeros(1 << 30))?);
    assert_eq!(linked(&stages, 0, "m1"), ["m1"]);
    assert_eq!(linked(&stages, 0, "m2"), ["m2"]);
    Ok(())
}

#[test]
fn functions_without_a_gradient_show_the_stages_before_it() -> crate::Result<()> {
    let stages = shown(&stage(|x: &Vector<_, f64>| x.sin(), &Vector::from(vec![1.0]))?);
    assert_eq!(titles(&stages), ["Staged", "Vectorised", "Simplified", "Kernels"]);
    let stages = shown(&stage(|x: &Scalar<_, i64>| x + 1, &Scalar::from(1))?);
    assert_eq!(titles(&stages), ["Staged", "Vectorised", "Simplified", "Kernels"]);
    Ok(())
}

#[test]
fn pages_of_long_programs_are_not_too_large() -> crate::Result<()> {
    let chain = |x: &Vector<_, f64>| {
        let mut y = x.clone();
        for _ in 0..500 {
            y = &y - (&y * x).sin() * x;
        }
        y.sum()
    };
    let function = stage(chain, &Vector::from(vec![0.1; 8]))?;
    assert!(function.source().node_count() > 2000);
    let start = std::time::Instant::now();
    let page = html(&function)?;
    println!("{} bytes in {:.1} s", page.len(), start.elapsed().as_secs_f64());
    assert!(page.len() < 6_000_000, "{}", page.len());
    Ok(())
}
