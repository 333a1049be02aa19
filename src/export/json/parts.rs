//! The parts of operations, and their forms in documents.

use super::problem::{DocumentResult, problem};
use crate::affine::AffineMap;
use crate::algebra::{Contraction, Extreme, Order, Reduction};
use crate::export::limits::InputLimits;
use crate::operation::{Binary, COMPARISON_ROWS, Comparison, MatrixOperation, SparseKind, SparseOperation, Unary};
use crate::shape::{DType, Shape};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A part of an operation: an axis, a shape, a name.
pub(super) trait OperationPart: Sized {
    /// Its form in documents.
    type Written: Serialize + DeserializeOwned;

    fn write(&self) -> Self::Written;

    fn read(written: Self::Written, limits: &mut InputLimits) -> DocumentResult<Self>;
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

            fn read(written: words::$part, _: &mut InputLimits) -> DocumentResult<$part> {
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

    fn read(written: usize, _: &mut InputLimits) -> DocumentResult<usize> {
        Ok(written)
    }
}

/// Extents, and axes.
impl OperationPart for Shape {
    type Written = Vec<usize>;

    fn write(&self) -> Vec<usize> {
        self.to_vec()
    }

    fn read(written: Vec<usize>, _: &mut InputLimits) -> DocumentResult<Shape> {
        Ok(written.into())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Map {
    source: Vec<usize>,
    result: Vec<usize>,
    matrix: Vec<Vec<i64>>,
    offset: Vec<i64>,
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

    fn read(written: Map, limits: &mut InputLimits) -> DocumentResult<AffineMap> {
        let rows: Vec<SmallVec<[i64; 4]>> = written.matrix.iter().map(|row| row[..].into()).collect();
        limits.map(&written.source, &written.result, &rows, &written.offset).or_else(problem)
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

    fn read(WrittenUnary { name, parameter }: WrittenUnary, _: &mut InputLimits) -> DocumentResult<Unary> {
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

    fn read(written: String, _: &mut InputLimits) -> DocumentResult<Binary> {
        match Binary::named(&written) {
            Some(op) => Ok(op),
            None => problem(format!("there is no operation {written:?}")),
        }
    }
}

impl OperationPart for MatrixOperation {
    type Written = String;

    fn write(&self) -> String {
        self.name().into()
    }

    fn read(written: String, _: &mut InputLimits) -> DocumentResult<MatrixOperation> {
        match MatrixOperation::named(&written) {
            Some(op) => Ok(op),
            None => problem(format!("there is no operation on matrices {written:?}")),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Sparse")]
pub(super) struct WrittenSparse {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directions: Option<usize>,
    row_offsets: Vec<usize>,
    column_indices: Vec<u32>,
}

impl OperationPart for SparseOperation {
    type Written = WrittenSparse;

    fn write(&self) -> WrittenSparse {
        let directions = if let SparseKind::InverseEntries(directions) = self.kind { Some(directions) } else { None };
        let (row_offsets, column_indices) = (self.elimination.offsets.clone(), self.elimination.columns.clone());
        WrittenSparse { name: self.name().into(), directions, row_offsets, column_indices }
    }

    fn read(written: WrittenSparse, limits: &mut InputLimits) -> DocumentResult<SparseOperation> {
        let WrittenSparse { name, directions, row_offsets, column_indices } = written;
        let kind = match (SparseKind::named(&name), directions) {
            (Some(SparseKind::InverseEntries(_)), Some(directions)) => SparseKind::InverseEntries(directions),
            (Some(SparseKind::InverseEntries(_)), None) | (None, _) | (Some(_), Some(_)) => {
                return problem(format!(
                    "there is no operation on sparse matrices {name:?} with directions {directions:?}"
                ));
            }
            (Some(kind), None) => kind,
        };
        let elimination = limits.elimination(row_offsets, column_indices).or_else(problem)?;
        Ok(SparseOperation { kind, elimination: elimination.into() })
    }
}

impl OperationPart for Comparison {
    type Written = String;

    fn write(&self) -> String {
        self.name().into()
    }

    fn read(written: String, _: &mut InputLimits) -> DocumentResult<Comparison> {
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
        _: &mut InputLimits,
    ) -> DocumentResult<Contraction> {
        let labels = Contraction { left: left.into(), right: right.into(), result: result.into() };
        match labels.is_valid() {
            true => Ok(labels),
            false => problem("a label stands in at least two of the three lists, and in each of them once"),
        }
    }
}
