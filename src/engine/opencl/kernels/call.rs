//! Operations that lowering left alone: sorts, operations on matrices, and extremes of nothing.

use super::sort::SortedPositions;
use super::{KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Inner};
use crate::engine::opencl::failure::{DeviceProblem, DeviceResult};
use crate::kernel::{Call, CallKind, Procedure, Sort, lower_unblocked};
use crate::shape::Value;
use crate::source::helpers::routines;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;

/// Rows of so many elements, times the steps that an item takes at least, are short enough for one item if there are enough of
/// them.
const SHORT: usize = 4;

impl KernelWriter {
    /// An operation that was left alone.
    pub(super) fn call(
        &mut self,
        procedure: &Procedure,
        plan: &mut BufferPlan<'_>,
        call: &Call,
    ) -> DeviceResult<Inner> {
        let mut scope = KernelScope { procedure, scratch: Vec::new() };
        let sort = match call.called() {
            CallKind::Sort(sort) => sort,
            CallKind::Nothing => {
                let fills = call.results.iter().map(|&to| scope.fill(to, Value::I64(0)));
                return Ok(Inner::Actions(fills.collect()));
            }
            CallKind::Procedure => {
                if let Some(actions) = self.matrix(&mut scope, plan, call) {
                    return Ok(Inner::Actions(actions));
                }
                // Functions with derivatives of their own are replaced by their computation.
                let dtype = scope.dtype(call.results[0]);
                let has_systems = self.has_matrix_kernels(dtype);
                let body = if has_systems { call.written_as_systems() } else { call.written_out() };
                let procedure = lower_unblocked(&body);
                if procedure.leaves_alone(call) {
                    let problem = format!("{}: positions that can't be counted", call.name());
                    return Err(DeviceProblem::Unsupported(problem));
                }
                let code = self.procedure(procedure, &[])?;
                return Ok(Inner::Call { code, arguments: call.arguments.clone(), results: call.results.clone() });
            }
        };
        let mut actions = Vec::new();
        match () {
            () if sort.rows() * sort.extent == 0 => {}
            () if self.is_sorted_by_items(&scope, &sort) => actions.push(self.rows(&scope, &sort)),
            () => {
                let to = SortedPositions { positions: sort.result, keys: None };
                self.sorted(&mut scope, plan, &sort, to, &mut actions);
            }
        }
        Ok(Inner::Actions(actions))
    }

    /// Whether one item sorts each row.
    fn is_sorted_by_items(&self, scope: &KernelScope<'_>, sort: &Sort) -> bool {
        let is_short = sort.extent <= SHORT * self.limits.least_steps;
        let are_many = sort.rows() >= self.busy() && is_short;
        self.run_length(sort, scope.dtype(sort.array)).is_none() || !self.limits.is_serial && are_many
    }

    /// Rows that are each sorted by one item.
    fn rows(&mut self, scope: &KernelScope<'_>, sort: &Sort) -> Action {
        let &Sort { array, result, extent, inner, .. } = sort;
        let operands = scope.operands(&[array], &[result]);
        let mut text = Text::default();
        text.line(format!("const long at = item / {inner} * {} + item % {inner};", extent * inner));
        let (keys, order) = (format!("{} + at", operands.names[&array]), format!("{} + at", operands.names[&result]));
        let given = [&keys[..], &order[..], &extent.to_string(), &inner.to_string()];
        let line = self.language.helper(routines::sort(sort.order), scope.dtype(array), &given, &mut self.helpers);
        text.line(format!("{line};"));
        self.kernel("sort", &operands, sort.rows(), text)
    }
}
