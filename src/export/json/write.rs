//! From a program to the schema.

use super::element;
use super::schema::{self, Document, FORMAT, VERSION};
use crate::affine::AffineMap;
use crate::concrete::Array;
use crate::export::Program;
use crate::operation::{Extreme, Order, Reduction};
use crate::shape::{DType, Type, Value};
use crate::term::{Body, Checkpoints, Extension, Node, Op, Steps};
use std::collections::HashMap;
use std::ops::Range;

/// The document of a program.
pub(super) fn document<X: Extension>(program: &Program<X>) -> Document {
    let mut constants = Constants::default();
    let body = constants.body(&program.body);
    let names = |names: &[String], count: usize| names.iter().take(count).cloned().collect();
    Document {
        format: FORMAT.into(),
        version: VERSION,
        name: program.name.clone(),
        parameters: names(&program.parameters, program.body.arity()),
        results: names(&program.results, program.body.results.len()),
        constants: constants.list,
        body,
    }
}

pub(super) fn dtype(dtype: DType) -> schema::DType {
    match dtype {
        DType::F32 => schema::DType::F32,
        DType::F64 => schema::DType::F64,
        DType::I32 => schema::DType::I32,
        DType::I64 => schema::DType::I64,
        DType::Bool => schema::DType::Bool,
    }
}

fn ty(ty: &Type) -> schema::Type {
    schema::Type { dtype: dtype(ty.dtype), shape: ty.shape.to_vec() }
}

fn map(map: &AffineMap) -> schema::Map {
    let rows = 0..map.source().len();
    schema::Map {
        source: map.source().to_vec(),
        result: map.result().to_vec(),
        matrix: rows.clone().map(|row| map.row(row).to_vec()).collect(),
        offset: rows.map(|row| map.offset(row)).collect(),
    }
}

/// The constants whose elements differ, each of which the document has once.
#[derive(Default)]
struct Constants {
    list: Vec<schema::Constant>,
    positions: HashMap<Array, usize>,
}

impl Constants {
    /// A body. The recursion is as deep as bodies are nested.
    fn body<X: Extension>(&mut self, body: &Body<X>) -> schema::Body {
        let types = |positions: Range<usize>| positions.map(|at| ty(body.parameter_type(at))).collect();
        schema::Body {
            parameters: types(0..body.parameters),
            captures: types(body.parameters..body.arity()),
            nodes: body.nodes[body.arity()..].iter().map(|node| self.node(node)).collect(),
            results: body.results.clone(),
        }
    }

    fn node<X: Extension>(&mut self, node: &Node<X>) -> schema::Node {
        schema::Node { op: self.op(&node.op), operands: node.args.to_vec(), types: node.types.iter().map(ty).collect() }
    }

    fn constant(&mut self, array: &Array) -> schema::Op {
        let empty = (array.size() == 0).then(|| Value::from_i64(array.dtype(), 0));
        if let Some(value) = array.uniform().or(empty) {
            return schema::Op::Full(element::to_json(value));
        }
        let next = self.list.len();
        let position = *self.positions.entry(array.clone()).or_insert(next);
        if position == next {
            self.list.push(schema::Constant { ty: ty(&array.ty()), bytes: element::to_bytes(array) });
        }
        schema::Op::Constant(position)
    }

    fn op<X: Extension>(&mut self, op: &Op<X>) -> schema::Op {
        match op {
            Op::Parameter(_) => unreachable!("parameters come first, and are not among the nodes"),
            Op::Constant(array) => self.constant(array),
            Op::Iota(n) => schema::Op::Iota(*n),
            Op::Unary(op) => schema::Op::Unary(schema::Unary { name: op.name().into(), parameter: op.parameter() }),
            Op::Binary(op) => schema::Op::Binary(op.name().into()),
            Op::Compare(op) => schema::Op::Compare(op.name().into()),
            Op::Select => schema::Op::Select,
            Op::Cast(to) => schema::Op::Cast(dtype(*to)),
            Op::View(view) => schema::Op::View(map(view)),
            Op::Accumulate(view) => schema::Op::Accumulate(map(view)),
            Op::Reshape(shape) => schema::Op::Reshape(shape.to_vec()),
            Op::Concatenate(axis) => schema::Op::Concatenate(*axis),
            Op::Gather => schema::Op::Gather,
            Op::Scatter(extents) => schema::Op::Scatter(extents.to_vec()),
            Op::ScatterSet => schema::Op::ScatterSet,
            Op::Reduce(reduction, axes) => {
                let kind = match reduction {
                    Reduction::Sum => schema::Reduction::Sum,
                    Reduction::Max => schema::Reduction::Max,
                    Reduction::Min => schema::Reduction::Min,
                };
                schema::Op::Reduce(schema::Reduce { kind, axes: axes.to_vec() })
            }
            Op::ArgReduce(extreme, axis) => {
                let kind = match extreme {
                    Extreme::Max => schema::Extreme::Max,
                    Extreme::Min => schema::Extreme::Min,
                };
                schema::Op::ArgReduce(schema::ArgReduce { kind, axis: *axis })
            }
            Op::ArgSort(order, axis) => {
                let order = match order {
                    Order::Ascending => schema::Order::Ascending,
                    Order::Descending => schema::Order::Descending,
                };
                schema::Op::ArgSort(schema::ArgSort { order, axis: *axis })
            }
            Op::Contract(spec) => schema::Op::Contract(schema::Contract {
                left: spec.left.to_vec(),
                right: spec.right.to_vec(),
                result: spec.result.to_vec(),
            }),
            Op::Scan(scan) => schema::Op::Scan(Box::new(schema::Scan {
                length: scan.length,
                reverse: scan.reverse,
                carries: scan.carries,
                inputs: scan.inputs,
                body: self.body(&scan.body),
            })),
            Op::Branch(branch) => schema::Op::Branch(Box::new(schema::Branch {
                then: self.body(&branch.then),
                otherwise: self.body(&branch.otherwise),
            })),
            Op::Sweeps(sweeps) => {
                let steps = match &sweeps.steps {
                    Steps::Count(count) => schema::Steps::Count(*count),
                    Steps::While(condition) => schema::Steps::While(self.body(condition)),
                };
                let checkpoints = match sweeps.checkpoints {
                    Checkpoints::All => schema::Checkpoints::All,
                    Checkpoints::Every(steps) => schema::Checkpoints::Every(steps),
                    Checkpoints::Snapshots(count) => schema::Checkpoints::Snapshots(count),
                    Checkpoints::Bytes(bytes) => schema::Checkpoints::Bytes(bytes),
                };
                let each = sweeps.sweeps.iter().map(|sweep| schema::Sweep {
                    carries: sweep.carries,
                    inputs: sweep.inputs,
                    reads: sweep.reads.clone(),
                    keeps: sweep.keeps,
                    body: self.body(&sweep.body),
                });
                let each = each.collect();
                schema::Op::Sweeps(Box::new(schema::Sweeps {
                    steps,
                    reverse: sweeps.reverse,
                    checkpoints,
                    sweeps: each,
                }))
            }
            Op::Custom(custom) => schema::Op::Custom(Box::new(schema::Custom {
                value: self.body(&custom.value),
                vjp: custom.vjp.as_ref().map(|body| self.body(body)),
                jvp: custom.jvp.as_ref().map(|body| self.body(body)),
            })),
            Op::Output(position) => schema::Op::Output(*position),
            Op::Alias => schema::Op::Alias,
            Op::Mark => schema::Op::Mark,
            Op::Extra(extra) => {
                let build = extra.as_build();
                let body = self.body(&build.body);
                schema::Op::Build(Box::new(schema::Build { extents: build.extents.to_vec(), body }))
            }
        }
    }
}
