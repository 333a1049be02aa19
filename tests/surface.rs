//! What users write: operators, literals, broadcasting, indexing, loops, trees, conversions and derivatives, as they are
//! written in user code: closures without annotations, and functions with one bound.

use approx::assert_relative_eq;
use deltaray::algebra::Algebra;
use deltaray::prelude::*;
// Both preludes together: no name clashes.
#[allow(unused_imports)]
use ndarray::prelude::*;

type C = Concrete;

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{a:?} and {b:?}");
    for (x, y) in a.iter().zip(b) {
        assert_relative_eq!(x, y, epsilon = 1e-12, max_relative = 1e-9);
    }
}

/// The message of the panic that a computation ends in.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    let Err(payload) = result else { panic!("no panic") };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => panic!("a panic without text"),
    }
}

mod operators {
    use super::*;

    #[test]
    fn values_and_references_go_together_in_all_ways() {
        let (x, y) = (v(&[1.0, 2.0]), v(&[3.0, 5.0]));
        close(&(&x + &y).to_vec(), &[4.0, 7.0]);
        close(&(x.clone() - &y).to_vec(), &[-2.0, -3.0]);
        close(&(&x * y.clone()).to_vec(), &[3.0, 10.0]);
        close(&(x.clone() / y.clone()).to_vec(), &[1.0 / 3.0, 0.4]);
        close(&(-&x).to_vec(), &[-1.0, -2.0]);
        close(&(-x).to_vec(), &[-1.0, -2.0]);
    }

    #[test]
    fn literals_stand_on_both_sides() {
        let x = v(&[1.0, 2.0]);
        close(&(2.0 * &x + 1.0 - 0.5 * x.clone() / 2.0).to_vec(), &[2.75, 4.5]);
        let single: Vector<C, f32> = Vector::from_slice(&[1.0, 4.0]);
        assert_eq!((2.0 * &single - 1.0).to_vec(), [1.0, 7.0]);
        assert_eq!((1.0 / single).to_vec(), [1.0, 0.25]);
        let i: Vector<C, i64> = Vector::from_slice(&[7, -7]);
        let n: usize = 3;
        assert_eq!((n - 1 - &i).to_vec(), [-5, 9]);
        assert_eq!((&i * 2 % n).to_vec(), [2, -2]);
        // A literal on the left stays open until the end, so only operators, indexing and calls may follow it at once.
        let twice: Vector<C, i64> = 2 * &i + 1;
        assert_eq!(twice.to_vec(), [15, -13]);
        assert_eq!((&i / 2).to_vec(), [3, -3]);
        assert_eq!((&i / 0).to_vec(), [7, -7]);
        assert_eq!(i.floor_div(2).to_vec(), [3, -4]);
        assert_eq!(i.modulo(3).to_vec(), [1, 2]);
        let j: Vector<C, i32> = Vector::from_slice(&[i32::MAX, 1]);
        assert_eq!((j + 1).to_vec(), [i32::MIN, 2]);
    }

    #[test]
    fn booleans() {
        let p: Vector<C, bool> = Vector::from_slice(&[true, false]);
        let q: Vector<C, bool> = Vector::from_slice(&[true, true]);
        assert_eq!((&p & &q).to_vec(), [true, false]);
        assert_eq!((p.clone() | false).to_vec(), [true, false]);
        assert_eq!((!&p).to_vec(), [false, true]);
        assert!(p.any().item() && !p.all().item());
    }

    #[test]
    fn assignment() {
        let mut x = v(&[1.0, 2.0]);
        x += 1.0;
        x *= v(&[2.0, 3.0]);
        x -= &scalar(1.0);
        x /= 3.0;
        close(&x.to_vec(), &[1.0, 8.0 / 3.0]);
        let mut i: Vector<C, i64> = Vector::from_slice(&[7]);
        i %= 4;
        assert_eq!(i.to_vec(), [3]);
    }

    #[test]
    fn broadcasting_aligns_trailing_axes() {
        let m: Matrix<C, f64> = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into();
        let sum: Matrix<C, f64> = &m + v(&[10.0, 20.0, 30.0]);
        close(&sum.to_vec(), &[11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
        let columns = v(&[1.0, 2.0]).insert_axis(1);
        let product = columns * v(&[1.0, 10.0]);
        close(&product.to_vec(), &[1.0, 10.0, 2.0, 20.0]);
        let s: Scalar<C, f64> = scalar(2.0);
        close(&(&s * &m).sum().to_vec(), &[42.0]);
        let empty: Matrix<C, f64> = zeros((0, 3));
        assert_eq!((&empty + v(&[1.0, 2.0, 3.0])).shape()[..], [0, 3]);
        let dynamic = m.clone().into_dyn() + &m;
        assert_eq!(dynamic.into_rank::<R2>().to_vec(), (2.0 * m).to_vec());
    }

    /// Rank-generic user code asks for `R: Rank` and nothing more.
    fn standardise<A: Algebra, R: Rank>(x: &Tensor<A, f64, R>) -> Tensor<A, f64, R> {
        let centred = x - x.mean();
        let variance = (&centred * &centred).mean();
        let rows = x.sum_axis(0) * 0.0;
        let result = &centred / (variance + 1e-12).sqrt() + rows;
        scalar(1.0) * (result + x * 0.0)
    }

    #[test]
    fn rank_generic_code() {
        close(&standardise(&v(&[1.0, 3.0])).to_vec(), &[-1.0, 1.0]);
        let m: Matrix<C, f64> = [[1.0, 3.0], [3.0, 1.0]].into();
        close(&standardise(&m).to_vec(), &[-1.0, 1.0, 1.0, -1.0]);
    }

    fn generic_element<A: Algebra, E: Float>(x: &Vector<A, E>) -> Vector<A, E> {
        x * x + scalar(E::from_number(0.5)) - x.filled(0.25)
    }

    #[test]
    fn element_generic_code() {
        close(&generic_element(&v(&[2.0])).to_vec(), &[4.25]);
    }

    #[test]
    fn comparisons_and_choices() {
        let x = v(&[-1.0, 0.0, 2.0]);
        assert_eq!(x.lt(0.0).to_vec(), [true, false, false]);
        assert_eq!(x.ge(&x).to_vec(), [true, true, true]);
        assert_eq!(x.equal(2.0).to_vec(), [false, false, true]);
        close(&x.gt(0.0).select(&x, 0.0).to_vec(), &[0.0, 0.0, 2.0]);
        close(&x.gt(0.0).select(1.0, &x * 0.1).to_vec(), &[-0.1, 0.0, 1.0]);
        let (a, b) = select(x.gt(0.0), &(x.clone(), -&x), &(-&x, x.clone()));
        close(&a.to_vec(), &[1.0, 0.0, 2.0]);
        close(&b.to_vec(), &[-1.0, 0.0, -2.0]);
    }

    #[test]
    fn elementwise_methods() {
        let x = v(&[0.5, 2.0]);
        close(&x.powi(3).to_vec(), &[0.125, 8.0]);
        close(&x.pow(&x).to_vec(), &[0.5f64.sqrt(), 4.0]);
        close(&x.pow(2.0).to_vec(), &[0.25, 4.0]);
        close(&x.atan2(1.0).to_vec(), &[0.5f64.atan(), 2.0f64.atan()]);
        close(&x.max(1.0).to_vec(), &[1.0, 2.0]);
        close(&x.min(v(&[1.0, 1.0])).to_vec(), &[0.5, 1.0]);
        assert_eq!(x.cast::<i64>().to_vec(), [0, 2]);
        assert_eq!(x.gt(1.0).cast::<f32>().to_vec(), [0.0, 1.0]);
        let zero = v(&[0.0, 1.0]);
        close(&zero.keep_zero(v(&[f64::INFINITY, 3.0])).to_vec(), &[0.0, 3.0]);
    }

    #[test]
    fn a_literal_wins_ties() {
        let at = |f: fn(&Vector<<C as Algebra>::Nested, f64>) -> Vector<<C as Algebra>::Nested, f64>| {
            grad(|x| f(x).sum(), &v(&[0.0])).to_vec()
        };
        assert_eq!(at(|x| x.max(0.0)), [0.0]);
        assert_eq!(at(|x| x.min(0.0)), [0.0]);
        assert_eq!(at(|x| x.max(&Tensor::from_slice(&[0.0]))), [1.0]);
        assert_eq!(at(|x| x.relu()), [0.0]);
    }
}

mod structure {
    use super::*;

    fn m() -> Matrix<C, f64> {
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into()
    }

    #[test]
    fn reading_positions() {
        let x = m();
        let i: Scalar<C, i64> = scalar(1);
        let j: Scalar<C, i32> = scalar(2);
        close(&x.at(1).to_vec(), &[4.0, 5.0, 6.0]);
        close(&x.at(&i).to_vec(), &[4.0, 5.0, 6.0]);
        assert_eq!(x.at((&i, 0)).item(), 4.0);
        assert_eq!(x.at((i.clone(), &j)).item(), 6.0);
        assert_eq!(x.at((&i - 1, 2usize)).item(), 3.0);
        assert_eq!(x.at([0, 1]).item(), 2.0);
        assert_eq!(x.at((0, 7)).item(), 0.0);
        assert_eq!(x.at((-1, &i)).item(), 0.0);
        assert_eq!((x.at((0, 0)) + x.at((1, 1)) * 2.0).item(), 11.0);
        close(&x.index_axis(1, 2).to_vec(), &[3.0, 6.0]);
        close(&x.index_axis(1, &i).to_vec(), &[2.0, 5.0]);
        close(&x.index_axis(0, i).to_vec(), &[4.0, 5.0, 6.0]);
    }

    #[test]
    fn gathering_and_scattering() {
        let x = v(&[10.0, 20.0, 30.0]);
        let p: Matrix<C, i64> = [[2, 0], [5, 1]].into();
        let gathered: Matrix<C, f64> = x.gather(&p);
        close(&gathered.to_vec(), &[30.0, 10.0, 0.0, 20.0]);
        close(&gathered.scatter(&p, 3).to_vec(), &[10.0, 20.0, 30.0]);
        let i: Vector<C, i64> = Vector::from_slice(&[0, 1, 1]);
        let j: Vector<C, i64> = Vector::from_slice(&[2, 0, 2]);
        let picked: Vector<C, f64> = m().gather((&i, &j));
        close(&picked.to_vec(), &[3.0, 4.0, 6.0]);
        let rows: Matrix<C, f64> = m().gather(&i);
        assert_eq!(rows.shape()[..], [3, 3]);
        let counts: Matrix<C, f64> = ones(3).scatter((i, j), (2, 3));
        close(&counts.to_vec(), &[0.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn arranging() {
        let x = m();
        assert_eq!(x.replicate(4).shape()[..], [4, 2, 3]);
        assert_eq!(x.broadcast_to((5, 2, 3)).shape()[..], [5, 2, 3]);
        close(&x.transpose().to_vec(), &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(x.replicate(4).tr(&[1, 0]).shape()[..], [2, 4, 3]);
        assert_eq!(x.reshape((3, 2)).at(1).to_vec(), [3.0, 4.0]);
        assert_eq!(x.reshape(6).shape()[..], [6]);
        assert_eq!(x.flatten().slice_step(0, 1..6, 2).to_vec(), [2.0, 4.0, 6.0]);
        assert_eq!(x.flatten().slice_step(0, ..5, -2).to_vec(), [5.0, 3.0, 1.0]);
        assert_eq!(x.slice(1, 1..).to_vec(), [2.0, 3.0, 5.0, 6.0]);
        assert_eq!(x.reverse(1).to_vec(), [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
        assert_eq!(v(&[1.0]).pad(0, 1, 2).to_vec(), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(x.append(0, &x).shape()[..], [4, 3]);
        assert_eq!(concatenate(1, &[x.clone(), x.clone(), x.clone()]).shape()[..], [2, 9]);
        assert_eq!(stack(&[v(&[1.0, 2.0]), v(&[3.0, 4.0])]).to_vec(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(x.diagonal().to_vec(), [1.0, 5.0]);
        assert_eq!(x.insert_axis(1).shape()[..], [2, 1, 3]);
        assert_eq!(x.insert_axis(1).remove_axis(1), x);
        assert_eq!(iota::<C>(3).to_vec(), [0, 1, 2]);
        assert_eq!((x.len(), x.rank(), x.size(), x.is_empty()), (2, 2, 6, false));
    }

    #[test]
    fn reductions() {
        let x = m();
        assert_eq!(x.sum().item(), 21.0);
        assert_eq!(x.sum_axis(0).to_vec(), [5.0, 7.0, 9.0]);
        let all: Scalar<C, f64> = x.sum_axes([1, 0]);
        assert_eq!(all.item(), 21.0);
        assert_eq!(x.max_axis(1).to_vec(), [3.0, 6.0]);
        assert_eq!(x.min_all().item(), 1.0);
        assert_eq!(x.mean().item(), 3.5);
        assert_eq!(x.mean_axis(1).to_vec(), [2.0, 5.0]);
        assert_eq!(x.argmax().item(), 5);
        assert_eq!((-&x).argmax_axis(1).to_vec(), [0, 0]);
        assert_eq!(x.argmin_axis(0).to_vec(), [0, 0, 0]);
        assert!(v(&[]).mean().item().is_nan());
        assert_eq!(v(&[]).sum().item(), 0.0);
    }

    #[test]
    fn products() {
        let (x, y) = (m(), v(&[1.0, 0.0, -1.0]));
        assert_eq!(y.dot(&y).item(), 2.0);
        assert_eq!(x.dot(&y).to_vec(), [-2.0, -2.0]);
        assert_eq!(v(&[1.0, 1.0]).dot(&x).to_vec(), [5.0, 7.0, 9.0]);
        let square = x.dot(&x.transpose());
        assert_eq!(square.to_vec(), [14.0, 32.0, 32.0, 77.0]);
        assert_eq!(x.matmul(&x.transpose()), square);
        let batch = x.replicate(2).matmul(&x.transpose().replicate(2));
        assert_eq!(batch.at(1), square);
        assert_eq!(x.replicate(2).matmul(&x.transpose()).at(0), square);
        let ik: Matrix<C, f64> = x.contract(&x, "ij,kj->ik");
        assert_eq!(ik, square);
        let trace: Scalar<C, f64> = square.contract(&scalar::<C, f64>(1.0), "ii,->");
        assert_eq!(trace.item(), 91.0);
        let alone: Vector<C, f64> = x.contract(&y, "ij,k->i");
        assert_eq!(alone.to_vec(), [0.0, 0.0]);
        assert_eq!(x.contract_axes(&x, [1], [1]), square);
        assert_eq!(x.contract_axes(&x, [0, 1], [0, 1]).item(), 91.0);
        assert_eq!(y.outer(&y).shape()[..], [3, 3]);
    }

    #[test]
    fn ndarray_conversions() {
        let a: Array2<f64> = array![[1.0, 2.0], [3.0, 4.0]];
        let x = Tensor::from(a.clone());
        let back: Array2<f64> = x.clone().into();
        assert_eq!(a, back);
        assert_eq!(x.transpose().to_ndarray(), a.t());
        let from_view: Matrix<C, f64> = a.t().into();
        assert_eq!(from_view, x.transpose());
        let shared: Matrix<C, f64> = a.to_shared().into();
        let arc: ArcArray<f64, Ix2> = shared.into();
        assert_eq!(arc, a);
        let constant: Matrix<<C as Algebra>::Nested, f64> = Tensor::from_ndarray(&a.view());
        assert_eq!(constant.shape()[..], [2, 2]);
        let zero = Tensor::from(ndarray::arr0(3.0f32));
        assert_eq!(zero.item(), 3.0);
        let dynamic: TensorD<C, f64> = a.clone().into_dyn().into();
        let back: ArrayD<f64> = dynamic.into();
        assert_eq!(back.shape(), [2, 2]);
        assert_eq!(format!("{x}"), format!("{a}"));
        assert_eq!(format!("{:?}", scalar::<C, f64>(1.5)), "1.5 : f64");
        assert_eq!(x.element(&[1, 0]), Some(3.0));
        assert_eq!(x.element(&[2, 0]), None);
        assert_eq!(full::<C, _, _>((2, 1), 7i64).to_ndarray(), array![[7], [7]]);
    }
}

mod binders {
    use super::*;

    #[test]
    fn build_over_one_and_several_indices() {
        let x = v(&[1.0, 2.0, 3.0]);
        let squares = build(3, |i| x.at(&i) * x.at(2 - i));
        assert_eq!(squares.to_vec(), [3.0, 4.0, 3.0]);
        let table = build((2, 3), |(i, j)| x.at(i + 1) * x.at(&j));
        assert_eq!(table.to_vec(), [2.0, 4.0, 6.0, 3.0, 6.0, 9.0]);
        let table = build([2, 3], |[i, j]| x.at(i + 1) * x.at(&j));
        assert_eq!(table.shape()[..], [2, 3]);
        let rows: Tensor3<C, f64> = build((2, 2), |(i, _)| x.at(i) * &x);
        assert_eq!(rows.shape()[..], [2, 2, 3]);
        let nested = build(2, |i| build(3, |j| x.at(&i) + x.at(j)));
        assert_eq!(nested.at(1).to_vec(), [3.0, 4.0, 5.0]);
        let odd: Vector<C, i64> = build(4, |i| 2 * i + 1);
        assert_eq!(odd.to_vec(), [1, 3, 5, 7]);
    }

    #[test]
    fn builds_of_extent_zero_know_their_shape() {
        let m: Matrix<C, f64> = zeros((0, 3));
        let rows = build(0, |i| m.at(i) * 2.0);
        assert_eq!(rows.shape()[..], [0, 3]);
        assert_eq!(build((2, 0), |(i, j)| m.at((i, j))).shape()[..], [2, 0]);
    }

    #[test]
    fn cond_runs_one_side() {
        let x = scalar::<C, f64>(2.0);
        let y = cond(x.gt(1.0), || &x * 3.0, || unreachable!("the side that is not chosen"));
        assert_eq!(y.item(), 6.0);
        let (a, b) = cond(x.lt(1.0), || (x.clone(), v(&[])), || (-&x, v(&[1.0])));
        assert_eq!((a.item(), b.len()), (-2.0, 1));
        // f(x, y) = (x > 2 ? x + 2 : −x, x·y·x) at (3, 2).
        let f = |x: &(Scalar<_, f64>, Scalar<_, f64>)| {
            let (x, y) = x;
            (cond(x.gt(2.0), || x + 2.0, || -x), x * y * x)
        };
        let at = (scalar::<C, f64>(3.0), scalar(2.0));
        let ((p, q), pullback) = vjp(f, &at);
        assert_eq!((p.item(), q.item()), (5.0, 18.0));
        let (dx, dy) = pullback(&(scalar(1.0), scalar(0.0)));
        assert_eq!((dx.item(), dy.item()), (1.0, 0.0));
        let (dx, dy) = pullback(&(scalar(0.0), scalar(1.0)));
        assert_eq!((dx.item(), dy.item()), (12.0, 9.0));
    }

    #[test]
    fn scan_carries_reads_and_writes() {
        let x = v(&[1.0, 2.0, 3.0, 4.0]);
        let (last, sums) = scan(scalar(0.0), &x, 4, |sum, x| {
            let sum = sum + x;
            (sum.clone(), sum)
        });
        assert_eq!(last.item(), 10.0);
        assert_eq!(sums.to_vec(), [1.0, 3.0, 6.0, 10.0]);
        let (_, sums) = scan_reverse(scalar(0.0), &x, 4, |sum, x| {
            let sum = sum + x;
            (sum.clone(), sum)
        });
        assert_eq!(sums.to_vec(), [10.0, 9.0, 7.0, 4.0]);
        let ((fibonacci, _), ()) =
            scan((scalar::<C, i64>(0), scalar::<C, i64>(1)), &(), 10, |(a, b), ()| ((b.clone(), a + b), ()));
        assert_eq!(fibonacci.item(), 55);
        let (carry, (rows, flags)) = scan(scalar(1.0), &zeros::<C, f64, _>((0, 3)), 0, |c, row: Vector<C, f64>| {
            let doubled = &row * 2.0;
            (c * 2.0, (doubled, row.gt(0.0)))
        });
        assert_eq!(carry.item(), 1.0);
        assert_eq!((&rows.shape()[..], &flags.shape()[..]), (&[0, 3][..], &[0, 3][..]));
    }

    #[test]
    fn derivatives_pass_through_scan() {
        // Σ_i (running product)_i · x_i (facts, 65).
        let x = v(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let dx = grad(
            |x| {
                let (_, products) = scan(scalar(1.0), x, x.len(), |p, x| {
                    let p = p * x;
                    (p.clone(), p)
                });
                (products * x).sum()
            },
            &x,
        );
        close(&dx.to_vec(), &[5040.0, 2521.0, 1684.0, 1278.0, 1104.0, 1440.0]);
    }
}

mod trees {
    use super::*;

    #[derive(Tree)]
    struct Layer<A: Algebra> {
        weights: Matrix<A, f64>,
        bias: Vector<A, f64>,
    }

    #[derive(Tree)]
    struct Model<A: Algebra> {
        layers: Vec<Layer<A>>,
        scale: Option<Scalar<A, f64>>,
        steps: Scalar<A, i64>,
        pair: (Box<Scalar<A, f64>>, [Scalar<A, f64>; 2]),
        #[tree(skip)]
        name: String,
    }

    #[derive(Tree)]
    struct Pair<A: Algebra, T: Tree<A>, E: Element, const N: usize>(T, [Scalar<A, E>; N]);

    #[derive(Tree)]
    struct Clause<T, A>
    where
        A: Algebra,
        T: Tree<A>,
    {
        part: T,
        other: Scalar<A, f32>,
    }

    #[derive(Tree)]
    struct Nothing;

    fn model() -> Model<C> {
        let layer = || Layer { weights: [[1.0, 2.0], [3.0, 4.0]].into(), bias: v(&[0.5, -0.5]) };
        Model {
            layers: vec![layer(), layer()],
            scale: Some(scalar(2.0)),
            steps: scalar(3),
            pair: (Box::new(scalar(1.0)), [scalar(5.0), scalar(7.0)]),
            name: "model".into(),
        }
    }

    fn run<A: Algebra>(model: &Model<A>, x: &Vector<A, f64>) -> Scalar<A, f64> {
        let mut x = x.clone();
        for layer in &model.layers {
            x = layer.weights.dot(&x) + &layer.bias;
        }
        let scaled = match &model.scale {
            Some(scale) => x * scale,
            None => x,
        };
        scaled.sum() + &*model.pair.0 * &model.pair.1[0] + model.steps.cast::<f64>()
    }

    #[test]
    fn gradients_of_structs_have_their_structure() {
        let (model, x) = (model(), v(&[1.0, -1.0]));
        let (value, gradient) = value_and_grad(|(model, x)| run(model, x), (&model, &x));
        assert_eq!(value.item(), run(&model, &x).item());
        assert_eq!(gradient.name, "model");
        assert_eq!(gradient.layers.len(), 2);
        assert_eq!(gradient.layers[1].bias.to_vec(), [2.0, 2.0]);
        assert_eq!(gradient.layers[0].bias.to_vec(), [8.0, 12.0]);
        assert_eq!(gradient.layers[0].weights.to_vec(), [8.0, -8.0, 12.0, -12.0]);
        assert_eq!(gradient.steps.item(), 0);
        assert_eq!((gradient.pair.0.item(), gradient.pair.1[0].item(), gradient.pair.1[1].item()), (5.0, 1.0, 0.0));
    }

    #[test]
    fn generic_structs() {
        let pair = Pair(vec![v(&[1.0]), v(&[2.0, 3.0])], [scalar::<C, f64>(4.0), scalar(5.0)]);
        let gradient = grad(|Pair(parts, [a, b])| (parts[1].sum() + parts[0].sum()) * a + b, &pair);
        assert_eq!(gradient.0[1].to_vec(), [4.0, 4.0]);
        assert_eq!(gradient.1.map(|s| s.item()), [6.0, 1.0]);
        let clause = Clause { part: pair, other: scalar::<C, f32>(1.0) };
        let gradient = grad(|clause| clause.part.1[0].cast::<f32>() * &clause.other, &clause);
        assert_eq!((gradient.other.item(), gradient.part.1[0].item()), (4.0, 1.0));
        assert_eq!(Tree::<C>::leaves(&Nothing).len(), 0);
    }

    #[test]
    fn leaves_and_structural_errors() {
        let model = model();
        assert_eq!(model.leaves().len(), 9);
        let copy = model.with_leaves::<C>(model.leaves()).unwrap();
        assert_eq!(copy.layers[1].weights, model.layers[1].weights);
        assert!(model.with_leaves::<C>(Vec::new()).is_err());
        let mut leaves = model.leaves();
        leaves.swap(0, 1);
        assert!(model.with_leaves::<C>(leaves).is_err());
        let embedded: Model<<C as Algebra>::Nested> = constant(&model);
        assert_eq!(embedded.types(), model.types());
        assert_eq!(model.lift_forward().types(), model.types());
    }
}

mod derivatives {
    use super::*;

    /// One element of the self-convolution of `x`.
    fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let n = x.len();
        build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
    }

    #[test]
    fn of_a_generic_function() {
        let x = v(&[1.0, 2.0, 3.0]);
        let dx = grad(self_convolution, &x);
        assert_eq!(dx.to_vec(), [6.0, 4.0, 2.0]);
    }

    #[test]
    fn of_two_arguments_and_with_auxiliary_outputs() {
        let (a, b) = (scalar::<C, f64>(5.0), scalar::<C, f64>(3.0));
        let (value, da) = value_and_grad(|(a, b)| a + a * b, (&a, &b));
        assert_eq!((value.item(), da.item()), (20.0, 4.0));
        let (da, db) = grad(|(a, b)| a + a * b, &(a.clone(), b.clone()));
        assert_eq!((da.item(), db.item()), (4.0, 5.0));
        let ((value, aux), da) = value_and_grad_aux(|(a, b)| (a * b, (a * 100.0, b.gt(0.0))), (&a, &b));
        assert_eq!((value.item(), aux.0.item(), aux.1.item(), da.item()), (15.0, 500.0, true, 3.0));
        let (da, aux) = grad_aux(|a| (a * a, a * 100.0), &a);
        assert_eq!((da.item(), aux.item()), (10.0, 500.0));
        let (value, aux, pullback) = vjp_aux(|a| (a * a, a * 100.0), &a);
        assert_eq!((value.item(), aux.item(), pullback(&scalar(2.0)).item()), (25.0, 500.0, 20.0));
        let (value, tangent, aux) = jvp_aux(|a| (a * a, a * 100.0), &a, &scalar(2.0));
        assert_eq!((value.item(), tangent.item(), aux.item()), (25.0, 20.0, 500.0));
    }

    #[test]
    fn pullbacks_are_callable_many_times() {
        // y·x·x + (2+2) at (3, 2) (facts, 62).
        let at = (scalar::<C, f64>(3.0), scalar::<C, f64>(2.0));
        let (value, pullback) = vjp(|(x, y)| y * x * x + 4.0, &at);
        assert_eq!(value.item(), 22.0);
        for _ in 0..2 {
            let (dx, dy) = pullback(&scalar(1.0));
            assert_eq!((dx.item(), dy.item()), (12.0, 9.0));
        }
        let (value, tangent) = jvp(|(x, y)| y * x * x + 4.0, &at, &(scalar(1.0), scalar(0.0)));
        assert_eq!((value.item(), tangent.item()), (22.0, 12.0));
        // A second argument is not differentiated.
        let (_, tangent) = jvp(|(x, y)| y * x * x + 4.0, (&at.0, &at.1), &scalar(1.0));
        assert_eq!(tangent.item(), 12.0);
    }

    #[test]
    fn levels_are_not_confused() {
        // jvp(λx. jvp(λy. x+y) 3 1) 2 1: inner 1, whole 0 (facts, 63).
        let one = || scalar::<C, f64>(1.0);
        let (inner, whole) = jvp(|x| jvp(|y| x.lift_forward() + y, &scalar(3.0), &scalar(1.0)).1, &scalar(2.0), &one());
        assert_eq!((inner.item(), whole.item()), (1.0, 0.0));
        // jvp(λx. x · jvp(λy. x) 1 1) 2 1 = 0.
        let f = |x: &Scalar<_, f64>| x * jvp(|_| x.lift_forward(), &scalar(1.0), &scalar(1.0)).1;
        let (value, whole) = jvp(f, &scalar(2.0), &one());
        assert_eq!((value.item(), whole.item()), (0.0, 0.0));
        let mixed = grad(|x| x * grad(|y| x.lift() * y, &scalar(1.0)), &scalar::<C, f64>(3.0));
        assert_eq!(mixed.item(), 6.0);
    }

    #[test]
    fn third_order() {
        let x = scalar::<C, f64>(2.0);
        let third = grad(|x| grad(|x| grad(|x| x.powi(4), x), x), &x);
        assert_eq!(third.item(), 48.0);
        // vjp(vjp(vjp x⁴)) per element (facts, 64).
        let x = v(&[1.0, 2.0, 3.0]);
        let third = grad(|x| grad(|x| grad(|x| x.powi(4).sum(), x).sum(), x).sum(), &x);
        assert_eq!(third.to_vec(), [24.0, 48.0, 72.0]);
        let forward_over_reverse = jvp(|x| grad(|x| x.powi(3).sum(), x), &x, &v(&[1.0, 0.0, 1.0])).1;
        assert_eq!(forward_over_reverse.to_vec(), [6.0, 0.0, 18.0]);
        let reverse_over_forward = grad(|x| jvp(|x| x.powi(3).sum(), x, &ones(3)).1, &x);
        assert_eq!(reverse_over_forward.to_vec(), [6.0, 12.0, 18.0]);
    }

    /// A derivative inside a user's generic function, with one bound.
    fn newton_step<A: Algebra>(x: &Scalar<A, f64>, target: &Scalar<A, f64>) -> Scalar<A, f64> {
        let (value, slope) = value_and_grad(|(x, target)| x * x - target, (x, target));
        let curvature = grad(|y| grad(|z| z * z - target.lift().lift(), y) * x.lift(), x);
        x - value / slope + curvature * 0.0
    }

    #[test]
    fn inside_generic_functions() {
        let (x, target) = (scalar::<C, f64>(1.0), scalar(2.0));
        assert_eq!(newton_step(&x, &target).item(), 1.5);
        let slope = grad(|(x, target)| newton_step(x, target), (&x, &target)).item();
        assert_relative_eq!(slope, 0.5 - 1.0, max_relative = 1e-12);
    }

    #[test]
    fn integers_have_zero_gradients() {
        let at = (v(&[1.0, 2.0]), Vector::<C, i64>::from_slice(&[1, 0]), Vector::<C, bool>::from_slice(&[true, false]));
        let (dx, di, dp) = grad(|(x, i, p)| p.select(x.gather(i), 0.0).sum() + i.cast::<f64>().sum(), &at);
        assert_eq!((dx.to_vec(), di.to_vec(), dp.to_vec()), (vec![0.0, 1.0], vec![0, 0], vec![false, false]));
    }

    struct Cube;

    impl ArrayFn for Cube {
        type In = Vector<C, f64>;
        type Out = Scalar<C, f64>;
        fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
            x.powi(3).sum()
        }
    }

    struct Total;

    impl ArrayFn for Total {
        type In = Vector<C, f64>;
        type Out = Scalar<C, f64>;
        fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
            x.sum()
        }
    }

    #[test]
    fn functions_as_values() {
        let x = v(&[1.0, 2.0]);
        assert_eq!(Grad(Cube).call::<C>(&x).to_vec(), [3.0, 12.0]);
        let second = Grad(Compose(Grad(Cube), Total));
        assert_eq!(second.call::<C>(&x).to_vec(), [6.0, 12.0]);
        let third = Grad(Compose(&second, Total));
        assert_eq!(third.call::<C>(&x).to_vec(), [6.0, 6.0]);
        let (value, gradient) = ValueAndGrad(Cube).call::<C>(&x);
        assert_eq!((value.item(), gradient.to_vec()), (9.0, vec![3.0, 12.0]));
        assert_eq!(Vjp(Cube).call::<C>(&(x.clone(), scalar(2.0))).to_vec(), [6.0, 24.0]);
        let (value, tangent) = Jvp(Cube).call::<C>(&(x.clone(), v(&[1.0, 1.0])));
        assert_eq!((value.item(), tangent.item()), (9.0, 15.0));
        let hessian_vector = Jvp(Grad(Cube)).call::<C>(&(x, v(&[1.0, 1.0]))).1;
        assert_eq!(hessian_vector.to_vec(), [6.0, 12.0]);
    }
}

mod errors {
    use super::*;

    #[test]
    fn name_the_operation_both_shapes_and_the_line() {
        let (x, y) = (v(&[1.0, 2.0]), v(&[1.0, 2.0, 3.0]));
        let line = line!() + 1;
        let message = panic_of(|| &x + &y);
        assert!(message.contains("add") && message.contains("[2]") && message.contains("[3]"), "{message}");
        assert!(message.contains(&format!("surface.rs:{line}")), "{message}");
        let line = line!() + 1;
        let message = panic_of(|| grad(|x| (x * y.lift()).sum(), &x));
        assert!(message.contains("mul") && message.contains(&format!("surface.rs:{line}")), "{message}");
        let m: Matrix<C, f64> = zeros((2, 3));
        for (message, operation, shapes) in [
            (panic_of(|| m.dot(&m)), "dot", ["[2, 3]", "[2, 3]"]),
            (panic_of(|| m.reshape((4, 2))), "reshape", ["[2, 3]", "[4, 2]"]),
            (panic_of(|| m.broadcast_to((3, 2))), "broadcast_to", ["[2, 3]", "[3, 2]"]),
            (panic_of(|| m.sum_axis(2)), "sum_axis", ["[2, 3]", "axis 2"]),
            (panic_of(|| m.slice(1, 2..5)), "slice", ["[2, 3]", "2..5"]),
            (panic_of(|| m.slice_step(1, 2..5, -1)), "slice_step", ["[2, 3]", "2..5"]),
            (panic_of(|| m.reverse(2)), "reverse", ["[2, 3]", "axis 2"]),
            (panic_of(|| m.append(0, &m.transpose())), "append", ["[2, 3]", "[3, 2]"]),
            (panic_of(|| stack(&[x.clone(), y.clone()])), "stack", ["[2]", "[3]"]),
            (panic_of(|| x.lt(&y)), "lt", ["[2]", "[3]"]),
            (panic_of(|| x.gt(0.0).select(&x, &y)), "select", ["[2]", "[3]"]),
            (panic_of(|| select(y.gt(0.0), &x, &x)), "select", ["[2]", "[3]"]),
            (panic_of(|| m.tr(&[1, 1])), "tr", ["[1, 1]", "[2, 3]"]),
            (panic_of(|| m.contract::<_, R1>(&x, "ij,j->i")), "contract", ["[2, 3]", "[2]"]),
            (panic_of(|| m.contract_axes(&x, [1], [0])), "contract_axes", ["[2, 3]", "[2]"]),
            (panic_of(|| m.insert_axis(0).matmul(&m)), "matmul", ["[1, 2, 3]", "[2, 3]"]),
            (panic_of(|| m.gather((&iota(2), &iota(3)))), "gather", ["[2]", "[3]"]),
            (panic_of(|| x.scatter(&iota(3), 4)), "scatter", ["[2]", "[3]"]),
            (panic_of(|| m.remove_axis(0)), "remove_axis", ["[2, 3]", "axis 0"]),
            (panic_of(|| x.clone().into_dyn().at((0, 0))), "at", ["[2]", "2 positions"]),
            (panic_of(|| x.clone().into_dyn().into_rank::<R2>()), "into_rank", ["[2]", "2 axes"]),
            (
                panic_of(|| {
                    let mut z = x.clone();
                    z += &m;
                }),
                "add",
                ["[2]", "[2, 3]"],
            ),
            (
                panic_of(|| build(2, |i| build(x.at(i).item() as usize, |_| scalar::<C, f64>(0.0)))),
                "build",
                ["[1]", "[2]"],
            ),
            (panic_of(|| scan(x.clone(), &(), 1, |c, ()| (c.pad(0, 0, 1), ()))), "scan", ["f64[2]", "f64[3]"]),
            (panic_of(|| scan(x.clone(), &y, 2, |c, _| (c, ()))), "scan", ["[3]", "2 steps"]),
            (panic_of(|| Vector::<C, f64>::from_elements(3, vec![1.0])), "from_elements", ["[3]", "1 elements"]),
            (panic_of(|| vjp(|x| x * 2.0, &x).1(&y)), "vjp", ["f64[2]", "f64[3]"]),
            (panic_of(|| jvp(|x| x * 2.0, &x, &y)), "jvp", ["f64[2]", "f64[3]"]),
        ] {
            assert!(message.starts_with(operation), "{operation}: {message}");
            assert!(message.contains(shapes[0]) && message.contains(shapes[1]), "{shapes:?}: {message}");
            assert!(message.contains("surface.rs"), "{message}");
        }
    }
}
