//! Functions of arrays with a name, which rules and solvers take.

/// A function of arrays, by its types and its body.
macro_rules! function {
    ($name:ident: $in:ty => $out:ty, |$input:pat_param| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl ArrayFn for $name {
            type In = $in;
            type Out = $out;
            #[allow(unused_variables)]
            fn call<A: Algebra>(&self, input: &<$in as Family>::At<A>) -> <$out as Family>::At<A> {
                let $input = input;
                $body
            }
        }
    };
}
