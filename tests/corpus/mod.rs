//! The corpus: rows by theme, and the checks of each.

pub mod associative;
pub mod bad_writes;
pub mod benchmarks;
pub mod builds;
pub mod called;
pub mod check;
pub mod conditionals;
pub mod constructs;
pub mod cumulative;
pub mod custom;
pub mod derivatives;
pub mod edges;
pub mod families;
pub mod functions;
pub mod implicit;
pub mod indexing;
pub mod laws;
pub mod linalg;
pub mod loops;
pub mod loops_that_write;
pub mod models;
pub mod moving_bounds;
pub mod nestings;
pub mod products;
pub mod reductions;
pub mod row;
pub mod scalars;
pub mod segments;
pub mod shared;
pub mod sorting;
pub mod structure;
pub mod while_loops;
pub mod writes;
pub mod written_parts;

use row::Row;

/// All rows.
pub fn all() -> Vec<Row> {
    let themes = [
        scalars::rows,
        indexing::rows,
        builds::rows,
        structure::rows,
        reductions::rows,
        associative::rows,
        cumulative::rows,
        constructs::rows,
        products::rows,
        loops::rows,
        conditionals::rows,
        models::rows,
        segments::rows,
        sorting::rows,
        writes::rows,
        loops_that_write::rows,
        written_parts::rows,
        moving_bounds::rows,
        bad_writes::rows,
        functions::rows,
        linalg::rows,
        derivatives::rows,
        custom::rows,
        implicit::rows,
        nestings::rows,
        benchmarks::rows,
        families::rows,
        while_loops::rows,
        edges::rows,
    ];
    themes.iter().flat_map(|rows| rows()).collect()
}

/// The imports for writing rows.
pub mod prelude {
    pub use super::row::Row;
    pub(crate) use super::row::{function, row};
    pub use super::shared::*;
    pub use deltaray::algebra::Algebra;
    pub use deltaray::prelude::*;
}
