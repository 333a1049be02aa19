//! Patterns and compressed Jacobians of all programs of the corpus, of their derivatives, and of random programs.

use super::corpus::{self, row::Row};
use super::random::arrays::numbers;
use super::random::chance::seed_at;
use super::random::generate::Case;
use super::sample::sample;
use deltaray::algebra::Algebra;
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program;
use deltaray::dual::{Tangent, TangentArray, jvp};
use deltaray::shape::{DType, Value};
use deltaray::sparse::Compression::{self, Columns, Reads, Rows};
use deltaray::sparse::{Compressed, Sparsity, SparsityArray};
use deltaray::term::Body;
use deltaray::term::interpret::interpret;

/// The arrays of a program's inputs or results whose elements are columns or rows.
fn floats(arrays: &[Array]) -> impl Iterator<Item = &Array> {
    arrays.iter().filter(|array| array.dtype().is_float())
}

/// The dense Jacobian, column by column.
pub fn columns(body: &Body, inputs: &[Array]) -> Vec<Vec<f64>> {
    let run = |at: Vec<TangentArray<Concrete>>| interpret::<Tangent<Concrete>>(body, at);
    let mut columns = Vec::new();
    for (place, input) in inputs.iter().enumerate().filter(|(_, input)| input.dtype().is_float()) {
        for position in 0..input.size() {
            let mut tangents = vec![None; inputs.len()];
            let mut elements = vec![Value::from_f64(input.dtype(), 0.0); input.size()];
            elements[position] = Value::from_f64(input.dtype(), 1.0);
            tangents[place] = Some(super::random::arrays::array(&input.ty(), &elements));
            let (values, tangents) = jvp::<Concrete>(&run, inputs.to_vec(), tangents);
            let column = values.iter().zip(tangents).filter(|(value, _)| value.dtype().is_float());
            columns.push(
                column.flat_map(|(value, tangent)| tangent.map_or(vec![0.0; value.size()], |t| numbers(&t))).collect(),
            );
        }
    }
    columns
}

/// The parameters of a program: integers known, or not.
fn parameters(inputs: &[Array], known: bool) -> Vec<SparsityArray> {
    let parameter = |array: &Array| match known && !array.dtype().is_float() {
        true => SparsityArray::known(array.clone()),
        false => SparsityArray::unknown(array.ty()),
    };
    inputs.iter().map(parameter).collect()
}

/// Checks that every element of the dense Jacobian that is not 0 is in the pattern: the number of those that are, and of
/// entries of the pattern.
fn check_pattern(name: &str, body: &Body, inputs: &[Array], known: bool) -> (usize, usize) {
    let dense = columns(body, inputs);
    let mut first = 0;
    let mut arguments = parameters(inputs, known);
    for argument in arguments.iter_mut().filter(|argument| argument.ty().dtype.is_float()) {
        *argument = SparsityArray::input(argument.ty().clone(), first).expect("few columns");
        first += argument.ty().size() as u32;
    }
    let results: Vec<SparsityArray> = interpret::<Sparsity>(body, arguments);
    let rows: Vec<&[u32]> = results
        .iter()
        .filter(|result| Sparsity::dtype(result).is_float())
        .flat_map(|result| (0..result.ty().size()).map(|position| result.columns(position)))
        .collect();
    let mut found = 0;
    for (column, elements) in dense.iter().enumerate() {
        assert_eq!(elements.len(), rows.len(), "{name}");
        for (row, &x) in elements.iter().enumerate() {
            let inside = rows[row].binary_search(&(column as u32)).is_ok();
            // NaN results from 0 times infinity, where a known 0 is left out.
            assert!(
                inside || x == 0.0 || x.is_nan(),
                "{name}: row {row}, column {column} is {x}, integers known: {known}\n{body}"
            );
            found += usize::from(inside && x != 0.0);
        }
    }
    (found, rows.iter().map(|row| row.len()).sum())
}

/// Checks the compressed Jacobian of a program of `f64` against the dense one.
fn check_jacobian(name: &str, compression: Compression, body: &Body, inputs: &[Array]) {
    let dense = columns(body, inputs);
    if dense.iter().flatten().any(|x| !x.is_finite()) {
        return;
    }
    let compressed = Compressed::jacobian::<f64>(body, body.arity(), parameters(inputs, true), Some(compression));
    let compressed = compressed.unwrap_or_else(|error| panic!("{name}: {error}"));
    let matrix = compressed.evaluate::<f64>(inputs.to_vec()).unwrap();
    let (rows, width) = matrix.shape();
    assert_eq!(width, dense.len(), "{name}");
    let found = matrix.to_dense().to_vec();
    for row in 0..rows {
        for (column, elements) in dense.iter().enumerate() {
            let (x, y) = (found[row * width + column], elements[row]);
            let near = (x - y).abs() <= 1e-8 * (1.0 + y.abs());
            assert!(near, "{name}, {compression:?}: row {row}, column {column} is {x} instead of {y}\n{body}");
        }
    }
}

/// Small enough for a dense Jacobian, a column at a time.
pub fn is_small(body: &Body, inputs: &[Array]) -> bool {
    let columns: usize = floats(inputs).map(Array::size).sum();
    columns <= 80 && body.cost().elements * columns as u128 <= 400_000
}

pub fn is_f64(body: &Body) -> bool {
    body.nodes().iter().flat_map(|node| &node.types).all(|ty| ty.dtype != DType::F32)
}

/// The rows of the corpus, or every other one where `DELTARAY_SAMPLE` asks for a sample.
fn rows() -> Vec<Row> {
    let rows = corpus::all();
    match sample() {
        Some(sample) => rows.into_iter().skip(sample % 2).step_by(2).collect(),
        None => rows,
    }
}

#[test]
fn patterns_of_the_corpus() {
    let (mut programs, mut nonzeros, mut entries) = (0, 0, 0);
    for row in rows().iter().filter(|row| !row.heavy && !row.large) {
        let body = program::bulk(&corpus::check::stage(row));
        if !is_small(&body, &row.inputs) {
            continue;
        }
        programs += 1;
        for known in [false, true] {
            let (found, all) = check_pattern(row.name, &body, &row.inputs, known);
            if known {
                nonzeros += found;
                entries += all;
            }
        }
        // The program of values and cotangents, by the inputs and the cotangents.
        let reverse = program::tidy(&program::vjp(&body, body.arity()).unwrap());
        let inputs = corpus::check::with_ones(row, &body);
        if is_small(&reverse, &inputs) {
            check_pattern(&format!("gradient of {}", row.name), &reverse, &inputs, true);
        }
    }
    println!("{programs} programs, {nonzeros} of {entries} entries are not 0");
    assert!(programs > 150, "{programs} programs");
    assert!(nonzeros * 10 >= entries * 6, "of {entries} entries only {nonzeros} are not 0");
}

#[test]
fn jacobians_of_the_corpus() {
    let mut programs = 0;
    for row in rows().iter().filter(|row| !row.heavy && !row.large && row.differentiable) {
        let body = program::bulk(&corpus::check::stage(row));
        let is_short = body.node_count() <= 40 && body.cost().elements < 500;
        if is_short && is_small(&body, &row.inputs) && is_f64(&body) {
            programs += 1;
            // A third of the programs each: the programs that are made take long.
            let compression = [Columns, Rows, Reads][programs % 3];
            check_jacobian(row.name, compression, &body, &row.inputs);
        }
    }
    assert!(programs > 100, "{programs} programs");
}

#[test]
fn hessians_of_the_corpus() {
    let mut programs = 0;
    for row in rows().iter().filter(|row| !row.heavy && !row.large && row.smooth && row.twice) {
        let body = program::bulk(&corpus::check::stage(row));
        let types: Vec<_> = body.result_types().cloned().collect();
        if !matches!(&types[..], [loss] if loss.dtype.is_float() && loss.rank() == 0) || !is_f64(&body) {
            continue;
        }
        let gradient = program::value_and_gradient(&body, body.arity()).unwrap();
        let gradient = program::tidy(&gradient.with_results(&gradient.results()[1..]));
        if !is_small(&gradient, &row.inputs) || gradient.cost().elements >= 4_000 {
            continue;
        }
        let dense = columns(&gradient, &row.inputs);
        if dense.iter().flatten().any(|x| !x.is_finite()) {
            continue;
        }
        programs += 1;
        let compressed = Compressed::hessian::<f64>(&gradient, body.arity(), parameters(&row.inputs, true)).unwrap();
        let found = compressed.evaluate::<f64>(row.inputs.clone()).unwrap().to_dense().to_vec();
        let largest = dense.iter().flatten().fold(1.0, |largest: f64, x| largest.max(x.abs()));
        for (column, elements) in dense.iter().enumerate() {
            for (line, &y) in elements.iter().enumerate() {
                let x = found[line * dense.len() + column];
                assert!((x - y).abs() <= 1e-8 * largest, "{}: row {line}, column {column}: {x}, not {y}", row.name);
            }
        }
    }
    assert!(programs > 50, "{programs} programs");
}

#[test]
fn random_programs() {
    let mut programs = 0;
    for position in 0..150 {
        let seed = seed_at(5, position);
        let case = Case::from_seed(seed);
        let body = program::bulk(&case.body);
        if !is_small(&body, &case.inputs) {
            continue;
        }
        programs += 1;
        for known in [false, true] {
            check_pattern(&format!("seed {seed}"), &body, &case.inputs, known);
        }
    }
    assert!(programs > 75, "{programs} programs");
}
