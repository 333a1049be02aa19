//! Guides: how things work, page by page. Their programs are tests.
//!
//! Pages are read as files too, so they refer to each other by labels. Each page ends with its labels as files. Those below come
//! before it in the documentation, where they win: Markdown takes the first target of a label.

/// Declares pages, each with the targets of all labels before its text.
macro_rules! pages {
    ($($(#[$condition:meta])* $name:ident: $text:expr;)*) => {$(
        $(#[$condition])*
        #[doc = "[attribute.md]: crate::guide::attribute"]
        #[doc = "[casadi.md]: crate::guide::casadi"]
        #[doc = "[loops-that-write.md]: crate::guide::loops_that_write"]
        #[doc = "[loops-that-write.md#bounds-that-move]: crate::guide::loops_that_write#bounds-that-move"]
        #[doc = "[many-machines.md#on-accelerators-xla]: crate::guide::many_machines#on-accelerators-xla"]
        #[doc = "[numpy.md#products]: crate::guide::from_numpy#products"]
        #[doc = "[one-operation.md]: crate::guide::one_operation"]
        #[doc = "[pages.md]: crate::guide::pages"]
        #[doc = "[printed-programs.md]: crate::guide::printed_programs"]
        #[doc = "[python.md]: crate::guide::python"]
        #[doc = "[python.md#in-jax]: crate::guide::python#in-jax"]
        #[doc = "[semantics.md]: crate::guide::semantics"]
        #[doc = "[semantics.md#what-a-side-not-taken-can-not-do]: crate::guide::semantics#what-a-side-not-taken-can-not-do"]
        #[doc = "[sparse.md]: crate::guide::sparse_derivatives"]
        #[doc = "[sparse.md#systems-of-equations]: crate::guide::sparse_derivatives#systems-of-equations"]
        #[doc = "[stablehlo.md]: crate::guide::stablehlo"]
        #[doc = "[tutorial.md]: crate::guide::tutorial"]
        #[doc = ""]
        #[doc = $text]
        pub mod $name {}
    )*};
}

pages! {
    first_gradient: include_str!("../docs/first-gradient.md");
    tutorial: include_str!("../docs/tutorial.md");
    attribute: include_str!("../docs/attribute.md");
    loops_that_write: include_str!("../docs/loops-that-write.md");
    papers_programs: include_str!("../docs/paper.md");
    from_numpy: include_str!("../docs/numpy.md");
    semantics: include_str!("../docs/semantics.md");
    linear_algebra: include_str!("../docs/linear-algebra.md");
    sparse_derivatives: include_str!("../docs/sparse.md");
    one_operation: include_str!("../docs/one-operation.md");
    adding_an_operation: include_str!("../docs/adding-an-operation.md");
    printed_programs: include_str!("../docs/printed-programs.md");
    exporting: include_str!("../docs/export.md");
    python: include_str!("../docs/python.md");
    casadi: include_str!("../docs/casadi.md");
    #[cfg(feature = "json")]
    json: include_str!("../docs/json.md");
    stablehlo: include_str!("../docs/stablehlo.md");
    many_machines: include_str!("../docs/many-machines.md");
    pages: include_str!("../docs/pages.md");
    #[cfg(feature = "opencl")]
    devices: include_str!("../docs/devices.md");
}
