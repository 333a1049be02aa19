//! Which results may be written where an argument is, while the program runs.

use super::memory::Lifetimes;
use super::transpose::transposed;
use crate::kernel::{BufferId, BufferSource, Nest, NestValue, Procedure, Step, Store, StoreMode};
use crate::shape::strides;
use crate::term::hash::TermMap;

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
                Step::Nest(nest) => computed_element_by_element(procedure, nest).get(&parameter) == Some(&result),
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

impl Users {
    fn and(self, other: Users) -> Users {
        match (self, other) {
            (Users::None, users) | (users, Users::None) => users,
            (a, b) if a == b => a,
            _ => Users::Several,
        }
    }
}

/// The arrays that a nest computes element by element from others, by those others: it writes every element once, from the other
/// array's element at the same place, which it needs for nothing else.
pub(super) fn computed_element_by_element(procedure: &Procedure, nest: &Nest) -> TermMap<BufferId, BufferId> {
    let mut users = vec![Users::None; nest.values.len()];
    let mut writers: TermMap<BufferId, Users> = TermMap::default();
    for (at, store) in nest.stores.iter().enumerate() {
        let (user, writer) =
            (&mut users[store.value as usize], writers.entry(procedure.origin(store.buffer)).or_insert(Users::None));
        (*user, *writer) = (user.and(Users::One(at)), writer.and(Users::One(at)));
        if let Some((index, ..)) = store.index {
            users[index as usize] = Users::Several;
        }
    }
    for (at, (value, _)) in nest.values.iter().enumerate().rev() {
        for operand in value.operands() {
            users[operand as usize] = users[operand as usize].and(users[at]);
        }
    }
    let is_alone = |at: usize| {
        let store = &nest.stores[at];
        fills(nest, store) && writers[&procedure.origin(store.buffer)] == Users::One(at)
    };
    let alone: Vec<bool> = (0..nest.stores.len()).map(is_alone).collect();
    // `None` for arrays that are needed for something else.
    let mut computed: TermMap<BufferId, Option<BufferId>> = TermMap::default();
    for ((value, _), &users) in nest.values.iter().zip(&users) {
        let (buffer, result) = match (value, users) {
            (NestValue::Load { buffer, at, guards }, Users::One(user)) => {
                let store = &nest.stores[user];
                let is_own = guards.is_empty() && *at == store.at && alone[user];
                (buffer, is_own.then(|| procedure.origin(store.buffer)))
            }
            (NestValue::Load { buffer, .. } | NestValue::Gather { buffer, .. }, _) => (buffer, None),
            _ => continue,
        };
        let known = computed.entry(procedure.origin(*buffer)).or_insert(result);
        *known = known.filter(|_| *known == result);
    }
    computed.into_iter().filter_map(|(buffer, result)| Some((buffer, result?))).collect()
}

/// Whether a store writes as many elements as the nest has steps, side by side, by a function of other elements: a copy of elements onto
/// themselves is none that kernels make.
fn fills(nest: &Nest, store: &Store) -> bool {
    let mut places = store.at.coefficients.iter().zip(strides(&nest.extents)).zip(&nest.extents);
    let is_row_major = store.at.offset == 0
        && places.all(|((&coefficient, stride), &extent)| extent == 1 || usize::try_from(coefficient) == Ok(stride));
    let is_plain = store.mode == StoreMode::Write && store.index.is_none() && store.guards.is_empty();
    is_row_major && is_plain && !matches!(nest.values[store.value as usize].0, NestValue::Load { .. })
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
