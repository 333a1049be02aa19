//! What is neither a nest nor made of procedures: positions in the order of elements.

use super::procedure::Function;
use crate::algebra::Order;
use crate::kernel::Call;
use crate::shape::{DType, Value, size};
use crate::term::Op;

impl Function<'_, '_, '_> {
    /// Writes a call that sorts, or that looks for an extreme of nothing; whether it is one.
    pub(crate) fn sort(&mut self, call: &Call) -> bool {
        let body = &call.body;
        let node = body.node(body.results[0]);
        let (order, axis) = match node.op {
            Op::ArgSort(order, axis) => (order, axis),
            Op::ArgReduce(..) => {
                // There is no element: the position is 0.
                self.bind(&[], &call.results);
                let zero = self.language().literal(Value::I64(0));
                let line = self.language().fill(&self.name(call.results[0]), self.count(call.results[0]), &zero);
                self.text.line(line);
                return true;
            }
            _ => return false,
        };
        let (array, result) = (call.arguments[0], call.results[0]);
        let shape = body.node(node.args[0]).ty().shape.clone();
        let (outer, extent, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
        self.bind(&[array], &[result]);
        if outer * extent * inner == 0 {
            return true;
        }
        let name = match order {
            Order::Ascending => "arg_sort",
            Order::Descending => "arg_sort_descending",
        };
        let dtype = self.dtype(array);
        self.text.open(self.writer.language.for_loop("i0", "0", &outer.to_string()));
        self.text.open(self.writer.language.for_loop("i1", "0", &inner.to_string()));
        let start = format!("i0 * {} + i1", extent * inner);
        self.text.line(self.writer.language.declare_index("at", &start));
        let operands = [
            self.part(&self.name(array), "at".into(), None, false),
            self.part(&self.name(result), "at".into(), None, true),
            extent.to_string(),
            inner.to_string(),
        ];
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        let line = self.writer.language.helper(name, dtype, &operands, &mut self.writer.helpers);
        self.text.line(format!("{line};"));
        self.text.close();
        self.text.close();
        debug_assert!(self.dtype(result) == DType::I64, "positions are i64");
        true
    }
}
