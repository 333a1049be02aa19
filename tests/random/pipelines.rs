//! The pipelines that programs go through.

use super::arrays::{full, numbers};
use super::compare::{Judgement, Law, NOT_FINITE, Pipeline, Scale, Suite, difference};
use super::derivatives::{
    Form, direction, forward_over_reverse, gradient, inner, only_floats, or_zeros, pushed, reverse_over_reverse,
    symbolic_second, symbolic_tangents,
};
use super::generate::Case;
use super::stages::{Stages, transposed};
use deltaray::concrete::{Array, Concrete};
use deltaray::dual::{Dual, DualArray, Tangent, vjp};
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::simplify::{fold_constants, simplify};
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, interpret_source};
use deltaray::vectorise::push_reads;

/// All pipelines and laws. Expensive ones that seldom differ from their neighbours run on a share of the programs.
pub fn everything() -> Suite {
    let mut suite = Suite::default();
    let eager = |stages: &Stages<'_>, inputs: &[Array]| interpret_source::<Concrete>(stages.source, inputs.to_vec());
    suite.values.push(Pipeline::new("eager", 1, eager));
    suite.values.push(value("vectorise", 1, |stages| stages.vectorised().clone()));
    suite.values.push(value("simplify(vectorise)", 1, |stages| stages.simplified().clone()));
    suite.values.push(value("push_reads(vectorise)", 2, |stages| push_reads(stages.vectorised())));
    suite.values.push(value("bulk", 1, |stages| stages.bulk().clone()));
    suite.values.push(value("fold_constants(vectorise)", 2, |stages| fold_constants(stages.vectorised())));
    suite.values.push(value("fold_constants(bulk)", 1, |stages| fold_constants(stages.bulk())));
    suite.values.push(Pipeline::new("kernels(bulk)", 1, |stages, inputs| kernels(stages.bulk(), inputs)));
    let folded = |stages: &Stages<'_>, inputs: &[Array]| kernels(&fold_constants(stages.bulk()), inputs);
    suite.values.push(Pipeline::new("kernels(fold_constants(bulk))", 2, folded));
    suite.values.push(Pipeline::new("kernels(vectorise)", 4, |stages, inputs| kernels(stages.vectorised(), inputs)));

    suite.gradients.push(Pipeline::new("eager dual arrays", 1, |stages, inputs| {
        let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(stages.source, at);
        only_floats(gradient::<Concrete>(&run, inputs.to_vec()))
    }));
    suite.gradients.push(bulk_dual("dual arrays of vectorise", 2, |stages| stages.vectorised().clone()));
    suite.gradients.push(bulk_dual("dual arrays of bulk", 2, |stages| stages.bulk().clone()));
    suite.gradients.push(symbolic("vjp(vectorise)", 4, |stages| transposed(stages.vectorised())));
    suite.gradients.push(symbolic("vjp(bulk)", 1, |stages| stages.reverse().clone()));
    suite.gradients.push(symbolic("tidy(vjp(bulk))", 1, |stages| stages.tidy_reverse().clone()));
    suite
        .gradients
        .push(symbolic("fold_constants(tidy(vjp(bulk)))", 2, |stages| fold_constants(stages.tidy_reverse())));

    suite.gradients.push(Pipeline::new("kernels(tidy(vjp(bulk)))", 1, |stages, inputs| {
        let mut arguments = inputs.to_vec();
        arguments.extend(stages.source.result_types().map(|ty| full(ty, 1.0)));
        let results = kernels(stages.tidy_reverse(), &arguments);
        only_floats(results[stages.source.results().len()..].to_vec())
    }));

    suite.laws.push(law("forward and reverse mode are adjoint", 2, adjoint));
    suite.laws.push(law("the symbolic tangents", 4, same_tangents));
    suite.laws.push(law("second derivatives by two nestings", 6, second_derivatives));
    suite.laws.push(Law { of_derivatives: false, ..law("simplifying twice", 3, idempotent) });
    suite
}

/// The results of a program, compiled for the processor.
pub fn kernels(body: &Body, inputs: &[Array]) -> Vec<Array> {
    let program = Program::new(body, &Cpu::default()).unwrap_or_else(|error| panic!("{error}"));
    program.run(inputs).unwrap_or_else(|error| panic!("{error}"))
}

/// A pipeline that interprets the program that passes make.
pub fn value(name: &str, one_in: u64, pass: impl Fn(&Stages<'_>) -> Body + Send + Sync + 'static) -> Pipeline {
    Pipeline::new(name, one_in, move |stages, inputs| interpret::<Concrete>(&pass(stages), inputs.to_vec()))
}

/// The gradient by dual arrays of the program that passes make, loops rolled.
pub fn bulk_dual(name: &str, one_in: u64, pass: impl Fn(&Stages<'_>) -> Body + Send + Sync + 'static) -> Pipeline {
    Pipeline::new(name, one_in, move |stages, inputs| {
        let bulk = pass(stages);
        only_floats(gradient::<Concrete>(&|at| interpret::<Dual<Concrete>>(&bulk, at), inputs.to_vec()))
    })
}

/// The gradient by a program that passes make: it takes the inputs and a cotangent for each result.
pub fn symbolic(name: &str, one_in: u64, pass: impl Fn(&Stages<'_>) -> Body + Send + Sync + 'static) -> Pipeline {
    Pipeline::new(name, one_in, move |stages, inputs| {
        let mut arguments = inputs.to_vec();
        arguments.extend(stages.source.result_types().map(|ty| full(ty, 1.0)));
        let results = interpret::<Concrete>(&pass(stages), arguments);
        only_floats(results[stages.source.results().len()..].to_vec())
    })
}

fn law(
    name: &str,
    one_in: u64,
    judge: impl Fn(&Case, &Stages<'_>, &Scale) -> Judgement + Send + Sync + 'static,
) -> Law {
    Law { name: name.into(), of_derivatives: true, one_in, judge: Box::new(judge) }
}

fn close(what: &str, (a, around): (f64, f64), (b, around_b): (f64, f64), scale: &Scale) -> Judgement {
    if !a.is_finite() || !b.is_finite() {
        return Err(NOT_FINITE.into());
    }
    if scale.close(a, b, around.max(around_b)) { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// Values and tangents by tangent arrays.
fn eager_tangents(case: &Case, along: &[Option<Array>]) -> (Vec<Array>, Vec<Array>) {
    pushed(&|at| interpret_source::<Tangent<Concrete>>(&case.body, at), &case.inputs, along)
}

/// ⟨c, J d⟩ = ⟨Jᵀ c, d⟩.
fn adjoint(case: &Case, _: &Stages<'_>, scale: &Scale) -> Judgement {
    let along = direction(&case.inputs, case.seed ^ 1);
    let (values, pushed) = eager_tangents(case, &along);
    let cotangents = direction(&values, case.seed ^ 2);
    let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(&case.body, at);
    let (_, pullback) = vjp::<Concrete>(&run, case.inputs.clone());
    let pulled = pullback(cotangents.clone());
    let (cotangents, along) = (or_zeros(&cotangents, &values), or_zeros(&along, &case.inputs));
    close("⟨c, J d⟩ and ⟨Jᵀ c, d⟩", inner(&cotangents, &pushed), inner(&pulled, &along), scale)
}

/// Values and tangents by the symbolic forward derivative are those by tangent arrays.
fn same_tangents(case: &Case, stages: &Stages<'_>, scale: &Scale) -> Judgement {
    let along = direction(&case.inputs, case.seed ^ 1);
    let (mut expected, tangents) = eager_tangents(case, &along);
    expected.extend(tangents);
    for (name, found) in symbolic_tangents(stages.bulk(), &case.inputs, &along) {
        if let Some(problem) = difference(&expected, &found, scale) {
            return Err(format!("{name}: {problem} (by tangent arrays)"));
        }
    }
    Ok(())
}

/// A simplified program is a fixed point, by its text.
fn idempotent(_: &Case, stages: &Stages<'_>, _: &Scale) -> Judgement {
    let once = stages.simplified();
    let twice = simplify(once);
    if once.to_string() == twice.to_string() { Ok(()) } else { Err(format!("once:\n{once}twice:\n{twice}")) }
}

/// The Hessian of the sum of all float results, times a direction: forward over reverse, and reverse over reverse.
fn second_derivatives(case: &Case, stages: &Stages<'_>, scale: &Scale) -> Judgement {
    let tangents = direction(&case.inputs, case.seed ^ 3);
    let forward = forward_over_reverse(Form::Source(&case.body), &case.inputs, &tangents);
    let reverse = reverse_over_reverse(Form::Source(&case.body), &case.inputs, &tangents);
    let symbolic = symbolic_second(stages.tidy_reverse(), &case.inputs, &tangents);
    let finite = |arrays: &[Array]| arrays.iter().all(|array| numbers(array).iter().all(|x| x.is_finite()));
    if !finite(&forward) || !finite(&reverse) {
        return Ok(());
    }
    for (name, found) in [("reverse over reverse", reverse), ("jvp(tidy(vjp(bulk)))", symbolic)] {
        if let Some(problem) = difference(&forward, &found, scale) {
            return Err(format!("{name}: {problem} (by forward over reverse)"));
        }
    }
    Ok(())
}
