//! From the schema to a program. Nothing that a document says is taken for granted.

use super::element;
use super::schema::{self, Document};
use crate::affine::AffineMap;
use crate::concrete::Array;
use crate::error::{Error, Result};
use crate::export::Program;
use crate::export::form::Form;
use crate::export::limits::Limits;
use crate::operation::{BINARY_ROWS, COMPARISON_ROWS, Contraction, Extreme, Order, Reduction, UNARY_ROWS, Unary};
use crate::shape::{DType, Shape, Type};
use crate::term::{Body, Branch, Checkpoints, Custom, Node, NodeId, Op, Scan, Steps, Sweep, Sweeps};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;

/// A mismatch, and the path to it from the outside.
struct Problem {
    text: String,
    path: String,
}

type Read<T> = std::result::Result<T, Problem>;

fn problem<T>(text: impl Into<String>) -> Read<T> {
    Err(Problem { text: text.into(), path: String::new() })
}

/// A value read in a part of a document: its problems get the part's path.
trait Within<T> {
    fn within(self, part: &str) -> Read<T>;
}

impl<T> Within<T> for Read<T> {
    fn within(self, part: &str) -> Read<T> {
        self.map_err(|Problem { text, path }| {
            let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            Problem { text, path: format!("{part}{separator}{path}") }
        })
    }
}

impl<T> Within<T> for std::result::Result<T, String> {
    fn within(self, part: &str) -> Read<T> {
        self.map_err(|text| Problem { text, path: part.into() })
    }
}

/// The program of a document of so many bytes.
pub(super) fn program<X: Form>(document: Document, bytes: usize) -> Result<Program<X>> {
    let Document { name, parameters, results, constants, body, .. } = document;
    let mut reader = Reader { limits: Limits::of(bytes), constants: Vec::new() };
    let read = |reader: &mut Reader| {
        reader.constants(constants).within("constants")?;
        let body = reader.body::<X>(body).within("body")?;
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
    read(&mut reader).map_err(|Problem { text, path }| Error::Schema { problem: text, path })
}

fn dtype(dtype: schema::DType) -> DType {
    match dtype {
        schema::DType::F32 => DType::F32,
        schema::DType::F64 => DType::F64,
        schema::DType::I32 => DType::I32,
        schema::DType::I64 => DType::I64,
        schema::DType::Bool => DType::Bool,
    }
}

struct Reader {
    limits: Limits,
    constants: Vec<Array>,
}

impl Reader {
    fn ty(&mut self, ty: &schema::Type) -> std::result::Result<Type, String> {
        let ty = Type::new(dtype(ty.dtype), &ty.shape);
        self.limits.ty(&ty)?;
        Ok(ty)
    }

    fn types(&mut self, types: &[schema::Type]) -> std::result::Result<Vec<Type>, String> {
        types.iter().map(|ty| self.ty(ty)).collect()
    }

    fn constants(&mut self, constants: Vec<schema::Constant>) -> Read<()> {
        for (at, constant) in constants.into_iter().enumerate() {
            let part = format!("[{at}]");
            let ty = self.ty(&constant.ty).within("type").within(&part)?;
            let array = element::from_bytes(&ty, &constant.bytes).within("bytes").within(&part)?;
            self.constants.push(array);
        }
        Ok(())
    }

    /// A body. The recursion is as deep as bodies are nested, which the JSON parser bounds.
    fn body<X: Form>(&mut self, body: schema::Body) -> Read<Body<X>> {
        let mut types = self.types(&body.parameters).within("parameters")?;
        let parameters = types.len();
        types.extend(self.types(&body.captures).within("captures")?);
        let arity = types.len();
        let mut nodes: Vec<Node<X>> = Vec::new();
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

    fn node<X: Form>(
        &mut self,
        node: schema::Node,
        nodes: &[Node<X>],
        picked: &mut HashSet<(NodeId, usize)>,
    ) -> Read<Node<X>> {
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
        let op = self.op(node.op, &stated).within("op")?;
        let types = self.limits.outputs(&op, &operands).within("op")?;
        if types[..] != stated {
            return problem(format!("{stated:?} is stated, but the operation results in {:?}", &types[..]))
                .within("types");
        }
        Ok(Node { op, args: node.operands.into(), types })
    }

    fn map(&mut self, map: &schema::Map) -> Read<AffineMap> {
        let rows: Vec<SmallVec<[i64; 4]>> = map.matrix.iter().map(|row| row[..].into()).collect();
        let read = self.limits.map(&map.source, &map.result, &rows, &map.offset);
        read.or_else(problem)
    }

    fn op<X: Form>(&mut self, op: schema::Op, stated: &[Type]) -> Read<Op<X>> {
        Ok(match op {
            schema::Op::Full(value) => {
                let [ty] = stated else { return problem("a constant is one array").within("full") };
                let Some(value) = element::from_json(&value, ty.dtype) else {
                    return problem(format!("{value} is no {}", ty.dtype)).within("full");
                };
                Op::Constant(Array::full(&ty.shape, value))
            }
            schema::Op::Constant(position) => match self.constants.get(position) {
                Some(array) => Op::Constant(array.clone()),
                None => return problem(format!("there is no constant {position}")).within("constant"),
            },
            schema::Op::Iota(n) => Op::Iota(n),
            schema::Op::Unary(op) => Op::Unary(unary(&op).within("unary")?),
            schema::Op::Binary(name) => match BINARY_ROWS.iter().find(|op| op.name() == name) {
                Some(&op) => Op::Binary(op),
                None => return problem(format!("there is no operation {name:?}")).within("binary"),
            },
            schema::Op::Compare(name) => match COMPARISON_ROWS.iter().find(|op| op.name() == name) {
                Some(&op) => Op::Compare(op),
                None => return problem(format!("there is no comparison {name:?}")).within("compare"),
            },
            schema::Op::Select => Op::Select,
            schema::Op::Cast(to) => Op::Cast(dtype(to)),
            schema::Op::View(map) => Op::View(self.map(&map).within("view")?),
            schema::Op::Accumulate(map) => Op::Accumulate(self.map(&map).within("accumulate")?),
            schema::Op::Reshape(shape) => Op::Reshape(shape.into()),
            schema::Op::Concatenate(axis) => Op::Concatenate(axis),
            schema::Op::Gather => Op::Gather,
            schema::Op::Scatter(extents) => Op::Scatter(extents.into()),
            schema::Op::ScatterSet => Op::ScatterSet,
            schema::Op::Reduce(schema::Reduce { kind, axes }) => {
                let kind = match kind {
                    schema::Reduction::Sum => Reduction::Sum,
                    schema::Reduction::Max => Reduction::Max,
                    schema::Reduction::Min => Reduction::Min,
                };
                Op::Reduce(kind, axes.into())
            }
            schema::Op::ArgReduce(schema::ArgReduce { kind, axis }) => {
                let kind = match kind {
                    schema::Extreme::Max => Extreme::Max,
                    schema::Extreme::Min => Extreme::Min,
                };
                Op::ArgReduce(kind, axis)
            }
            schema::Op::ArgSort(schema::ArgSort { order, axis }) => {
                let order = match order {
                    schema::Order::Ascending => Order::Ascending,
                    schema::Order::Descending => Order::Descending,
                };
                Op::ArgSort(order, axis)
            }
            schema::Op::Contract(schema::Contract { left, right, result }) => {
                let spec = Contraction { left: left.into(), right: right.into(), result: result.into() };
                if !spec.is_valid() {
                    let text = "a label stands in at least two of the three lists, and in each of them once";
                    return problem(text).within("contract");
                }
                Op::Contract(spec)
            }
            schema::Op::Scan(scan) => {
                let schema::Scan { length, reverse, carries, inputs, body } = *scan;
                let body = Arc::new(self.body(body).within("body").within("scan")?);
                Op::Scan(Arc::new(Scan { body, carries, inputs, length, reverse }))
            }
            schema::Op::Branch(branch) => {
                let then = Arc::new(self.body(branch.then).within("then").within("branch")?);
                let otherwise = Arc::new(self.body(branch.otherwise).within("else").within("branch")?);
                if then.parameters + otherwise.parameters > 0 {
                    return problem("what the sides take are captures").within("branch");
                }
                Op::Branch(Arc::new(Branch { then, otherwise }))
            }
            schema::Op::Sweeps(sweeps) => Op::Sweeps(Arc::new(self.sweeps(*sweeps).within("sweeps")?)),
            schema::Op::Custom(custom) => {
                let schema::Custom { value, vjp, jvp } = *custom;
                let mut read = |body: schema::Body, part: &str| -> Read<Arc<Body<X>>> {
                    Ok(Arc::new(self.body(body).within(part).within("custom")?))
                };
                let value = read(value, "value")?;
                let vjp = vjp.map(|body| read(body, "vjp")).transpose()?;
                let jvp = jvp.map(|body| read(body, "jvp")).transpose()?;
                Op::Custom(Arc::new(Custom { value, vjp, jvp }))
            }
            schema::Op::Output(position) => Op::Output(position),
            schema::Op::Alias => Op::Alias,
            schema::Op::Mark => Op::Mark,
            schema::Op::Build(build) => {
                if !X::HAS_BUILD {
                    let text = "a bulk program has no `build`: this one is read as a source program";
                    return problem(text).within("build");
                }
                let body = Arc::new(self.body(build.body).within("body").within("build")?);
                let extents: Shape = build.extents.into();
                if body.parameters != extents.len() {
                    return problem("the body has a parameter for each extent").within("build");
                }
                match X::build(extents, body) {
                    Some(op) => op,
                    None => unreachable!("the form has builds"),
                }
            }
        })
    }

    fn sweeps<X: Form>(&mut self, sweeps: schema::Sweeps) -> Read<Sweeps<X>> {
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

fn unary(op: &schema::Unary) -> Read<Unary> {
    let found = match (&op.name[..], op.parameter) {
        ("powi", Some(power)) => i32::try_from(power).ok().map(Unary::Powi),
        ("polygamma", Some(order)) => u32::try_from(order).ok().map(Unary::Polygamma),
        (name, None) => UNARY_ROWS.iter().copied().find(|op| op.name() == name),
        _ => None,
    };
    match found {
        Some(op) => Ok(op),
        None => problem(format!("there is no operation {:?} with parameter {:?}", op.name, op.parameter)),
    }
}
