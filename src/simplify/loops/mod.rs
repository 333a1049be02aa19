//! Loops and conditionals: their bodies are simplified, and facts about their users and operands are used inside.

mod prune;
#[cfg(test)]
mod tests;

use super::{Rules, Simplifier, simplify_with};
use crate::term::{Body, Branch, NodeId, Op, Scan};
use std::sync::Arc;

pub(super) use prune::prune;

pub(super) const RULES: Rules = &[
    ("scan body", scan_body),
    ("branch bodies", branch_bodies),
    ("sweep bodies", sweep_bodies),
    ("custom bodies", custom_bodies),
];

/// The simplified body, if it differs; every body is simplified once.
fn simplified(arena: &mut Simplifier, body: &Arc<Body>) -> Option<Arc<Body>> {
    // In this program, or in another that it is part of now: derivatives of nested bodies are simplified from the innermost outwards.
    if body.known.is_simple() && arena.replaced.is_none() {
        return None;
    }
    if let Some(known) = arena.bodies.get(body) {
        return (known != body).then(|| known.clone());
    }
    let mut bodies = std::mem::take(&mut arena.bodies);
    let simple = Arc::new(simplify_with(body, arena.replaced, &mut bodies));
    bodies.insert(body.clone(), simple.clone());
    // A simplified body is not simplified again.
    bodies.insert(simple.clone(), simple.clone());
    arena.bodies = bodies;
    (simple != *body).then_some(simple)
}

/// A loop runs its simplified body: less work in each step.
fn scan_body(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scan(scan) = op else { return None };
    let body = simplified(arena, &scan.body)?;
    let scan = Scan { body, ..Scan::clone(scan) };
    Some(arena.add(Op::Scan(Arc::new(scan)), args))
}

/// A function with rules of its own runs its simplified body, and its derivatives are taken by simplified rules.
fn custom_bodies(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Custom(custom) = op else { return None };
    let simple = custom.map(|body| simplified(arena, body).unwrap_or_else(|| body.clone()));
    (simple != **custom).then(|| arena.add(Op::Custom(Arc::new(simple)), args))
}

/// A conditional runs its simplified bodies: less work in the side that is chosen.
fn branch_bodies(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Branch(branch) = op else { return None };
    let (then, otherwise) = (simplified(arena, &branch.then), simplified(arena, &branch.otherwise));
    if then.is_none() && otherwise.is_none() {
        return None;
    }
    let then = then.unwrap_or_else(|| branch.then.clone());
    let otherwise = otherwise.unwrap_or_else(|| branch.otherwise.clone());
    Some(arena.add(Op::Branch(Arc::new(Branch { then, otherwise })), args))
}

/// Every sweep of a loop runs its simplified body: less work in each step.
fn sweep_bodies(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Sweeps(sweeps) = op else { return None };
    let mut changed = false;
    let simple = sweeps.map_bodies(|body| {
        let simple = simplified(arena, body);
        changed |= simple.is_some();
        simple.unwrap_or_else(|| body.clone())
    });
    changed.then(|| arena.add(Op::Sweeps(Arc::new(simple)), args))
}
