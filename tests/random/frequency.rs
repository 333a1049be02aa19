//! How often each construct occurs, so that nobody trusts a comparison of programs that lack one.

use super::generate::{Case, LIBRARY};
use deltaray::algebra::{MatrixOperation, Reduction};
use deltaray::operation::Binary;
use deltaray::shape::DType;
use deltaray::term::{Body, Build, NodeId, Op, Steps};
use std::collections::BTreeSet;

/// The constructs that are counted.
pub const CONSTRUCTS: &[&str] = &[
    "build",
    "nested build",
    "build of several indices",
    "build with a loop or conditional inside",
    "captures",
    "capture of an enclosing index",
    "affine gather",
    "data-dependent gather",
    "data-dependent scatter",
    "scatter",
    "scatter_set",
    "scatter_set in a loop",
    "select",
    "branch",
    "cond (select or branch)",
    "scan",
    "reverse scan",
    "scan with a captured array",
    "sweeps",
    "sweeps with a condition",
    "function with rules",
    "integers",
    "integer quotient or remainder",
    "comparison",
    "moving bound",
    "booleans",
    "float to integer",
    "view",
    "view that reads outside",
    "accumulate",
    "reshape",
    "concatenate",
    "sum",
    "max or min over axes",
    "argmax or argmin",
    "argsort",
    "contraction",
    "Cholesky factor",
    "LU factors",
    "QR factors",
    "triangular system",
    "several matrices",
    "iota",
    "table constant",
    "size 0",
    "length-1 axis",
    "rank 0",
    "sharing",
    "single precision",
    "several results",
];

/// All counted names: constructs found in programs, and parts of the library written into them.
fn names() -> impl Iterator<Item = &'static str> {
    CONSTRUCTS.iter().chain(LIBRARY).copied()
}

/// Counts over many programs.
#[derive(Clone, Default, Debug)]
pub struct Frequency {
    programs: usize,
    nodes: usize,
    counts: Vec<usize>,
}

impl Frequency {
    /// Counts the constructs of one more program.
    pub fn count(&mut self, case: &Case) {
        let body = &case.body;
        self.counts.resize(CONSTRUCTS.len() + LIBRARY.len(), 0);
        self.programs += 1;
        self.nodes += body.node_count();
        let mut found = BTreeSet::new();
        let around = Around { build: false, indices: 0 };
        let data = vec![true; body.arity()];
        look(body, &data, &around, &mut found);
        if body.results().len() > 1 {
            found.insert("several results");
        }
        found.extend(&case.library);
        for (count, construct) in self.counts.iter_mut().zip(names()) {
            *count += usize::from(found.contains(construct));
        }
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: &Frequency) {
        self.counts.resize(CONSTRUCTS.len() + LIBRARY.len(), 0);
        self.programs += other.programs;
        self.nodes += other.nodes;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// A line for each construct.
    pub fn table(&self) -> String {
        let mut text =
            format!("{} programs, {:.1} nodes each\n", self.programs, self.nodes as f64 / self.programs.max(1) as f64);
        for (count, construct) in self.counts.iter().zip(names()) {
            let share = 100.0 * *count as f64 / self.programs.max(1) as f64;
            text.push_str(&format!("{share:6.1} %  {construct}\n"));
        }
        text
    }

    /// The constructs that occur in less than a share of the programs.
    pub fn rarer_than(&self, share: f64) -> Vec<&'static str> {
        self.counts
            .iter()
            .zip(names())
            .filter(|(count, _)| (**count as f64) < share * self.programs as f64)
            .map(|(_, construct)| construct)
            .collect()
    }
}

/// The context of a body.
struct Around {
    /// Whether a build encloses it.
    build: bool,
    /// How many leading parameters are indices of a build.
    indices: usize,
}

/// Whether positions along an axis are compared with a computed number, so that a loop over them may have less to do.
fn is_moving_bound(body: &Body<Build>, positions: NodeId, bound: NodeId) -> bool {
    let origin = |mut id: NodeId| {
        while matches!(body.node(id).op, Op::View(_) | Op::Reshape(_)) {
            id = body.node(id).args[0];
        }
        body.node(id)
    };
    let is_number = |id: NodeId| origin(id).types[0].rank() == 0 && !matches!(origin(id).op, Op::Constant(_));
    matches!(origin(positions).op, Op::Iota(_)) && is_number(bound)
}

/// Finds the constructs of a body; `data` says of each parameter whether it depends on the program's inputs.
fn look(body: &Body<Build>, data: &[bool], around: &Around, found: &mut BTreeSet<&'static str>) {
    let mut depends: Vec<bool> = Vec::with_capacity(body.nodes().len());
    for node in body.nodes() {
        depends.push(match node.op {
            Op::Parameter(position) => data[position],
            _ => node.args.iter().any(|&arg| depends[arg as usize]),
        });
    }
    let uses = body.use_counts();
    for (at, node) in body.nodes().iter().enumerate() {
        let on_data = |args: &[NodeId]| args.iter().any(|&arg| depends[arg as usize]);
        let dtype = |arg: usize| body.node(node.args[arg]).ty().dtype;
        for ty in &node.types {
            let names = [
                (ty.dtype.is_integer() && !matches!(node.op, Op::Parameter(_)), "integers"),
                (ty.dtype == DType::Bool, "booleans"),
                (ty.dtype == DType::F32, "single precision"),
                (ty.size() == 0, "size 0"),
                (ty.shape.contains(&1), "length-1 axis"),
                (ty.rank() == 0, "rank 0"),
            ];
            found.extend(names.iter().filter(|(is, _)| *is).map(|(_, name)| name));
        }
        if uses[at] > 1 && !matches!(node.op, Op::Parameter(_) | Op::Constant(_)) {
            found.insert("sharing");
        }
        let inner = |leading: usize, operands: &[NodeId]| -> Vec<bool> {
            (0..leading).map(|_| false).chain(operands.iter().map(|&arg| depends[arg as usize])).collect()
        };
        match &node.op {
            Op::Gather => {
                found.insert(if on_data(&node.args[1..]) { "data-dependent gather" } else { "affine gather" });
            }
            Op::Scatter(_) => {
                found.insert("scatter");
                if on_data(&node.args[1..]) {
                    found.insert("data-dependent scatter");
                }
            }
            Op::ScatterSet => {
                found.insert("scatter_set");
            }
            Op::Select => found.extend(["select", "cond (select or branch)"]),
            Op::Compare(_) => {
                found.insert("comparison");
                if is_moving_bound(body, node.args[0], node.args[1])
                    || is_moving_bound(body, node.args[1], node.args[0])
                {
                    found.insert("moving bound");
                }
            }
            Op::Binary(Binary::Quot | Binary::Rem | Binary::FloorDiv | Binary::Modulo) => {
                found.insert("integer quotient or remainder");
            }
            Op::Cast(to) if to.is_integer() && dtype(0).is_float() => {
                found.insert("float to integer");
            }
            Op::View(map) => {
                found.insert("view");
                if !map.is_inside() {
                    found.insert("view that reads outside");
                }
            }
            Op::Accumulate(_) => found.extend(["accumulate"]),
            Op::Reshape(_) => found.extend(["reshape"]),
            Op::Concatenate(_) => found.extend(["concatenate"]),
            Op::Reduce(Reduction::Sum, _) => found.extend(["sum"]),
            Op::Reduce(..) => found.extend(["max or min over axes"]),
            Op::ArgReduce(..) => found.extend(["argmax or argmin"]),
            Op::ArgSort(..) => found.extend(["argsort"]),
            Op::Contract(_) => found.extend(["contraction"]),
            Op::Matrix(op) => {
                found.insert(match op {
                    MatrixOperation::Cholesky => "Cholesky factor",
                    MatrixOperation::Lu => "LU factors",
                    MatrixOperation::Solve(_) => "triangular system",
                    MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => "banded system",
                    MatrixOperation::Qr | MatrixOperation::FullQr => "QR factors",
                    _ => "another operation on matrices",
                });
                if node.ty().rank() > 2 {
                    found.insert("several matrices");
                }
            }
            Op::Iota(_) => found.extend(["iota"]),
            Op::Constant(array) if array.uniform().is_none() => found.extend(["table constant"]),
            Op::Scan(scan) => {
                found.insert("scan");
                if scan.body.nodes().iter().any(|node| matches!(node.op, Op::ScatterSet)) {
                    found.insert("scatter_set in a loop");
                }
                if scan.reverse {
                    found.insert("reverse scan");
                }
                let captures = &node.args[scan.carries + scan.inputs..];
                if captures.iter().any(|&arg| body.node(arg).ty().rank() > 0) {
                    found.insert("scan with a captured array");
                }
                if around.build {
                    found.insert("build with a loop or conditional inside");
                }
                look(&scan.body, &inner(0, &node.args), &Around { build: false, indices: 0 }, found);
            }
            Op::Sweeps(sweeps) => {
                found.insert("sweeps");
                if matches!(sweeps.steps, Steps::While(_)) {
                    found.insert("sweeps with a condition");
                }
                if around.build {
                    found.insert("build with a loop or conditional inside");
                }
                let captures = &node.args[sweeps.captures()..];
                for sweep in &sweeps.sweeps {
                    look(
                        &sweep.body,
                        &inner(sweep.body.parameters(), captures),
                        &Around { build: false, indices: 0 },
                        found,
                    );
                }
            }
            Op::Branch(branch) => {
                found.extend(["branch", "cond (select or branch)"]);
                if around.build {
                    found.insert("build with a loop or conditional inside");
                }
                for side in [&branch.then, &branch.otherwise] {
                    look(side, &inner(0, &node.args[1..]), &Around { build: around.build, indices: 0 }, found);
                }
            }
            Op::Custom(custom) => {
                found.insert("function with rules");
                look(&custom.value, &inner(0, &node.args), &Around { build: around.build, indices: 0 }, found);
            }
            Op::Extra(build) => {
                found.insert("build");
                if around.build {
                    found.insert("nested build");
                }
                if build.extents.len() > 1 {
                    found.insert("build of several indices");
                }
                let used = build.body.use_counts();
                let leading = build.extents.len();
                if node.args.iter().enumerate().any(|(position, _)| used[leading + position] > 0) {
                    found.insert("captures");
                }
                let index = |(position, &arg): (usize, &NodeId)| {
                    (arg as usize) < around.indices && used[leading + position] > 0
                };
                if node.args.iter().enumerate().any(index) {
                    found.insert("capture of an enclosing index");
                }
                look(&build.body, &inner(leading, &node.args), &Around { build: true, indices: leading }, found);
            }
            _ => {}
        }
    }
}
