//! Jacobians of functions with known patterns, and their cost.

use super::counting::{MEGABYTE, measured};
use super::*;
use deltaray::sparse::Compression::{self, Columns, Reads, Rows};

/// Checks the Jacobian of a vector function against the dense one, by every compression. Gives the number of seeds of each
/// compression, and the chosen compression with its seeds.
fn seeds(
    f: impl Fn(&Vector<deltaray::staged::Staged, f64>) -> Vector<deltaray::staged::Staged, f64>,
    dense: impl Fn(&Vector<C, f64>) -> Matrix<C, f64>,
    x: &Vector<C, f64>,
) -> ([usize; 3], (Compression, usize)) {
    let function = stage(f, x).unwrap();
    let dense = dense(x).to_vec();
    let one = |compression: Compression| {
        let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
        close(&jacobian.call(x).unwrap().to_dense().to_vec(), &dense);
        let compressed = jacobian.compressed(x).unwrap();
        assert_eq!(compressed.compression(), compression);
        compressed.seeds()
    };
    let jacobian = function.sparse_jacobian().unwrap();
    close(&jacobian.call(x).unwrap().to_dense().to_vec(), &dense);
    let chosen = jacobian.compressed(x).unwrap();
    ([one(Columns), one(Rows), one(Reads)], (chosen.compression(), chosen.seeds()))
}

macro_rules! seeds {
    (|$x:ident| $body:expr, $at:expr) => {
        seeds(|$x| $body, |x| jacfwd(|$x| $body, x), &$at)
    };
}

#[test]
fn a_diagonal_takes_one_seed() {
    assert_eq!(seeds!(|x| x.sin() * x, numbers(9)), ([1, 1, 1], (Columns, 1)));
}

#[test]
fn a_tridiagonal_takes_three_seeds_or_one_by_reads() {
    for n in [5, 30] {
        let ([columns, rows, reads], chosen) = seeds!(
            |x| {
                let n = x.len();
                build(n, |i| x.at(&i).exp() * x.at(&i + 1) - 2.0 * x.at(i - 1).sin())
            },
            numbers(n)
        );
        assert_eq!(([columns, rows, reads], chosen), ([3, 3, 1], (Reads, 1)));
    }
}

#[test]
fn a_full_row_is_compressed_by_rows_and_a_full_column_by_columns() {
    let full_row = seeds!(|x| concatenate(0, &[x.powi(2).sum().reshape(1), x.slice(0, 1..).sin()]), numbers(12));
    assert_eq!(full_row, ([12, 2, 1], (Reads, 1)));
    let full_column = seeds!(|x| x * x.at(0), numbers(12));
    assert_eq!(full_column, ([2, 12, 1], (Reads, 1)));
}

#[test]
fn a_running_product_is_triangular() {
    // Facts of the Accelerate suite: the last row at [1..5] is [120, 60, 40, 30, 24].
    let x = v(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let function =
        stage(|x: &Vector<_, f64>| scan(scalar(1.0), x, x.len(), |product, x| (&product * &x, &product * x)).1, &x);
    let jacobian = function.unwrap().sparse_jacobian().unwrap();
    let found = jacobian.call(&x).unwrap();
    assert_eq!(found.pattern().to_string(), "x....\nxx...\nxxx..\nxxxx.\nxxxxx\n");
    assert_eq!(found.values().to_vec()[10..], [120.0, 60.0, 40.0, 30.0, 24.0]);
}

#[test]
fn a_grid_of_five_points() {
    let n = 6;
    let five = |x: &Matrix<deltaray::staged::Staged, f64>| {
        build((n, n), |(i, j)| {
            let around = x.at((&i - 1, &j)) + x.at((&i + 1, &j)) + x.at((&i, &j - 1)) + x.at((&i, &j + 1));
            around * x.at((i, j)).exp()
        })
    };
    let x = numbers(n * n).reshape((n, n));
    let jacobian = stage(five, &x).unwrap().sparse_jacobian().unwrap();
    let compressed = jacobian.compressed(&x).unwrap();
    assert_eq!((compressed.compression(), compressed.seeds()), (Reads, 1));
    assert_eq!(compressed.nonzeros(), 5 * n * n - 4 * n);
    let dense = stage(|x| jacfwd(five, x), &x).unwrap().call(&x).unwrap();
    close(&jacobian.call(&x).unwrap().to_dense().to_vec(), &dense.to_vec());
}

/// A dense matrix of these would be 3.2 gigabytes.
#[test]
fn memory_is_linear() {
    let n = 20_000;
    let x = numbers(n);
    let function = stage(
        |x| {
            let n = x.len();
            build(n, |i| x.at(&i).exp() * x.at(&i + 1) - 2.0 * x.at(i - 1).sin())
        },
        &x,
    );
    let function = function.unwrap();
    for compression in [Columns, Rows, Reads] {
        let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
        let (found, first, _) = measured(|| jacobian.call(&x).unwrap());
        assert_eq!(found.nonzeros(), 3 * n - 2);
        let (_, again, _) = measured(|| jacobian.call(&x).unwrap());
        assert!(first < 60 * MEGABYTE && again < 8 * MEGABYTE, "{compression:?}: {first}, then {again} bytes");
        let compressed = jacobian.compressed(&x).unwrap();
        let program = compressed.program().unwrap();
        let largest = program.nodes().iter().flat_map(|node| &node.types).map(|ty| ty.size()).max().unwrap();
        assert!(largest <= 3 * n, "{largest}\n{program}");
    }
}

/// A copy for each of many users would be a column more for each row in every step.
#[test]
fn an_input_that_is_read_in_every_step_is_copied_a_few_times() {
    let x = numbers(50);
    for compression in [Columns, Rows, Reads] {
        let bytes = |steps: usize| {
            let function = stage(|x| (0..steps).fold(x.clone(), |y, _| y.sin() + x), &x).unwrap();
            let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
            let (compressed, _, bytes) = measured(|| jacobian.compressed(&x).unwrap());
            assert_eq!(compressed.nonzeros(), 50);
            bytes
        };
        let (once, twice) = (bytes(300), bytes(600));
        assert!(twice as f64 <= 2.2 * once as f64, "{compression:?}: {once}, then {twice} bytes");
    }
    let ([columns, rows, reads], _) = seeds!(|x| (0..20).fold(x.clone(), |y, _| y.sin() + x), numbers(9));
    assert_eq!([columns, rows, reads], [1; 3]);
    // More reads than are told apart.
    let many = |steps: usize| {
        let x = numbers(50);
        let function = stage(
            |x| {
                (0..steps).fold(x.clone(), |y, k| {
                    let part = x.slice(0, k % 10..k % 10 + 40).reverse(0) * x.slice(0, (7 * k) % 11..(7 * k) % 11 + 40);
                    let at = (iota(50) * (k as i64) + 3).modulo(40);
                    y.sin() + part.gather(&at) + x.gather(&(iota(50) * (k as i64 + 1)).modulo(50))
                })
            },
            &x,
        );
        let jacobian = function.unwrap().sparse_jacobian().unwrap().with_compression(Reads).unwrap();
        measured(|| jacobian.call(&x).unwrap()).2
    };
    let (once, twice) = (many(300), many(600));
    assert!(twice as f64 <= 2.2 * once as f64, "{once}, then {twice} bytes");
}

#[test]
fn columns_of_the_same_colour_need_not_be_used() {
    // Inputs that nothing depends on, results that depend on nothing.
    let x = numbers(4);
    let function = stage(|x: &Vector<_, f64>| stack(&[x.at(2) * 3.0, scalar(5.0), x.at(0).floor(), x.at(7)]), &x);
    let jacobian = function.unwrap().sparse_jacobian().unwrap();
    assert_eq!(jacobian.call(&x).unwrap().pattern().to_string(), "..x.\n....\n....\n....\n");
    assert_eq!(jacobian.call(&x).unwrap().values().to_vec(), [3.0]);
}

#[test]
fn results_that_are_the_input() {
    let x = numbers(3);
    let function = stage(|x: &Vector<_, f64>| (x.clone(), x.sum(), x.slice(0, 1..)), &x).unwrap();
    for compression in [Columns, Rows, Reads] {
        let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
        let found = jacobian.call(&x).unwrap();
        assert_eq!(found.pattern().to_string(), "x..\n.x.\n..x\nxxx\n.x.\n..x\n");
        assert_eq!(found.values().to_vec(), [1.0; 8]);
    }
    let jacobian = function.sparse_jacobian().unwrap();
    assert_eq!(jacobian.compressed(&x).unwrap().seeds(), 1);
}
