//! Calls that are neither nests nor made of procedures: positions in the order of elements.

use super::helpers::routines;
use super::procedure::FunctionBuilder;
use crate::kernel::{Call, CallKind, Sort};
use crate::shape::{DType, Value};

impl FunctionBuilder<'_, '_, '_> {
    /// Writes a call that sorts, or that looks for an extreme of nothing; returns whether the call is one of these.
    pub(crate) fn sort(&mut self, call: &Call) -> bool {
        match call.called() {
            CallKind::Sort(sort) => self.sorted(&sort),
            CallKind::Nothing => {
                self.bind(&[], &call.results);
                let zero = self.language().literal(Value::I64(0));
                let line = self.language().fill(&self.name(call.results[0]), self.count(call.results[0]), &zero);
                self.text.line(line);
            }
            CallKind::Procedure => return false,
        }
        true
    }

    fn sorted(&mut self, sort: &Sort) {
        let &Sort { array, result, outer, extent, inner, .. } = sort;
        self.bind(&[array], &[result]);
        if outer * extent * inner == 0 {
            return;
        }
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
        let line = self.writer.language.helper(routines::sort(sort.order), dtype, &operands, &mut self.writer.helpers);
        self.text.line(format!("{line};"));
        self.text.close();
        self.text.close();
        debug_assert!(self.dtype(result) == DType::I64, "positions are i64");
    }
}
