//! Common parts of the tests of rule tables: programs written down, simplified, shown, and run before and after.

use super::simplify;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::{DType, Type, Value, size};
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op};

/// A program being written down.
pub struct RuleProgram {
    pub graph: Graph,
}

impl RuleProgram {
    pub fn constant(&mut self, shape: &[usize], value: Value) -> NodeId {
        self.graph.add(Op::Constant(Array::full(shape, value)), &[])
    }

    pub fn number(&mut self, like: NodeId, x: f64) -> NodeId {
        let ty = self.graph.ty(like).clone();
        self.constant(&ty.shape, Value::from_f64(ty.dtype, x))
    }

    pub fn unary(&mut self, op: Unary, a: NodeId) -> NodeId {
        self.graph.add(Op::Unary(op), &[a])
    }

    pub fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Binary(op), &[a, b])
    }

    pub fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Mul, a, b)
    }

    pub fn compare(&mut self, op: Comparison, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Compare(op), &[a, b])
    }

    pub fn select(&mut self, mask: NodeId, yes: NodeId, no: NodeId) -> NodeId {
        self.graph.add(Op::Select, &[mask, yes, no])
    }

    pub fn sum(&mut self, a: NodeId, axes: &[usize]) -> NodeId {
        self.graph.add(Op::Reduce(Reduction::Sum, axes.into()), &[a])
    }

    /// The view whose axes `axes` are the source's, in their order, and which repeats along the others.
    pub fn spread(&mut self, a: NodeId, result: &[usize], axes: &[usize]) -> NodeId {
        let map = AffineMap::broadcast(&self.graph.ty(a).shape.clone(), result, axes);
        self.graph.add(Op::View(map), &[a])
    }

    pub fn transpose(&mut self, a: NodeId, permutation: &[usize]) -> NodeId {
        let map = AffineMap::transpose(&self.graph.ty(a).shape.clone(), permutation);
        self.graph.add(Op::View(map), &[a])
    }
}

/// The program simplified, shown as an expression of its parameters, after it was run before and after on several inputs.
pub fn simplified(parameters: &[Type], write: impl Fn(&mut RuleProgram, &[NodeId]) -> NodeId) -> String {
    show(&checked(parameters, true, write))
}

/// As [`simplified`], where non-finite inputs may give other results: only finite ones are tried.
pub fn simplified_finite(parameters: &[Type], write: impl Fn(&mut RuleProgram, &[NodeId]) -> NodeId) -> String {
    show(&checked(parameters, false, write))
}

fn checked(parameters: &[Type], special: bool, write: impl Fn(&mut RuleProgram, &[NodeId]) -> NodeId) -> Body {
    let mut program = RuleProgram { graph: Graph::new(parameters, 0) };
    let ids: Vec<NodeId> = (0..parameters.len() as NodeId).collect();
    let result = write(&mut program, &ids);
    let before = program.graph.finish(&[result]);
    let after = simplify(&before);
    assert!(after.is_well_formed());
    for seed in 0..6 {
        let arguments: Vec<Array> = parameters
            .iter()
            .enumerate()
            .map(|(at, ty)| random(ty, seed * 31 + at as u64, special && seed >= 3))
            .collect();
        let expected = &interpret::<Concrete>(&before, arguments.clone())[0];
        let found = &interpret::<Concrete>(&after, arguments)[0];
        assert_eq!(expected.ty(), found.ty());
        for position in 0..expected.size() {
            let (x, y) = (expected.element(position).to_f64(), found.element(position).to_f64());
            let tolerance = if expected.dtype() == DType::F32 { 1e-4 } else { 1e-10 };
            let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + x.abs());
            assert!(close, "{x} became {y} at {position}: {}", show(&after));
        }
    }
    assert_eq!(simplify(&after), after, "simplified twice, it is the same");
    after
}

/// Elements between −3 and 3; some special ones among them where asked for.
pub fn random(ty: &Type, seed: u64, special: bool) -> Array {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let n = size(&ty.shape);
    let elements: Vec<f64> = (0..n)
        .map(|_| {
            let draw = next() % 7001;
            match (special && ty.dtype.is_float(), draw % 9) {
                (true, 0) => f64::NAN,
                (true, 1) => f64::INFINITY,
                (true, 2) => f64::NEG_INFINITY,
                (true, 3) => -0.0,
                (true, 4) => 0.0,
                _ => (draw as f64 / 7000.0 - 0.5) * 6.0,
            }
        })
        .collect();
    let elements: Vec<f64> =
        if ty.dtype == DType::Bool { elements.iter().map(|&x| f64::from(x > 0.0)).collect() } else { elements };
    if ty.shape.is_empty() {
        return Array::full(&[], Value::from_f64(ty.dtype, elements[0]));
    }
    macro_rules! dense {
        ($variant:ident, $convert:expr) => {{
            let values = elements.iter().map(|&x| $convert(x)).collect::<Vec<_>>();
            Array::$variant(crate::array::Data::Dense(crate::array::Buffer::new(&ty.shape, values)))
        }};
    }
    match ty.dtype {
        DType::F32 => dense!(F32, |x| x as f32),
        DType::F64 => dense!(F64, |x: f64| x),
        DType::I32 => dense!(I32, |x: f64| x.round() as i32),
        DType::I64 => dense!(I64, |x: f64| x.round() as i64),
        DType::Bool => dense!(Bool, |x: f64| x != 0.0),
    }
}

/// A small program with one result as an expression: parameters are a, b, ..
fn show(body: &Body) -> String {
    show_node(body, body.results[0])
}

fn show_node(body: &Body, id: NodeId) -> String {
    let node = body.node(id);
    let args: Vec<String> = node.args.iter().map(|&arg| show_node(body, arg)).collect();
    let args = args.join(", ");
    let labels = |labels: &[u8]| labels.iter().map(|&label| (b'i' + label) as char).collect::<String>();
    match &node.op {
        Op::Parameter(at) => ((b'a' + *at as u8) as char).to_string(),
        Op::Constant(array) => match array.uniform() {
            Some(value) => value.to_f64().to_string(),
            None => format!("table{:?}", array.shape()),
        },
        Op::Iota(n) => format!("iota({n})"),
        Op::Unary(op) => format!("{}({args})", op.name()),
        Op::Binary(op) => format!("{}({args})", op.name()),
        Op::Compare(op) => format!("{}({args})", op.name()),
        Op::Select => format!("select({args})"),
        Op::Cast(dtype) => format!("{dtype}({args})"),
        Op::View(map) => format!("view{{{map}}}({args})"),
        Op::Reduce(op, axes) => {
            let name = format!("{op:?}").to_lowercase();
            format!("{name}{:?}({args})", axes.as_slice())
        }
        Op::Contract(spec) => {
            format!("contract{{{},{}->{}}}({args})", labels(&spec.left), labels(&spec.right), labels(&spec.result))
        }
        other => format!("{other:?}({args})"),
    }
}
