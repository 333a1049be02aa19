//! Functions whose formulas hold for some arguments only, as sines do for angles that are not huge. Loops are written twice: with
//! formulas, which compilers make vectors of, where all arguments are in range, and else with the library's functions.

use super::expression::SourceExpression;
use super::inline::{Elementary, InlineFunction, inline};
use super::text::Text;
use super::writer::NestWriter;
use crate::kernel::{NestValue, ValueId};
use crate::shape::{DType, Value, sort_by_rank};
use crate::term::recurrence::Elementwise;

/// A function with a limited range, by its value.
type Limited = (ValueId, &'static InlineFunction);

/// Loops of so many steps at least are written twice.
const LONG: usize = 16;

/// Of so many steps, a batch, the arguments are looked at before any is done: they stay in the first cache.
const BATCH: usize = 512;

/// The variable that says whether arguments are outside, for functions of floats of as many bits.
fn outside(dtype: DType) -> &'static str {
    if dtype == DType::I32 { "outside_f32" } else { "outside_f64" }
}

impl NestWriter<'_> {
    /// The inline function of an operation, if its range is limited.
    fn limited(&self, op: Elementwise, dtype: DType) -> Option<&'static InlineFunction> {
        let function = match op {
            Elementwise::Unary(op) => Elementary::Unary(op),
            Elementwise::Binary(op) => Elementary::Binary(op),
            _ => return None,
        };
        let wanted = if self.language.inlines_math() { inline(function, dtype) } else { None };
        wanted.filter(|function| function.outside.is_some())
    }

    /// The operation's formula, if its range is limited and the arguments are in it.
    pub(crate) fn in_range(&mut self, op: Elementwise, dtype: DType, operands: &[&str]) -> Option<SourceExpression> {
        let function = if self.is_in_range { self.limited(op, dtype)? } else { return None };
        Some(SourceExpression::atom(self.language.helper(&function.value, dtype, operands, self.helpers)))
    }

    /// The functions inside of all loops whose ranges are limited.
    pub(crate) fn limited_values(&self) -> Vec<Limited> {
        let limited = |id: ValueId| {
            let (value, dtype) = &self.nest.values[id as usize];
            let op = match value {
                NestValue::Unary(op, _) => Elementwise::Unary(*op),
                NestValue::Binary(op, ..) => Elementwise::Binary(*op),
                _ => return None,
            };
            let function = self.limited(op, *dtype).filter(|_| self.levels[id as usize] == self.depth())?;
            Some((id, function))
        };
        (0..self.nest.values.len() as ValueId).filter_map(limited).collect()
    }

    /// Writes a loop between these ends, in batches if functions have limited ranges.
    pub(crate) fn in_ranges(&mut self, text: &mut Text, level: usize, (start, end): (String, String)) {
        let limited = if level + 1 == self.depth() { self.limited_values() } else { Vec::new() };
        let extent = self.nest.extents[self.order[level]];
        if limited.is_empty() || extent < LONG {
            return self.steps(text, level, (start, end));
        }
        if extent <= BATCH {
            return self.batch(text, level, (start, end), &limited);
        }
        let language = self.language;
        let [total, batch, from, to] = ["total", "batch", "from", "to"].map(|word| format!("{word}{level}"));
        let (length, before) = match &start[..] {
            "0" => (end.clone(), String::new()),
            start => (format!("{end} - {start}"), format!("{start} + ")),
        };
        let count = match length.parse::<usize>() {
            Ok(length) => length.div_ceil(BATCH).to_string(),
            Err(_) => {
                text.line(language.declare_index(&total, &format!("({length} + {}) / {BATCH}", BATCH - 1)));
                total
            }
        };
        text.open(language.for_loop(&batch, "0", &count));
        text.line(language.declare_index(&from, &format!("{before}{batch} * {BATCH}")));
        let last = language.choice(&format!("{end} - {from} < {BATCH}"), &end, &format!("{from} + {BATCH}"));
        text.line(language.declare_index(&to, &last));
        self.batch(text, level, (from, to), &limited);
        text.close();
    }

    /// Writes a loop between these ends by formulas, and by functions of the library for a batch with arguments out of range.
    fn batch(&mut self, text: &mut Text, level: usize, ends: (String, String), limited: &[Limited]) {
        let (language, variable) = (self.language, self.variable(self.order[level]));
        let mut counted: Vec<DType> = limited.iter().map(|&(id, _)| self.counts_outside(id)).collect();
        sort_by_rank(&mut counted, |dtype| dtype.bytes() as u64);
        counted.dedup();
        for &dtype in &counted {
            let none = language.literal(Value::from_i64(dtype, 0));
            text.line(language.declare_variable(outside(dtype), dtype, &none));
        }
        text.open(language.for_loop(&variable, &ends.0, &ends.1));
        self.look(text, limited);
        text.close();
        let any: Vec<String> = counted.iter().map(|&dtype| format!("{} != 0", outside(dtype))).collect();
        text.open(language.condition(&any.join(" || ")));
        // Of several sums one is enough.
        self.lane = self.lanes(level).then(|| "0".into());
        text.open(language.for_loop(&variable, &ends.0, &ends.1));
        self.level(text, level + 1);
        text.close();
        self.lane = None;
        text.between(language.otherwise());
        self.is_in_range = true;
        self.steps(text, level, ends);
        self.is_in_range = false;
        text.close();
    }

    /// The integers of as many bits as a value has.
    fn counts_outside(&self, id: ValueId) -> DType {
        if self.nest.values[id as usize].1 == DType::F32 { DType::I32 } else { DType::I64 }
    }

    /// Looks at the arguments of these functions, which it computes.
    fn look(&mut self, text: &mut Text, functions: &[Limited]) {
        let mut needed = vec![false; self.nest.values.len()];
        for id in (0..self.nest.values.len()).rev() {
            if needed[id] || functions.iter().any(|(function, _)| *function as usize == id) {
                self.nest.values[id].0.operands().iter().for_each(|&operand| needed[operand as usize] = true);
            }
        }
        self.is_inside = true;
        self.values(text, self.depth(), |id| needed[id as usize]);
        for (id, function) in functions {
            let (value, dtype) = &self.nest.values[*id as usize];
            let operands: Vec<String> = value.operands().iter().map(|&operand| self.operand(operand)).collect();
            let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
            let helper = function.outside.as_ref().expect("a limited range");
            let answer = self.language.helper(helper, *dtype, &operands, self.helpers);
            let name = outside(self.counts_outside(*id));
            text.line(format!("{name} = {name} | {answer};"));
        }
    }
}
