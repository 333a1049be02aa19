//! Trees of arrays, and the derive.

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

#[derive(Tree)]
enum Activation<A: Algebra, E: Element> {
    Identity,
    Leaky(Scalar<A, E>),
    Spline {
        knots: Vector<A, E>,
        inner: Box<Activation<A, E>>,
        #[tree(skip)]
        order: i32,
    },
}

impl<A: Algebra> Activation<A, f64> {
    fn apply(&self, x: &Vector<A, f64>) -> Vector<A, f64> {
        match self {
            Activation::Identity => x.clone(),
            Activation::Leaky(slope) => x.gt(0.0).select(x, x * slope),
            Activation::Spline { knots, inner, order } => inner.apply(&(x - knots).powi(*order)),
        }
    }
}

#[test]
fn enums_are_trees_of_a_static_variant() {
    let at = |slope: f64| Activation::Spline {
        knots: v(&[1.0, -1.0]),
        inner: Box::new(Activation::Leaky(scalar(slope))),
        order: 3,
    };
    let (x, activation) = (v(&[0.5, 2.0]), at(0.1));
    let gradient = grad(|(activation, x)| activation.apply(x).sum(), (&activation, &x));
    let Activation::Spline { knots, inner, order: 3 } = &gradient else { panic!("another variant") };
    assert_eq!(knots.to_vec(), [-3.0 * 0.25 * 0.1, -27.0]);
    let Activation::Leaky(slope) = &**inner else { panic!("another variant") };
    assert_eq!(slope.item(), -0.125);

    let staged = stage(|(activation, x)| activation.apply(x), (&activation, &x)).unwrap();
    assert_eq!(staged.call((&at(0.5), &x)).unwrap().to_vec(), [-0.0625, 27.0]);
    let error = staged.call((&Activation::Identity, &x)).unwrap_err().to_string();
    assert!(error.contains("`Identity` instead of `Spline`"), "{error}");
    let other = Activation::Spline { knots: v(&[1.0, -1.0]), inner: Box::new(Activation::Identity), order: 3 };
    let error = staged.call((&other, &x)).unwrap_err().to_string();
    assert!(error.contains("`inner`: `Identity` instead of `Leaky`"), "{error}");
    assert!(staged.to_string().contains("inner"), "{staged}");
}
