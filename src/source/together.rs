//! Reductions that are shared among work items: the loops inside of a result's position are merged into one loop, and each item
//! runs some of its steps.

use super::text::Text;
use super::writer::{Finish, NestWriter, Together};
use crate::array::neutral_value;
use crate::kernel::{Store, StoreMode};
use crate::operation::Reduction;
use crate::shape::{DType, steps};

/// The type of numbers up to this one: divisions of 32 bits are several times as fast as those of 64.
pub(crate) fn counter(largest: usize) -> &'static str {
    if largest <= u32::MAX as usize / 2 { "uint" } else { "long" }
}

impl NestWriter<'_> {
    /// The loop into which the inner loops are merged, and their positions, computed from its position.
    pub(crate) fn together(&mut self, text: &mut Text, level: usize) {
        let depth = self.depth();
        if level > self.parallel {
            self.position(text, level, "step", self.parallel..depth);
            self.level(text, level + 1);
            return;
        }
        let count = steps(self.order[level..].iter().map(|&axis| self.nest.extents[axis]));
        let counter = counter(count);
        let together = self.together.as_ref().expect("loops that are one");
        let (start, end, stride) = (together.start.clone(), together.end.clone(), together.stride);
        let from = |start: &str, step: String| match &together.lane[..] {
            "0" => start.to_string(),
            _ => format!("{start} + {step}"),
        };
        let mut first = from(&start, together.lane.clone());
        if self.width > 1 {
            let width = self.width;
            let whole = from(&start, format!("{width} * {}", together.lane));
            // Fewer steps remain than a vector has.
            first = from(&format!("{end} - ({end} - {start}) % {width}"), together.lane.clone());
            self.bind_rows(text);
            let (more, step) = (format!("start + {width} <= {end}"), width * stride);
            text.open(format!("for ({counter} start = {whole}; {more}; start += {step})"));
            self.vectors(text, level, "start");
            text.close();
        }
        text.open(format!("for ({counter} step = {first}; step < {end}; step += {stride})"));
        self.position(text, level, "step", level..depth);
        self.level(text, level + 1);
        text.close();
        self.rows.clear();
    }

    /// Passes on the values that these stores have reduced into variables.
    pub(crate) fn finish_together(&mut self, text: &mut Text, stores: &[usize]) {
        let Some(together) = self.together.take() else { return };
        let names = stores.iter().map(|at| format!("sum{at}")).collect();
        self.finish_as(text, stores, names, &together.finish);
        self.together = Some(together);
    }

    fn finish_as(&mut self, text: &mut Text, stores: &[usize], names: Vec<String>, finish: &Finish) {
        let reductions: Vec<_> = stores.iter().map(|&at| self.reduction(at)).collect();
        match finish {
            Finish::Whole => {
                for ((&at, name), (op, dtype)) in stores.iter().zip(&names).zip(reductions) {
                    self.finish(text, at, op, dtype, name);
                }
            }
            Finish::Part { arrays, place } => {
                for (array, name) in arrays.iter().zip(&names) {
                    text.line(format!("{array}[{place}] = {name};"));
                }
            }
            Finish::Group { lanes, there, then, .. } => {
                let shared: Vec<String> = stores.iter().map(|&at| format!("{}[local_item]", shared_name(at))).collect();
                for (element, name) in shared.iter().zip(&names) {
                    text.line(format!("{element} = {name};"));
                }
                // All items of a group go through all steps of this loop: none may miss a barrier.
                text.line("barrier(CLK_LOCAL_MEM_FENCE);");
                text.open(format!("for (uint other = {}; other > 0; other /= 2)", lanes / 2));
                text.open("if (lane < other)");
                for ((element, &at), &(op, dtype)) in shared.iter().zip(stores).zip(&reductions) {
                    let other = format!("{}[local_item + other]", shared_name(at));
                    let combined = self.combined(op, dtype, element, &other);
                    text.line(format!("{element} = {combined};"));
                }
                text.close();
                text.line("barrier(CLK_LOCAL_MEM_FENCE);");
                text.close();
                text.open(format!("if ({there})"));
                self.finish_as(text, stores, shared, then);
                text.close();
            }
            Finish::Subgroups { there, then, .. } => {
                self.finish_subgroups(text, stores, &names);
                text.open(format!("if ({there})"));
                self.finish_as(text, stores, names, then);
                text.close();
            }
        }
    }

    /// Makes subgroups, of any size, combine their items' values, and the first of them combine the subgroups' values.
    fn finish_subgroups(&mut self, text: &mut Text, stores: &[usize], names: &[String]) {
        let reductions: Vec<_> = stores.iter().map(|&at| self.reduction(at)).collect();
        let all = || names.iter().zip(stores).zip(&reductions);
        for ((name, _), (op, _)) in all() {
            text.line(format!("{name} = {}({name});", subgroup_function(*op)));
        }
        text.open("if (get_sub_group_local_id() == 0)");
        for ((name, &at), _) in all() {
            text.line(format!("{}[get_sub_group_id()] = {name};", shared_name(at)));
        }
        text.close();
        // All items of a group come here.
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.open("if (get_sub_group_id() == 0)");
        for ((name, _), &(op, dtype)) in all() {
            text.line(format!("{name} = {};", self.language.literal(neutral_value(op, dtype))));
        }
        text.line("const uint subgroups = get_num_sub_groups(), members = get_sub_group_size();");
        text.open("for (uint at = get_sub_group_local_id(); at < subgroups; at += members)");
        for ((name, &at), &(op, dtype)) in all() {
            let other = format!("{}[at]", shared_name(at));
            let combined = self.combined(op, dtype, name, &other);
            text.line(format!("{name} = {combined};"));
        }
        text.close();
        for ((name, _), (op, _)) in all() {
            text.line(format!("{name} = {}({name});", subgroup_function(*op)));
        }
        text.close();
    }

    /// Whether subgroup functions combine exactly like these reductions: extremes of floats have rules of their own for NaN.
    pub(crate) fn has_subgroup_functions(&self) -> bool {
        let reduced = (0..self.nest.stores.len()).filter(|&at| self.nest.stores[at].mode != StoreMode::Write);
        reduced.map(|at| self.reduction(at)).all(|(op, dtype)| match op {
            Reduction::Sum => dtype != DType::Bool,
            Reduction::Max | Reduction::Min => matches!(dtype, DType::I32 | DType::I64),
        })
    }

    /// Whether floats are summed.
    pub(crate) fn sums_floats(&self) -> bool {
        let is_sum = |store: &Store| store.mode == StoreMode::Reduce(Reduction::Sum);
        let dtype = |store: &Store| self.nest.values[store.value as usize].1;
        self.nest.stores.iter().any(|store| is_sum(store) && dtype(store).is_float())
    }

    /// Whether subgroups combine the values of items.
    pub(crate) fn has_subgroups(&self) -> bool {
        matches!(self.together, Some(Together { finish: Finish::Subgroups { .. }, .. }))
    }

    fn reduction(&self, at: usize) -> (crate::operation::Reduction, DType) {
        let store = &self.nest.stores[at];
        let StoreMode::Reduce(op) = store.mode else { unreachable!("only reductions are shared") };
        (op, self.nest.values[store.value as usize].1)
    }

    /// The local memory that a group needs, which stands before everything else.
    pub(crate) fn local_memory(&self, text: &mut Text) {
        let finish = self.together.as_ref().map(|together| &together.finish);
        let Some(Finish::Group { group, .. } | Finish::Subgroups { group, .. }) = finish else { return };
        for (at, level) in self.accumulators.iter().enumerate() {
            if level.is_some() {
                let (_, dtype) = self.reduction(at);
                text.line(format!("__local {} {}[{group}];", self.language.dtype(dtype), shared_name(at)));
            }
        }
    }
}

/// The function that combines the numbers of a subgroup's items.
fn subgroup_function(op: Reduction) -> &'static str {
    match op {
        Reduction::Sum => "sub_group_reduce_add",
        Reduction::Max => "sub_group_reduce_max",
        Reduction::Min => "sub_group_reduce_min",
    }
}

fn shared_name(at: usize) -> String {
    format!("shared{at}")
}
