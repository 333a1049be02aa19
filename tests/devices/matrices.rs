//! Operations on matrices that have kernels of their own, in tiles and in panels: the numbers of the processor's engine.

use crate::is_there;
use deltaray::concrete::Array;
use deltaray::engine::cpu::{self, Cpu};
use deltaray::linalg::*;
use deltaray::opencl::{DeviceKind, OpenCl, Program};
use deltaray::prelude::*;
use deltaray::staged::Staged;
use deltaray::tensor::{Family, Float};
use deltaray::term::Body;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A program, and arguments of it.
struct Task {
    name: String,
    body: Body,
    inputs: Vec<Array>,
}

impl Task {
    fn new<T, F, O>(name: String, f: F, at: T) -> Task
    where
        T: Tree<Concrete>,
        O: Tree<Staged>,
        F: Fn(&<T::Family as Family>::At<Staged>) -> O,
    {
        let staged = stage(|x| f(x), &at).unwrap_or_else(|error| panic!("{name}: {error}"));
        Task { name, body: staged.program().clone(), inputs: at.leaves() }
    }
}

/// The elements of an array of floats.
fn elements(array: &Array) -> Vec<f64> {
    let single = || array.to_vec::<f32>().map(|all| all.into_iter().map(f64::from).collect());
    array.to_vec::<f64>().or_else(single).expect("floats")
}

/// Runs all on the device as one source and on the processor, and compares what each gives.
fn assert_same(tasks: &[Task], options: &OpenCl, precision: f64) -> Vec<Program> {
    let programs = Program::all(tasks.iter().map(|task| &task.body), options).unwrap();
    for (program, task) in programs.iter().zip(tasks) {
        let uploaded: Vec<_> = task.inputs.iter().map(|array| program.upload(array).unwrap()).collect();
        let found: Vec<Array> = program.run(&uploaded).unwrap().iter().map(|array| array.download().unwrap()).collect();
        let expected = cpu::Program::new(&task.body, &Cpu::default()).unwrap().run(&task.inputs).unwrap();
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (name, expected) = (&task.name, elements(expected));
            let largest = expected.iter().filter(|x| x.is_finite()).fold(0.0, |most, x| f64::max(most, x.abs()));
            for (place, (x, y)) in elements(found).into_iter().zip(expected).enumerate() {
                let is_same = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= precision * largest;
                assert!(is_same, "{name}, result {at}, element {place}: {x} instead of {y}");
            }
        }
    }
    programs
}

/// Asserts that a source has kernels of these names, which end in a number.
fn assert_kernels(program: &Program, names: &[&str]) {
    for name in names {
        let numbered = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
        let head = format!("void {name}");
        assert!(program.source().split(&head).skip(1).any(numbered), "no kernel {name}");
    }
}

/// With the device's defaults, and as for graphics processors.
fn both() -> [OpenCl; 2] {
    [OpenCl::default(), OpenCl::default().written_for(DeviceKind::Gpu)]
}

/// Numbers between −1 and 1 that follow no rule.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    let mut state = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn tensor<E: Float>(shape: [usize; 3], elements: &[f64]) -> Tensor3<Concrete, E> {
    Tensor::from_elements((shape[0], shape[1], shape[2]), elements.iter().map(|&x| E::from_number(x)).collect())
}

/// Matrices without a rule.
fn any<E: Float>([count, rows, columns]: [usize; 3]) -> Tensor3<Concrete, E> {
    tensor([count, rows, columns], &numbers(rows * 31 + columns, count * rows * columns))
}

/// Matrices that are not symmetric, and whose symmetric parts are positive definite.
fn definite<E: Float>([count, n]: [usize; 2]) -> Tensor3<Concrete, E> {
    let mut all = numbers(n, count * n * n);
    for (at, x) in all.iter_mut().enumerate() {
        let (row, column) = (at / n % n, at % n);
        *x = *x / n as f64 + if row == column { 2.0 } else { 0.0 };
    }
    tensor([count, n, n], &all)
}

/// All kinds of triangular matrices.
fn triangles() -> Vec<Triangle> {
    let turned = [Triangle::LOWER, Triangle::UPPER].into_iter().flat_map(|triangle| [triangle, triangle.transposed()]);
    turned.flat_map(|triangle| [triangle, triangle.unit()]).collect()
}

/// Factors of some matrices of n rows.
fn factors<E: Float>((n, count): (usize, usize)) -> Task {
    Task::new(
        format!("factors of {count} matrices of {n}"),
        |(definite, any): &(Tensor3<Staged, E>, Tensor3<Staged, E>)| (cholesky(definite), lu(any).packed),
        (definite([count, n]), any([count, n, n])),
    )
}

/// Solutions of all kinds of systems of n equations, for some columns.
fn solutions<E: Float>((n, count, columns): (usize, usize, usize)) -> Task {
    let name = format!("solutions of {count} systems of {n}, {columns} columns");
    solutions_of(name, definite::<E>([count, n]), any([count, n, columns]))
}

fn solutions_of<E: Float>(name: String, a: Tensor3<Concrete, E>, b: Tensor3<Concrete, E>) -> Task {
    let solutions = |(a, b): &(Tensor3<Staged, E>, Tensor3<Staged, E>)| -> Vec<Tensor3<Staged, E>> {
        triangles().into_iter().map(|triangle| solve_triangular(a, b, triangle)).collect()
    };
    Task::new(name, solutions, (a, b))
}

/// Matrices of which some elements are others: each is a matrix, a row, a column and the element.
fn changed(all: &Tensor3<Concrete, f64>, changes: &[(usize, usize, usize, f64)]) -> Tensor3<Concrete, f64> {
    let shape = all.shape();
    let mut elements = all.to_vec();
    for &(matrix, row, column, x) in changes {
        elements[(matrix * shape[1] + row) * shape[2] + column] = x;
    }
    tensor([shape[0], shape[1], shape[2]], &elements)
}

/// Matrices of which some are bad: the others are as they would be alone.
fn bad(n: usize) -> [Task; 2] {
    let last = n - 1;
    let no_factors = [(1, 0, 0, -1.0), (2, last, last, 0.0), (3, 1, 0, NAN), (4, last, last, INF), (5, 0, 0, 0.0)];
    let zeros = (0..n).map(|row| (1, row, n / 2, 0.0));
    let equal = (0..n).map(|row| (4, row, 0, if row % 2 == 0 { 1.0 } else { -1.0 }));
    let others = [(2, last, 0, NAN), (2, 1, 0, NAN), (3, last, 1, -0.0)];
    let singular: Vec<_> = zeros.chain(equal).chain(others).collect();
    [
        Task::new(
            format!("bad factors of {n}"),
            |a: &Tensor3<Staged, f64>| cholesky(a),
            changed(&definite([7, n]), &no_factors),
        ),
        Task::new(
            format!("bad LU of {n}"),
            |a: &Tensor3<Staged, f64>| lu(a).packed,
            changed(&any([6, n, n]), &singular),
        ),
    ]
}

fn rectangular([m, n]: [usize; 2]) -> Task {
    Task::new(format!("{m} by {n}"), |a: &Tensor3<Staged, f64>| lu(a).packed, any([3, m, n]))
}

#[test]
fn factors_and_solutions_are_those_of_the_processor() {
    if !is_there() {
        return;
    }
    // Within a tile, one tile, and several with and without a remainder.
    let extents = [(1, 3), (7, 5), (32, 1), (64, 1), (65, 2), (130, 2), (200, 1)];
    let mut tasks: Vec<Task> = extents.into_iter().map(factors::<f64>).collect();
    tasks.extend([(7, 20, 1), (65, 2, 3), (130, 1, 70)].map(solutions::<f64>));
    tasks.extend([[3, 5], [1, 40], [40, 1], [7, 40], [100, 33], [33, 100], [300, 20]].map(rectangular));
    tasks.extend([7, 40].into_iter().flat_map(bad));
    let systems = changed(&any([5, 7, 7]), &[(1, 3, 3, 0.0), (2, 4, 4, NAN), (3, 6, 0, INF), (3, 0, 6, INF)]);
    tasks.push(solutions_of("bad systems".into(), systems, any([5, 7, 1])));
    for options in both() {
        assert_same(&tasks, &options, 1e-11);
    }
}

/// All kinds of factors by reflections.
fn reflections<E: Float>([count, m, n]: [usize; 3]) -> Task {
    reflections_of(format!("reflections of {count} matrices of {m} by {n}"), any::<E>([count, m, n]))
}

fn reflections_of<E: Float>(name: String, a: Tensor3<Concrete, E>) -> Task {
    let factors = |a: &Tensor3<Staged, E>| {
        let (Qr { q, r }, Qr { q: square, r: rest }) = (qr(a), full_qr(a));
        ((q, r), (square, (rest, qr(&(a + a)).r)))
    };
    Task::new(name, factors, a)
}

#[test]
fn reflections_are_those_of_the_processor() {
    if !is_there() {
        return;
    }
    let shapes = [[20, 1, 1], [5, 7, 7], [9, 4, 4], [3, 9, 4], [3, 4, 9], [2, 32, 32], [1, 33, 33], [2, 70, 70]];
    let shapes = shapes.into_iter().chain([[2, 100, 40], [2, 40, 100], [1, 300, 3], [1, 3, 300], [1, 64, 128]]);
    let mut tasks: Vec<Task> = shapes.map(reflections::<f64>).collect();
    // Columns of zeros, and a matrix of them; numbers whose squares leave their range, and some that almost do; bad ones.
    for n in [5, 40] {
        let a = any([6, n, n]);
        let mut changes: Vec<_> = (0..n).flat_map(|row| [(0, row, 0, 0.0), (1, row, 3, 0.0)]).collect();
        changes.extend((0..n * n).map(|at| (2, at / n, at % n, 0.0)));
        let size = n * n;
        changes.extend((0..size).map(|at| (3, at / n, at % n, a.to_vec()[3 * size + at] * 1e-200)));
        changes.extend((0..size).map(|at| (4, at / n, at % n, a.to_vec()[4 * size + at] * 1.7e308)));
        if n <= 32 {
            changes.push((5, n - 1, 2, NAN));
        }
        tasks.push(reflections_of(format!("special reflections of {n}"), changed(&a, &changes)));
    }
    for options in both() {
        let programs = assert_same(&tasks, &options, 1e-11);
        assert_kernels(&programs[0], &["qr", "qr_triangle", "reflections"]);
    }
    let single = [reflections::<f32>([5, 7, 7]), reflections::<f32>([2, 65, 40])];
    assert_same(&single, &both()[1], 1e-4);
}

/// Eigenvalues and singular values, alone and with vectors.
fn rotations<E: Float>([count, m, n]: [usize; 3]) -> Task {
    let (square, any) = (any::<E>([count, n, n]), any::<E>([count, m, n]));
    rotations_of(format!("rotations of {count} matrices of {m} by {n}"), square, any)
}

fn rotations_of<E: Float>(name: String, square: Tensor3<Concrete, E>, any: Tensor3<Concrete, E>) -> Task {
    let factors = |(square, any): &(Tensor3<Staged, E>, Tensor3<Staged, E>)| {
        let (eigen, singular) = (eigh(square), svd(any));
        let alone = (eigh_values(square), singular_values(any));
        ((eigen.values, eigen.vectors), (singular.values, (singular.u, singular.v)), alone)
    };
    Task::new(name, factors, (square, any))
}

#[test]
fn rotations_are_those_of_the_processor() {
    if !is_there() {
        return;
    }
    let shapes =
        [[20, 1, 1], [9, 2, 2], [3, 3, 3], [5, 7, 7], [40, 4, 4], [3, 9, 4], [3, 4, 9], [1, 33, 33], [2, 90, 70]];
    let shapes = shapes.into_iter().chain([[1, 40, 64], [1, 300, 3], [1, 3, 10], [1, 1, 5], [3, 5, 1]]);
    let mut tasks: Vec<Task> = shapes.map(rotations::<f64>).collect();
    for n in [5, 40] {
        let all = any([5, n, n]);
        let size = n * n;
        let mut changes: Vec<_> = (0..size).map(|at| (0, at / n, at % n, all.to_vec()[at] * 1e-200)).collect();
        changes.extend((0..size).map(|at| (1, at / n, at % n, all.to_vec()[size + at] * 1e300)));
        changes.extend([(2, 0, 1, NAN), (3, n - 1, n - 1, INF)]);
        let all = changed(&all, &changes);
        tasks.push(rotations_of(format!("special rotations of {n}"), all.clone(), all));
    }
    for options in both() {
        let programs = assert_same(&tasks, &options, 1e-9);
        assert_kernels(&programs[0], &["eigh", "eigh_values", "svd", "svd_values"]);
    }
    let single = [rotations::<f32>([5, 7, 7]), rotations::<f32>([2, 9, 40])];
    assert_same(&single, &both()[1], 1e-3);
}

#[test]
fn factors_and_solutions_of_single_precision_are_those_of_the_processor() {
    if !is_there() {
        return;
    }
    let tasks = [factors::<f32>((7, 5)), factors::<f32>((65, 2)), solutions::<f32>((65, 1, 3))];
    assert_same(&tasks, &both()[1], 1e-4);
}

#[test]
fn derivatives_of_factors_are_those_of_the_processor() {
    if !is_there() {
        return;
    }
    let tasks = [(7, 3), (20, 2), (70, 2)].map(|(n, count)| {
        let derivatives = |(a, moved): &(Tensor3<Staged, f64>, Tensor3<Staged, f64>)| {
            let (factor, derivative) = jvp(|a: &Tensor3<_, f64>| cholesky(a), a, moved);
            let gradient = grad(|a: &Tensor3<_, f64>| (cholesky(a).powi(2) * cholesky(a)).sum(), a);
            (factor, (derivative, gradient))
        };
        Task::new(format!("derivatives of factors of {n}"), derivatives, (definite([count, n]), any([count, n, n])))
    });
    assert_same(&tasks, &OpenCl::default(), 1e-12);
    // Square matrices, tall ones and wide ones, and those whose last pivot is 0.
    let square = any([2, 4, 4]);
    let singular: Vec<_> = (0..4).map(|column| (1, 3, column, square.to_vec()[16 + column])).collect();
    let shapes = [[3, 7, 7], [1, 70, 70], [2, 40, 7], [2, 7, 40], [1, 100, 33], [1, 33, 100], [2, 1, 3], [2, 3, 1]];
    let all = shapes.into_iter().map(|shape| (any(shape), any(shape)));
    let all = all.chain([(changed(&square, &singular), any([2, 4, 4]))]);
    let tasks = all.map(|at| {
        let derivatives = |(a, moved): &(Tensor3<Staged, f64>, Tensor3<Staged, f64>)| {
            let (factors, derivative) = jvp(|a: &Tensor3<_, f64>| lu(a).packed, a, moved);
            let gradient = grad(|a: &Tensor3<_, f64>| lu(a).packed.powi(3).sum(), a);
            (factors, (derivative, gradient))
        };
        Task::new(format!("derivatives of LU of {:?}", at.0.shape()), derivatives, at)
    });
    assert_same(&tasks.collect::<Vec<_>>(), &OpenCl::default(), 1e-9);
}

#[test]
fn matrices_without_elements_launch_nothing() {
    if !is_there() {
        return;
    }
    let nothing = |shape: [usize; 3]| tensor::<f64>(shape, &[]);
    let tasks = [
        Task::new("none".into(), |a: &Tensor3<Staged, f64>| (cholesky(a), lu(a).packed), nothing([0, 3, 3])),
        Task::new("of no rows".into(), |a: &Tensor3<Staged, f64>| (cholesky(a), lu(a).packed), nothing([2, 0, 0])),
    ];
    let programs = assert_same(&tasks, &OpenCl::default(), 0.0);
    assert!(programs.iter().all(|program| program.kernels() == 0));
    let columns = Task::new("of no columns".into(), |a: &Tensor3<Staged, f64>| lu(a).packed, nothing([2, 5, 0]));
    assert_same(&[columns], &OpenCl::default(), 0.0);
}

#[test]
fn loops_for_factors_are_orthogonal_at_lower_ranks() {
    if !is_there() {
        return;
    }
    let mut device = OpenCl::default().device().unwrap();
    device.local_memory = device.local_memory.min(4 << 10);
    // Reflections leave less of a column step by step, until that is below full precision.
    let factors = |a: &Tensor3<Staged, f64>| {
        let q = qr(a).q;
        let (square, product): (Tensor3<Staged, f64>, Tensor3<Staged, f64>) =
            (q.contract(&q, "kij,kil->kjl"), q.contract(&qr(a).r, "kij,kjl->kil"));
        (square, product)
    };
    let task = Task::new("factors of ones".into(), factors, tensor([1, 34, 34], &[1.0; 34 * 34]));
    assert_same(&[task], &OpenCl::on(&device), 1e-13);
}

#[test]
fn a_device_with_little_local_memory_takes_loops() {
    if !is_there() {
        return;
    }
    let mut device = OpenCl::default().device().unwrap();
    device.local_memory = device.local_memory.min(8 << 10);
    let task = [factors::<f64>((40, 2))];
    let programs = assert_same(&task, &OpenCl::on(&device), 1e-12);
    assert!(!programs[0].source().contains("panel"), "{}", programs[0].source());
    let programs = assert_same(&task, &OpenCl::default(), 1e-12);
    assert!(programs[0].source().contains("panel"), "{}", programs[0].source());
}
