//! Operations in documents: an entry for each, of which its schema, its reading and its writing are made.

use super::read::{DocumentReader, DocumentResult, Within, problem};
use super::schema::{Branch, Build, Custom, Map, Scan, Sweeps};
use super::write::DocumentWriter;
use crate::affine::AffineMap;
use crate::algebra::{Contraction, Extreme, Order, Reduction};
use crate::export::form::Form;
use crate::operation::{Binary, COMPARISON_ROWS, Comparison, Unary};
use crate::shape::{DType, Shape, Type};
use crate::term::{self, Extension};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A part of an operation: an axis, a shape, a name.
pub(super) trait OperationPart: Sized {
    /// Its form in documents.
    type Written: Serialize + DeserializeOwned;

    fn write(&self) -> Self::Written;

    fn read(written: Self::Written, reader: &mut DocumentReader) -> DocumentResult<Self>;
}

/// The document of an operation that has fields.
macro_rules! object {
    ($name:ident $($field:ident)*) => {
        objects::$name
    };
}

/// Operations, in the order in which messages list them. Those of parts are entries of a name in documents, the operation, and
/// its parts: none, one, or several, which are the fields of an object. Values and operations with bodies have documents of their
/// own, and methods of [`DocumentReader`] that read them.
macro_rules! operations {
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
        mod objects {
            use super::*;

            $($($(
                #[derive(Serialize, Deserialize)]
                #[serde(deny_unknown_fields)]
                pub(in crate::export::json) struct $name {
                    $(pub(super) $field: <$field_kind as OperationPart>::Written,)*
                }
            )?)*)*
        }

        impl Op {
            /// The operation of a program, of which the document states the types.
            pub(super) fn read<X: Form>(self, reader: &mut DocumentReader, stated: &[Type]) -> DocumentResult<term::Op<X>> {
                match self {
                    $(Op::$other(written) => reader.$read(written, stated),)*
                    $(
                        $(Op::$name $(($part))? $((objects::$name { $($field),* }))? => Ok(term::Op::$name
                            $((<$kind as OperationPart>::read($part, reader).within($text)?))?
                            $(($(<$field_kind as OperationPart>::read($field, reader).within($text)?),*))?),)*
                        $(Op::$nested(written) => reader.$read_nested(*written),)*
                    )*
                }
            }

            /// The operation as documents have it.
            pub(super) fn write<X: Extension>(op: &term::Op<X>, writer: &mut DocumentWriter) -> Op {
                match op {
                    $($(term::Op::$name $(($part))? $(($($field),*))? => Op::$name
                        $((OperationPart::write($part)))?
                        $((objects::$name { $($field: OperationPart::write($field)),* }))?,)*)*
                    term::Op::Parameter(_) => unreachable!("parameters come first, and are not among the nodes"),
                    term::Op::Constant(array) => writer.constant(array),
                    term::Op::Scan(scan) => Op::Scan(Box::new(writer.scan(scan))),
                    term::Op::Branch(branch) => Op::Branch(Box::new(writer.branch(branch))),
                    term::Op::Sweeps(sweeps) => Op::Sweeps(Box::new(writer.sweeps(sweeps))),
                    term::Op::Custom(custom) => Op::Custom(Box::new(writer.custom(custom))),
                    term::Op::Extra(extra) => Op::Build(Box::new(writer.build(extra.as_build()))),
                }
            }
        }
    };
}

operations! {
    of_values {
        Full(Value) full;
        Constant(usize) constant;
    }
    of_parts {
        "iota" Iota(extent: usize);
        "unary" Unary(row: Unary);
        "binary" Binary(row: Binary);
        "compare" Compare(row: Comparison);
        "select" Select;
        "cast" Cast(to: DType);
        "view" View(map: AffineMap);
        "accumulate" Accumulate(map: AffineMap);
        "reshape" Reshape(shape: Shape);
        "concatenate" Concatenate(axis: usize);
        "gather" Gather;
        "scatter" Scatter(extents: Shape);
        "scatter_set" ScatterSet;
        "reduce" Reduce { kind: Reduction, axes: Shape };
        "arg_reduce" ArgReduce { kind: Extreme, axis: usize };
        "arg_sort" ArgSort { order: Order, axis: usize };
        "contract" Contract(labels: Contraction);
    }
    of_bodies {
        Scan scan;
        Branch branch;
        Sweeps sweeps;
        Custom custom;
    }
    of_parts {
        "output" Output(position: usize);
        "alias" Alias;
        "mark" Mark;
    }
    of_bodies {
        Build build;
    }
}

/// Parts that are one of a few words.
macro_rules! words {
    ($($part:ident { $($word:ident),* })*) => {
        /// The words, which are types of the schema of their own.
        pub(super) mod words {
            $(
                #[derive(serde::Serialize, serde::Deserialize, Clone, Copy)]
                #[serde(rename_all = "snake_case")]
                pub(in crate::export::json) enum $part { $($word),* }
            )*
        }

        $(impl OperationPart for $part {
            type Written = words::$part;

            fn write(&self) -> words::$part {
                match self { $($part::$word => words::$part::$word),* }
            }

            fn read(written: words::$part, _: &mut DocumentReader) -> DocumentResult<$part> {
                Ok(written.into())
            }
        }

        impl From<words::$part> for $part {
            fn from(written: words::$part) -> $part {
                match written { $(words::$part::$word => $part::$word),* }
            }
        })*
    };
}

words! {
    DType { F32, F64, I32, I64, Bool }
    Reduction { Sum, Max, Min }
    Extreme { Max, Min }
    Order { Ascending, Descending }
}

impl OperationPart for usize {
    type Written = usize;

    fn write(&self) -> usize {
        *self
    }

    fn read(written: usize, _: &mut DocumentReader) -> DocumentResult<usize> {
        Ok(written)
    }
}

/// Extents, and axes.
impl OperationPart for Shape {
    type Written = Vec<usize>;

    fn write(&self) -> Vec<usize> {
        self.to_vec()
    }

    fn read(written: Vec<usize>, _: &mut DocumentReader) -> DocumentResult<Shape> {
        Ok(written.into())
    }
}

impl OperationPart for AffineMap {
    type Written = Map;

    fn write(&self) -> Map {
        let rows = 0..self.source().len();
        Map {
            source: self.source().to_vec(),
            result: self.result().to_vec(),
            matrix: rows.clone().map(|row| self.row(row).to_vec()).collect(),
            offset: rows.map(|row| self.offset(row)).collect(),
        }
    }

    fn read(written: Map, reader: &mut DocumentReader) -> DocumentResult<AffineMap> {
        reader.map(&written)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Unary")]
pub(super) struct WrittenUnary {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parameter: Option<i64>,
}

impl OperationPart for Unary {
    type Written = WrittenUnary;

    fn write(&self) -> WrittenUnary {
        WrittenUnary { name: self.name().into(), parameter: self.parameter() }
    }

    fn read(WrittenUnary { name, parameter }: WrittenUnary, _: &mut DocumentReader) -> DocumentResult<Unary> {
        match Unary::named(&name, parameter.map(i128::from)) {
            Some(op) => Ok(op),
            None => problem(format!("there is no operation {name:?} with parameter {parameter:?}")),
        }
    }
}

impl OperationPart for Binary {
    type Written = String;

    fn write(&self) -> String {
        self.name().into()
    }

    fn read(written: String, _: &mut DocumentReader) -> DocumentResult<Binary> {
        match Binary::named(&written) {
            Some(op) => Ok(op),
            None => problem(format!("there is no operation {written:?}")),
        }
    }
}

impl OperationPart for Comparison {
    type Written = String;

    fn write(&self) -> String {
        self.name().into()
    }

    fn read(written: String, _: &mut DocumentReader) -> DocumentResult<Comparison> {
        match COMPARISON_ROWS.iter().find(|op| op.name() == written) {
            Some(&op) => Ok(op),
            None => problem(format!("there is no comparison {written:?}")),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Contract")]
pub(super) struct ContractionLabels {
    left: Vec<u8>,
    right: Vec<u8>,
    result: Vec<u8>,
}

impl OperationPart for Contraction {
    type Written = ContractionLabels;

    fn write(&self) -> ContractionLabels {
        ContractionLabels { left: self.left.to_vec(), right: self.right.to_vec(), result: self.result.to_vec() }
    }

    fn read(
        ContractionLabels { left, right, result }: ContractionLabels,
        _: &mut DocumentReader,
    ) -> DocumentResult<Contraction> {
        let labels = Contraction { left: left.into(), right: right.into(), result: result.into() };
        match labels.is_valid() {
            true => Ok(labels),
            false => problem("a label stands in at least two of the three lists, and in each of them once"),
        }
    }
}
