//! Errors name the line of the program, whatever the library does in between.
//!
//! Values are used after their scope has ended, outside of the `build` that they belong to, by each operation in turn: the
//! recorded error names the operation's line here, and none of the library's.

use deltaray::functions::*;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::cell::RefCell;

type S = Staged;

/// Arrays of three rows, columns and so on, which are there for one index of a `build` only.
#[derive(Clone)]
struct Escaped {
    scalar: Scalar<S, f64>,
    vector: Vector<S, f64>,
    matrix: Matrix<S, f64>,
    images: Tensor4<S, f64>,
    index: Scalar<S, i64>,
    indices: Vector<S, i64>,
    mask: Vector<S, bool>,
}

fn escaped() -> Escaped {
    let leak = RefCell::new(None);
    build::<S, _, _, _>(3, |i| {
        let scalar = i.cast::<f64>();
        leak.replace(Some(Escaped {
            vector: &scalar + zeros::<S, f64, _>(3),
            matrix: &scalar + zeros::<S, f64, _>((3, 3)),
            images: &scalar + zeros::<S, f64, _>((3, 3, 3, 3)),
            indices: &i + iota(3),
            mask: (&i + iota(3)).gt(1),
            index: i.clone(),
            scalar,
        }));
        i
    });
    leak.into_inner().expect("the closure ran")
}

/// Where an operation on escaped arrays is said to be.
fn place(operation: impl Fn(Escaped, &Vector<S, f64>)) -> String {
    let staged = stage(
        |x: &Vector<S, f64>| {
            operation(escaped(), x);
            x.sum()
        },
        &Vector::from(vec![1.0, 2.0, 3.0]),
    );
    match staged {
        Err(deltaray::Error::Scope { place, .. }) => place,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("no error"),
    }
}

macro_rules! places {
    ($($name:ident: |$e:ident, $x:ident| $($operation:expr),*;)*) => {
        $(
            #[test]
            fn $name() {
                let mut wrong = Vec::new();
                $(
                    let found = place(|$e, $x| {
                        let _ = $x;
                        let _ = $operation;
                    });
                    let expected = file!();
                    if !found.starts_with(expected) {
                        wrong.push(format!("{}: {found}", stringify!($operation)));
                    }
                )*
                assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
            }
        )*
    };
}

places! {
    operators: |e, x|
        -&e.vector, &e.vector + x, x * &e.scalar, 2.0 / &e.vector, !&e.mask, e.indices % 2, e.vector.sin(), e.vector.powi(3),
        e.vector.max(0.0), e.vector.lt(x), x.pow(&e.vector), x.mul_add(&e.vector, x),
        e.vector.cast::<f32>(), e.index.cast::<f64>();
    arrangements: |e, x|
        e.vector.replicate(2), e.vector.broadcast_to((2, 3)), e.matrix.transpose(), e.matrix.tr(&[1, 0]),
        e.matrix.reshape(9), e.matrix.flatten(), e.vector.slice(0, 1..), e.vector.slice_step(0, .., 2), e.vector.reverse(0),
        e.vector.pad(0, 1, 1), e.vector.append(0, x), x.append(0, &e.vector), e.matrix.diagonal(), e.vector.insert_axis(0),
        concatenate(0, &[x.clone(), e.vector]), stack(&[x.clone(), e.vector]), stack(&[e.scalar.clone(), e.scalar]);
    choices: |e, x|
        e.mask.select(x, 0.0), select(&e.mask, x, x), cond(e.index.gt(0), || x.clone(), || x * 2.0),
        cond(x.at(0).gt(0.0), || e.vector.clone(), || x.clone()), cond(x.at(0).gt(0.0), || &e.vector + x, || x.clone());
    reads_and_writes: |e, x|
        e.vector.at(0), e.vector.at(&e.index), x.at(&e.index), e.matrix.at((0, 1)), x.gather(&e.indices),
        e.vector.gather(iota(2)), x.scatter(&e.indices, 5), x.gather_or(&e.indices, 0.0), x.scatter_set(&e.indices, x),
        x.scatter_add(&e.indices, x), x.scatter_multiply(&e.indices, x), x.scatter_max(&e.indices, x),
        x.scatter_min(&e.indices, x), x.scatter_add(masked(&e.mask, iota(3)), x), x.gather(masked(&e.mask, iota(3))),
        e.matrix.scatter_set((&e.indices, &e.indices), x), x.scatter(&e.indices, 2), e.matrix.index_axis(0, 1), x.index_axis(0, &e.index), x.take_along_axis(&e.indices, 0);
    reductions: |e, x|
        e.vector.sum(), e.matrix.sum_axis(0), e.matrix.sum_axes([0, 1]), e.vector.max_axis(0), e.vector.mean(),
        e.matrix.mean_axis(0), e.vector.variance(), e.matrix.variance_axis(1), e.vector.product(), e.vector.logsumexp(),
        e.vector.argmax(), e.vector.argmin_axis(0), e.mask.any(), e.mask.all(), e.vector.cumsum(0), e.vector.cumprod(0),
        e.vector.cummax(0), e.vector.cumsum_reverse(0), e.vector.sort(0), e.vector.argsort(0), e.vector.top_k(2, 0),
        e.vector.sort_descending(0);
    products: |e, x|
        e.matrix.dot(x), e.vector.dot(x), x.dot(&e.vector), e.matrix.matmul(&e.matrix), e.vector.outer(x),
        e.matrix.contract_axes(x, [1], [0]);
    loops: |e, x|
        scan(e.scalar.clone(), x, 3, |s, x| (s + x, ())), scan(scalar(0.0), &e.vector, 3, |s, x| (s + x, ())),
        scan(scalar(0.0), x, 3, |s: Scalar<S, f64>, x: Scalar<S, f64>| (s + x + &e.scalar, ())), fold(e.scalar.clone(), x, |s, x| s + x),
        iterate(e.vector.clone(), 2, |x| x * 2.0), while_loop(e.vector.clone(), |x| x.at(0).lt(9.0), |x| x * 2.0),
        reduce(scalar(0.0), &e.vector, |a, b| a + b), reduce(scalar(0.0), &e.vector, |a, b| a * b),
        reduce(scalar(0.0), &e.vector, |a, b| a * b.sin()), reduce(scalar(0.0), x, |a, b| a * b + &e.scalar),
        associative_scan(&e.vector, |a, b| a + b), associative_scan(&e.vector, |a, b| a * b.sin()),
        linear_recurrence(&scalar(0.0), x, &e.vector), build(3, |i| x.at(&i) * &e.scalar), build(3, |i| e.vector.at(&i)),
        checkpoint(&e.vector, |x| x * 2.0);
    segments: |e, x|
        x.segment_sum(&Segments::by_key(&e.indices, 3)), e.vector.segment_sum(&Segments::by_key(&iota(3), 3)),
        x.segment_max(&Segments::by_key(&e.indices, 3)), x.segment_mean(&Segments::by_key(&e.indices, 3)),
        x.segment_softmax(&Segments::by_key(&e.indices, 3)), x.segment_logsumexp(&Segments::by_key(&e.indices, 3)),
        x.segment_product(&Segments::by_key(&e.indices, 3)),
        reduce_by_index(scalar(0.0), &e.indices, x, 3, |a, b| a + b),
        reduce_by_index(scalar(0.0), &iota(3), x, 3, |a: Scalar<S, f64>, b: Scalar<S, f64>| a * b + &e.scalar),
        reduce_segments(scalar(0.0), &Segments::by_key(&e.indices, 3), x, |a, b| a * b);
    derivatives: |e, x|
        grad(|x| (x * x).sum(), &e.vector), grad(|y| (y * e.vector.lift()).sum(), x), vjp(|x| x * x, &e.vector).0,
        jvp(|x| x * x, x, &e.vector), jvp(|x| x * x, &e.vector, x), hessian(|x| (x * x).sum(), &e.vector),
        jacrev(|x| x * x, &e.vector), jacfwd(|x| x * x, &e.vector), vmap(|x: Scalar<S, f64>| x.sin(), &e.vector),
        (vjp(|x| x * x, x).1)(&e.vector);
    functions: |e, x|
        softmax_cross_entropy(&e.matrix, &iota(3)), softmax_cross_entropy(&x.replicate(3), &e.indices),
        binary_cross_entropy(&e.vector, &x.gt(0.0)), mean_squared_error(&e.vector, x), huber(&e.vector, x, 1.0),
        softmax(&e.vector, 0), log_softmax(&e.vector, 0), standardise(&e.vector, 0, 1e-5),
        convolution_2d(&e.images, &e.images, &Window::default(), 1), max_pool_2d(&e.images, [2, 2], &Window::default()),
        mean_pool_2d(&e.images, [2, 2], &Window::default());
    trees: |e, x|
        ravel::<S, f64, _>(&(e.vector.clone(), x.clone())), unstack_trees(&(e.vector.clone(), x.clone())),
        stack_trees(&[(x.clone(), e.vector.clone()), (x.clone(), x.clone())]);
}
