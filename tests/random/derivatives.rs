//! Derivatives of programs by the instances and by symbolic programs, for whoever compares them.

use super::arrays::{floats, full, numbers};
use super::chance::Random;
use deltaray::algebra::{Algebra, Reduction};
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program;
use deltaray::dual::{Dual, DualArray, Tangent, TangentArray, jvp, vjp};
use deltaray::operation::Binary;
use deltaray::shape::{DType, Value};
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Build, interpret_source};

/// The gradient of the sum of all float results, zeros for parameters that are no floats.
pub fn gradient<A: Algebra>(f: &dyn Fn(Vec<DualArray<A>>) -> Vec<DualArray<A>>, at: Vec<A::Array>) -> Vec<A::Array> {
    let (values, pullback) = vjp::<A>(f, at);
    let ones = values.iter().map(|value| {
        let ty = A::type_of(value);
        ty.dtype.is_float().then(|| A::constant(full(&ty, 1.0)))
    });
    pullback(ones.collect())
}

/// Without arrays that are no floats.
pub fn only_floats(arrays: Vec<Array>) -> Vec<Array> {
    arrays.into_iter().filter(|array| array.dtype().is_float()).collect()
}

/// A random direction: an array for every float among arrays.
pub fn direction(arrays: &[Array], seed: u64) -> Vec<Option<Array>> {
    let mut random = Random::new(seed);
    let one = |array: &Array| {
        let elements: Vec<f64> = (0..array.size()).map(|_| random.between(-1.0, 1.0)).collect();
        array.dtype().is_float().then(|| floats(&array.ty(), &elements))
    };
    arrays.iter().map(one).collect()
}

/// Tangents or cotangents of arrays like those, zeros where there are none.
pub fn or_zeros(tangents: &[Option<Array>], like: &[Array]) -> Vec<Array> {
    let zero = |(tangent, like): (&Option<Array>, &Array)| tangent.clone().unwrap_or_else(|| full(&like.ty(), 0.0));
    tangents.iter().zip(like).map(zero).collect()
}

/// The inner product of two lists of arrays, floats only, and the sum of the magnitudes of its terms.
pub fn inner(left: &[Array], right: &[Array]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (a, b) in left.iter().zip(right).filter(|(a, _)| a.dtype().is_float()) {
        for (x, y) in numbers(a).iter().zip(numbers(b)) {
            sums.0 += x * y;
            sums.1 += (x * y).abs();
        }
    }
    sums
}

/// Values and tangents of a function on arrays with tangents.
pub fn pushed(
    run: &dyn Fn(Vec<TangentArray<Concrete>>) -> Vec<TangentArray<Concrete>>,
    inputs: &[Array],
    along: &[Option<Array>],
) -> (Vec<Array>, Vec<Array>) {
    let (values, tangents) = jvp::<Concrete>(run, inputs.to_vec(), along.to_vec());
    let tangents = or_zeros(&tangents, &values);
    (values, tangents)
}

/// Values and then tangents by the symbolic forward derivative of a bulk program, as it is made and tidied.
pub fn symbolic_tangents(bulk: &Body, inputs: &[Array], along: &[Option<Array>]) -> [(&'static str, Vec<Array>); 2] {
    let forward = program::jvp(bulk, bulk.arity()).expect("well-formed programs can be differentiated");
    let mut arguments = inputs.to_vec();
    arguments.extend(or_zeros(along, inputs));
    let run = |body: &Body| interpret::<Concrete>(body, arguments.clone());
    [("jvp(bulk)", run(&forward)), ("tidy(jvp(bulk))", run(&program::tidy(&forward)))]
}

/// The second derivative along tangents, by the symbolic forward derivative of the program of values and cotangents.
pub fn symbolic_second(reverse: &Body, inputs: &[Array], along: &[Option<Array>]) -> Vec<Array> {
    let forward = program::jvp(reverse, inputs.len()).expect("well-formed programs can be differentiated");
    let values = reverse.results().len() - inputs.len();
    let mut arguments = inputs.to_vec();
    arguments.extend(reverse.result_types().take(values).map(|ty| full(ty, 1.0)));
    arguments.extend(or_zeros(along, inputs));
    let results = interpret::<Concrete>(&program::tidy(&forward), arguments);
    // Values of the program, cotangents of the inputs, and a tangent of each of both.
    only_floats(results[results.len() - inputs.len()..].to_vec())
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
