//! The procedural macros of `deltaray`.
