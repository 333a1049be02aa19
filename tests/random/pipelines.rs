//! The pipelines that programs go through.

use super::arrays::{full, numbers};
use super::chance::Random;
use super::compare::{Judgement, Law, Pipeline, Scale, Suite, difference};
use super::generate::Case;
use deltaray::algebra::{Algebra, Reduction};
use deltaray::concrete::{Array, Concrete};
use deltaray::dual::{Dual, DualArray, Tangent, TangentArray, jvp, vjp};
use deltaray::operation::Binary;
use deltaray::shape::{DType, Value};
use deltaray::term::{Body, Build, interpret_source};

/// All pipelines and laws.
pub fn everything() -> Suite {
    let mut suite = Suite::default();
    suite.values.push(Pipeline::new("eager", |body, inputs| interpret_source::<Concrete>(body, inputs.to_vec())));
    suite.gradients.push(Pipeline::new("eager dual arrays", |body, inputs| {
        let gradient = gradient::<Concrete>(&|at| interpret_source::<Dual<Concrete>>(body, at), inputs.to_vec());
        only_floats(gradient)
    }));
    suite.laws.push(law("forward and reverse mode are adjoint", 1, adjoint));
    suite.laws.push(law("second derivatives by two nestings", 4, second_derivatives));
    suite
}

fn law(name: &str, one_in: u64, judge: impl Fn(&Case, &Scale) -> Judgement + Send + Sync + 'static) -> Law {
    Law { name: name.into(), of_derivatives: true, one_in, judge: Box::new(judge) }
}

/// The gradient of the sum of all float results, zeros for parameters that are no floats.
pub fn gradient<A: Algebra>(
    f: &dyn Fn(Vec<DualArray<A>>) -> Vec<DualArray<A>>,
    at: Vec<A::Array>,
) -> Vec<A::Array> {
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
fn direction(arrays: &[Array], seed: u64) -> Vec<Option<Array>> {
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
    if scale.close(a, b, around.max(around_b)) { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// ⟨c, J d⟩ = ⟨Jᵀ c, d⟩.
fn adjoint(case: &Case, scale: &Scale) -> Judgement {
    let tangents = direction(&case.inputs, case.seed ^ 1);
    let run = |at: Vec<TangentArray<Concrete>>| interpret_source::<Tangent<Concrete>>(&case.body, at);
    let (values, pushed) = jvp::<Concrete>(&run, case.inputs.clone(), tangents.clone());
    let cotangents = direction(&values, case.seed ^ 2);
    let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(&case.body, at);
    let (_, pullback) = vjp::<Concrete>(&run, case.inputs.clone());
    let pulled: Vec<Option<Array>> = pullback(cotangents.clone()).into_iter().map(Some).collect();
    close("⟨c, J d⟩ and ⟨Jᵀ c, d⟩", inner(&cotangents, &pushed), inner(&pulled, &tangents), scale)
}

/// The Hessian of the sum of all float results, times a direction: forward over reverse, and reverse over reverse.
fn second_derivatives(case: &Case, scale: &Scale) -> Judgement {
    let tangents = direction(&case.inputs, case.seed ^ 3);
    let forward = forward_over_reverse(&case.body, &case.inputs, &tangents);
    let reverse = reverse_over_reverse(&case.body, &case.inputs, &tangents);
    let finite = |arrays: &[Array]| arrays.iter().all(|array| numbers(array).iter().all(|x| x.is_finite()));
    if !finite(&forward) || !finite(&reverse) {
        return Ok(());
    }
    match difference(&forward, &reverse, scale) {
        None => Ok(()),
        Some(problem) => Err(format!("reverse over reverse: {problem} (by forward over reverse)")),
    }
}

fn forward_over_reverse(body: &Body<Build>, inputs: &[Array], tangents: &[Option<Array>]) -> Vec<Array> {
    let run = |at: Vec<TangentArray<Concrete>>| {
        gradient::<Tangent<Concrete>>(&|at| interpret_source::<Dual<Tangent<Concrete>>>(body, at), at)
    };
    let (values, pushed) = jvp::<Concrete>(&run, inputs.to_vec(), tangents.to_vec());
    let or_zeros = |(tangent, value): (Option<Array>, &Array)| tangent.unwrap_or_else(|| full(&value.ty(), 0.0));
    only_floats(pushed.into_iter().zip(&values).map(or_zeros).collect())
}

fn reverse_over_reverse(body: &Body<Build>, inputs: &[Array], tangents: &[Option<Array>]) -> Vec<Array> {
    type Once = Dual<Concrete>;
    let slope = |at: Vec<DualArray<Concrete>>| {
        let first = gradient::<Once>(&|at| interpret_source::<Dual<Once>>(body, at), at);
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
