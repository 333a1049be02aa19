//! From the schema to a program. Nothing that a document says is taken for granted.

use super::element;
use super::operations::operations;
use super::parts::OperationPart;
use super::problem::{DocumentProblem, DocumentResult, Within, problem};
use super::schema::{self, Document};
use crate::concrete::Array;
use crate::error::{Error, Result};
use crate::export::Program;
use crate::export::limits::InputLimits;
use crate::shape::{Shape, Type};
use crate::term::{Body, Branch, Build, Checkpoints, Custom, Node, NodeId, Op, Scan, Steps, Sweep, Sweeps};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;

/// The program of a document of so many bytes, which may contain `build` or not.
pub(super) fn program(document: Document, bytes: usize, has_build: bool) -> Result<Program<Build>> {
    let Document { name, parameters, results, constants, body, .. } = document;
    let mut reader = DocumentReader { limits: InputLimits::of(bytes), constants: Vec::new(), has_build };
    let read = |reader: &mut DocumentReader| {
        reader.constants(constants).within("constants")?;
        let body = reader.body(body).within("body")?;
        // Whatever a document says, the result here is well formed.
        body.validate().within("body")?;
        if parameters.len() > body.arity() {
            return problem("more names than parameters").within("parameters");
        }
        if results.len() > body.results.len() {
            return problem("more names than results").within("results");
        }
        Ok(Program { name, parameters, results, body: Arc::new(body) })
    };
    read(&mut reader).map_err(|DocumentProblem { text, path }| Error::Schema { problem: text, path })
}

struct DocumentReader {
    limits: InputLimits,
    constants: Vec<Array>,
    has_build: bool,
}

impl DocumentReader {
    fn ty(&mut self, ty: &schema::Type) -> std::result::Result<Type, String> {
        let ty = Type::new(ty.dtype.into(), &ty.shape);
        self.limits.ty(&ty)?;
        Ok(ty)
    }

    fn types(&mut self, types: &[schema::Type]) -> std::result::Result<Vec<Type>, String> {
        types.iter().map(|ty| self.ty(ty)).collect()
    }

    fn constants(&mut self, constants: Vec<schema::Constant>) -> DocumentResult<()> {
        for (at, constant) in constants.into_iter().enumerate() {
            let part = format!("[{at}]");
            let ty = self.ty(&constant.ty).within("type").within(&part)?;
            let array = element::from_bytes(&ty, &constant.bytes).within("bytes").within(&part)?;
            self.constants.push(array);
        }
        Ok(())
    }

    /// A body. The recursion is as deep as bodies are nested, which the JSON parser bounds.
    fn body(&mut self, body: schema::Body) -> DocumentResult<Body<Build>> {
        let mut types = self.types(&body.parameters).within("parameters")?;
        let parameters = types.len();
        types.extend(self.types(&body.captures).within("captures")?);
        let arity = types.len();
        let mut nodes: Vec<Node<Build>> = Vec::new();
        for (position, ty) in types.into_iter().enumerate() {
            let types = SmallVec::from_elem(ty, 1);
            nodes.push(Node { op: Op::Parameter(position), args: SmallVec::new(), types });
        }
        // Each output is picked once: nodes are unique.
        let mut picked: HashSet<(NodeId, usize)> = HashSet::new();
        for (at, node) in body.nodes.into_iter().enumerate() {
            let node = self.node(node, &nodes, &mut picked).within(&format!("nodes[{at}]"))?;
            if NodeId::try_from(nodes.len()).is_err() {
                return problem("there are too many nodes");
            }
            nodes.push(node);
        }
        for (at, &result) in body.results.iter().enumerate() {
            let fits = nodes.get(result as usize).is_some_and(|node| !node.op.is_multiple());
            if !fits {
                return problem(format!("{result} is no array")).within(&format!("results[{at}]"));
            }
        }
        Ok(Body::of(parameters, arity - parameters, nodes, body.results))
    }

    fn node(
        &mut self,
        node: schema::Node,
        nodes: &[Node<Build>],
        picked: &mut HashSet<(NodeId, usize)>,
    ) -> DocumentResult<Node<Build>> {
        let mut operands: SmallVec<[&[Type]; 4]> = SmallVec::new();
        let is_output = matches!(node.op, schema::Op::Output(_));
        for (at, &operand) in node.operands.iter().enumerate() {
            let part = format!("operands[{at}]");
            let Some(earlier) = nodes.get(operand as usize) else {
                return problem(format!("there is no node {operand} before this one")).within(&part);
            };
            if earlier.op.is_multiple() != is_output {
                let text = match is_output {
                    true => format!("node {operand} has no outputs: it is an array"),
                    false => format!("node {operand} is no array: `output` picks one of it"),
                };
                return problem(text).within(&part);
            }
            operands.push(&earlier.types);
        }
        if let (schema::Op::Output(position), [operand]) = (&node.op, &node.operands[..])
            && !picked.insert((*operand, *position))
        {
            return problem(format!("output {position} of node {operand} is picked already")).within("op");
        }
        let stated = self.types(&node.types).within("types")?;
        let op = self.operation(node.op, &stated).within("op")?;
        let types = self.limits.outputs(&op, &operands).within("op")?;
        if types[..] != stated {
            return problem(format!("{stated:?} is stated, but the operation results in {:?}", &types[..]))
                .within("types");
        }
        Ok(Node { op, args: node.operands.into(), types })
    }

    fn full(&mut self, value: serde_json::Value, stated: &[Type]) -> DocumentResult<Op<Build>> {
        let [ty] = stated else { return problem("a constant is one array").within("full") };
        match element::from_json(&value, ty.dtype) {
            Some(value) => Ok(Op::Constant(Array::full(&ty.shape, value))),
            None => problem(format!("{value} is no {}", ty.dtype)).within("full"),
        }
    }

    fn constant(&mut self, position: usize, _: &[Type]) -> DocumentResult<Op<Build>> {
        match self.constants.get(position) {
            Some(array) => Ok(Op::Constant(array.clone())),
            None => problem(format!("there is no constant {position}")).within("constant"),
        }
    }

    fn scan(&mut self, scan: schema::Scan) -> DocumentResult<Op<Build>> {
        let schema::Scan { length, reverse, carries, inputs, body } = scan;
        let body = Arc::new(self.body(body).within("body").within("scan")?);
        Ok(Op::Scan(Arc::new(Scan { body, carries, inputs, length, reverse })))
    }

    fn branch(&mut self, branch: schema::Branch) -> DocumentResult<Op<Build>> {
        let then = Arc::new(self.body(branch.then).within("then").within("branch")?);
        let otherwise = Arc::new(self.body(branch.otherwise).within("else").within("branch")?);
        if then.parameters + otherwise.parameters > 0 {
            return problem("what the sides take are captures").within("branch");
        }
        Ok(Op::Branch(Arc::new(Branch { then, otherwise })))
    }

    fn sweeps(&mut self, sweeps: schema::Sweeps) -> DocumentResult<Op<Build>> {
        Ok(Op::Sweeps(Arc::new(self.loops(sweeps).within("sweeps")?)))
    }

    fn custom(&mut self, custom: schema::Custom) -> DocumentResult<Op<Build>> {
        let schema::Custom { value, vjp, jvp } = custom;
        let mut read = |body: schema::Body, part: &str| -> DocumentResult<Arc<Body<Build>>> {
            Ok(Arc::new(self.body(body).within(part).within("custom")?))
        };
        let value = read(value, "value")?;
        let vjp = vjp.map(|body| read(body, "vjp")).transpose()?;
        let jvp = jvp.map(|body| read(body, "jvp")).transpose()?;
        Ok(Op::Custom(Arc::new(Custom { value, vjp, jvp })))
    }

    fn build(&mut self, build: schema::Build) -> DocumentResult<Op<Build>> {
        if !self.has_build {
            let text = "a bulk program has no `build`: this one is read as a source program";
            return problem(text).within("build");
        }
        let body = Arc::new(self.body(build.body).within("body").within("build")?);
        let extents: Shape = build.extents.into();
        if body.parameters != extents.len() {
            return problem("the body has a parameter for each extent").within("build");
        }
        Ok(Op::Extra(Build { extents, body }))
    }

    fn loops(&mut self, sweeps: schema::Sweeps) -> DocumentResult<Sweeps<Build>> {
        let steps = match sweeps.steps {
            schema::Steps::Count(count) => Steps::Count(count),
            schema::Steps::While(condition) => {
                Steps::While(Arc::new(self.body(condition).within("while").within("steps")?))
            }
        };
        let checkpoints = match sweeps.checkpoints {
            schema::Checkpoints::All => Checkpoints::All,
            schema::Checkpoints::Every(steps) => Checkpoints::Every(steps),
            schema::Checkpoints::Snapshots(count) => Checkpoints::Snapshots(count),
            schema::Checkpoints::Bytes(bytes) => Checkpoints::Bytes(bytes),
        };
        let mut each = Vec::new();
        for (at, sweep) in sweeps.sweeps.into_iter().enumerate() {
            let schema::Sweep { carries, inputs, reads, keeps, body } = sweep;
            let body = Arc::new(self.body(body).within("body").within(&format!("sweeps[{at}]"))?);
            each.push(Sweep { body, carries, inputs, reads, keeps });
        }
        if let (Steps::While(condition), Some(first)) = (&steps, each.first())
            && condition.parameters != first.carries
        {
            return problem("the condition's parameters are the first sweep's carries").within("steps");
        }
        Ok(Sweeps { steps, sweeps: each, reverse: sweeps.reverse, checkpoints })
    }
}

macro_rules! reading {
    (of_values { $($other:ident($written:ty) $read:ident;)* } $(
        of_parts { $($text:literal $name:ident $(($part:ident: $kind:ty))?
            $({ $($field:ident: $field_kind:ty),* })?;)* }
        of_bodies { $($nested:ident $read_nested:ident;)* }
    )*) => {
        impl DocumentReader {
            /// The operation of a program, of which the document states the types.
            fn operation(&mut self, op: schema::Op, stated: &[Type]) -> DocumentResult<Op<Build>> {
                match op {
                    $(schema::Op::$other(written) => self.$read(written, stated),)*
                    $(
                        $(schema::Op::$name $(($part))? $((schema::objects::$name { $($field),* }))? => Ok(Op::$name
                            $((OperationPart::read($part, &mut self.limits).within($text)?))?
                            $(($(OperationPart::read($field, &mut self.limits).within($text)?),*))?),)*
                        $(schema::Op::$nested(written) => self.$read_nested(*written),)*
                    )*
                }
            }
        }
    };
}

operations!(reading);
