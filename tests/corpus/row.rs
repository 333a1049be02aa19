//! A row: a program that is generic over the algebra, a point, and the known results there.

use deltaray::algebra::Algebra;
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::ArrayFn;
use deltaray::dual::{Dual, DualArray, Tangent, TangentArray};
use deltaray::staged::{Staged, StagedArray};
use deltaray::tensor::{Family, Tree};

/// A program with its types erased, in the four algebras that it is compiled for.
pub trait Program {
    /// Runs on plain arrays.
    fn plain(&self, inputs: Vec<Array>) -> Vec<Array>;
    /// Runs on dual arrays.
    fn dual(&self, inputs: Vec<DualArray<Concrete>>) -> Vec<DualArray<Concrete>>;
    /// Runs on arrays with tangents.
    fn tangent(&self, inputs: Vec<TangentArray<Concrete>>) -> Vec<TangentArray<Concrete>>;
    /// Runs on variables.
    fn staged(&self, inputs: Vec<StagedArray>) -> Vec<StagedArray>;
}

struct Typed<F: ArrayFn> {
    function: F,
    /// A tree of the input's structure.
    like: <F::In as Family>::At<Concrete>,
}

impl<F: ArrayFn> Typed<F> {
    fn run<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        let input = F::In::rebuild::<Concrete, A>(&self.like, &mut inputs.into_iter());
        self.function.call::<A>(&input).leaves()
    }
}

impl<F: ArrayFn> Program for Typed<F> {
    fn plain(&self, inputs: Vec<Array>) -> Vec<Array> {
        self.run::<Concrete>(inputs)
    }
    fn dual(&self, inputs: Vec<DualArray<Concrete>>) -> Vec<DualArray<Concrete>> {
        self.run::<Dual<Concrete>>(inputs)
    }
    fn tangent(&self, inputs: Vec<TangentArray<Concrete>>) -> Vec<TangentArray<Concrete>> {
        self.run::<Tangent<Concrete>>(inputs)
    }
    fn staged(&self, inputs: Vec<StagedArray>) -> Vec<StagedArray> {
        self.run::<Staged>(inputs)
    }
}

/// A program, a point, and the known results there.
pub struct Row {
    /// Its name in failures.
    pub name: &'static str,
    /// The program.
    pub program: Box<dyn Program>,
    /// The point.
    pub inputs: Vec<Array>,
    /// All results' elements.
    pub value: Option<Vec<f64>>,
    /// The elements of the gradient of the sum of all float results, with respect to the float inputs.
    pub gradient: Option<Vec<f64>>,
    /// How closely these are known.
    pub digits: f64,
    /// Whether finite differences apply at the point.
    pub smooth: bool,
    /// Whether derivatives are defined at the point.
    pub differentiable: bool,
    /// Whether second derivatives are defined at the point.
    pub twice: bool,
    /// Whether the program is too large to run element by element.
    pub large: bool,
    /// Whether the program takes so long that few pipelines run.
    pub heavy: bool,
    /// By what factor, and by how much, the bulk program may compute more than the source.
    pub overhead: (u128, u128),
}

impl Row {
    /// A row with only the point known.
    pub fn new<F: ArrayFn + 'static>(name: &'static str, function: F, at: <F::In as Family>::At<Concrete>) -> Row {
        let inputs = at.leaves();
        Row {
            name,
            program: Box::new(Typed { function, like: at }),
            inputs,
            value: None,
            gradient: None,
            digits: 0.0,
            smooth: false,
            differentiable: true,
            twice: true,
            large: false,
            heavy: false,
            overhead: (1, 0),
        }
    }

    /// States all results' elements, truth values as 0 and 1.
    pub fn value(mut self, elements: impl Into<Vec<f64>>) -> Row {
        self.value = Some(elements.into());
        self
    }

    /// States the gradient of the sum of all float results, with respect to the float inputs.
    pub fn gradient(mut self, elements: impl Into<Vec<f64>>) -> Row {
        self.gradient = Some(elements.into());
        self
    }

    /// The numbers above are known to this relative precision only.
    pub fn digits(mut self, precision: f64) -> Row {
        self.digits = precision;
        self
    }

    /// The program is smooth around the point, so finite differences apply.
    pub fn smooth(mut self) -> Row {
        self.smooth = true;
        self
    }

    /// Derivatives are not defined at the point: only values are compared.
    pub fn values_only(mut self) -> Row {
        self.differentiable = false;
        self
    }

    /// Second derivatives are not defined at the point.
    pub fn once(mut self) -> Row {
        self.twice = false;
        self
    }

    /// The program is too large to run element by element: only bulk programs run.
    pub fn large(mut self) -> Row {
        self.large = true;
        self
    }

    /// The program takes long: few pipelines run, and no laws are judged.
    pub fn heavy(mut self) -> Row {
        self.heavy = true;
        self
    }

    /// Guards make the bulk program compute more than the source, up to so many times as much and so much more.
    pub fn overhead(mut self, factor: u128, more: u128) -> Row {
        self.overhead = (factor, more);
        self
    }
}

/// A function of arrays: `function!(V => S, |x| x.sum())`. The types are of families, over [`Concrete`]; the body may name
/// the algebra as `A`.
macro_rules! function {
    ($in:ty => $out:ty, |$input:pat_param| $body:expr) => {{
        #[derive(Clone, Copy)]
        struct Function;
        impl deltaray::derivative::ArrayFn for Function {
            type In = $in;
            type Out = $out;
            #[allow(unused_variables)]
            fn call<A: Algebra>(&self, input: &<$in as Family>::At<A>) -> <$out as Family>::At<A> {
                let $input = input;
                $body
            }
        }
        Function
    }};
}
pub(crate) use function;

/// A row: `row!("name": (S, V) => S, |(a, x)| (a * x).sum(), (s(2.0), v([1.0])))`, with a [`function!`] in the middle.
macro_rules! row {
    ($name:literal : $in:ty => $out:ty, |$input:pat_param| $body:expr, $at:expr) => {
        Row::new($name, super::row::function!($in => $out, |$input| $body), $at)
    };
}
pub(crate) use row;
