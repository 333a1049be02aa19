//! The cost of a program, counted from its types alone.

use crate::shape::Type;
use crate::term::op::Steps;
use crate::term::op::{Extension, Op};
use crate::term::{Body, Node};
use smallvec::SmallVec;

/// Counts of work. Nested bodies count as often as they run; of a conditional, both sides count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Cost {
    /// Elementwise operations on floats, additions of reductions, and two for each term of a contraction's sums.
    pub float_operations: u128,
    /// Elements of all results that are not parameters or constants, views and reshapes left out.
    pub elements: u128,
    /// The largest number of elements of one result, views and reshapes left out.
    pub largest: u128,
    /// The longest chain of operations that each need the one before: how long a run takes on a machine that does everything at
    /// once that it can. Sums of n terms, sorts of n elements, and scatters and accumulations that add n elements at one
    /// position, count as ⌈log₂ n⌉ and 1; a loop as its body's depth at every step, or once where it carries nothing. Views,
    /// reshapes and conversions are free.
    pub depth: u128,
}

impl Cost {
    /// The cost of a stored result of this type, one operation deep.
    pub(crate) fn stored(result: &Type) -> Cost {
        let elements = result.size() as u128;
        Cost { float_operations: 0, elements, largest: elements, depth: 1 }
    }

    /// The same, so many operations deep.
    pub(crate) fn with_depth(self, depth: u128) -> Cost {
        Cost { depth, ..self }
    }

    /// The same with an operation for each element of an array of floats.
    pub(crate) fn with_operations_of(self, ty: &Type) -> Cost {
        Cost { float_operations: if ty.dtype.is_float() { ty.size() as u128 } else { 0 }, ..self }
    }

    /// The same, as deep as a sum of so many terms.
    pub(crate) fn with_sum_of(self, terms: usize) -> Cost {
        self.with_depth(u128::from(usize::BITS - terms.saturating_sub(1).leading_zeros()) + 1)
    }
}

impl<X: Extension> Body<X> {
    /// The cost of one run.
    pub fn cost(&self) -> Cost {
        let mut total = Cost::default();
        let mut depths: Vec<u128> = vec![0; self.arity()];
        for node in &self.nodes[self.arity()..] {
            let own = self.node_cost(node);
            total.float_operations = total.float_operations.saturating_add(own.float_operations);
            total.elements = total.elements.saturating_add(own.elements);
            total.largest = total.largest.max(own.largest);
            let before = node.args.iter().map(|&arg| depths[arg as usize]).max().unwrap_or(0);
            depths.push(before.saturating_add(own.depth));
        }
        total.depth = self.results.iter().map(|&result| depths[result as usize]).max().unwrap_or(0);
        total
    }

    /// The cost of one run of a node.
    pub(crate) fn node_cost(&self, node: &Node<X>) -> Cost {
        let stored = || node.types.iter().map(|ty| ty.size() as u128).fold(0, u128::saturating_add);
        let repeated = |body: Cost, times: u128| Cost {
            float_operations: body.float_operations.saturating_mul(times),
            elements: body.elements.saturating_mul(times),
            largest: body.largest,
            depth: body.depth.saturating_mul(times),
        };
        match &node.op {
            Op::Parameter(_) | Op::Constant(_) | Op::Output(_) => Cost::default(),
            Op::Scan(scan) => {
                let body = scan.body.cost();
                let mut cost = repeated(body, scan.length as u128);
                if scan.carries == 0 {
                    cost.depth = body.depth;
                }
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
                    depth: then.depth.max(otherwise.depth),
                }
            }
            // Rules run where a derivative is taken, and then stand in the program.
            Op::Custom(custom) => custom.value.cost(),
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
                        depth: sum.depth.saturating_add(body.depth),
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
                let body = build.body.cost();
                let mut cost = repeated(body, times);
                cost.depth = body.depth;
                cost.elements = cost.elements.saturating_add(stored());
                cost.largest = cost.largest.max(stored());
                cost
            }
            op => {
                let operands: SmallVec<[&Type; 3]> = node.args.iter().map(|&arg| self.node(arg).ty()).collect();
                op.ask(|operation| operation.cost(&operands, node.ty())).expect("an operation without a sub-program")
            }
        }
    }
}
