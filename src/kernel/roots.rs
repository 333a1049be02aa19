//! Which values of a program get a buffer, and which are computed where they are needed.
//!
//! Recomputing cheap scalar work inside its consumers beats storing it (Smeding 2021, section 5 on fusion). So a value is
//! stored where it must be: results, results of reductions, values read at computed positions, operands of operations on whole
//! buffers. It is also stored where computing it once and reading it back costs less than computing it at each use.

use crate::affine::AffineMap;
use crate::operation::Contraction;
use crate::shape::{Shape, size, steps};
use crate::term::hash::term_hash;
use crate::term::{Body, Node, NodeId, Op};
use smallvec::SmallVec;

/// How an operation is lowered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoweringClass {
    /// A scalar function of operands at positions of its own choice: fuses with whatever uses it.
    Pointwise,
    /// A nest over a domain of its own, into which operands fuse, with a store that combines.
    Reducing,
    /// A matrix product on buffers.
    Product,
    /// Nests that write to parts of one buffer.
    Parts,
    /// A nest that writes into the buffer of its first operand, or into a copy of it.
    Writing,
    /// The buffer of its operand.
    Alias,
    /// A rolled loop.
    Loop,
    /// A conditional.
    Branch,
    /// A loop with several sweeps, or ends by a condition.
    Sweeps,
    /// One output of an operation with several.
    Output,
    /// Left to the instance of plain arrays.
    Call,
}

/// Products with fewer multiplications than this are nests, into which operands fuse; so are products of vectors, and those
/// in few rows or columns with few elements, or with few terms in each.
const PRODUCT_WORK: usize = 1024;
const FEW: usize = 4;
const FEW_ELEMENTS: usize = 32;

/// The labels of a contraction in the order of a nest's domain: the result's labels, then the summed ones.
pub(crate) fn domain_labels(spec: &Contraction) -> SmallVec<[u8; 4]> {
    let summed = spec.left.iter().filter(|label| !spec.result.contains(label));
    spec.result.iter().chain(summed).copied().collect()
}

/// The labels that both operands and the result have, that the right one lacks, that are summed, and that the left one lacks.
pub(crate) fn roles(spec: &Contraction) -> [SmallVec<[u8; 4]>; 4] {
    let of = |left: bool, right: bool, result: bool| {
        let labels = domain_labels(spec).into_iter();
        let fits = |label: &u8| {
            spec.left.contains(label) == left
                && spec.right.contains(label) == right
                && spec.result.contains(label) == result
        };
        labels.filter(fits).collect()
    };
    [of(true, true, true), of(true, false, true), of(true, true, false), of(false, true, true)]
}

fn contraction_class(spec: &Contraction, left: &[usize], right: &[usize]) -> LoweringClass {
    let [_, rows, summed, columns] = roles(spec);
    if summed.is_empty() {
        return LoweringClass::Pointwise;
    }
    let extent = |labels: &[u8]| steps(labels.iter().map(|&l| spec.extent(l, left, right)));
    let sizes @ [rows, summed, columns] = [extent(&rows), extent(&summed), extent(&columns)];
    let is_small = rows.min(columns) < FEW && (summed < FEW || rows.saturating_mul(columns) <= FEW_ELEMENTS);
    let is_matrix = sizes.iter().all(|&extent| extent > 1) && !is_small;
    let large = steps(sizes) >= PRODUCT_WORK && is_matrix;
    if large { LoweringClass::Product } else { LoweringClass::Reducing }
}

/// How a node is lowered.
pub(crate) fn class(body: &Body, node: &Node) -> LoweringClass {
    let shape = |arg: usize| -> &[usize] { &body.node(node.args[arg]).ty().shape };
    match &node.op {
        Op::Parameter(_)
        | Op::Constant(_)
        | Op::Iota(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select
        | Op::Cast(_)
        | Op::View(_)
        | Op::Gather
        | Op::Alias
        | Op::Mark => LoweringClass::Pointwise,
        Op::Reshape(_) if is_trivial_reshape(shape(0), &node.ty().shape) => LoweringClass::Pointwise,
        Op::Reshape(_) => LoweringClass::Alias,
        Op::Reduce(..) | Op::Accumulate(_) | Op::Scatter(_) => LoweringClass::Reducing,
        // Spelled out before it is lowered.
        Op::ArgReduce(_, axis) if shape(0)[*axis] > 0 => LoweringClass::Reducing,
        Op::Contract(spec) => contraction_class(spec, shape(0), shape(1)),
        Op::Concatenate(_) => LoweringClass::Parts,
        Op::ScatterSet => LoweringClass::Writing,
        Op::Scan(_) => LoweringClass::Loop,
        Op::Branch(_) => LoweringClass::Branch,
        Op::Sweeps(_) => LoweringClass::Sweeps,
        Op::Output(_) => LoweringClass::Output,
        Op::Extra(never) => match *never {},
        // Routines, and functions with rules of their own.
        _ => LoweringClass::Call,
    }
}

/// Whether shapes differ in axes of extent 1 only.
pub(crate) fn is_trivial_reshape(source: &[usize], result: &[usize]) -> bool {
    let long = |shape: &[usize]| -> Shape { shape.iter().copied().filter(|&extent| extent != 1).collect() };
    !source.contains(&0) && long(source) == long(result)
}

/// The domain of the nest that stores a node.
pub(crate) fn domain(body: &Body, node: &Node) -> Shape {
    let shape = |arg: usize| &body.node(node.args[arg]).ty().shape;
    match &node.op {
        Op::Reduce(..) | Op::ArgReduce(..) | Op::Accumulate(_) | Op::Scatter(_) => shape(0).clone(),
        Op::ScatterSet => shape(1).clone(),
        Op::Contract(spec) => domain_labels(spec).iter().map(|&label| spec.extent(label, shape(0), shape(1))).collect(),
        _ => node.ty().shape.clone(),
    }
}

/// The cost of an operation per element, in units of a simple operation.
pub(crate) fn own_cost(op: &Op) -> f64 {
    match op {
        Op::Unary(op) => op.element_cost(),
        Op::Binary(op) => op.element_cost(),
        Op::Gather => 4.0,
        Op::Parameter(_) | Op::Constant(_) | Op::Iota(_) | Op::View(_) | Op::Reshape(_) | Op::Alias | Op::Mark => 0.0,
        _ => 1.0,
    }
}

/// A place where a value would be computed: the domain of a nest, and the reads through which the value is reached from there.
#[derive(Clone, Copy)]
struct Use {
    /// The hash of domain and reads.
    key: u64,
    /// The hash of the domain alone.
    domain: u64,
    /// How many times.
    times: f64,
}

/// A value with more uses than this is stored.
const USES: usize = 8;

/// The cost of another nest, in simple operations.
pub(crate) const NEST: f64 = 100.0;

/// The root of a chain of views without reads outside, or the first of them that is in memory. Products and reads at computed
/// positions read it directly. A view may be stored because its root changes before it is read.
pub(crate) fn strided_source(body: &Body, mut id: NodeId, is_stored: impl Fn(NodeId) -> bool) -> NodeId {
    while !is_stored(id)
        && let Op::View(map) = &body.node(id).op
        && map.is_inside()
        && size(map.result()) > 0
    {
        id = body.node(id).args[0];
    }
    id
}

/// Elements of a line of the cache.
const LINE: i64 = 8;

/// Whether a read at computed positions goes along rows of a view whose elements lie apart in memory, and reads more than the view
/// has: then the view is copied first.
fn reads_apart(body: &Body, node: &Node) -> bool {
    let view = body.node(node.args[0]);
    let Op::View(map) = &view.op else { return false };
    // Other views are not read through; how far apart their reads are may not be counted.
    if !map.is_inside() || size(map.result()) == 0 {
        return false;
    }
    let (last, indexed) = (map.result().len().checked_sub(1), node.args.len() - 1);
    let Some(last) = last.filter(|&last| last >= indexed && map.result()[last] > 1) else { return false };
    let strides = crate::shape::strides(map.source());
    let stride: i64 = strides.iter().enumerate().map(|(row, &stride)| stride as i64 * map.coefficient(row, last)).sum();
    stride.abs() >= LINE && node.ty().size() / 2 >= view.ty().size()
}

/// For each node, whether it is stored; of parameters and constants, whether they are read as buffers is not said here.
pub(crate) fn stored(body: &Body) -> Vec<bool> {
    decided(body, true)
}

/// As [`stored`], if nothing were stored for being read at computed positions.
pub(crate) fn stored_without_gathers(body: &Body) -> Vec<bool> {
    decided(body, false)
}

fn decided(body: &Body, gathers_count: bool) -> Vec<bool> {
    let count = body.nodes.len();
    let mut classes = Vec::with_capacity(count);
    let mut costs: Vec<f64> = Vec::with_capacity(count);
    // The least number of nests in sequence before a node is known.
    let mut depths: Vec<u32> = Vec::with_capacity(count);
    for node in &body.nodes {
        let class = class(body, node);
        let operands = || node.args.iter().map(|&arg| arg as usize);
        let pointwise = class == LoweringClass::Pointwise;
        let inner: f64 = operands().map(|arg| costs[arg]).sum();
        costs.push(if pointwise { (own_cost(&node.op) + inner).min(1e9) } else { 1.0 });
        depths.push(operands().map(|arg| depths[arg]).max().unwrap_or(0) + u32::from(!pointwise));
        classes.push(class);
    }
    let is_leaf = |id: NodeId| matches!(body.node(id).op, Op::Parameter(_) | Op::Constant(_));
    let mut stored: Vec<bool> = classes.iter().map(|&class| class != LoweringClass::Pointwise).collect();
    for &result in &body.results {
        stored[result as usize] = true;
    }
    let mut uses: Vec<SmallVec<[Use; 4]>> = vec![SmallVec::new(); count];
    for at in (0..count).rev() {
        let node = &body.nodes[at];
        if is_leaf(at as NodeId) {
            stored[at] = true;
            continue;
        }
        let own = std::mem::take(&mut uses[at]);
        if !stored[at] {
            let own_size = node.ty().size() as f64;
            let evaluated: f64 = own.iter().map(|place| place.times).sum();
            let domain = term_hash(&(&node.ty().shape, depths[at]));
            let nest = if own.iter().any(|place| place.domain == domain) { 0.0 } else { NEST };
            let storing = costs[at] * own_size + 2.0 * own_size + evaluated + nest;
            // For a repeated value, the value itself is stored.
            let repeats = |map: &AffineMap| size(map.source()) < size(map.result()) && !map.ignored().is_empty();
            let is_repeated = matches!(&node.op, Op::View(map) if repeats(map));
            stored[at] = own.len() > USES || !is_repeated && costs[at] * evaluated > storing;
        }
        match classes[at] {
            LoweringClass::Pointwise | LoweringClass::Reducing | LoweringClass::Parts | LoweringClass::Writing => {
                let places: SmallVec<[Use; 4]> = match stored[at] {
                    false => own,
                    true => {
                        let depth = depths[at] - u32::from(classes[at] != LoweringClass::Pointwise);
                        let domain = domain(body, node);
                        let key = term_hash(&(&domain, depth));
                        SmallVec::from_slice(&[Use { key, domain: key, times: size(&domain) as f64 }])
                    }
                };
                for (position, &arg) in node.args.iter().enumerate() {
                    if node.op == Op::Gather && position == 0 {
                        let read = if reads_apart(body, node) { arg } else { strided_source(body, arg, |_| false) };
                        stored[read as usize] |= gathers_count;
                        continue;
                    }
                    if node.op == Op::ScatterSet && position == 0 {
                        // It is copied, if not written into.
                        let key = term_hash(&(&node.ty().shape, depths[at] - 1));
                        let times = node.ty().size() as f64;
                        add_use(&mut uses[arg as usize], Use { key, domain: key, times });
                        continue;
                    }
                    for place in &places {
                        add_use(&mut uses[arg as usize], moved(*place, body, node, position));
                    }
                }
            }
            LoweringClass::Product => {
                for &arg in &node.args {
                    stored[strided_source(body, arg, |_| false) as usize] = true;
                }
            }
            LoweringClass::Alias
            | LoweringClass::Loop
            | LoweringClass::Branch
            | LoweringClass::Sweeps
            | LoweringClass::Call => {
                for &arg in &node.args {
                    stored[arg as usize] = true;
                }
            }
            LoweringClass::Output => {}
        }
    }
    stored
}

/// A use of a node, as one of its operand at a position.
fn moved(place: Use, body: &Body, node: &Node, position: usize) -> Use {
    match &node.op {
        Op::View(map) => {
            // Elements that repeat along inner axes are computed once for all of them.
            let ignored = map.ignored();
            let inner = (0..map.result().len()).rev().take_while(|axis| ignored.contains(axis));
            let repeated = steps(inner.map(|axis| map.result()[axis]));
            Use { key: term_hash(&(place.key, map)), times: place.times / repeated.max(1) as f64, ..place }
        }
        Op::ScatterSet if position > 1 => {
            let (own, read) = (body.node(node.args[1]).ty().size().max(1), body.node(node.args[position]).ty().size());
            Use { key: term_hash(&(place.key, 1)), times: place.times * (read as f64 / own as f64).min(1.0), ..place }
        }
        Op::Gather | Op::Scatter(_) if position > 0 => {
            let (own, read) = (node.ty().size().max(1), body.node(node.args[position]).ty().size());
            Use { key: term_hash(&(place.key, 1)), times: place.times * (read as f64 / own as f64).min(1.0), ..place }
        }
        Op::Contract(_) => {
            Use { key: term_hash(&(place.key, node.args[0] == node.args[1], position, &node.op)), ..place }
        }
        Op::Concatenate(_) => {
            let (own, read) = (node.ty().size().max(1), body.node(node.args[position]).ty().size());
            let key = term_hash(&(place.key, position));
            Use { key, domain: key, times: place.times * read as f64 / own as f64 }
        }
        _ => place,
    }
}

fn add_use(uses: &mut SmallVec<[Use; 4]>, new: Use) {
    if uses.len() <= USES && !uses.iter().any(|place| place.key == new.key) {
        uses.push(new);
    }
}
