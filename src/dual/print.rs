//! Printing Delta terms of staged programs: the state of the symbolic pass before it transposes.

use super::delta::{Delta, DeltaMap, ShareId};
use super::derivative::Scaling;
use crate::algebra::Algebra;
use crate::shape::Shape;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// A Delta term as text, and the arrays of the primal program that it refers to.
pub(crate) struct PrintedDelta<A: Algebra> {
    /// A line for each shared Delta, operands first, numbered in order of appearance; the last one is the result's.
    pub(crate) text: String,
    /// The arrays that the text calls `a0`, `a1`, ..: factors, masks, indices and fixed operands.
    pub(crate) arrays: Vec<A::Array>,
}

/// Prints the Delta of a result as a function of the tangents of named inputs.
pub(crate) fn print_delta<A: Algebra>(delta: &Delta<A>, inputs: &[(Delta<A>, &str)]) -> PrintedDelta<A> {
    let mut printer = DeltaPrinter { names: HashMap::new(), places: HashMap::new(), arrays: Vec::new() };
    for (input, name) in inputs {
        printer.names.extend(input.share_id().map(|id| (id, format!("(Input {name})"))));
    }
    // All shared Deltas, by identity: operands have smaller ones than users.
    let mut shared: BTreeMap<ShareId, Delta<A>> = BTreeMap::new();
    let mut work = vec![delta.clone()];
    while let Some(delta) = work.pop() {
        let is_new = delta.share_id().is_none_or(|id| shared.insert(id, delta.clone()).is_none());
        if is_new {
            work.extend(delta.node().operands.iter().flatten().cloned());
        }
    }
    let mut text = String::new();
    for (id, delta) in shared {
        if printer.names.contains_key(&id) {
            continue;
        }
        let name = format!("d{}", printer.names.len() - inputs.len());
        let line = printer.node(&delta);
        writeln!(text, "{name} = Share ({line})").expect("a string takes all text");
        printer.names.insert(id, name);
    }
    PrintedDelta { text, arrays: printer.arrays }
}

struct DeltaPrinter<A: Algebra> {
    names: HashMap<ShareId, String>,
    /// Places among `arrays`, by what tells these apart.
    places: HashMap<(usize, u64), usize>,
    arrays: Vec<A::Array>,
}

impl<A: Algebra> DeltaPrinter<A> {
    fn array(&mut self, array: &A::Array) -> String {
        let next = self.arrays.len();
        let place = A::identity(array).map_or(next, |identity| *self.places.entry(identity).or_insert(next));
        if place == next {
            self.arrays.push(array.clone());
        }
        format!("a{place}")
    }

    fn operand(&mut self, delta: &Option<Delta<A>>) -> String {
        match delta {
            None => "Zero".into(),
            Some(delta) => match delta.share_id().and_then(|id| self.names.get(&id)) {
                Some(name) => name.clone(),
                None => format!("({})", self.node(delta)),
            },
        }
    }

    /// One linear map on its operands; recursive only within the few unshared nodes of one operation.
    fn node(&mut self, delta: &Delta<A>) -> String {
        let node = delta.node();
        if let DeltaMap::Products(factors) = &node.map {
            let mut scaled = factors.iter().zip(&node.operands).map(|(factor, operand)| {
                let factor = self.array(factor);
                format!("(Scale {factor} {})", self.operand(operand))
            });
            return format!("Add {} {}", scaled.next().unwrap_or_default(), scaled.next().unwrap_or_default());
        }
        let head = match &node.map {
            DeltaMap::Input => "Input".into(),
            DeltaMap::Add | DeltaMap::Products(_) => "Add".into(),
            DeltaMap::Scale(factor, Scaling::Product) => format!("Scale {}", self.array(factor)),
            DeltaMap::Scale(factor, _) => format!("ScaleKeepingZero {}", self.array(factor)),
            DeltaMap::Mask(mask) => format!("Mask {}", self.array(mask)),
            DeltaMap::Select(mask) => format!("Select {}", self.array(mask)),
            DeltaMap::Mark => "Mark".into(),
            DeltaMap::Cast(from) => format!("CastFrom {from}"),
            DeltaMap::View(map) => format!("View ({map})"),
            DeltaMap::Accumulate(map) => format!("Accumulate ({map})"),
            DeltaMap::Reshape(from) => format!("ReshapeFrom {:?}", list(from)),
            DeltaMap::Sum(map) => format!("Sum {:?}", map.ignored().as_slice()),
            DeltaMap::Concatenate(_) => "Concatenate".into(),
            DeltaMap::Gather(indices, _) => format!("Gather {}", self.indices(indices)),
            DeltaMap::Scatter(indices) => format!("Scatter {}", self.indices(indices)),
            DeltaMap::ScatterSet(written) => format!("ScatterSet {}", self.indices(&written.0)),
            DeltaMap::ContractLeft(fixed) => format!("ContractWithRight {}", self.array(&fixed.1)),
            DeltaMap::ContractRight(fixed) => format!("ContractWithLeft {}", self.array(&fixed.1)),
            DeltaMap::Linear(fixed) => {
                let name = fixed.0.ask(|operation| operation.name()).unwrap_or_default();
                format!("Linear {name} {}", self.array(&fixed.1[0]))
            }
            DeltaMap::Rolled(rolled) => rolled.name().into(),
            DeltaMap::Output(position) => format!("Output {position}"),
        };
        node.operands.iter().fold(head, |text, operand| text + " " + &self.operand(operand))
    }

    fn indices(&mut self, indices: &[A::Array]) -> String {
        let names: Vec<String> = indices.iter().map(|index| self.array(index)).collect();
        format!("[{}]", names.join(", "))
    }
}

fn list(shape: &Shape) -> &[usize] {
    shape
}
