//! Operations that lowering left alone: sorts, and extremes of nothing.

use super::Writer;
use crate::algebra::Order;
use crate::engine::opencl::code::{Action, Inner};
use crate::engine::opencl::failure::Outcome;
use crate::kernel::{Call, Procedure, lower_unblocked};
use crate::shape::{Value, size};
use crate::source::language::Language;
use crate::source::text::Text;
use crate::term::Op;

impl Writer {
    /// An operation that was left alone.
    pub(super) fn call(&mut self, procedure: &Procedure, call: &Call) -> Outcome<Inner> {
        let body = &call.body;
        let node = body.node(body.results[0]);
        let (order, axis) = match node.op {
            Op::ArgSort(order, axis) => (order, axis),
            // There is no element: the position is 0.
            Op::ArgReduce(..) => {
                let fills = call.results.iter().map(|&to| Action::Fill { to, value: Value::I64(0) });
                return Ok(Inner::Actions(fills.collect()));
            }
            _ => {
                // Functions with derivatives of their own are what they compute.
                let code = self.procedure(lower_unblocked(&body.without_marks()))?;
                return Ok(Inner::Call { code, arguments: call.arguments.clone(), results: call.results.clone() });
            }
        };
        let (array, result) = (call.arguments[0], call.results[0]);
        let shape = &body.node(node.args[0]).ty().shape;
        let (outer, extent, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
        let items = outer * inner;
        if items * extent == 0 {
            return Ok(Inner::Actions(Vec::new()));
        }
        let operands = Writer::operands(procedure, &[array], &[result]);
        let dtype = procedure.buffers[array as usize].ty.dtype;
        let name = match order {
            Order::Ascending => "arg_sort",
            Order::Descending => "arg_sort_descending",
        };
        let mut text = Text::default();
        text.line(format!("const long at = item / {inner} * {} + item % {inner};", extent * inner));
        let (keys, order) = (format!("{} + at", operands.names[&array]), format!("{} + at", operands.names[&result]));
        let given = [&keys[..], &order[..], &extent.to_string(), &inner.to_string()];
        let line = self.language.helper(name, dtype, &given, &mut self.helpers);
        text.line(format!("{line};"));
        Ok(Inner::Actions(vec![self.kernel("sort", &operands, items, text)]))
    }
}
