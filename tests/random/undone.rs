//! Backward loops that restore the elements that the steps of a loop wrote over.

use deltaray::term::{Body, Extension, NodeId, Op};

/// The writes of a loop's body that restore in a carried array the elements that a step wrote over, which the loop reads step
/// by step.
pub fn restoring<X: Extension>(body: &Body<X>, carries: usize) -> Vec<NodeId> {
    let is_read =
        |id: NodeId| matches!(body.node(id).op, Op::Parameter(at) if (carries..body.parameters()).contains(&at));
    let mut found = Vec::new();
    for carry in 0..carries {
        let (mut id, mut chain) = (body.results()[carry], Vec::new());
        while let (Op::ScatterSet, &[array, values, ..]) = (&body.node(id).op, &body.node(id).args[..]) {
            chain.extend(is_read(values).then_some(id));
            id = array;
        }
        if matches!(body.node(id).op, Op::Parameter(at) if at == carry) {
            found.extend(chain);
        }
    }
    found
}

/// Whether a loop of a program, or one in it, puts elements back.
pub fn puts_back(body: &Body) -> bool {
    body.nodes().iter().any(|node| match &node.op {
        Op::Scan(scan) => !restoring(&scan.body, scan.carries).is_empty() || puts_back(&scan.body),
        Op::Sweeps(sweeps) => {
            let of = |sweep: &deltaray::term::Sweep| !restoring(&sweep.body, sweep.carries).is_empty();
            sweeps.sweeps.iter().any(of) || sweeps.bodies().any(|body| puts_back(body))
        }
        Op::Branch(branch) => puts_back(&branch.then) || puts_back(&branch.otherwise),
        _ => false,
    })
}
