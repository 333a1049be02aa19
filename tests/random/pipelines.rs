//! The pipelines that programs go through.

use super::compare::{Pipeline, Suite};
use deltaray::concrete::Concrete;
use deltaray::term::interpret_source;

/// All pipelines and laws.
pub fn everything() -> Suite {
    let mut suite = Suite::default();
    suite.values.push(Pipeline::new("eager", |body, inputs| interpret_source::<Concrete>(body, inputs.to_vec())));
    suite
}
