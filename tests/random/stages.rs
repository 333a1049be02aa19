//! A program on its way through the passes: each stage is computed once, when a pipeline first asks for it.

use deltaray::derivative::program;
use deltaray::simplify::simplify;
use deltaray::term::{Body, Build};
use deltaray::vectorise::{push_reads, vectorise};
use std::cell::OnceCell;

/// A source program and the results of passes on it.
pub struct Stages<'a> {
    /// The program.
    pub source: &'a Body<Build>,
    vectorised: OnceCell<Body>,
    simplified: OnceCell<Body>,
    bulk: OnceCell<Body>,
    reverse: OnceCell<Body>,
    tidy_reverse: OnceCell<Body>,
}

impl<'a> Stages<'a> {
    /// The stages of a program, none computed yet.
    pub fn of(source: &'a Body<Build>) -> Stages<'a> {
        Stages {
            source,
            vectorised: OnceCell::new(),
            simplified: OnceCell::new(),
            bulk: OnceCell::new(),
            reverse: OnceCell::new(),
            tidy_reverse: OnceCell::new(),
        }
    }

    /// Without builds.
    pub fn vectorised(&self) -> &Body {
        self.vectorised.get_or_init(|| vectorise(self.source))
    }

    /// Vectorised and simplified.
    pub fn simplified(&self) -> &Body {
        self.simplified.get_or_init(|| simplify(self.vectorised()))
    }

    /// Vectorised, simplified, with reads pushed, and simplified again: the result of [`program::bulk`].
    pub fn bulk(&self) -> &Body {
        self.bulk.get_or_init(|| simplify(&push_reads(self.simplified())))
    }

    /// The values and, from their cotangents, the cotangents of all parameters of the bulk program.
    pub fn reverse(&self) -> &Body {
        self.reverse.get_or_init(|| transposed(self.bulk()))
    }

    /// The same, tidied.
    pub fn tidy_reverse(&self) -> &Body {
        self.tidy_reverse.get_or_init(|| program::tidy(self.reverse()))
    }
}

/// The program of values and cotangents of all parameters.
pub fn transposed(body: &Body) -> Body {
    program::vjp(body, body.arity()).expect("well-formed programs can be differentiated")
}
