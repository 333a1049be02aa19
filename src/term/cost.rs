//! What a program costs, counted from its types alone.

use crate::shape::Type;
use crate::term::op::{Extension, Op};
use crate::term::sweeps::Steps;
use crate::term::{Body, Node};

/// Counts of work. Nested bodies count as often as they run; of a conditional, both sides count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Elementwise operations on floats, additions of reductions, and two for each term of a contraction's sums.
    pub float_operations: u128,
    /// Elements of all results that are not parameters or constants, views and reshapes left out.
    pub elements: u128,
    /// The largest number of elements of one result, views and reshapes left out.
    pub largest: u128,
}

impl<X: Extension> Body<X> {
    /// What one run costs.
    pub fn cost(&self) -> Cost {
        let mut total = Cost::default();
        for node in &self.nodes[self.arity()..] {
            let own = self.node_cost(node);
            total.float_operations = total.float_operations.saturating_add(own.float_operations);
            total.elements = total.elements.saturating_add(own.elements);
            total.largest = total.largest.max(own.largest);
        }
        total
    }

    fn node_cost(&self, node: &Node<X>) -> Cost {
        let float = |ty: &Type| if ty.dtype.is_float() { ty.size() as u128 } else { 0 };
        let operand = |position: usize| self.node(node.args[position]).ty();
        let stored = || node.types.iter().map(|ty| ty.size() as u128).fold(0, u128::saturating_add);
        let plain = |float_operations: u128| {
            let elements = stored();
            Cost { float_operations, elements, largest: elements }
        };
        let repeated = |body: Cost, times: u128| Cost {
            float_operations: body.float_operations.saturating_mul(times),
            elements: body.elements.saturating_mul(times),
            largest: body.largest,
        };
        match &node.op {
            Op::Parameter(_) | Op::Constant(_) | Op::Output(_) | Op::Alias | Op::Mark => Cost::default(),
            // A view that repeats its source is stored only by engines that do not fuse it; others are not counted at all.
            Op::View(_) | Op::Reshape(_) => Cost::default(),
            Op::Iota(_) | Op::Select | Op::Cast(_) | Op::Concatenate(_) | Op::Gather => plain(0),
            Op::Unary(_) | Op::Binary(_) => plain(float(node.ty())),
            Op::Compare(_) => plain(float(operand(0))),
            Op::Accumulate(_) | Op::Scatter(_) | Op::Reduce(..) | Op::ArgReduce(..) | Op::ArgSort(..) => {
                plain(float(operand(0)))
            }
            Op::Contract(spec) => {
                let (left, right) = (operand(0), operand(1));
                let mut terms = float(node.ty());
                for &label in spec.left.iter().filter(|label| !spec.result.contains(label)) {
                    terms = terms.saturating_mul(spec.extent(label, &left.shape, &right.shape) as u128);
                }
                plain(terms.saturating_mul(2))
            }
            Op::Scan(scan) => {
                let mut cost = repeated(scan.body.cost(), scan.length as u128);
                cost.elements = cost.elements.saturating_add(stored());
                cost.largest = cost.largest.max(stored());
                cost
            }
            Op::Branch(branch) => {
                let (then, otherwise) = (branch.then.cost(), branch.otherwise.cost());
                Cost {
                    float_operations: then.float_operations.saturating_add(otherwise.float_operations),
                    elements: then.elements.saturating_add(otherwise.elements),
                    largest: then.largest.max(otherwise.largest),
                }
            }
            Op::Sweeps(sweeps) => {
                // How often a condition holds is not known: its steps are counted once.
                let times = match sweeps.steps {
                    Steps::Count(count) => count as u128,
                    Steps::While(_) => 1,
                };
                let mut cost = sweeps.bodies().fold(Cost::default(), |sum, body| {
                    let body = body.cost();
                    Cost {
                        float_operations: sum.float_operations.saturating_add(body.float_operations),
                        elements: sum.elements.saturating_add(body.elements),
                        largest: sum.largest.max(body.largest),
                    }
                });
                cost = repeated(cost, times);
                cost.elements = cost.elements.saturating_add(stored());
                cost.largest = cost.largest.max(stored());
                cost
            }
            Op::Extra(extra) => {
                let build = extra.as_build();
                let times = crate::shape::size(&build.extents) as u128;
                let mut cost = repeated(build.body.cost(), times);
                cost.elements = cost.elements.saturating_add(stored());
                cost.largest = cost.largest.max(stored());
                cost
            }
        }
    }
}
