//! The programs of the entries of compressed matrices.

use super::compressed::Compressed;
use super::pattern::Pattern;
use crate::array::Array;
use crate::shape::Shape;
use crate::term::{Graph, NodeId, Op, Program};

impl Compressed {
    /// The program of the entries: one array with an element for each, in the order of the pattern. Its parameters are those of the
    /// function. `None` if there are no entries. This program is exported, with the pattern, by
    /// [`CSource::with_sparsity`](crate::export::CSource::with_sparsity).
    pub fn entries(&self) -> Option<Program> {
        self.entries_at(&self.sources, self.targets.as_deref())
    }

    /// The same in the order of the pattern's transpose, which comes with it: column by column.
    pub(crate) fn entries_by_columns(&self) -> Option<(Pattern, Program)> {
        let (transpose, order) = self.pattern.transposed();
        let program = match &self.targets {
            None => {
                let sources: Vec<usize> = order.iter().map(|&entry| self.sources[entry]).collect();
                self.entries_at(&sources, None)
            }
            Some(targets) => {
                let mut places = vec![0; order.len()];
                order.iter().enumerate().for_each(|(place, &entry)| places[entry] = place);
                let targets: Vec<usize> = targets.iter().map(|&target| places[target]).collect();
                self.entries_at(&self.sources, Some(&targets))
            }
        };
        Some((transpose, program?))
    }

    /// The program that adds these elements of the results up, each to an entry, or each to the next.
    fn entries_at(&self, sources: &[usize], targets: Option<&[usize]>) -> Option<Program> {
        let program = self.program.as_ref()?;
        let mut graph = Graph::like(program);
        let ids = graph.append(program, 0..program.arity() as NodeId);
        let batch = ids[program.results[0] as usize];
        let flat = Shape::from_slice(&[graph.ty(batch).size()]);
        let batch = graph.add(Op::Reshape(flat), &[batch]);
        let mut positions = |of: &[usize]| {
            let known = Array::from_vec(&[of.len()], of.iter().map(|&at| at as i64).collect::<Vec<i64>>());
            graph.add(Op::Constant(known), &[])
        };
        let (sources, targets) = (positions(sources), targets.map(&mut positions));
        let found = graph.add(Op::Gather, &[batch, sources]);
        let entries = match targets {
            None => found,
            Some(targets) => graph.add(Op::Scatter(Shape::from_slice(&[self.nonzeros()])), &[found, targets]),
        };
        let program = Program::new("entries", graph.finish(&[entries]));
        Some(program.with_parameters(self.names.clone()).with_results(["entries"]))
    }
}
