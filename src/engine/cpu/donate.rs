//! Which results may be written where an argument is, while the program runs.

use super::memory::Lifetimes;
use super::transpose::transposed;
use crate::kernel::{BufferId, BufferSource, Nest, NestValue, Procedure, Step, StoreMode};
use crate::shape::strides;

/// For each parameter with a result at its position, whether the result may use the parameter's memory: whether nothing is read
/// there once something else has been written. This holds for the procedure as a machine runs it.
pub(super) fn in_place(procedure: &Procedure) -> Vec<bool> {
    let procedure = &*transposed(procedure, true);
    let count = procedure.parameters.min(procedure.results.len());
    let Lifetimes { first, .. } = Lifetimes::of(procedure);
    // The last step that reads a buffer.
    let mut last_read: Vec<Option<usize>> = vec![None; procedure.buffers.len()];
    for (at, step) in procedure.steps.iter().enumerate() {
        for buffer in step.touched().0 {
            last_read[procedure.origin(buffer) as usize] = Some(at);
        }
    }
    let origins: Vec<BufferId> = procedure.results.iter().map(|&result| procedure.origin(result)).collect();
    // The first result that a buffer is.
    let mut result_of: Vec<Option<usize>> = vec![None; procedure.buffers.len()];
    for (position, &origin) in origins.iter().enumerate().rev() {
        result_of[origin as usize] = Some(position);
    }
    let allowed = |position: usize| {
        let (parameter, result) = (position as BufferId, origins[position]);
        let [from, to] = [parameter, result].map(|id| &procedure.buffers[id as usize]);
        // Other results are copied when the program is done.
        let own = matches!(to.source, BufferSource::Local) && result_of[result as usize] == Some(position);
        if !own || from.ty != to.ty || result_of[position].is_some() {
            return false;
        }
        match last_read[position] {
            None => true,
            Some(last) if last < first[result as usize] => true,
            Some(last) if last == first[result as usize] => match &procedure.steps[last] {
                Step::Nest(nest) => element_by_element(procedure, nest, parameter, result),
                _ => false,
            },
            Some(_) => false,
        }
    };
    (0..count).map(allowed).collect()
}

/// The stores that need a value.
#[derive(Clone, Copy, PartialEq)]
enum Users {
    None,
    One(usize),
    Several,
}

/// Whether a nest writes every element of the result once, from the parameter's element at the same place, which it
/// needs for nothing else.
pub(super) fn element_by_element(procedure: &Procedure, nest: &Nest, parameter: BufferId, result: BufferId) -> bool {
    let mut users = vec![Users::None; nest.values.len()];
    let mut written = None;
    for (at, store) in nest.stores.iter().enumerate() {
        let user = &mut users[store.value as usize];
        *user = if *user == Users::None { Users::One(at) } else { Users::Several };
        if procedure.origin(store.buffer) == result && written.replace(at).is_some() {
            return false;
        }
        if let Some((index, ..)) = store.index {
            users[index as usize] = Users::Several;
        }
    }
    let Some(written) = written else { return false };
    let store = &nest.stores[written];
    let row_major = store.at.offset == 0
        && store
            .at
            .coefficients
            .iter()
            .zip(strides(&nest.extents))
            .zip(&nest.extents)
            .all(|((&coefficient, stride), &extent)| extent == 1 || usize::try_from(coefficient) == Ok(stride));
    let plain = store.mode == StoreMode::Write && store.index.is_none() && store.guards.is_empty();
    // A copy of elements onto themselves is none that kernels make.
    if !row_major || !plain || matches!(nest.values[store.value as usize].0, NestValue::Load { .. }) {
        return false;
    }
    for (at, (value, _)) in nest.values.iter().enumerate().rev() {
        let own = users[at];
        for operand in value.operands() {
            let user = &mut users[operand as usize];
            *user = match (*user, own) {
                (Users::None, other) | (other, Users::None) => other,
                (a, b) if a == b => a,
                _ => Users::Several,
            };
        }
    }
    nest.values.iter().zip(&users).all(|((value, _), &users)| match value {
        NestValue::Load { buffer, at, guards } if procedure.origin(*buffer) == parameter => {
            *at == store.at && guards.is_empty() && users == Users::One(written)
        }
        NestValue::Gather { buffer, .. } => procedure.origin(*buffer) != parameter,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Cpu, Program};
    use crate::prelude::*;

    /// A layer of a network.
    fn layer<A: Algebra>((x, weights): &(Matrix<A, f64>, Matrix<A, f64>)) -> Matrix<A, f64> {
        (x.dot(weights) + 1.0).relu()
    }

    fn program(n: usize) -> Program {
        let square: Matrix<Concrete, f64> = zeros((n, n));
        let layer = stage(layer, &(square.clone(), square)).unwrap();
        Program::new(layer.program(), &Cpu::default().threads(1)).unwrap()
    }

    #[test]
    fn a_product_is_written_to_where_its_function_will_be() {
        assert_eq!(program(50).memory(), 0);
    }

    #[test]
    fn a_function_of_a_product_is_not_written_to_where_an_operand_is() {
        let n = 50;
        let numbers =
            |by: usize| Matrix::from_elements((n, n), (0..n * n).map(|k| (k * by % 7) as f64 - 3.0).collect());
        let (x, weights): (Matrix<Concrete, f64>, Matrix<Concrete, f64>) = (numbers(3), numbers(5));
        let expected = layer(&(x.clone(), weights.clone())).to_vec();
        let (program, mut x, weights) = (program(n), x.into_array(), weights.into_array());
        let mut run = program.begin();
        run.update(&mut x);
        run.argument(&weights);
        run.finish().unwrap();
        assert_eq!(x.to_vec::<f64>(), Some(expected));
    }
}
