//! The transpose of Delta: from cotangents of outputs to cotangents of inputs (P 2.6 and 6.4, figures 5 and 17).

use super::cotangent::Cotangent;
use super::delta::{Delta, DeltaMap, ShareId};
use super::derivative::Scaling;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::operation::Binary;
use crate::shape::{Shape, Type};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// A summand of a cotangent: an array, or elements of it, which are added in place.
enum Contribution<A: Algebra> {
    Whole(A::Array),
    Scattered { updates: A::Array, indices: Vec<A::Array>, extents: Shape },
    Accumulated { updates: A::Array, map: AffineMap },
}

impl<A: Algebra> Contribution<A> {
    fn alone(self) -> A::Array {
        match self {
            Contribution::Whole(array) => array,
            Contribution::Scattered { updates, indices, extents } => A::scatter(updates, indices, &extents),
            Contribution::Accumulated { updates, map } => A::accumulate(updates, &map),
        }
    }

    fn onto(self, target: A::Array) -> A::Array {
        match self {
            Contribution::Whole(array) => A::binary(Binary::Add, target, array),
            Contribution::Scattered { updates, indices, .. } => A::scatter_onto(target, updates, indices),
            Contribution::Accumulated { updates, map } => A::accumulate_onto(target, updates, &map),
        }
    }
}

/// A Delta that was met but not yet visited, and its cotangents so far: a single one, except for loops and conditionals.
struct Pending<A: Algebra> {
    delta: Delta<A>,
    cotangents: SmallVec<[Option<Cotangent<A>>; 1]>,
}

/// The evaluator's state (`ES` of P 2.6): seen Deltas with their cotangents, and the inputs' cotangents.
struct Evaluator<A: Algebra> {
    /// Where in the room a Delta is. A tree moves its entries when there are more or fewer, so that they are small.
    pending: BTreeMap<ShareId, usize>,
    room: Vec<Option<Pending<A>>>,
    /// The empty places of the room.
    free: Vec<usize>,
    /// The latest input first.
    gradient: Vec<(ShareId, Option<Cotangent<A>>)>,
}

/// The cotangents of inputs, given those of outputs; `None` where nothing arrives. Every shared Delta is visited once, after
/// all its users, which have larger identities. The second result counts the visits.
pub(crate) fn transpose<A: Algebra>(
    outputs: Vec<(Delta<A>, Cotangent<A>)>,
    inputs: &[Option<Delta<A>>],
) -> (Vec<Option<Cotangent<A>>>, usize) {
    let mut state = Evaluator { pending: BTreeMap::new(), room: Vec::new(), free: Vec::new(), gradient: Vec::new() };
    for (delta, cotangent) in outputs {
        state.add(&delta, Contribution::Whole(cotangent.array), cotangent.marked);
    }
    let mut visits = 0;
    while let Some((id, place)) = state.pending.pop_last() {
        let Pending { delta, cotangents } = state.room[place].take().expect("a place is taken while it is pending");
        state.free.push(place);
        visits += 1;
        state.visit(id, &delta, cotangents);
    }
    let mut of_input = |input: &Option<Delta<A>>| {
        let id = input.as_ref()?.share_id()?;
        // Inputs are visited in the order of their identities, from the largest.
        let place = state.gradient.binary_search_by(|(other, _)| id.cmp(other)).ok()?;
        state.gradient[place].1.take()
    };
    (inputs.iter().map(&mut of_input).collect(), visits)
}

impl<A: Algebra> Evaluator<A> {
    /// Adds to the cotangent of a Delta, or passes it on at once when the Delta is used only here.
    fn add(&mut self, delta: &Delta<A>, contribution: Contribution<A>, marked: bool) {
        let node = delta.node();
        let (delta, id, output) = match (&node.map, node.share) {
            (DeltaMap::Output(position), _) => {
                let rolled = node.operands[0].as_ref().expect("an output has an operand");
                (rolled, rolled.share_id().expect("loops are shared"), *position)
            }
            (_, Some(id)) => (delta, id, 0),
            (_, None) => return self.pass(delta, Cotangent { array: contribution.alone(), marked }),
        };
        let place = *self.pending.entry(id).or_insert_with(|| {
            let place = self.free.pop().unwrap_or_else(|| {
                self.room.push(None);
                self.room.len() - 1
            });
            self.room[place] = Some(Pending { delta: delta.clone(), cotangents: smallvec![None] });
            place
        });
        let pending = self.room[place].as_mut().expect("a place is taken while it is pending");
        if pending.cotangents.len() <= output {
            pending.cotangents.resize_with(output + 1, || None);
        }
        // Taken out, so that it is the only handle and may be written in place.
        let sum = match pending.cotangents[output].take() {
            Some(sum) => Cotangent { array: contribution.onto(sum.array), marked: sum.marked || marked },
            None => Cotangent { array: contribution.alone(), marked },
        };
        pending.cotangents[output] = Some(sum);
    }

    /// Passes on the complete cotangent of a shared Delta.
    fn visit(&mut self, id: ShareId, delta: &Delta<A>, mut cotangents: SmallVec<[Option<Cotangent<A>>; 1]>) {
        match &delta.node().map {
            DeltaMap::Input => {
                self.gradient.push((id, cotangents.pop().flatten()));
            }
            DeltaMap::Rolled(rolled) if let Some(outputs) = rolled.again() => {
                for (output, cotangent) in outputs.into_iter().zip(cotangents) {
                    if let (Some(delta), Some(cotangent)) = (output, cotangent) {
                        self.add(&delta, Contribution::Whole(cotangent.array), cotangent.marked);
                    }
                }
            }
            DeltaMap::Rolled(rolled) => {
                let parts = rolled.transpose(cotangents.into_iter().collect());
                for (operand, part) in delta.node().operands.iter().zip(parts) {
                    if let (Some(operand), Some(part)) = (operand, part) {
                        self.add(operand, Contribution::Whole(part.array), part.marked);
                    }
                }
            }
            _ => self.pass(delta, cotangents.pop().flatten().expect("a Delta is met with a cotangent")),
        }
    }

    /// The transposes, a row for each linear map. Recursive only within the few unshared nodes of one operation.
    fn pass(&mut self, delta: &Delta<A>, cotangent: Cotangent<A>) {
        use Contribution::{Accumulated, Scattered, Whole};
        let Cotangent { array: c, marked } = cotangent;
        let node = delta.node();
        let operand = || node.operands[0].as_ref().expect("the only operand is not zero");
        match &node.map {
            DeltaMap::Input | DeltaMap::Rolled(_) | DeltaMap::Output(_) => unreachable!("these are shared"),
            DeltaMap::Add => {
                let (last, others) = node.operands.split_last().expect("a sum has operands");
                for operand in others.iter().flatten() {
                    self.add(operand, Whole(c.clone()), marked);
                }
                if let Some(last) = last {
                    self.add(last, Whole(c), marked);
                }
            }
            DeltaMap::Scale(factor, scaling) => {
                let product = match scaling {
                    Scaling::Product if !marked => A::binary(Binary::Mul, c, factor.clone()),
                    Scaling::Product | Scaling::KeepDerivative => A::binary(Binary::KeepZero, c, factor.clone()),
                    Scaling::KeepFactor => A::binary(Binary::KeepZero, factor.clone(), c),
                };
                self.add(operand(), Whole(product), marked);
            }
            DeltaMap::Products(factors) => {
                let product = |c: A::Array, factor: &A::Array| {
                    let op = if marked { Binary::KeepZero } else { Binary::Mul };
                    Whole(A::binary(op, c, factor.clone()))
                };
                if let [Some(left), Some(right)] = &node.operands[..] {
                    self.add(left, product(c.clone(), &factors[0]), marked);
                    self.add(right, product(c, &factors[1]), marked);
                }
            }
            DeltaMap::Mask(mask) => {
                let zero = A::zeros(&A::type_of(&c));
                self.add(operand(), Whole(A::select(mask.clone(), c, zero)), marked);
            }
            DeltaMap::Select(mask) => {
                let zero = A::zeros(&A::type_of(&c));
                if let Some(yes) = &node.operands[0] {
                    self.add(yes, Whole(A::select(mask.clone(), c.clone(), zero.clone())), true);
                }
                if let Some(no) = &node.operands[1] {
                    self.add(no, Whole(A::select(mask.clone(), zero, c)), true);
                }
            }
            DeltaMap::Mark => self.add(operand(), Whole(c), true),
            DeltaMap::Cast(from) => self.add(operand(), Whole(A::cast(c, *from)), marked),
            DeltaMap::View(map) => self.add(operand(), Accumulated { updates: c, map: map.clone() }, marked),
            DeltaMap::Accumulate(map) => self.add(operand(), Whole(A::view(c, map)), marked),
            DeltaMap::Reshape(shape) => self.add(operand(), Whole(A::reshape(c, shape)), marked),
            DeltaMap::Sum(replicate) => self.add(operand(), Whole(A::view(c, replicate)), marked),
            DeltaMap::Concatenate(slices) => {
                for (part, slice) in node.operands.iter().zip(slices) {
                    if let Some(part) = part {
                        self.add(part, Whole(A::view(c.clone(), slice)), marked);
                    }
                }
            }
            DeltaMap::Gather(indices, extents) => {
                let contribution = Scattered { updates: c, indices: indices.clone(), extents: extents.clone() };
                self.add(operand(), contribution, marked);
            }
            DeltaMap::Scatter(indices) => self.add(operand(), Whole(A::gather(c, indices.clone())), marked),
            DeltaMap::ScatterSet(written) => {
                let (indices, latest) = &**written;
                if let Some(updates) = &node.operands[1] {
                    let mut read = A::gather(c.clone(), indices.clone());
                    if let Some(latest) = latest {
                        let zero = A::zeros(&A::type_of(&read));
                        read = A::select(latest.clone(), read, zero);
                    }
                    self.add(updates, Whole(read), marked);
                }
                if let Some(target) = &node.operands[0] {
                    let mut shape = A::shape(indices.first().expect("nothing is written without positions"));
                    shape.extend_from_slice(&A::shape(&c)[indices.len()..]);
                    let nothing = A::zeros(&Type { dtype: A::dtype(&c), shape });
                    self.add(target, Whole(A::scatter_set(c, nothing, indices.clone())), marked);
                }
            }
            DeltaMap::ContractLeft(fixed) => {
                let (spec, right) = &**fixed;
                self.add(operand(), Whole(A::contract(spec, c, right.clone())), marked);
            }
            DeltaMap::ContractRight(fixed) => {
                let (spec, left) = &**fixed;
                self.add(operand(), Whole(A::contract(spec, left.clone(), c)), marked);
            }
            DeltaMap::Linear(fixed) => {
                let (op, fixed) = &**fixed;
                let operands = fixed.iter().cloned().chain([c]).collect();
                self.add(operand(), Whole(A::bind(op, operands)), marked);
            }
        }
    }
}
