//! From a program to the schema.

use super::element;
use super::operations::operations;
use super::parts::OperationPart;
use super::schema::{self, Document, FORMAT, VERSION};
use crate::concrete::Array;
use crate::export::Program;
use crate::shape::{Type, Value};
use crate::term::{Body, Branch, Build, Checkpoints, Custom, Extension, Node, Op, Scan, Steps, Sweeps};
use std::collections::HashMap;
use std::ops::Range;

/// The document of a program.
pub(super) fn document<X: Extension>(program: &Program<X>) -> Document {
    let mut writer = DocumentWriter::default();
    let body = writer.body(&X::widened(&program.body));
    let names = |names: &[String], count: usize| names.iter().take(count).cloned().collect();
    Document {
        format: FORMAT.into(),
        version: VERSION,
        name: program.name.clone(),
        parameters: names(&program.parameters, program.body.arity()),
        results: names(&program.results, program.body.results.len()),
        constants: writer.constants,
        body,
    }
}

fn ty(ty: &Type) -> schema::Type {
    schema::Type { dtype: ty.dtype.write(), shape: ty.shape.to_vec() }
}

/// The constants so far whose elements differ, each of which the document has once.
#[derive(Default)]
struct DocumentWriter {
    constants: Vec<schema::Constant>,
    positions: HashMap<Array, usize>,
}

impl DocumentWriter {
    /// A body. The recursion is as deep as bodies are nested.
    fn body(&mut self, body: &Body<Build>) -> schema::Body {
        let types = |positions: Range<usize>| positions.map(|at| ty(body.parameter_type(at))).collect();
        schema::Body {
            parameters: types(0..body.parameters),
            captures: types(body.parameters..body.arity()),
            nodes: body.nodes[body.arity()..].iter().map(|node| self.node(node)).collect(),
            results: body.results.clone(),
        }
    }

    fn node(&mut self, node: &Node<Build>) -> schema::Node {
        schema::Node {
            op: self.operation(&node.op),
            operands: node.args.to_vec(),
            types: node.types.iter().map(ty).collect(),
        }
    }

    fn constant(&mut self, array: &Array) -> schema::Op {
        let empty = (array.size() == 0).then(|| Value::from_i64(array.dtype(), 0));
        if let Some(value) = array.uniform().or(empty) {
            return schema::Op::Full(element::to_json(value));
        }
        let next = self.constants.len();
        let position = *self.positions.entry(array.clone()).or_insert(next);
        if position == next {
            self.constants.push(schema::Constant { ty: ty(&array.ty()), bytes: element::to_bytes(array) });
        }
        schema::Op::Constant(position)
    }

    fn scan(&mut self, scan: &Scan<Build>) -> schema::Scan {
        schema::Scan {
            length: scan.length,
            reverse: scan.reverse,
            carries: scan.carries,
            inputs: scan.inputs,
            body: self.body(&scan.body),
        }
    }

    fn branch(&mut self, branch: &Branch<Build>) -> schema::Branch {
        schema::Branch { then: self.body(&branch.then), otherwise: self.body(&branch.otherwise) }
    }

    fn sweeps(&mut self, sweeps: &Sweeps<Build>) -> schema::Sweeps {
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
        schema::Sweeps { steps, reverse: sweeps.reverse, checkpoints, sweeps: each }
    }

    fn custom(&mut self, custom: &Custom<Build>) -> schema::Custom {
        schema::Custom {
            value: self.body(&custom.value),
            vjp: custom.vjp.as_ref().map(|body| self.body(body)),
            jvp: custom.jvp.as_ref().map(|body| self.body(body)),
        }
    }

    fn build(&mut self, build: &Build) -> schema::Build {
        schema::Build { extents: build.extents.to_vec(), body: self.body(&build.body) }
    }
}

macro_rules! writing {
    (of_values { $($other:ident($written:ty) $read:ident;)* } $(
        of_parts { $($text:literal $name:ident $(($part:ident: $kind:ty))?
            $({ $($field:ident: $field_kind:ty),* })?;)* }
        of_bodies { $($nested:ident $read_nested:ident;)* }
    )*) => {
        impl DocumentWriter {
            /// The operation as documents have it.
            fn operation(&mut self, op: &Op<Build>) -> schema::Op {
                match op {
                    $($(Op::$name $(($part))? $(($($field),*))? => schema::Op::$name
                        $((OperationPart::write($part)))?
                        $((schema::objects::$name { $($field: OperationPart::write($field)),* }))?,)*)*
                    Op::Parameter(_) => unreachable!("parameters come first, and are not among the nodes"),
                    Op::Constant(array) => self.constant(array),
                    Op::Scan(scan) => schema::Op::Scan(Box::new(self.scan(scan))),
                    Op::Branch(branch) => schema::Op::Branch(Box::new(self.branch(branch))),
                    Op::Sweeps(sweeps) => schema::Op::Sweeps(Box::new(self.sweeps(sweeps))),
                    Op::Custom(custom) => schema::Op::Custom(Box::new(self.custom(custom))),
                    Op::Extra(extra) => schema::Op::Build(Box::new(self.build(extra))),
                }
            }
        }
    };
}

operations!(writing);
