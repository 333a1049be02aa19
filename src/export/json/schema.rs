//! The schema, version 1: the form of the documents, independent of the library's own types.
//!
//! A change of these types that old documents don't fit is a new version. The page on the format describes every field.

use super::operations::operations;
use super::parts::{OperationPart, words};
use crate::affine::AffineMap;
use crate::algebra::{Contraction, Extreme, Order, Reduction};
use crate::operation::{Binary, Comparison, MatrixOperation, SparseOperation, Unary};
use crate::shape::{DType, Shape};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The identification of every document of the format.
pub(super) const FORMAT: &str = "deltaray program";
pub(super) const VERSION: u64 = 1;

/// The part that is read first, whatever else there is.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) format: String,
    pub(super) version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) format: String,
    pub(super) version: u64,
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) results: Vec<String>,
    pub(super) constants: Vec<Constant>,
    pub(super) body: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Constant {
    #[serde(rename = "type")]
    pub(super) ty: Type,
    /// Base64 of the elements, row-major and little-endian.
    pub(super) bytes: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Type {
    pub(super) dtype: words::DType,
    pub(super) shape: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    pub(super) parameters: Vec<Type>,
    pub(super) captures: Vec<Type>,
    pub(super) nodes: Vec<Node>,
    pub(super) results: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    pub(super) op: Op,
    pub(super) operands: Vec<u32>,
    pub(super) types: Vec<Type>,
}

/// The document of an operation that has fields.
macro_rules! object {
    ($name:ident $($field:ident)*) => {
        objects::$name
    };
}

macro_rules! documents {
    (of_values { $($other:ident($written:ty) $read:ident;)* } $(
        of_parts { $($text:literal $name:ident $(($part:ident: $kind:ty))?
            $({ $($field:ident: $field_kind:ty),* })?;)* }
        of_bodies { $($nested:ident $read_nested:ident;)* }
    )*) => {
        /// An operation of a document.
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum Op {
            $($other($written),)*
            $(
                $(#[serde(rename = $text)] $name $((<$kind as OperationPart>::Written))? $((object!($name $($field)*)))?,)*
                $($nested(Box<$nested>),)*
            )*
        }

        /// The documents of operations of several parts.
        pub(super) mod objects {
            use super::*;

            $($($(
                #[derive(Serialize, Deserialize)]
                #[serde(deny_unknown_fields)]
                pub(in crate::export::json) struct $name {
                    $(pub(in crate::export::json) $field: <$field_kind as OperationPart>::Written,)*
                }
            )?)*)*
        }
    };
}

operations!(documents);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scan {
    pub(super) length: usize,
    pub(super) reverse: bool,
    pub(super) carries: usize,
    pub(super) inputs: usize,
    pub(super) body: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Branch {
    pub(super) then: Body,
    #[serde(rename = "else")]
    pub(super) otherwise: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweeps {
    pub(super) steps: Steps,
    pub(super) reverse: bool,
    pub(super) checkpoints: Checkpoints,
    pub(super) sweeps: Vec<Sweep>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Steps {
    Count(usize),
    While(Body),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Checkpoints {
    All,
    Every(usize),
    Snapshots(usize),
    Bytes(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    pub(super) carries: usize,
    pub(super) inputs: usize,
    pub(super) reads: Vec<(usize, usize)>,
    pub(super) keeps: usize,
    pub(super) body: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Custom {
    pub(super) value: Body,
    pub(super) vjp: Option<Body>,
    pub(super) jvp: Option<Body>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Build {
    pub(super) extents: Vec<usize>,
    pub(super) body: Body,
}
