use super::*;
use crate::concrete::{Arithmetic, Scalar};

/// A number that is small, exact in both types, and another for each position and seed.
fn number<T: Arithmetic>(seed: usize, position: usize) -> T {
    T::from_i64(((position * 7 + seed * 13) % 17) as i64 - 8)
}

/// A matrix in memory, by rows or by columns, between guards that nothing may write to.
struct Matrix<T> {
    elements: Vec<T>,
    strides: (usize, usize),
}

const GUARD: usize = 40;

impl<T: Scalar + PartialEq> Matrix<T> {
    fn new(seed: usize, [rows, columns]: [usize; 2], by_rows: bool) -> Matrix<T> {
        let elements = (0..rows * columns + 2 * GUARD).map(|position| number(seed, position)).collect();
        Matrix { elements, strides: if by_rows { (columns, 1) } else { (1, rows) } }
    }

    fn at(&self, i: usize, j: usize) -> T {
        self.elements[GUARD + i * self.strides.0 + j * self.strides.1]
    }

    fn operand(&mut self) -> Operand<T> {
        (self.elements[GUARD..].as_mut_ptr(), self.strides.0 as isize, self.strides.1 as isize)
    }
}

fn check<T: Float + Scalar + PartialEq>(sizes: [usize; 3], layout: usize, add: bool) {
    let [m, k, n] = sizes;
    let by_rows = |operand: usize| layout >> operand & 1 == 0;
    let mut a: Matrix<T> = Matrix::new(1, [m, k], by_rows(0));
    let mut b: Matrix<T> = Matrix::new(2, [k, n], by_rows(1));
    for isa in Instructions::available() {
        let before: Matrix<T> = Matrix::new(3, [m, n], by_rows(2));
        let mut c: Matrix<T> = Matrix::new(3, [m, n], by_rows(2));
        let mut packing = vec![Line::ZERO; packing_lines(sizes, size_of::<T>())];
        // SAFETY: the matrices are apart and as large as the sizes say, and so is the packing memory.
        unsafe { T::multiply(isa, sizes, [a.operand(), b.operand(), c.operand()], add, &mut packing) };
        for i in 0..m {
            for j in 0..n {
                let start = if add { before.at(i, j) } else { <T as Arithmetic>::ZERO };
                let expected = (0..k).fold(start, |sum, p| sum.plus(a.at(i, p).times(b.at(p, j))));
                assert!(c.at(i, j) == expected, "{isa:?} {sizes:?} {layout} {add}: {:?} at {i}, {j}", c.at(i, j));
            }
        }
        let outside = (0..GUARD).chain(GUARD + m * n..2 * GUARD + m * n);
        outside.for_each(|at| assert!(c.elements[at] == before.elements[at], "{isa:?} {sizes:?}: written outside"));
    }
}

#[test]
fn products_of_all_layouts_and_sizes_around_blocks() {
    let sizes = [1, 3, 4, 5, 8, 13];
    for m in sizes {
        for n in sizes {
            for k in [0, 1, 5] {
                for layout in 0..8 {
                    check::<f64>([m, k, n], layout, layout % 3 == 0);
                    check::<f32>([m, k, n], layout, layout % 3 == 1);
                }
            }
        }
    }
    for layout in 0..8 {
        check::<f64>([ROWS + 5, DEPTH + 3, 9], layout, true);
        check::<f32>([7, 2, COLUMNS + 3], layout, false);
        check::<f64>([COLUMNS + 3, 2 * DEPTH, 5], layout, false);
    }
    check::<f64>([0, 3, 2], 0, false);
    check::<f32>([3, 3, 0], 0, true);
}
