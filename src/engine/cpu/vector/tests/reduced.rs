//! Reductions against sums of one element after the other.

use super::*;

fn kernel_on<T: Tested>(kernel: VectorKernel, start: T, a: &[T], b: &[T]) -> T {
    let mut result = [start];
    // SAFETY: both operands have this many elements, and the result one.
    unsafe { kernel(result.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast(), std::ptr::null(), a.len()) };
    result[0]
}

fn extremes<T: Tested>() {
    let larger = |a: T, b: T| if a >= b || a.is_nan() { a } else { b };
    let smaller = |a: T, b: T| if a <= b || a.is_nan() { a } else { b };
    for isa in Instructions::available() {
        for count in lengths() {
            for seed in 0..3 {
                let a = T::elements(count, seed);
                let numbers: Vec<T> = a.iter().copied().filter(|x| !x.is_nan()).collect();
                for a in [&a, &numbers] {
                    let found = kernel_on(reduce(isa, Reduction::Max, T::DTYPE), T::LOWEST, a, a);
                    // The sign of zero too is the same with all instructions.
                    let portable = reduce(Instructions::Portable, Reduction::Max, T::DTYPE);
                    let plain = kernel_on(portable, T::LOWEST, a, a);
                    assert_eq!(format!("{found:?}"), format!("{plain:?}"));
                    let expected = a.iter().copied().fold(T::LOWEST, larger);
                    assert!(found == expected || (found.is_nan() && expected.is_nan()), "{found:?} not {expected:?}");
                    let found = kernel_on(reduce(isa, Reduction::Min, T::DTYPE), T::HIGHEST, a, a);
                    let expected = a.iter().copied().fold(T::HIGHEST, smaller);
                    assert!(found == expected || (found.is_nan() && expected.is_nan()), "{found:?} not {expected:?}");
                }
            }
        }
    }
}

fn exact_sums<T: Tested>() {
    for isa in Instructions::available() {
        for count in lengths() {
            let (a, b, start) = (T::elements(count, 1), T::elements(count, 2), T::SPECIAL[1]);
            let sum = a.iter().fold(start, |sum, &x| sum.plus(x));
            assert_eq!(kernel_on(reduce(isa, Reduction::Sum, T::DTYPE), start, &a, &b), sum);
            let products = a.iter().zip(&b).fold(start, |sum, (&a, &b)| sum.plus(a.times(b)));
            assert_eq!(kernel_on(dot(isa, T::DTYPE), start, &a, &b), products);
        }
    }
}

#[test]
fn extremes_and_sums_of_integers() {
    extremes::<f32>();
    extremes::<f64>();
    extremes::<i32>();
    extremes::<i64>();
    extremes::<bool>();
    exact_sums::<i32>();
    exact_sums::<i64>();
    exact_sums::<bool>();
}

/// Sums of floats are within some units of the sum of sizes; sums of small integers are exact.
fn sums_of_floats<T: Tested>(make: impl Fn(f64) -> T, value: impl Fn(T) -> f64, epsilon: f64) {
    let mut random = Random(1);
    for count in lengths() {
        for whole in [false, true] {
            let mut draw = || {
                let x = random.within(-9.0, 9.0);
                make(if whole { x.round() } else { x })
            };
            let a: Vec<T> = (0..count).map(|_| draw()).collect();
            let b: Vec<T> = (0..count).map(|_| draw()).collect();
            let pairs = || a.iter().zip(&b).map(|(&a, &b)| (value(a), value(b)));
            let sum: f64 = pairs().map(|(a, _)| a).sum();
            let products: f64 = pairs().map(|(a, b)| a * b).sum();
            let squares: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
            let size: f64 = pairs().map(|(a, b)| (a.abs() + b.abs() + 1.0).powi(2)).sum::<f64>() + 1.0;
            let mut sums: Vec<T> = Vec::new();
            for isa in Instructions::available() {
                let kernels =
                    [reduce(isa, Reduction::Sum, T::DTYPE), dot(isa, T::DTYPE), square_distance(isa, T::DTYPE)];
                for (kernel, expected) in kernels.into_iter().zip([sum, products, squares]) {
                    let found = value(kernel_on(kernel, make(1.0), &a, &b));
                    let error = if whole { 0.0 } else { 4.0 * epsilon * size };
                    assert!((found - 1.0 - expected).abs() <= error, "{found} not 1 + {expected}, {isa:?} {count}");
                }
                sums.push(kernel_on(kernels[0], make(1.0), &a, &b));
            }
            assert!(sums.iter().all(|sum| sum.same_bits(sums[0])), "the order of a sum depends on the instructions");
        }
    }
}

#[test]
fn sums_products_and_distances_of_floats() {
    sums_of_floats(|x| x as f32, f64::from, f64::from(f32::EPSILON));
    sums_of_floats(|x| x, |x| x, f64::EPSILON);
}

/// Sums of rows of whole numbers, which are exact: of rows that share an operand, and of rows that share none.
fn rows<T: Tested>(make: impl Fn(f64) -> T, value: impl Fn(T) -> f64) {
    let mut random = Random(2);
    let width = size_of::<T>() as isize;
    for count in lengths() {
        for rows in [0, 1, 3, 4, 5, 9] {
            let mut draw =
                |count: usize| -> Vec<T> { (0..count).map(|_| make(random.within(-9.0, 9.0).round())).collect() };
            // A row's distance from the next is more than its length.
            let stride = count + 3;
            let (a, b) = (draw(rows * stride + count), draw(rows * stride + count));
            for shared in [true, false] {
                let step = if shared { 0 } else { stride };
                let pairs = |row: usize| (0..count).map(move |at| (row * step + at, row * stride + at));
                for isa in Instructions::available() {
                    for (kernel, squares) in [(dots(isa, T::DTYPE), false), (square_distances(isa, T::DTYPE), true)] {
                        let mut results = vec![make(2.0); 2 * rows];
                        // SAFETY: there are so many rows of so many elements, and every second result is of a row.
                        unsafe {
                            let result = (results.as_mut_ptr().cast(), 2 * width);
                            let first = (a.as_ptr().cast(), step as isize * width);
                            kernel(result, first, (b.as_ptr().cast(), stride as isize * width), rows, count);
                        }
                        for row in 0..rows {
                            let term = |(x, y): (usize, usize)| {
                                let (x, y) = (value(a[x]), value(b[y]));
                                if squares { (x - y) * (x - y) } else { x * y }
                            };
                            let expected = 2.0 + pairs(row).map(term).sum::<f64>();
                            assert_eq!(
                                value(results[2 * row]),
                                expected,
                                "{isa:?}, row {row} of {rows}, {count} elements"
                            );
                            assert_eq!(value(results[2 * row + 1]), 2.0, "nothing is written between results");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_rows() {
    rows(|x| x as f32, f64::from);
    rows(|x| x, |x| x);
}

/// Sums of products of whole numbers by column, of rows whose first operand is a run or one element.
fn columns<T: Tested>(make: impl Fn(f64) -> T, value: impl Fn(T) -> f64) {
    let mut random = Random(3);
    let width = size_of::<T>() as isize;
    for count in lengths() {
        for rows in [0, 1, 2, 3, 8, 12] {
            let mut draw =
                |count: usize| -> Vec<T> { (0..count).map(|_| make(random.within(-9.0, 9.0).round())).collect() };
            let stride = count + 3;
            let (a, b) = (draw(rows * stride + count), draw(rows * stride + count));
            for (operand, along) in [(OperandForm::Run, 1), (OperandForm::One, 0)] {
                for isa in Instructions::available() {
                    let mut result = vec![make(2.0); count + 1];
                    let [first, second] =
                        [&a, &b].map(|operand| (operand.as_ptr().cast::<u8>(), stride as isize * width));
                    // SAFETY: there are so many rows of so many elements, and elements of the result.
                    unsafe {
                        let kernel = multiply_add_columns(isa, T::DTYPE, operand);
                        kernel((result.as_mut_ptr().cast(), 0), first, second, rows, count);
                    }
                    for (column, &found) in result[..count].iter().enumerate() {
                        let term =
                            |row: usize| value(a[row * stride + along * column]) * value(b[row * stride + column]);
                        let expected = 2.0 + (0..rows).map(term).sum::<f64>();
                        assert_eq!(value(found), expected, "{isa:?}, column {column} of {count}, {rows} rows");
                    }
                    assert_eq!(value(result[count]), 2.0, "nothing is written behind the columns");
                }
            }
        }
    }
}

#[test]
fn sums_of_columns() {
    columns(|x| x as f32, f64::from);
    columns(|x| x, |x| x);
    columns(|x| x as i32, f64::from);
    columns(|x| x as i64, |x| x as f64);
}
