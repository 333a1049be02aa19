//! Reads of an array before the write that changes it, where the program leaves their order open.
//!
//! A write goes into the memory of its target where nothing reads the target later. The order of a program's nodes is whatever
//! its passes left: a read that needs nothing of the write may stand after it, and would cost a copy of the whole array. Such a
//! write is delayed until after these reads.

use super::{WriteFacts, first_version, is_other_version, scattered_onto, users};
use crate::operation::Binary;
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// Looks at nodes, for each node of a program, that finding the reads which need a write may take in all.
const LOOKS: usize = 8;

/// The later reads that writes wait for.
type Waits = HashMap<NodeId, SmallVec<[NodeId; 4]>>;

/// The program, with writes after the reads of their targets that do not need them, in bodies inside too.
pub(crate) fn reads_first<'a>(body: &'a Body, known: &mut WriteFacts) -> Cow<'a, Body> {
    let mut changed: HashMap<NodeId, Op> = HashMap::new();
    for (id, node) in (0..).zip(&body.nodes) {
        let mut is_same = true;
        let op = node.op.map_bodies(|inner| {
            let found = known.reads_first(inner);
            is_same &= Arc::ptr_eq(&found, inner);
            found
        });
        if !is_same {
            changed.insert(id, op);
        }
    }
    let body = match changed.is_empty() {
        true => Cow::Borrowed(body),
        false => {
            let all = body.arity() as NodeId..body.nodes.len() as NodeId;
            Cow::Owned(rebuilt(body, all, |id| changed.remove(&id)))
        }
    };
    let waits = waits(&body, known);
    match waits.is_empty() {
        true => body,
        false => Cow::Owned(rebuilt(&body, order(&body, &waits), |_| None)),
    }
}

impl WriteFacts {
    /// As [`reads_first`], for a body inside.
    fn reads_first(&mut self, body: &Arc<Body>) -> Arc<Body> {
        if let Some((_, found)) = self.ordered.get(&Arc::as_ptr(body)) {
            return found.clone();
        }
        let found = match reads_first(body, self) {
            Cow::Borrowed(_) => body.clone(),
            Cow::Owned(other) => Arc::new(other),
        };
        self.ordered.insert(Arc::as_ptr(body), (body.clone(), found.clone()));
        found
    }
}

/// The program with its nodes in an order, and with other operations for some.
fn rebuilt(
    body: &Body,
    order: impl IntoIterator<Item = NodeId>,
    mut changed: impl FnMut(NodeId) -> Option<Op>,
) -> Body {
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.nodes.len() as NodeId).collect();
    for id in order {
        let node = body.node(id);
        let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids[id as usize] = graph.add(changed(id).unwrap_or_else(|| node.op.clone()), &args);
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

/// The operands that a node changes in place where it may.
fn targets(body: &Body, uses: &[u32], id: NodeId, known: &mut WriteFacts) -> SmallVec<[NodeId; 4]> {
    let node = body.node(id);
    match &node.op {
        Op::ScatterSet => SmallVec::from_slice(&node.args[..1]),
        Op::Binary(_) => scattered_onto(body, uses, id).map(|(target, _)| target).into_iter().collect(),
        _ => known.changed(&node.op).iter().map(|&(operand, _)| node.args[operand]).collect(),
    }
}

/// The later reads of their targets that writes wait for. None of them needs the write.
fn waits(body: &Body, known: &mut WriteFacts) -> Waits {
    let mut waits = Waits::new();
    let may_write = |op: &Op| {
        matches!(op, Op::ScatterSet | Op::Scatter(_) | Op::Accumulate(_) | Op::Scan(_) | Op::Sweeps(_) | Op::Branch(_))
    };
    if !body.nodes.iter().any(|node| may_write(&node.op)) {
        return waits;
    }
    let (uses, users) = (body.use_counts(), users(body));
    let mut left = LOOKS * body.nodes.len();
    let mut needed_by: Vec<NodeId> = vec![NodeId::MAX; body.nodes.len()];
    for write in body.arity() as NodeId..body.nodes.len() as NodeId {
        let mut later: SmallVec<[NodeId; 4]> = SmallVec::new();
        for target in targets(body, &uses, write, known) {
            later_readers(body, &users, (target, write), &mut later, &mut left);
        }
        let Some(&last) = later.iter().max() else { continue };
        let mut open = vec![write];
        while let Some(id) = open.pop() {
            left = left.saturating_sub(1 + users[id as usize].len());
            for &user in &users[id as usize] {
                if user <= last && needed_by[user as usize] != write {
                    needed_by[user as usize] = write;
                    open.push(user);
                }
            }
        }
        if left == 0 {
            break;
        }
        if later.iter().all(|&reader| needed_by[reader as usize] != write) {
            waits.insert(write, later);
        }
    }
    waits
}

/// Adds the nodes after a write that read its target, or another version of the contents of its memory.
fn later_readers(
    body: &Body,
    users: &[SmallVec<[NodeId; 4]>],
    (target, write): (NodeId, NodeId),
    later: &mut SmallVec<[NodeId; 4]>,
    left: &mut usize,
) {
    let room = body.node(target).ty().size() / 2;
    let mut versions = vec![first_version(body, target)];
    while let Some(version) = versions.pop() {
        *left = left.saturating_sub(1 + users[version as usize].len());
        // A write that is a sum reads its target itself.
        for &user in users[version as usize].iter().filter(|&&user| user != write) {
            // Sums with arrays that are zero but at some positions most often are additions in place.
            match is_other_version(body, user, room) && !is_surrounded_sum(body, user) {
                true => versions.push(user),
                false if user > write => later.push(user),
                false => {}
            }
        }
    }
}

/// Whether a node adds an array that is zero but at some positions.
fn is_surrounded_sum(body: &Body, id: NodeId) -> bool {
    let node = body.node(id);
    let is_surrounded = |&arg: &NodeId| match &body.node(arg).op {
        Op::View(map) => !map.is_inside(),
        op => matches!(op, Op::Scatter(_) | Op::Accumulate(_)),
    };
    matches!(node.op, Op::Binary(Binary::Add | Binary::Sub)) && node.args.iter().any(is_surrounded)
}

/// The nodes but parameters in their order, except for writes that wait, and nodes that need them.
fn order(body: &Body, waits: &Waits) -> Vec<NodeId> {
    let (users, count) = (users(body), body.nodes.len());
    let mut waiting: HashMap<NodeId, SmallVec<[NodeId; 4]>> = HashMap::new();
    // How many operands and reads must come before each node.
    let mut missing = vec![0usize; count];
    users.iter().flatten().for_each(|&user| missing[user as usize] += 1);
    for (&write, readers) in waits {
        missing[write as usize] += readers.len();
        readers.iter().for_each(|&reader| waiting.entry(reader).or_default().push(write));
    }
    let mut is_placed = vec![false; count];
    let mut ready: BinaryHeap<Reverse<NodeId>> =
        (0..count as NodeId).filter(|&id| missing[id as usize] == 0).map(Reverse).collect();
    let (mut order, mut first) = (Vec::with_capacity(count), 0);
    while order.len() < count {
        let id = match ready.pop() {
            Some(Reverse(id)) => id,
            // Two writes wait for reads that need the other: the first does not wait.
            None => {
                while is_placed[first] {
                    first += 1;
                }
                first as NodeId
            }
        };
        if std::mem::replace(&mut is_placed[id as usize], true) {
            continue;
        }
        order.push(id);
        for &next in users[id as usize].iter().chain(waiting.get(&id).into_iter().flatten()) {
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    order.retain(|&id| id as usize >= body.arity());
    order
}
