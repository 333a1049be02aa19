//! Sums of pads, of scatters and of masked arrays, over whole programs: a gradient often adds many arrays that are 0 almost
//! everywhere.
//!
//! This is a pass and not a rule, so that a chain of `k` additions takes `O(k log k)` time: a rule would see one addition at a
//! time, and copy the parts joined so far each time.

use super::views::{offsets_of, rows_of};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::Binary;
use crate::shape::{Shape, Value, is_sparse, size, sort_by_rank};
use crate::term::{Body, Graph, Node, NodeId, Op};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

const ADD: Op = Op::Binary(Binary::Add);

/// The program in which sums of arrays that are non-zero in disjoint parts are concatenations, those that are non-zero in
/// the same part are sums of that part, sums of scatters into one shape are one scatter, and sums of values under one mask are
/// masked once. Without such sums, `None`.
pub(super) fn merge_sums(body: &Body) -> Option<Body> {
    let counts = body.use_counts();
    // An addition that is only an operand of another addition belongs to the same sum.
    let mut inner = vec![false; body.nodes.len()];
    for node in body.nodes.iter().filter(|node| node.op == ADD) {
        for &arg in &node.args {
            inner[arg as usize] = body.node(arg).op == ADD && counts[arg as usize] == 1;
        }
    }
    // A scatter that others use too is computed anyway: the sum takes it unchanged.
    let alone = |arg: NodeId| counts[arg as usize] == 1;
    let mergeable = |arg: NodeId| match &body.node(arg).op {
        Op::View(map) => support(map).is_some(),
        Op::Scatter(_) => alone(arg),
        Op::Select => {
            let args = &body.node(arg).args;
            is_zero(body.node(args[1])) || is_zero(body.node(args[2]))
        }
        Op::Constant(array) => array.uniform().is_none(),
        _ => false,
    };
    // Most programs have no such sum, and need no copy.
    let sums = body.nodes.iter().enumerate().filter(|&(at, node)| node.op == ADD && !inner[at]);
    let several = |leaves: &[NodeId]| leaves.iter().filter(|&&leaf| mergeable(leaf)).count() > 1;
    if !sums.into_iter().any(|(at, _)| several(&tree(body, at as NodeId, &inner).0)) {
        return None;
    }
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.nodes.len() as NodeId).collect();
    let mut changed = false;
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        if inner[at] {
            continue;
        }
        if node.op == ADD {
            let (leaves, additions) = tree(body, at as NodeId, &inner);
            if several(&leaves) {
                let operands: Vec<(NodeId, bool)> =
                    leaves.iter().map(|&leaf| (ids[leaf as usize], alone(leaf))).collect();
                if let Some(sum) = merge(&mut graph, &operands) {
                    ids[at] = sum;
                    changed = true;
                    continue;
                }
            }
            for addition in additions {
                ids[addition as usize] = copy(&mut graph, body.node(addition), &ids);
            }
        } else {
            ids[at] = copy(&mut graph, node, &ids);
        }
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    changed.then(|| graph.finish(&results))
}

/// Whether a node is zeros.
fn is_zero(node: &Node) -> bool {
    match &node.op {
        Op::Constant(array) => array.uniform().is_some_and(|value| value.to_f64() == 0.0),
        _ => false,
    }
}

fn copy(graph: &mut Graph, node: &Node, ids: &[NodeId]) -> NodeId {
    let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
    graph.add(node.op.clone(), &args)
}

/// The operands of a sum from left to right, and its additions, operands first.
fn tree(body: &Body, root: NodeId, inner: &[bool]) -> (Vec<NodeId>, Vec<NodeId>) {
    let (mut leaves, mut additions) = (Vec::new(), Vec::new());
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if id == root || inner[id as usize] {
            additions.push(id);
            stack.extend(body.node(id).args.iter().rev());
        } else {
            leaves.push(id);
        }
    }
    additions.sort_unstable();
    (leaves, additions)
}

/// A part of an array: where it starts, and its extents.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Support {
    start: Shape,
    extents: Shape,
}

/// The part of a view's result outside of which it is 0, if that is a proper part.
fn support(map: &AffineMap) -> Option<Support> {
    if map.is_inside() {
        return None;
    }
    let result = map.result();
    let mut start: Shape = SmallVec::from_elem(0, result.len());
    let mut end = Shape::from_slice(result);
    for row in 0..map.source().len() {
        let mut moving = map.row(row).iter().enumerate().filter(|&(_, &coefficient)| coefficient != 0);
        let (Some((column, &coefficient)), None) = (moving.next(), moving.next()) else { continue };
        // 0 <= coefficient · j + offset < length.
        let (offset, last) = (map.offset(row) as i128, map.source()[row] as i128 - 1);
        let step = coefficient as i128;
        let (low, high) = match step > 0 {
            true => ((-offset + step - 1).div_euclid(step), (last - offset).div_euclid(step)),
            false => ((offset - last - step - 1).div_euclid(-step), offset.div_euclid(-step)),
        };
        let extent = result[column] as i128;
        start[column] = start[column].max(low.clamp(0, extent) as usize);
        end[column] = end[column].min((high + 1).clamp(0, extent) as usize);
    }
    if start[..] == [0].repeat(result.len())[..] && end[..] == *result {
        return None;
    }
    let extents: Shape = start.iter().zip(&end).map(|(&start, &end)| end.saturating_sub(start)).collect();
    (size(&extents) > 0).then_some(Support { start, extents })
}

/// A view without the zeros that it reads around its support.
fn core(graph: &mut Graph, view: NodeId, support: &Support) -> Option<NodeId> {
    let node = graph.node(view);
    let Op::View(map) = &node.op else { return None };
    let mut offsets = offsets_of(map);
    for (row, offset) in offsets.iter_mut().enumerate() {
        for (column, &start) in support.start.iter().enumerate() {
            let moved = map.coefficient(row, column).checked_mul(i64::try_from(start).ok()?)?;
            *offset = offset.checked_add(moved)?;
        }
    }
    let smaller = AffineMap::checked(map.source(), &support.extents, &rows_of(map), &offsets)?;
    let source = node.args[0];
    Some(if smaller.is_identity() { source } else { graph.add(Op::View(smaller), &[source]) })
}

/// An operand of a sum that is 0 outside a part.
struct SumOperand {
    support: Support,
    /// The elements of the part.
    core: NodeId,
    /// The whole operand, as long as it was merged with no other.
    whole: Option<NodeId>,
}

/// The sum of operands of one type, if some of them can be merged; each comes with whether it is used only here.
fn merge(graph: &mut Graph, operands: &[(NodeId, bool)]) -> Option<NodeId> {
    let ty = graph.ty(operands[0].0).clone();
    let mut parts: Vec<SumOperand> = Vec::new();
    let mut others: Vec<NodeId> = Vec::new();
    let mut scatters: Vec<NodeId> = Vec::new();
    let mut selections: Vec<NodeId> = Vec::new();
    for &(operand, alone) in operands {
        let part = match &graph.node(operand).op {
            Op::View(map) => support(map),
            Op::Scatter(_) if alone => {
                scatters.push(operand);
                continue;
            }
            Op::Select => {
                selections.push(operand);
                continue;
            }
            _ => None,
        };
        match part.and_then(|support| Some((core(graph, operand, &support)?, support))) {
            Some((core, support)) => parts.push(SumOperand { support, core, whole: Some(operand) }),
            None => others.push(operand),
        }
    }
    let count = parts.len() + scatters.len() + selections.len();
    let mut parts = add_equal(graph, parts);
    for axis in (0..ty.rank()).rev() {
        parts = join_along(graph, parts, axis);
    }
    let mut scattered = None;
    if parts.len() > 1 {
        (scattered, parts) = scatter_sparse(graph, parts, &ty.shape);
    }
    let scatters = join_scatters(graph, scatters);
    let selections = join_selections(graph, selections);
    let constants = others.iter().filter(|&&other| matches!(graph.node(other).op, Op::Constant(_))).count();
    if scattered.is_none() && constants < 2 && parts.len() + scatters.len() + selections.len() == count {
        return None;
    }
    // Constants side by side are added up by a rule.
    sort_by_rank(&mut others, |&other| u64::from(!matches!(graph.node(other).op, Op::Constant(_))));
    others.extend(selections);
    others.extend(scatters);
    others.extend(scattered);
    for part in parts {
        others.push(match part.whole {
            Some(whole) => whole,
            None => {
                let identity = AffineMap::identity(&part.support.extents);
                let offsets: Option<SmallVec<[i64; 4]>> =
                    part.support.start.iter().map(|&start| i64::try_from(start).ok()?.checked_neg()).collect();
                // A column of an axis of extent 1 is cleared in the identity, but not in the pad.
                let mut rows = rows_of(&identity);
                for (axis, row) in rows.iter_mut().enumerate() {
                    row[axis] = 1;
                }
                graph.add(Op::View(AffineMap::new(&part.support.extents, &ty.shape, &rows, &offsets?)), &[part.core])
            }
        });
    }
    others.into_iter().reduce(|sum, operand| graph.add(ADD, &[sum, operand]))
}

/// Parts at one place are added there.
fn add_equal(graph: &mut Graph, parts: Vec<SumOperand>) -> Vec<SumOperand> {
    let mut places: HashMap<Support, usize> = HashMap::new();
    let mut merged: Vec<SumOperand> = Vec::new();
    for part in parts {
        match places.get(&part.support) {
            Some(&at) => {
                merged[at].core = graph.add(ADD, &[merged[at].core, part.core]);
                merged[at].whole = None;
            }
            None => {
                places.insert(part.support.clone(), merged.len());
                merged.push(part);
            }
        }
    }
    merged
}

/// Parts that differ in their place along one axis, and don't overlap, are concatenated, with zeros in the gaps.
fn join_along(graph: &mut Graph, parts: Vec<SumOperand>, axis: usize) -> Vec<SumOperand> {
    let mut groups: Vec<Vec<SumOperand>> = Vec::new();
    let mut places: HashMap<Support, usize> = HashMap::new();
    for part in parts {
        let mut place = part.support.clone();
        (place.start[axis], place.extents[axis]) = (0, 0);
        let at = *places.entry(place).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(part);
    }
    let mut joined = Vec::new();
    for mut group in groups {
        sort_by_rank(&mut group, |part| part.support.start[axis] as u64);
        // Lanes of parts that don't overlap; the lane that ends first is on top of the heap.
        let mut lanes: Vec<Vec<SumOperand>> = Vec::new();
        let mut ends: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
        for part in group {
            let end = part.support.start[axis] + part.support.extents[axis];
            match ends.peek() {
                Some(&Reverse((free, lane))) if free <= part.support.start[axis] => {
                    ends.pop();
                    ends.push(Reverse((end, lane)));
                    lanes[lane].push(part);
                }
                _ => {
                    ends.push(Reverse((end, lanes.len())));
                    lanes.push(vec![part]);
                }
            }
        }
        joined.extend(lanes.into_iter().map(|lane| join_lane(graph, lane, axis)));
    }
    joined
}

/// Small parts all over an array become one scatter: it costs the array once, and not once for each part.
fn scatter_sparse(graph: &mut Graph, parts: Vec<SumOperand>, shape: &[usize]) -> (Option<NodeId>, Vec<SumOperand>) {
    let total = parts.iter().fold(0usize, |sum, part| sum.saturating_add(size(&part.support.extents)));
    // The outer axes up to the last one along which a part is no whole.
    let whole =
        |part: &SumOperand, axis: usize| part.support.start[axis] == 0 && part.support.extents[axis] == shape[axis];
    let indexed =
        (0..shape.len()).rev().find(|&axis| !parts.iter().all(|part| whole(part, axis))).map_or(0, |axis| axis + 1);
    if indexed == 0 || !is_sparse(total, size(shape)) {
        return (None, parts);
    }
    let mut indices: Vec<Vec<i64>> = vec![Vec::new(); indexed];
    let mut updates: Vec<NodeId> = Vec::new();
    for part in &parts {
        let outer = &part.support.extents[..indexed];
        let mut position: Shape = SmallVec::from_elem(0, indexed);
        for _ in 0..size(outer) {
            for (axis, positions) in indices.iter_mut().enumerate() {
                positions.push((part.support.start[axis] + position[axis]) as i64);
            }
            for axis in (0..indexed).rev() {
                position[axis] += 1;
                if position[axis] < outer[axis] {
                    break;
                }
                position[axis] = 0;
            }
        }
        let mut rows = Shape::from_slice(&[size(outer)]);
        rows.extend_from_slice(&shape[indexed..]);
        updates.push(graph.add(Op::Reshape(rows), &[part.core]));
    }
    let mut args: Vec<NodeId> = vec![graph.add(Op::Concatenate(0), &updates)];
    for positions in indices {
        let table = Array::from_vec(&[positions.len()], positions);
        args.push(graph.add(Op::Constant(table), &[]));
    }
    (Some(graph.add(Op::Scatter(Shape::from_slice(&shape[..indexed])), &args)), Vec::new())
}

fn join_lane(graph: &mut Graph, mut lane: Vec<SumOperand>, axis: usize) -> SumOperand {
    if lane.len() == 1 {
        return lane.remove(0);
    }
    let mut support = lane[0].support.clone();
    let zero = Value::from_i64(graph.ty(lane[0].core).dtype, 0);
    let mut pieces: Vec<NodeId> = Vec::new();
    let mut end = support.start[axis];
    for part in &lane {
        let gap = part.support.start[axis] - end;
        if gap > 0 {
            let mut shape = support.extents.clone();
            shape[axis] = gap;
            pieces.push(graph.add(Op::Constant(Array::full(&shape, zero)), &[]));
        }
        pieces.push(part.core);
        end = part.support.start[axis] + part.support.extents[axis];
    }
    support.extents[axis] = end - support.start[axis];
    SumOperand { core: graph.add(Op::Concatenate(axis), &pieces), support, whole: None }
}

/// Selections by one mask with a side of 0 become one selection, of sums of their sides. Others stay.
fn join_selections(graph: &mut Graph, selections: Vec<NodeId>) -> Vec<NodeId> {
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    let mut places: HashMap<NodeId, usize> = HashMap::new();
    let mut joined: Vec<NodeId> = Vec::new();
    for selection in selections {
        let args = &graph.node(selection).args;
        if !is_zero(graph.node(args[1])) && !is_zero(graph.node(args[2])) {
            joined.push(selection);
            continue;
        }
        let at = *places.entry(args[0]).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(selection);
    }
    for group in groups {
        if let [single] = group[..] {
            joined.push(single);
            continue;
        }
        let first: SmallVec<[NodeId; 3]> = graph.node(group[0]).args.clone();
        let zero = if is_zero(graph.node(first[1])) { first[1] } else { first[2] };
        let sides = [1, 2].map(|side: usize| {
            let own: Vec<NodeId> = group.iter().map(|&selection| graph.node(selection).args[side]).collect();
            let own = own.into_iter().filter(|&node| !is_zero(graph.node(node))).collect::<Vec<_>>();
            own.into_iter().reduce(|sum, node| graph.add(ADD, &[sum, node])).unwrap_or(zero)
        });
        joined.push(graph.add(Op::Select, &[first[0], sides[0], sides[1]]));
    }
    joined
}

/// Scatters into the same extents become one, of all their updates, unless there are many more updates than elements.
fn join_scatters(graph: &mut Graph, scatters: Vec<NodeId>) -> Vec<NodeId> {
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    let mut places: HashMap<Op, usize> = HashMap::new();
    for scatter in scatters {
        let at = *places.entry(graph.node(scatter).op.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(scatter);
    }
    groups.into_iter().flat_map(|group| join_group(graph, group)).collect()
}

fn join_group(graph: &mut Graph, group: Vec<NodeId>) -> Vec<NodeId> {
    let elements = graph.ty(group[0]).size();
    let updates = |graph: &Graph, scatter: NodeId| graph.ty(graph.node(scatter).args[0]).size();
    let total = group.iter().map(|&scatter| updates(graph, scatter)).fold(0, usize::saturating_add);
    let operands = graph.node(group[0]).args.len();
    if group.len() == 1 || operands == 1 || total / 4 > elements {
        return group;
    }
    let op = graph.node(group[0]).op.clone();
    let Op::Scatter(extents) = &op else { return group };
    let row = Shape::from_slice(&graph.ty(group[0]).shape[extents.len()..]);
    let columns: Vec<NodeId> = (0..operands)
        .map(|operand| {
            let flat: Vec<NodeId> = group
                .iter()
                .map(|&scatter| {
                    let (arg, index) = (graph.node(scatter).args[operand], graph.node(scatter).args[1]);
                    let mut shape: Shape = SmallVec::from_elem(graph.ty(index).size(), 1);
                    if operand == 0 {
                        shape.extend_from_slice(&row);
                    }
                    graph.add(Op::Reshape(shape), &[arg])
                })
                .collect();
            graph.add(Op::Concatenate(0), &flat)
        })
        .collect();
    vec![graph.add(op, &columns)]
}
