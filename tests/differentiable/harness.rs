//! One function in all the ways in which it can run.

use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;
use deltaray::staged::Staged;

type Plain<F> = <F as Family>::At<Concrete>;

/// Another handle on the arrays.
fn again<T: Tree<Concrete>>(tree: &T) -> T {
    deltaray::tensor::duplicate(tree)
}

/// Checks that two functions have the same value and pullback on plain arrays and as staged programs, and the same tangent.
#[track_caller]
pub fn same<F: ArrayFn, G: ArrayFn<In = F::In, Out = F::Out>>(written: &F, generic: &G, at: &Plain<F::In>) {
    let (value, expected) = (written.call::<Concrete>(at), generic.call::<Concrete>(at));
    close("the value", &value.leaves(), &expected.leaves());
    // The value itself is the direction of the pullback, and the point the direction of the tangent.
    let point = (again(at), again(&value));
    let (pulled, wanted) = (Vjp(written).call::<Concrete>(&point), Vjp(generic).call::<Concrete>(&point));
    close("the pullback", &pulled.leaves(), &wanted.leaves());
    let point = (again(at), again(at));
    let (moved, wanted) = (Jvp(written).call::<Concrete>(&point), Jvp(generic).call::<Concrete>(&point));
    close("the tangent", &moved.leaves(), &wanted.leaves());
    let staged = stage(|x| written.call::<Staged>(x), at).expect("it is staged");
    let found: Plain<F::Out> = staged.interpret(at).expect("it runs");
    close("the staged value", &found.leaves(), &expected.leaves());
    let pullback = staged.vjp().expect("it has a pullback");
    let (_, found): (Plain<F::Out>, Plain<F::In>) = pullback.interpret((at, &value)).expect("the pullback runs");
    close("the staged pullback", &found.leaves(), &pulled.leaves());
}

fn close(what: &str, found: &[deltaray::concrete::Array], expected: &[deltaray::concrete::Array]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.shape(), expected.shape(), "{what}");
        for at in 0..deltaray::shape::size(found.shape()) {
            let (x, y) = (found.element(at).to_f64(), expected.element(at).to_f64());
            assert!((x - y).abs() <= 1e-9 * (1.0 + y.abs()), "{what}: {x} instead of {y} at {at}");
        }
    }
}

/// A function of arrays that is written generically: `generic!(V => S, |x| ..)`, as in the corpus.
macro_rules! generic {
    ($in:ty => $out:ty, |$input:pat_param| $body:expr) => {{
        #[derive(Clone, Copy)]
        struct Generic;
        impl deltaray::derivative::ArrayFn for Generic {
            type In = $in;
            type Out = $out;
            #[allow(unused_variables)]
            fn call<A: Algebra>(&self, input: &<$in as Family>::At<A>) -> <$out as Family>::At<A> {
                let $input = input;
                $body
            }
        }
        Generic
    }};
}
pub(crate) use generic;

pub type S = Scalar<Concrete, f64>;
pub type V = Vector<Concrete, f64>;
pub type M = Matrix<Concrete, f64>;

pub fn v<const N: usize>(elements: [f64; N]) -> V {
    Vector::from(elements)
}
