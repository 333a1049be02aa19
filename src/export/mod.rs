//! Exported programs: as text, as source in other languages, as data, as pictures.
//!
//! The exported unit is a [`Program`]: a bulk program with the names of its parameters and results. Every exporter takes
//! anything that converts into one: a staged function, also a derivative of one, `export::rust(&step)?`, or a `Program` that
//! was read back.

mod dot;
mod html;
#[cfg(feature = "json")]
mod json;
mod languages;
mod limits;
mod names;
mod python;
mod stablehlo;
mod text;

pub use crate::term::Program;
pub use dot::dot;
pub use html::{Stages, html};
#[cfg(feature = "json")]
pub use json::{from_json, from_json_source, json, json_source};
pub use languages::{COptions, CSource, CasadiOptions, OpenClOptions, OpenClSource, RustOptions, c, opencl, rust};
pub use python::{PythonPackage, python};
pub use stablehlo::stablehlo;
pub use text::{parse, parse_source, text, text_source};
