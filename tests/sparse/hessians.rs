//! Hessians: star colourings, and products with the matrix.

use super::chance::Random;
use super::*;
use deltaray::sparse::Compression::Star;
use deltaray::staged::Staged;

/// Checks the Hessian of a function against the dense one: the seeds, and the entries.
fn seeds(
    f: impl Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>,
    dense: impl Fn(&Vector<Staged, f64>) -> Matrix<Staged, f64>,
    x: &Vector<C, f64>,
) -> (usize, usize) {
    let hessian = stage(f, x).unwrap().sparse_hessian().unwrap();
    let found = hessian.call(x).unwrap();
    close(&found.to_dense().to_vec(), &stage(dense, x).unwrap().call(x).unwrap().to_vec());
    let compressed = hessian.compressed(x).unwrap();
    assert_eq!(compressed.compression(), Star);
    (compressed.seeds(), compressed.nonzeros())
}

macro_rules! seeds {
    (|$x:ident| $body:expr, $at:expr) => {
        seeds(|$x| $body, |x| hessian(|$x| $body, x), &$at)
    };
}

#[test]
fn a_diagonal_takes_one_product_with_ones() {
    assert_eq!(seeds!(|x| (x.sin() * x).sum(), numbers(8)), (1, 8));
    let x = numbers(8);
    let hessian = stage(|x: &Vector<_, f64>| (x.sin() * x).sum(), &x).unwrap().sparse_hessian().unwrap();
    let compressed = hessian.compressed(&x).unwrap();
    // The product is no larger than the gradient: there is no axis of colours, and no constant but ones.
    let program = compressed.program().unwrap();
    assert!(program.nodes().iter().all(|node| node.ty().size() <= 8), "{program}");
    assert!(!program.to_string().contains("eq"), "{program}");
}

#[test]
fn a_chain_takes_three() {
    // Rosenbrock's function, chained.
    for n in [6, 25] {
        let (count, entries) = seeds!(
            |x| {
                let (a, b) = (x.slice(0, ..x.len() - 1), x.slice(0, 1..));
                ((1.0 - &a).powi(2) + 100.0 * (b - a.powi(2)).powi(2)).sum()
            },
            numbers(n)
        );
        assert_eq!((count, entries), (3, 3 * n - 2));
    }
}

#[test]
fn an_arrowhead_takes_two() {
    for n in [5, 30] {
        let found = seeds!(|x| (x.at(0) * x.powi(3)).sum(), numbers(n));
        assert_eq!(found, (2, 3 * n - 2));
    }
}

#[test]
fn a_full_matrix_takes_all() {
    assert_eq!(seeds!(|x| x.sum().exp(), numbers(5)), (5, 25));
}

#[test]
fn linear_functions_take_none() {
    assert_eq!(seeds!(|x| (x * 3.0).sum(), numbers(5)), (0, 0));
    assert_eq!(seeds!(|x| x.sum(), numbers(0)), (0, 0));
}

#[test]
fn a_band_of_seven() {
    let (count, entries) = seeds!(
        |x| {
            let n = x.len();
            build(n, |i| (x.at(&i) * x.at(&i + 1) * x.at(&i + 2) * x.at(i + 3)).sin()).sum()
        },
        numbers(24)
    );
    assert!(count <= 7, "{count}");
    assert_eq!(entries, 7 * 24 - 12);
}

/// The cost of the k-means problem: the distance of each point to its nearest centre. The second derivative by a centre's
/// coordinate is twice the number of points nearest to it, and a product with ones gives them all.
#[test]
fn the_cost_of_clusters_is_diagonal() {
    let points = Matrix::<C, f64>::from_elements((7, 2), numbers(14).to_vec());
    let centres = Matrix::<C, f64>::from([[0.3, 0.4], [0.9, 1.1], [1.6, 1.9]]);
    let cost = |(centres, points): &(Matrix<Staged, f64>, Matrix<Staged, f64>)| {
        let distances = build((points.len(), centres.len()), |(p, c)| {
            let difference = points.at(p) - centres.at(c);
            (&difference * &difference).sum()
        });
        distances.min_axis(1).sum()
    };
    let function = stage(cost, (&centres, &points)).unwrap();
    let hessian = function.sparse_hessian().unwrap();
    let found = hessian.call((&centres, &points)).unwrap();
    // The gradient reads the nearest centres at computed positions, and adds at the same ones.
    assert_eq!((hessian.compressed((&centres, &points)).unwrap().seeds(), found.nonzeros()), (1, 6));
    let mut nearest = [0.0; 3];
    for p in 0..7 {
        let distance = |c: usize| -> f64 {
            (0..2).map(|d| (points.element(&[p, d]).unwrap() - centres.element(&[c, d]).unwrap()).powi(2)).sum()
        };
        let best = (0..3).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap();
        nearest[best] += 2.0;
    }
    let mut expected = vec![0.0; 36];
    for (centre, count) in nearest.into_iter().enumerate() {
        for at in [2 * centre, 2 * centre + 1] {
            expected[7 * at] = count;
        }
    }
    close(&found.to_dense().to_vec(), &expected);
}

/// The positions of the smallest elements of the columns of a table, which are not known when a pattern is found.
fn positions<A: Algebra>(x: &Vector<A, f64>, columns: usize) -> Vector<A, i64> {
    let (n, table) = (x.len(), numbers(x.len() * columns).to_vec());
    let table = Matrix::<C, f64>::from_elements((columns, n), table);
    (constant::<A, _>(&table) - x.stop_gradient()).argmin_axis(1)
}

#[test]
fn what_is_read_at_positions_and_added_at_the_same_ones_is_apart() {
    // Each of eight elements that are read is a function of itself alone.
    let own = seeds!(|x| x.gather(positions(x, 8)).sin().sum(), numbers(5));
    assert_eq!(own, (1, 5));
    let with_known = seeds!(
        |x| {
            let rows = x.insert_axis(0) * constant(&numbers(8)).insert_axis(1);
            rows.gather((iota(8), positions(x, 8))).powi(3).sum()
        },
        numbers(5)
    );
    assert_eq!(with_known, (1, 5));
}

/// Positions that are not the same, or not those of the same element.
#[test]
fn what_is_added_at_other_positions_may_meet_everything() {
    let others = seeds!(|x| (x.gather(positions(x, 8)) * x.gather(positions(&x.exp(), 8))).sum(), numbers(5));
    assert_eq!(others.1, 25);
    let turned = seeds!(
        |x| {
            let read = x.gather(positions(x, 8));
            (&read * read.reverse(0)).sum()
        },
        numbers(5)
    );
    assert_eq!(turned.1, 25);
    let carried = seeds!(
        |x| {
            let at = positions(x, 3);
            let start = (zeros(3), at.clone(), scalar(0.0));
            let step = |(read, at, sum): (Vector<Staged, f64>, Vector<Staged, i64>, Scalar<Staged, f64>)| {
                let now = x.gather(&at);
                let sum = sum + (&read * &now).sum();
                (now, (at + 1) % 5, sum)
            };
            iterate(start, 3, step).2
        },
        numbers(5)
    );
    assert_eq!(carried.1, 25);
    // How many steps there are is not known: one that is looked at stands for all.
    let while_moving = |x: &Vector<Staged, f64>| {
        let at = positions(x, 3);
        let start = (x.gather(&at), at, zeros(5), x.stop_gradient().at(0) * 0.0);
        let step = |(read, at, sum, time): (Vector<Staged, f64>, Vector<Staged, i64>, Vector<Staged, f64>, _)| {
            let sum: Vector<Staged, f64> = sum + read.scatter(&at, 5);
            (read, (at + 1) % 5, sum, time + 1.0)
        };
        while_loop(start, |(.., time)| time.lt(3.0), step).2
    };
    let (x, dense) = (numbers(5), |x: &Vector<_, f64>| jacfwd(while_moving, x));
    let found = stage(while_moving, &x).unwrap().sparse_jacobian().unwrap().call(&x).unwrap();
    close(&found.to_dense().to_vec(), &stage(dense, &x).unwrap().call(&x).unwrap().to_vec());
    assert_eq!(found.nonzeros(), 25);
}

/// Sums over the edges of graphs by chance, so that star colourings of all kinds are read back.
#[test]
fn graphs_by_chance() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let n = 4 + random.below(14);
        let edges: Vec<i64> = (0..2 * (1 + random.below(3 * n))).map(|_| random.below(n) as i64).collect();
        let edges = Matrix::<C, i64>::from_elements((edges.len() / 2, 2), edges);
        let energy = |x: &Vector<Staged, f64>| {
            let edges: Matrix<Staged, i64> = constant(&edges);
            build(edges.len(), |e| (x.at(edges.at((&e, 0))) * x.at(edges.at((&e, 1)))).sin()).sum()
        };
        let (count, entries) = seeds(energy, |x| hessian(energy, x), &numbers(n));
        assert!(count <= n && entries <= n * n, "seed {seed}");
    }
}

#[test]
fn trees_of_parameters() {
    let (a, b) = (numbers(3), scalar::<C, f64>(0.7));
    let f = |(a, b): &(Vector<Staged, f64>, Scalar<Staged, f64>)| (b * a.powi(2)).sum();
    let parameters = (a.clone(), b);
    let hessian = stage(f, &parameters).unwrap().sparse_hessian().unwrap();
    let found = hessian.call(&parameters).unwrap();
    assert_eq!(found.pattern().to_string(), "x..x\n.x.x\n..xx\nxxx.\n");
    let a = a.to_vec();
    close(
        &found.values().to_vec(),
        &[1.4, 2.0 * a[0], 1.4, 2.0 * a[1], 1.4, 2.0 * a[2], 2.0 * a[0], 2.0 * a[1], 2.0 * a[2]],
    );
}

/// The rule is no derivative, so that its own derivative is no symmetric matrix.
#[test]
fn hessians_of_functions_with_rules_need_not_be_symmetric() {
    #[derive(Clone, Copy)]
    struct Product;
    impl ArrayFn for Product {
        type In = Vector<C, f64>;
        type Out = Scalar<C, f64>;
        fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
            x.at(0) * x.at(1)
        }
    }
    #[derive(Clone, Copy)]
    struct Rule;
    impl ArrayFn for Rule {
        type In = (Vector<C, f64>, Scalar<C, f64>, Scalar<C, f64>);
        type Out = Vector<C, f64>;
        fn call<A: Algebra>(&self, (x, _, c): &<Self::In as Family>::At<A>) -> Vector<A, f64> {
            stack(&[x.at(1) * c, 0.0 * c, 0.0 * c])
        }
    }
    let x = Vector::from(vec![2.0, 3.0, 5.0]);
    let f = stage(|x: &Vector<Staged, f64>| custom_vjp(&Product, &Rule, x) * x.at(2), &x).unwrap();
    let expected = [0.0, 5.0, 3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
    let hessian = f.sparse_hessian().unwrap();
    assert_eq!(hessian.call(&x).unwrap().to_dense().to_vec(), expected);
    assert_ne!(hessian.compressed(&x).unwrap().compression(), Star);

    let slices = f.over_slices::<f64>().unwrap().with_sparse_hessian().unwrap();
    let pattern = slices.sparse_hessian_pattern().unwrap();
    let mut entries = vec![f64::NAN; pattern.nonzeros()];
    slices.sparse_hessian(&x.to_vec(), &mut entries).unwrap();
    let mut dense = [0.0; 9];
    let positions = (0..3).flat_map(|row| pattern.row(row).iter().map(move |&column| 3 * row + column));
    positions.zip(entries).for_each(|(position, entry)| dense[position] = entry);
    assert_eq!(dense, expected);
}
