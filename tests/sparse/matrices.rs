//! Jacobians and Hessians of functions with known patterns.

use super::*;
use deltaray::sparse::Compression::{self, Columns, Reads, Rows, Star};

/// Checks the Jacobian of a vector function against the dense one, by every compression; the seeds that these take, and
/// those of the one that is chosen.
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
