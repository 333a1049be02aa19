//! Operands and results of products, arranged for their readers.
//!
//! A product reads its operands in place if all the elements that it reads exist: so an array that is read beyond its ends is
//! written with zeros around it, which is little compared with all windows of it. And a product can write its result in any
//! order, so it takes the order of the read: along the axis that the reader runs along.

use crate::affine::AffineMap;
use crate::kernel::roots::{LoweringClass, class};
use crate::operation::{Contraction, Label};
use crate::shape::{Shape, size};
use crate::term::hash::TermMap;
use crate::term::{Body, Graph, Node, NodeId, Op};
use smallvec::SmallVec;
use std::borrow::Cow;

/// A read of more than so many elements for each of the array with zeros around it goes through that.
const REPEATS: usize = 2;

/// The same program with arrays arranged for products.
pub(super) fn arranged(body: &Body) -> Cow<'_, Body> {
    let is_product = |node: &Node| matches!(node.op, Op::Contract(_)) && class(body, node) == LoweringClass::Product;
    if !body.nodes.iter().any(is_product) {
        return Cow::Borrowed(body);
    }
    let changes = reordered(body);
    // The new operation of a node: a read of a product in another order has other positions.
    let op = |id: NodeId| changes.get(&id).unwrap_or(&body.node(id).op);
    let operands = body.nodes.iter().filter(|node| is_product(node)).flat_map(|node| &node.args);
    let surrounded: TermMap<NodeId, (AffineMap, AffineMap)> =
        operands.filter_map(|&arg| Some((arg, surrounding(op(arg))?))).collect();
    if changes.is_empty() && surrounded.is_empty() {
        return Cow::Borrowed(body);
    }
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        let mut args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        if is_product(node) {
            for (arg, &before) in args.iter_mut().zip(&node.args) {
                if let Some((around, inner)) = surrounded.get(&before) {
                    let source = ids[body.node(before).args[0] as usize];
                    let padded = graph.add(Op::View(around.clone()), &[source]);
                    *arg = graph.add(Op::View(inner.clone()), &[padded]);
                }
            }
        }
        ids.push(graph.add(op(at as NodeId).clone(), &args));
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    Cow::Owned(graph.finish(&results))
}

/// A read beyond the ends of its array, as zeros around the array and a read inside of that; if it reads much more.
fn surrounding(op: &Op) -> Option<(AffineMap, AffineMap)> {
    let Op::View(map) = op else { return None };
    if map.is_inside() || size(map.result()) == 0 {
        return None;
    }
    let (around, inner) = map.surrounded()?;
    (size(inner.result()) / REPEATS > size(inner.source())).then_some((around, inner))
}

/// The operations that replace products, and the nodes between a product and its only reader, where the reader wants another
/// order of axes.
fn reordered(body: &Body) -> TermMap<NodeId, Op> {
    let uses = body.use_counts();
    // The last reader of each node.
    let mut readers: Vec<Option<&Node>> = vec![None; body.nodes.len()];
    for node in &body.nodes {
        node.args.iter().for_each(|&arg| readers[arg as usize] = Some(node));
    }
    let mut changes = TermMap::default();
    for (at, node) in body.nodes.iter().enumerate() {
        let Op::View(map) = &node.op else { continue };
        let read = node.args[0];
        let reshaped = matches!(body.node(read).op, Op::Reshape(_)).then(|| body.node(read).args[0]);
        let contraction = body.node(reshaped.unwrap_or(read));
        let Op::Contract(spec) = &contraction.op else { continue };
        let alone = [Some(read), reshaped].into_iter().flatten().all(|id| uses[id as usize] == 1);
        if !alone || class(body, contraction) != LoweringClass::Product {
            continue;
        }
        let reader = readers[at].filter(|_| uses[at] == 1);
        let Some(last) = axis_to_run_along(map, reader) else { continue };
        let Some(groups) = groups(spec, &contraction.ty().shape, map.source()) else { continue };
        let order = || (0..groups.len()).filter(|&axis| axis != last).chain([last]);
        let result = order().flat_map(|axis| groups[axis].iter().copied()).collect();
        let shape: Shape = order().map(|axis| map.source()[axis]).collect();
        let rows: Vec<SmallVec<[i64; 4]>> = order().map(|axis| map.row(axis).into()).collect();
        let offsets: SmallVec<[i64; 4]> = order().map(|axis| map.offset(axis)).collect();
        changes.insert(reshaped.unwrap_or(read), Op::Contract(Contraction { result, ..spec.clone() }));
        if reshaped.is_some() {
            changes.insert(read, Op::Reshape(shape.clone()));
        }
        changes.insert(at as NodeId, Op::View(AffineMap::new(&shape, map.result(), &rows, &offsets)));
    }
    changes
}

/// The axis of an array along which a reader reads neighbours, when it goes along the last of its axes that it does not
/// reduce; if that is not the array's last one.
fn axis_to_run_along(map: &AffineMap, reader: Option<&Node>) -> Option<usize> {
    let is_reduced = |column: &usize| match reader.map(|node| &node.op) {
        Some(Op::Reduce(_, axes)) => axes.contains(column),
        _ => false,
    };
    let column = (0..map.result().len()).rev().find(|column| map.result()[*column] > 1 && !is_reduced(column))?;
    let mut moved = (0..map.source().len()).filter(|&row| map.coefficient(row, column) != 0);
    let (row, None) = (moved.next()?, moved.next()) else { return None };
    let is_last = (row + 1..map.source().len()).all(|later| map.source()[later] == 1);
    (map.coefficient(row, column).abs() == 1 && !is_last).then_some(row)
}

/// The labels of a contraction's result that make up each axis of a shape that it is read in.
fn groups(spec: &Contraction, result: &[usize], shape: &[usize]) -> Option<Vec<SmallVec<[Label; 4]>>> {
    let mut labels = spec.result.iter().copied().zip(result.iter().copied()).peekable();
    let mut groups: Vec<SmallVec<[Label; 4]>> = Vec::new();
    for &extent in shape {
        // An axis of one position is one here too, if it is next: without a reshape in between it has to stay where it is.
        let alone = labels.next_if(|&(_, own)| extent == 1 && own == 1);
        let (mut group, mut count): (SmallVec<[Label; 4]>, usize) =
            (alone.map(|(label, _)| label).into_iter().collect(), 1);
        while count < extent {
            let (label, own) = labels.next()?;
            group.push(label);
            count *= own;
        }
        if count != extent {
            return None;
        }
        groups.push(group);
    }
    // Axes of one position are left over.
    groups.last_mut()?.extend(labels.map(|(label, _)| label));
    Some(groups)
}
