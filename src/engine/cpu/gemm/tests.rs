use super::*;
use crate::array::{Arithmetic, ElementType};

/// A number that is small, exact in both types, and another for each position and seed.
fn number<T: Arithmetic>(seed: usize, position: usize) -> T {
    T::from_i64(((position * 7 + seed * 13) % 17) as i64 - 8)
}

/// A matrix in memory, by rows or by columns, between guards that nothing may write to.
struct Stored<T> {
    elements: Vec<T>,
    strides: (usize, usize),
}

const GUARD: usize = 40;

impl<T: ElementType + PartialEq> Stored<T> {
    fn new(seed: usize, [rows, columns]: [usize; 2], by_rows: bool) -> Stored<T> {
        let elements = (0..rows * columns + 2 * GUARD).map(|position| number(seed, position)).collect();
        Stored { elements, strides: if by_rows { (columns, 1) } else { (1, rows) } }
    }

    fn at(&self, i: usize, j: usize) -> T {
        self.elements[GUARD + i * self.strides.0 + j * self.strides.1]
    }

    fn strides(&self) -> [[isize; 1]; 2] {
        [[self.strides.0 as isize], [self.strides.1 as isize]]
    }

    fn operand<'a>(&mut self, [rows, columns]: &'a [[isize; 1]; 2]) -> MatrixPlaces<'a, T> {
        let places = |strides| Places { extents: &[usize::MAX], strides };
        MatrixPlaces { start: self.elements[GUARD..].as_mut_ptr(), rows: places(rows), columns: places(columns) }
    }
}

fn check<T: GemmElement + ElementType + PartialEq>(sizes: [usize; 3], layout: usize, update: Update) {
    let [m, k, n] = sizes;
    let by_rows = |operand: usize| layout >> operand & 1 == 0;
    let mut a: Stored<T> = Stored::new(1, [m, k], by_rows(0));
    let mut b: Stored<T> = Stored::new(2, [k, n], by_rows(1));
    for isa in Instructions::available() {
        let before: Stored<T> = Stored::new(3, [m, n], by_rows(2));
        let mut c: Stored<T> = Stored::new(3, [m, n], by_rows(2));
        let mut packing = vec![CacheLine::ZERO; packing_lines(sizes, size_of::<T>())];
        // SAFETY: the matrices are apart and as large as the sizes say, and so is the packing memory.
        unsafe {
            let strides = [a.strides(), b.strides(), c.strides()];
            let operands = [a.operand(&strides[0]), b.operand(&strides[1]), c.operand(&strides[2])];
            T::multiply(isa, [0..m, 0..n], k, operands, update, Packing { parts: &mut packing, kept: None });
        };
        for i in 0..m {
            for j in 0..n {
                let start = if update == Update::Set { <T as Arithmetic>::ZERO } else { before.at(i, j) };
                let sign = T::from_i32(if update == Update::Subtract { -1 } else { 1 });
                let expected = (0..k).fold(start, |sum, p| sum.plus(a.at(i, p).times(b.at(p, j)).times(sign)));
                assert!(c.at(i, j) == expected, "{isa:?} {sizes:?} {layout} {update:?}: {:?} at {i}, {j}", c.at(i, j));
            }
        }
        // The first of two products packs the operand that both have.
        let lines = vec![CacheLine::ZERO; kept_lines(sizes, size_of::<T>())];
        let mut kept = KeptOperand { lines, is_packed: false };
        for _ in 0..2 {
            let mut again: Stored<T> = Stored::new(3, [m, n], by_rows(2));
            // SAFETY: as above.
            unsafe {
                let strides = [a.strides(), b.strides(), again.strides()];
                let operands = [a.operand(&strides[0]), b.operand(&strides[1]), again.operand(&strides[2])];
                let packing = Packing { parts: &mut packing, kept: Some(&mut kept) };
                T::multiply(isa, [0..m, 0..n], k, operands, update, packing);
            };
            assert!(again.elements == c.elements, "{isa:?} {sizes:?} {layout} {update:?}: with a kept operand");
        }
        let outside = (0..GUARD).chain(GUARD + m * n..2 * GUARD + m * n);
        outside.for_each(|at| assert!(c.elements[at] == before.elements[at], "{isa:?} {sizes:?}: written outside"));
    }
}

fn update(number: usize) -> Update {
    [Update::Add, Update::Set, Update::Subtract][number % 3]
}

#[test]
fn products_of_all_layouts_and_sizes_around_blocks() {
    let sizes = [1, 3, 4, 5, 8, 13];
    for m in sizes {
        for n in sizes {
            for k in [0, 1, 5] {
                for layout in 0..8 {
                    check::<f64>([m, k, n], layout, update(layout));
                    check::<f32>([m, k, n], layout, update(layout + 2));
                    check::<i64>([m, k, n], layout, update(layout + 1));
                    check::<i32>([m, k, n], layout, update(layout));
                }
            }
        }
    }
    for layout in 0..8 {
        check::<f64>([ROWS + 5, DEPTH + 3, 9], layout, Update::Subtract);
        check::<f32>([7, 2, COLUMNS + 3], layout, Update::Set);
        check::<f64>([COLUMNS + 3, 2 * DEPTH, 5], layout, Update::Set);
        // Either operand is packed: whole registers of steps and some more, whole panels and a part of one.
        for lines in [19, 41] {
            check::<f64>([lines, 2 * STEPS + 5, DIRECT + 5], layout, update(layout));
            check::<f32>([DIRECT + 5, DEPTH + 2 * STEPS + 5, lines], layout, update(layout + 1));
            check::<f32>([lines, 2 * STEPS + 5, DIRECT + 5], layout, update(layout + 2));
            check::<i32>([DIRECT + 5, 2 * STEPS + 5, lines], layout, update(layout));
        }
    }
    check::<f64>([0, 3, 2], 0, Update::Set);
    check::<f32>([3, 3, 0], 0, Update::Add);
}

/// The windows of [samples, channels, rows, columns] times [outputs, channels, window's rows, window's columns], in the order
/// of a convolution's result, of some rows and columns of the product at a time.
#[allow(clippy::many_single_char_names)]
fn check_windows<T: GemmElement + ElementType + PartialEq>([n, c, y, x, o, w]: [usize; 6], parts: usize) {
    let (wide, high) = (x + w - 1, y + w - 1);
    let source: Vec<T> = (0..n * c * high * wide).map(|at| number(1, at)).collect();
    let weights: Vec<T> = (0..o * c * w * w).map(|at| number(2, at)).collect();
    let [rows, summed] = [[n, y, x], [c, w, w]];
    let left = [[(c * high * wide) as isize, wide as isize, 1], [(high * wide) as isize, wide as isize, 1]];
    let places = |extents, strides| Places { extents, strides };
    let result_rows = [(o * y * x) as isize, x as isize, 1];
    let (result_columns, right_columns) = ([(y * x) as isize], [(c * w * w) as isize]);
    for isa in Instructions::available() {
        let mut result = vec![<T as Arithmetic>::ZERO; n * o * y * x];
        let a = MatrixPlaces {
            start: source.as_ptr().cast_mut(),
            rows: places(&rows, &left[0]),
            columns: places(&summed, &left[1]),
        };
        let b = MatrixPlaces {
            start: weights.as_ptr().cast_mut(),
            rows: places(&[usize::MAX], &[1]),
            columns: places(&[usize::MAX], &right_columns),
        };
        let start = result.as_mut_ptr();
        let to =
            MatrixPlaces { start, rows: places(&rows, &result_rows), columns: places(&[usize::MAX], &result_columns) };
        let sizes @ [m, k, _] = [n * y * x, c * w * w, o];
        let mut packing = vec![CacheLine::ZERO; packing_lines(sizes, size_of::<T>())];
        for part in 0..parts {
            let bound = |part: usize| m * part / parts;
            // SAFETY: the places are inside of the arrays.
            unsafe {
                T::multiply(
                    isa,
                    [bound(part)..bound(part + 1), 0..o],
                    k,
                    [a, b, to],
                    Update::Set,
                    Packing { parts: &mut packing, kept: None },
                )
            };
        }
        for (position, &found) in result.iter().enumerate() {
            let (i, j) = (position % (y * x), position / (y * x) % o);
            let (sample, row, column) = (position / (o * y * x), i / x, i % x);
            let expected = (0..k).fold(<T as Arithmetic>::ZERO, |sum, p| {
                let (channel, down, across) = (p / (w * w), p / w % w, p % w);
                let at = ((sample * c + channel) * high + row + down) * wide + column + across;
                sum.plus(source[at].times(weights[j * k + p]))
            });
            assert!(found == expected, "{isa:?}: {found:?}, not {expected:?}, at {position}");
        }
    }
}

#[test]
fn rows_and_columns_of_several_axes() {
    check_windows::<f64>([2, 3, 4, 5, 6, 3], 1);
    check_windows::<f32>([3, 2, 10, 10, 16, 5], 3);
    check_windows::<f32>([1, 12, 3, 37, 100, 5], 2);
    check_windows::<f64>([2, 1, 9, 1, 1, 1], 1);
    check_windows::<i64>([3, 2, 5, 6, 9, 2], 2);
}

/// Sums of integers beyond their type wrap, whatever the registers: numbers of all bits meet in halves of them.
#[test]
fn products_of_integers_wrap() {
    fn check<T: GemmElement + ElementType + PartialEq>(number: impl Fn(usize) -> T) {
        let (m, k, n) = (9, 37, 33);
        let (a, b): (Vec<T>, Vec<T>) =
            ((0..m * k).map(&number).collect(), (m * k..m * k + k * n).map(&number).collect());
        for isa in Instructions::available() {
            let mut c = vec![T::ZERO; m * n];
            let mut packing = vec![CacheLine::ZERO; packing_lines([m, k, n], size_of::<T>())];
            let places = |strides| Places { extents: &[usize::MAX], strides };
            let matrix = |start: *const T, rows, columns| MatrixPlaces {
                start: start.cast_mut(),
                rows: places(rows),
                columns: places(columns),
            };
            let operands =
                [matrix(a.as_ptr(), &[37], &[1]), matrix(b.as_ptr(), &[33], &[1]), matrix(c.as_mut_ptr(), &[33], &[1])];
            // SAFETY: the matrices are apart and as large as the sizes say, and so is the packing memory.
            unsafe {
                T::multiply(isa, [0..m, 0..n], k, operands, Update::Set, Packing { parts: &mut packing, kept: None })
            };
            for (position, &found) in c.iter().enumerate() {
                let (i, j) = (position / n, position % n);
                let expected = (0..k).fold(T::ZERO, |sum, p| sum.plus(a[i * k + p].times(b[p * n + j])));
                assert!(found == expected, "{isa:?}: {found:?}, not {expected:?}, at {position}");
            }
        }
    }
    let bits = |position: usize| (position as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    check::<i64>(|position| bits(position) as i64);
    check::<i32>(|position| bits(position) as i32);
}
