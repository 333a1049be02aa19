//! The compressed programs: one batched derivative along all colours.

use super::colouring::Colouring;
use super::reads::Reads;
use crate::algebra::Algebra;
use crate::array::{Array, ElementType};
use crate::derivative::program;
use crate::error::Result;
use crate::shape::Type;
use crate::staged::{self, Staged, StagedArray};
use crate::tensor::{Float, Scalar, TensorD, Vector, build};
use crate::term::Body;
use crate::term::interpret::interpret;

/// Where the float arrays among several lie in the list of all their elements.
pub(super) struct FloatLayout {
    /// The first element of each array, `None` for integers and booleans; each with its type.
    pub(super) arrays: Vec<(Type, Option<usize>)>,
    /// Number of all elements.
    pub(super) size: usize,
}

impl FloatLayout {
    pub(super) fn new<'a>(types: impl IntoIterator<Item = &'a Type>) -> FloatLayout {
        let mut size: usize = 0;
        let place = |ty: &Type| {
            let first = ty.dtype.is_float().then_some(size);
            if first.is_some() {
                size = size.saturating_add(ty.size());
            }
            (ty.clone(), first)
        };
        let arrays = types.into_iter().map(place).collect();
        FloatLayout { arrays, size }
    }

    /// The sums of the unit vectors of one colour, as arrays of these types; without a colour, ones.
    fn seeds<E: Float>(&self, colouring: &Colouring, colour: Option<&Scalar<Staged, i64>>) -> Vec<StagedArray> {
        let seed = |(ty, first): &(Type, Option<usize>)| match (first, colour) {
            (None, _) => Staged::zeros(ty),
            (Some(_), None) => Staged::constant(Array::full(&ty.shape, E::ONE.into_value())),
            (Some(first), Some(colour)) => {
                let own = colouring.colours()[*first..first + ty.size()].iter().map(|&colour| colour as i64);
                let own: TensorD<Staged, i64> = TensorD::wrap(Staged::constant(i64_array(ty, own.collect())));
                own.equal(colour).cast::<E>().into_array()
            }
        };
        self.arrays.iter().map(seed).collect()
    }

    /// The float arrays among those of these types, one after the other.
    fn joined<E: Float>(&self, arrays: Vec<StagedArray>) -> Vector<Staged, E> {
        let floats = arrays.into_iter().zip(&self.arrays).filter(|(_, (_, first))| first.is_some());
        let flat = floats.map(|(array, (ty, _))| Staged::reshape(array, &[ty.size()])).collect();
        Vector::wrap(Staged::concatenate(0, flat))
    }
}

fn i64_array(ty: &Type, elements: Vec<i64>) -> Array {
    <i64 as ElementType>::wrap(crate::array::Data::from_vec(&ty.shape, elements))
}

fn parameter_types(body: &Body) -> Vec<Type> {
    (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect()
}

/// The program of parameters `types` whose result is `direction` for every colour, one colour a row.
fn batched<E: Float>(
    types: &[Type],
    count: usize,
    direction: impl Fn(&[StagedArray], Option<&Scalar<Staged, i64>>) -> Vector<Staged, E>,
) -> Result<Body> {
    let source = staged::stage(types, |variables| {
        // With one colour the sum is all ones, and there is nothing to repeat.
        let result = match count {
            1 => direction(&variables, None).into_array(),
            _ => build(count, |colour: Scalar<Staged, i64>| direction(&variables, Some(&colour))).into_array(),
        };
        vec![result]
    })?;
    Ok(program::bulk(&source))
}

/// The program that computes the products of the Jacobian of a program, by its first `active` parameters, with the sums of
/// the columns of each colour: for every colour a row of all float results' elements.
pub(super) fn of_columns<E: Float>(body: &Body, active: usize, colouring: &Colouring) -> Result<Body> {
    let types = parameter_types(body);
    let (inputs, outputs) = (FloatLayout::new(&types[..active]), FloatLayout::new(body.result_types()));
    let tangents = program::tidy(&program::jvp(body, active)?);
    batched::<E>(&types, colouring.count(), |variables, colour| {
        let mut arguments = variables.to_vec();
        arguments.extend(inputs.seeds::<E>(colouring, colour));
        let mut results = interpret::<Staged>(&tangents, arguments);
        outputs.joined::<E>(results.split_off(body.results.len()))
    })
}

/// The program that computes the products of the transposed Jacobian of a program, by its first `active` parameters, with
/// the sums of the rows of each colour: for every colour a row of all float inputs' elements.
pub(super) fn of_rows<E: Float>(body: &Body, active: usize, colouring: &Colouring) -> Result<Body> {
    transposed::<E>(body, active, colouring, &parameter_types(body), |variables| variables.to_vec())
}

/// As [`of_rows`], by copies of the elements that a program reads of its inputs.
pub(super) fn of_reads<E: Float>(reads: &Reads, colouring: &Colouring) -> Result<Body> {
    let copies = reads.selection.results.len();
    let types = parameter_types(&reads.selection);
    transposed::<E>(&reads.body, copies, colouring, &types, |variables| {
        let mut arguments = interpret::<Staged>(&reads.selection, variables.to_vec());
        arguments.extend_from_slice(variables);
        arguments
    })
}

/// The batched pullback of a body, whose arguments are made of parameters of these types.
fn transposed<E: Float>(
    body: &Body,
    active: usize,
    colouring: &Colouring,
    types: &[Type],
    arguments: impl Fn(&[StagedArray]) -> Vec<StagedArray>,
) -> Result<Body> {
    let own = parameter_types(body);
    let (inputs, outputs) = (FloatLayout::new(&own[..active]), FloatLayout::new(body.result_types()));
    let cotangents = program::tidy(&program::vjp(body, active)?);
    batched::<E>(types, colouring.count(), |variables, colour| {
        let mut arguments = arguments(variables);
        arguments.extend(outputs.seeds::<E>(colouring, colour));
        let mut results = interpret::<Staged>(&cotangents, arguments);
        inputs.joined::<E>(results.split_off(body.results.len()))
    })
}
