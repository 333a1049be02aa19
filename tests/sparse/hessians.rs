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
    assert!(program.nodes.iter().all(|node| node.ty().size() <= 8), "{program}");
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

/// The cost of the k-means problem: to each point its nearest centre. The second derivative by a centre's coordinate is
/// twice the number of points nearest to it, and a product with ones has them all.
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
    // The gradient reads the nearest centres at computed positions, and adds at the same ones; the pattern, which does not
    // know that they are the same, has all pairs of centres for each of the two coordinates.
    assert_eq!((hessian.compressed((&centres, &points)).unwrap().seeds(), found.nonzeros()), (3, 18));
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
