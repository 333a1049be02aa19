//! A reference: a plain, slow evaluator of programs, written independently of the library's operations.
//!
//! It computes every element on its own, in `f64` (rounded to `f32` where the program says so) or `i64` (wrapped), runs
//! both sides of every conditional, and watches: the largest magnitude, whether all is finite, whether a decision (a
//! comparison, a rounding, an extreme) is so close that another order of additions could turn it, and which decisions
//! were taken.

mod matrix;
mod scalar;
mod sparse;
mod spectral;
mod structure;

use super::arrays;
use deltaray::algebra::Reduction;
use deltaray::concrete::Array;
use deltaray::shape::{DType, Shape, Type, Value};
use deltaray::term::{Body, Extension, Op};
use std::rc::Rc;

/// One element.
#[derive(Clone, Copy, Debug)]
enum Cell {
    /// A float, and whether every way to compute it gives exactly this number.
    Float(f64, bool),
    /// An integer, or a truth value.
    Whole(i64),
}

/// An array.
#[derive(Clone, Debug)]
struct Plain {
    ty: Type,
    cells: Vec<Cell>,
}

/// Observations while a program ran.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The largest magnitude of a float.
    pub largest: f64,
    /// Whether all floats were finite.
    pub finite: bool,
    /// Whether a value depends on a decision that rounding errors could turn.
    pub fragile_value: bool,
    /// Whether a derivative depends on such a decision, or is close to a singularity.
    pub fragile_derivative: bool,
    /// A digest of all decisions.
    pub decisions: u64,
    /// Decisions closer than this are fragile.
    margin: f64,
}

impl Watch {
    fn new(margin: f64) -> Watch {
        Watch { largest: 0.0, finite: true, fragile_value: false, fragile_derivative: false, decisions: 0, margin }
    }

    fn decide(&mut self, decision: i64) {
        self.decisions = (self.decisions ^ decision as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn see(&mut self, x: f64) {
        if x.is_finite() {
            self.largest = self.largest.max(x.abs());
        } else {
            self.finite = false;
        }
    }
}

impl Cell {
    fn float(self) -> f64 {
        match self {
            Cell::Float(x, _) => x,
            Cell::Whole(n) => n as f64,
        }
    }

    fn whole(self) -> i64 {
        match self {
            Cell::Whole(n) => n,
            Cell::Float(..) => unreachable!("an integer or a truth value"),
        }
    }

    fn truth(self) -> bool {
        self.whole() != 0
    }

    fn zero(dtype: DType) -> Cell {
        if dtype.is_float() { Cell::Float(0.0, true) } else { Cell::Whole(0) }
    }
}

impl Plain {
    fn of(array: &Array) -> Plain {
        let cells = arrays::elements(array)
            .into_iter()
            .map(|value| match value {
                Value::F32(x) => Cell::Float(x as f64, true),
                Value::F64(x) => Cell::Float(x, true),
                Value::I32(n) => Cell::Whole(n as i64),
                Value::I64(n) => Cell::Whole(n),
                Value::Bool(b) => Cell::Whole(i64::from(b)),
            })
            .collect();
        Plain { ty: array.ty(), cells }
    }

    fn array(&self) -> Array {
        let values: Vec<Value> = self
            .cells
            .iter()
            .map(|cell| match cell {
                Cell::Float(x, _) => Value::from_f64(self.ty.dtype, *x),
                Cell::Whole(n) => Value::from_i64(self.ty.dtype, *n),
            })
            .collect();
        arrays::array(&self.ty, &values)
    }

    fn zeros(ty: &Type) -> Plain {
        Plain { ty: ty.clone(), cells: vec![Cell::zero(ty.dtype); ty.size()] }
    }

    /// The row-major place of a position, or `None` outside.
    fn place(&self, position: &[i64]) -> Option<usize> {
        let mut place = 0;
        for (&at, &extent) in position.iter().zip(&self.ty.shape) {
            if at < 0 || at >= extent as i64 {
                return None;
            }
            place = place * extent + at as usize;
        }
        Some(place)
    }

    fn read(&self, position: &[i64]) -> Cell {
        self.place(position).map_or(Cell::zero(self.ty.dtype), |place| self.cells[place])
    }
}

/// All positions of a shape, row-major. A shape without any may have extents that no list is made of.
fn positions(shape: &[usize]) -> Vec<Shape> {
    if shape.contains(&0) {
        return Vec::new();
    }
    let mut all = vec![Shape::new()];
    for &extent in shape {
        all = all
            .into_iter()
            .flat_map(|position| {
                (0..extent).map(move |at| {
                    let mut next = position.clone();
                    next.push(at);
                    next
                })
            })
            .collect();
    }
    all
}

fn signed(position: &[usize]) -> Vec<i64> {
    position.iter().map(|&at| at as i64).collect()
}

/// Whether single precision occurs in a program.
pub fn is_single<X: Extension>(body: &Body<X>) -> bool {
    body.nodes().iter().any(|node| {
        node.types.iter().any(|ty| ty.dtype == DType::F32)
            || match &node.op {
                Op::Scan(scan) => is_single(&scan.body),
                Op::Branch(branch) => is_single(&branch.then) || is_single(&branch.otherwise),
                Op::Custom(custom) => custom.bodies().any(|body| is_single(body)),
                Op::Sweeps(sweeps) => sweeps.bodies().any(|body| is_single(body)),
                Op::Extra(extra) => is_single(&extra.as_build().body),
                _ => false,
            }
    })
}

/// The results of a program, and the observations on the way.
pub fn evaluate<X: Extension>(body: &Body<X>, inputs: &[Array]) -> (Vec<Array>, Watch) {
    let margin = if is_single(body) { 1e-3 } else { 1e-6 };
    let mut watch = Watch::new(margin);
    let arguments = inputs.iter().map(|input| Rc::new(Plain::of(input))).collect();
    let results = run(body, arguments, &mut watch);
    (results.iter().map(|result| result.array()).collect(), watch)
}

/// For each node, whether floats lead from it to a float that is a result. No derivative passes through others, such as the
/// values in a loop's condition.
fn differentiated<X: Extension>(body: &Body<X>) -> Vec<bool> {
    let is_float = |types: &[Type]| types.iter().any(|ty| ty.dtype.is_float());
    let mut leads = vec![false; body.nodes().len()];
    body.results().iter().for_each(|&id| leads[id as usize] = is_float(&body.nodes()[id as usize].types));
    for (at, node) in body.nodes().iter().enumerate().rev() {
        if leads[at] {
            node.args.iter().for_each(|&arg| leads[arg as usize] |= is_float(&body.nodes()[arg as usize].types));
        }
    }
    leads
}

/// For each node, whether it is a constant, or a choice of elements, that only extremes are taken of: −∞ in it marks elements
/// that don't count, and is no overflow.
fn padded<X: Extension>(body: &Body<X>) -> Vec<bool> {
    let (mut used, mut others) = (vec![false; body.nodes().len()], vec![false; body.nodes().len()]);
    body.results().iter().for_each(|&id| others[id as usize] = true);
    for (at, node) in body.nodes().iter().enumerate().rev() {
        let chosen = matches!(node.op, Op::Select) && used[at] && !others[at];
        let extreme = matches!(node.op, Op::Reduce(Reduction::Max | Reduction::Min, _));
        for &arg in &node.args {
            used[arg as usize] = true;
            others[arg as usize] |= !(chosen || extreme);
        }
    }
    let may_hold = |op: &Op<X>| matches!(op, Op::Constant(_) | Op::Select);
    body.nodes().iter().enumerate().map(|(at, node)| used[at] && !others[at] && may_hold(&node.op)).collect()
}

fn run<X: Extension>(body: &Body<X>, arguments: Vec<Rc<Plain>>, watch: &mut Watch) -> Vec<Rc<Plain>> {
    let mut values: Vec<Vec<Rc<Plain>>> = Vec::with_capacity(body.nodes().len());
    let (differentiated, padded) = (differentiated(body), padded(body));
    for (at, node) in body.nodes().iter().enumerate() {
        let before = (watch.fragile_derivative, watch.decisions);
        let outputs = match &node.op {
            Op::Parameter(position) => vec![arguments[*position].clone()],
            Op::Output(position) => vec![values[node.args[0] as usize][*position].clone()],
            op => {
                let args: Vec<Rc<Plain>> = node.args.iter().map(|&arg| values[arg as usize][0].clone()).collect();
                structure::apply(op, &args, watch)
            }
        };
        // Which way a float was computed says nothing where only decisions follow from it: these are watched themselves.
        if !differentiated[at] && node.types.iter().all(|ty| ty.dtype.is_float()) {
            (watch.fragile_derivative, watch.decisions) = before;
        }
        for (output, ty) in outputs.iter().zip(&node.types) {
            assert_eq!(output.ty, *ty, "the reference and the shape rules disagree on node {at}: {:?}", node.op);
            if padded[at] {
                continue;
            }
            for cell in &output.cells {
                if let Cell::Float(x, _) = cell {
                    watch.see(*x);
                }
            }
        }
        values.push(outputs);
    }
    body.results().iter().map(|&id| values[id as usize][0].clone()).collect()
}
