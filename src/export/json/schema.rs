//! The schema, version 1: the form of the documents, independent of the library's own types.
//!
//! A change of these types that old documents don't fit is a new version. The page on the format describes every field.

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
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum DType {
    F32,
    F64,
    I32,
    I64,
    Bool,
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

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Op {
    Full(Value),
    Constant(usize),
    Iota(usize),
    Unary(Unary),
    Binary(String),
    Compare(String),
    Select,
    Cast(DType),
    View(Map),
    Accumulate(Map),
    Reshape(Vec<usize>),
    Concatenate(usize),
    Gather,
    Scatter(Vec<usize>),
    ScatterSet,
    Reduce(Reduce),
    ArgReduce(ArgReduce),
    ArgSort(ArgSort),
    Contract(Contract),
    Scan(Box<Scan>),
    Branch(Box<Branch>),
    Sweeps(Box<Sweeps>),
    Custom(Box<Custom>),
    Output(usize),
    Alias,
    Mark,
    Build(Box<Build>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unary {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parameter: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Map {
    pub(super) source: Vec<usize>,
    pub(super) result: Vec<usize>,
    pub(super) matrix: Vec<Vec<i64>>,
    pub(super) offset: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reduce {
    pub(super) kind: Reduction,
    pub(super) axes: Vec<usize>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reduction {
    Sum,
    Max,
    Min,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgReduce {
    pub(super) kind: Extreme,
    pub(super) axis: usize,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum Extreme {
    Max,
    Min,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgSort {
    pub(super) order: Order,
    pub(super) axis: usize,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Ascending,
    Descending,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contract {
    pub(super) left: Vec<u8>,
    pub(super) right: Vec<u8>,
    pub(super) result: Vec<u8>,
}

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
