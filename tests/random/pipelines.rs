//! The pipelines that programs go through.

use super::arrays::{full, numbers};
use super::chance::Random;
use super::compare::{Judgement, Law, NOT_FINITE, Pipeline, Scale, Suite, difference};
use super::generate::Case;
use super::stages::{Stages, transposed};
use deltaray::algebra::{Algebra, Reduction};
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program;
use deltaray::dual::{Dual, DualArray, Tangent, TangentArray, jvp, vjp};
use deltaray::operation::Binary;
use deltaray::shape::{DType, Value};
use deltaray::simplify::simplify;
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Build, interpret_source};
use deltaray::vectorise::push_reads;

/// All pipelines and laws. What costs much and seldom differs from its neighbours runs on a share of the programs.
pub fn everything() -> Suite {
    let mut suite = Suite::default();
    let eager = |stages: &Stages<'_>, inputs: &[Array]| interpret_source::<Concrete>(stages.source, inputs.to_vec());
    suite.values.push(Pipeline::new("eager", 1, eager));
    suite.values.push(value("vectorise", 1, |stages| stages.vectorised().clone()));
    suite.values.push(value("simplify(vectorise)", 1, |stages| stages.simplified().clone()));
    suite.values.push(value("push_reads(vectorise)", 2, |stages| push_reads(stages.vectorised())));
    suite.values.push(value("bulk", 1, |stages| stages.bulk().clone()));

    suite.gradients.push(Pipeline::new("eager dual arrays", 1, |stages, inputs| {
        let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(stages.source, at);
        only_floats(gradient::<Concrete>(&run, inputs.to_vec()))
    }));
    suite.gradients.push(bulk_dual("dual arrays of vectorise", 2, |stages| stages.vectorised().clone()));
    suite.gradients.push(bulk_dual("dual arrays of bulk", 2, |stages| stages.bulk().clone()));
    suite.gradients.push(symbolic("vjp(vectorise)", 4, |stages| transposed(stages.vectorised())));
    suite.gradients.push(symbolic("vjp(bulk)", 1, |stages| stages.reverse().clone()));
    suite.gradients.push(symbolic("tidy(vjp(bulk))", 1, |stages| stages.tidy_reverse().clone()));

    suite.laws.push(law("forward and reverse mode are adjoint", 2, adjoint));
    suite.laws.push(law("the symbolic tangents", 4, symbolic_tangents));
    suite.laws.push(law("second derivatives by two nestings", 6, second_derivatives));
    suite.laws.push(Law { of_derivatives: false, ..law("simplifying twice", 3, idempotent) });
    suite
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
        only_floats(results[stages.source.results.len()..].to_vec())
    })
}

fn law(
    name: &str,
    one_in: u64,
    judge: impl Fn(&Case, &Stages<'_>, &Scale) -> Judgement + Send + Sync + 'static,
) -> Law {
    Law { name: name.into(), of_derivatives: true, one_in, judge: Box::new(judge) }
}

/// The gradient of the sum of all float results, zeros for parameters that are no floats.
pub fn gradient<A: Algebra>(f: &dyn Fn(Vec<DualArray<A>>) -> Vec<DualArray<A>>, at: Vec<A::Array>) -> Vec<A::Array> {
    let (values, pullback) = vjp::<A>(f, at);
    let ones = values.iter().map(|value| {
        let ty = A::type_of(value);
        ty.dtype.is_float().then(|| A::constant(full(&ty, 1.0)))
    });
    pullback(ones.collect())
}

pub fn only_floats(arrays: Vec<Array>) -> Vec<Array> {
    arrays.into_iter().filter(|array| array.dtype().is_float()).collect()
}

/// A random direction: an array for every float among arrays.
pub fn direction(arrays: &[Array], seed: u64) -> Vec<Option<Array>> {
    let mut random = Random::new(seed);
    let one = |array: &Array| {
        let elements: Vec<f64> = (0..array.size()).map(|_| random.between(-1.0, 1.0)).collect();
        array.dtype().is_float().then(|| super::arrays::floats(&array.ty(), &elements))
    };
    arrays.iter().map(one).collect()
}

/// The inner product of two lists of arrays, and the sum of the magnitudes of its terms.
fn inner(left: &[Option<Array>], right: &[Option<Array>]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (a, b) in left.iter().zip(right) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        for (x, y) in numbers(a).iter().zip(numbers(b)) {
            sums.0 += x * y;
            sums.1 += (x * y).abs();
        }
    }
    sums
}

fn close(what: &str, (a, around): (f64, f64), (b, around_b): (f64, f64), scale: &Scale) -> Judgement {
    if !a.is_finite() || !b.is_finite() {
        return Err(NOT_FINITE.into());
    }
    if scale.close(a, b, around.max(around_b)) { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// ⟨c, J d⟩ = ⟨Jᵀ c, d⟩.
fn adjoint(case: &Case, _: &Stages<'_>, scale: &Scale) -> Judgement {
    let tangents = direction(&case.inputs, case.seed ^ 1);
    let run = |at: Vec<TangentArray<Concrete>>| interpret_source::<Tangent<Concrete>>(&case.body, at);
    let (values, pushed) = jvp::<Concrete>(&run, case.inputs.clone(), tangents.clone());
    let cotangents = direction(&values, case.seed ^ 2);
    let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(&case.body, at);
    let (_, pullback) = vjp::<Concrete>(&run, case.inputs.clone());
    let pulled: Vec<Option<Array>> = pullback(cotangents.clone()).into_iter().map(Some).collect();
    close("⟨c, J d⟩ and ⟨Jᵀ c, d⟩", inner(&cotangents, &pushed), inner(&pulled, &tangents), scale)
}

/// Values and tangents by the symbolic forward derivative are those by tangent arrays.
fn symbolic_tangents(case: &Case, stages: &Stages<'_>, scale: &Scale) -> Judgement {
    let tangents = direction(&case.inputs, case.seed ^ 1);
    let run = |at: Vec<TangentArray<Concrete>>| interpret_source::<Tangent<Concrete>>(&case.body, at);
    let (mut expected, pushed) = jvp::<Concrete>(&run, case.inputs.clone(), tangents.clone());
    let zeros: Vec<Array> = expected.iter().map(|value| full(&value.ty(), 0.0)).collect();
    expected.extend(pushed.into_iter().zip(zeros).map(|(tangent, zero)| tangent.unwrap_or(zero)));
    let bulk = stages.bulk();
    let forward = program::jvp(bulk, bulk.arity()).expect("well-formed programs can be differentiated");
    let mut arguments = case.inputs.clone();
    arguments.extend(tangents.iter().zip(&case.inputs).map(|(tangent, input)| match tangent {
        Some(tangent) => tangent.clone(),
        None => full(&input.ty(), 0.0),
    }));
    for (name, program) in [("jvp(bulk)", &forward), ("tidy(jvp(bulk))", &program::tidy(&forward))] {
        let found = interpret::<Concrete>(program, arguments.clone());
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
    let symbolic = symbolic_second(stages, &case.inputs, &tangents);
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

/// The same by the symbolic forward derivative of the symbolic gradient.
fn symbolic_second(stages: &Stages<'_>, inputs: &[Array], tangents: &[Option<Array>]) -> Vec<Array> {
    let forward =
        program::jvp(stages.tidy_reverse(), inputs.len()).expect("well-formed programs can be differentiated");
    let mut arguments = inputs.to_vec();
    arguments.extend(stages.source.result_types().map(|ty| full(ty, 1.0)));
    let or_zeros = |(tangent, input): (&Option<Array>, &Array)| tangent.clone().unwrap_or(full(&input.ty(), 0.0));
    arguments.extend(tangents.iter().zip(inputs).map(or_zeros));
    let results = interpret::<Concrete>(&program::tidy(&forward), arguments);
    // Values of the program, cotangents of the inputs, and a tangent of each of both.
    let cotangents = results.len() - inputs.len();
    only_floats(results[cotangents..].to_vec())
}

/// A program in either form, to be run in any algebra.
#[derive(Clone, Copy)]
pub enum Form<'a> {
    /// As it was written.
    Source(&'a Body<Build>),
    /// Vectorised.
    Bulk(&'a Body),
}

impl Form<'_> {
    fn run<A: Algebra>(self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        match self {
            Form::Source(body) => interpret_source::<A>(body, inputs),
            Form::Bulk(body) => interpret::<A>(body, inputs),
        }
    }
}

/// The second derivative along tangents, as the tangent of a gradient.
pub fn forward_over_reverse(body: Form<'_>, inputs: &[Array], tangents: &[Option<Array>]) -> Vec<Array> {
    let run = |at: Vec<TangentArray<Concrete>>| {
        gradient::<Tangent<Concrete>>(&|at| body.run::<Dual<Tangent<Concrete>>>(at), at)
    };
    let (values, pushed) = jvp::<Concrete>(&run, inputs.to_vec(), tangents.to_vec());
    let or_zeros = |(tangent, value): (Option<Array>, &Array)| tangent.unwrap_or_else(|| full(&value.ty(), 0.0));
    only_floats(pushed.into_iter().zip(&values).map(or_zeros).collect())
}

/// The second derivative along tangents, as the gradient of a gradient's product with them.
pub fn reverse_over_reverse(body: Form<'_>, inputs: &[Array], tangents: &[Option<Array>]) -> Vec<Array> {
    type Once = Dual<Concrete>;
    let slope = |at: Vec<DualArray<Concrete>>| {
        let first = gradient::<Once>(&|at| body.run::<Dual<Once>>(at), at);
        let mut total = Once::constant(Array::full(&[], Value::F64(0.0)));
        for (part, along) in first.into_iter().zip(tangents) {
            let Some(along) = along else { continue };
            let axes: Vec<usize> = (0..along.shape().len()).collect();
            let product = Once::binary(Binary::Mul, part, Once::constant(along.clone()));
            let sum = Once::cast(Once::reduce(Reduction::Sum, product, &axes), DType::F64);
            total = Once::binary(Binary::Add, total, sum);
        }
        vec![total]
    };
    only_floats(gradient::<Concrete>(&slope, inputs.to_vec()))
}
