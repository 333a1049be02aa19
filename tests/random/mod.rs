//! quickcheck writes programs: a generator of random source programs, shrinking, and the comparison of pipelines.
//!
//! Shared by several test programs, none of which uses all of it.
#![allow(dead_code)]

pub mod arrays;
pub mod chance;
pub mod compare;
pub mod derivatives;
pub mod families;
pub mod frequency;
pub mod generate;
pub mod pipelines;
pub mod reference;
pub mod shrink;
pub mod stages;
pub mod undone;
pub mod whole;
pub mod writes;
