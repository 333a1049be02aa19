//! Scans at many places, whose neighbouring items have neighbouring places, so that memory is read and written in rows.

use super::lookback::Tiles;
use super::{ComposedSteps, LANES};
use crate::engine::opencl::code::{Action, Grid};
use crate::engine::opencl::kernels::recurrence::{Inputs, Sequence, last_carries};
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;

/// Work items of a group where they are on their own.
const GROUP: usize = 128;

/// Bytes of neighbouring places that a group reads of each step: as many as memory delivers at once. The wider a strip is, the
/// fewer steps a tile has, and the cost of telling is the same for any number of steps.
const STRIP: usize = 64;

impl KernelWriter {
    /// Composes an item's steps with the next one, or begins with that.
    fn compose_step(&mut self, text: &mut Text, parts: &ComposedSteps, is_first: &str) {
        let own = |value: usize| format!("own{value}");
        for (value, both) in self.composed(parts, &own, &|value| format!("element{value}")).into_iter().enumerate() {
            let both = format!("{is_first} ? element{value} : ({both})");
            text.line(self.language.declare(&format!("both{value}"), parts.values[value], &both));
        }
        (0..parts.values.len()).for_each(|value| text.line(format!("own{value} = both{value};")));
    }

    /// A scan whose chunks have an item for each place.
    pub(super) fn columns(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        sequence: &Sequence,
        parts: &ComposedSteps,
        chunks: usize,
    ) -> Vec<Action> {
        let (length, places) = (sequence.length, sequence.places);
        let steps = length.div_ceil(chunks);
        let chunks = length.div_ceil(steps);
        let [composed, starts] = self.memory(scope, plan, places, parts, chunks);
        let head = |items: usize| {
            let mut text = Text::default();
            text.line("const long place = get_global_id(0);");
            text.line(format!("if (place >= {items}) return;"));
            text.declare("item", format!("const long item = place % {places};"));
            text.line(format!("const long chunk = place / {places};"));
            text
        };
        let group = GROUP.min(self.limits.group);
        let mut actions = Vec::new();

        // The steps of each chunk but the last, composed.
        let elements = sequence.needed(&parts.operands());
        let operands = scope.operands(&sequence.read(&elements), &composed);
        let items = places * (chunks - 1);
        let mut text = head(items);
        self.captures(&mut text, sequence, &operands, &elements);
        self.declare_parts(&mut text, parts, "own");
        text.line(format!("const long start = chunk * {steps};"));
        text.open(format!("for (long number = start; number < start + {steps}; number++)"));
        self.element_of_step(&mut text, sequence, &operands, &elements, parts);
        self.compose_step(&mut text, parts, "number == start");
        text.close();
        for (value, id) in composed.iter().enumerate() {
            text.line(format!("{}[place] = own{value};", operands.names[id]));
        }
        text.tidy();
        actions.push(self.group_kernel("chunks", &operands, Grid { items, group }, text));

        // The carries into each chunk.
        let operands = scope.operands(&[&sequence.first[..], &composed].concat(), &starts);
        let mut text = Text::default();
        self.declare_carries(&mut text, parts, &|carry| format!("{}[item]", operands.names[&sequence.first[carry]]));
        text.open(format!("for (long chunk = 0; chunk < {}; chunk++)", chunks - 1));
        text.line(format!("const long place = chunk * {places} + item;"));
        for (carry, id) in starts.iter().enumerate() {
            text.line(format!("{}[place] = carry{carry};", operands.names[id]));
        }
        let composed_before = |value: usize| format!("{}[place]", operands.names[&composed[value]]);
        for (carry, next) in self.applied(parts, &composed_before, &|carry| format!("carry{carry}")) {
            text.line(format!("carry{carry} = {next};"));
        }
        text.close();
        for (carry, id) in starts.iter().enumerate() {
            text.line(format!("{}[{items} + item] = carry{carry};", operands.names[id]));
        }
        actions.push(self.kernel("starts", &operands, places, text));

        // All steps.
        let all = sequence.needed(&sequence.recurrence.results);
        let read = [&starts[..], &sequence.read(&all)].concat();
        let operands = scope.operands(&read, &sequence.written());
        let items = places * chunks;
        let mut text = head(items);
        self.captures(&mut text, sequence, &operands, &all);
        self.declare_carries(&mut text, parts, &|carry| format!("{}[place]", operands.names[&starts[carry]]));
        text.line(format!("const long end = min(chunk * {steps} + {steps}, {length}L);"));
        text.open(format!("for (long number = chunk * {steps}; number < end; number++)"));
        self.whole_step(&mut text, sequence, &operands, &all, Inputs::Arrays);
        text.close();
        text.open(format!("if (chunk == {})", chunks - 1));
        last_carries(&mut text, sequence, &operands);
        text.close();
        text.tidy();
        actions.push(self.group_kernel("steps", &operands, Grid { items, group }, text));
        actions
    }

    /// The items of a group, its neighbouring places, and the steps of each item, where every input is read once.
    fn strip(&self, scope: &KernelScope<'_>, sequence: &Sequence, parts: &ComposedSteps) -> [usize; 3] {
        let inputs = sequence.inputs.iter().map(|input| input.dtype);
        let written = sequence.written().into_iter().map(|id| scope.dtype(id));
        let widest = inputs.chain(written).map(|dtype| dtype.bytes()).max().unwrap_or(1);
        let bytes: usize = parts.values.iter().map(|dtype| dtype.bytes()).sum();
        let local = (self.limits.local * 3 / 4).checked_div(2 * bytes).unwrap_or(LANES).max(1);
        let lanes = LANES.min(self.limits.group).min(local);
        let strips = sequence.places.div_ceil((STRIP / widest).min(lanes));
        let across = sequence.places.div_ceil(strips);
        let rows = lanes / across;
        let steps = self.kept_steps(sequence, parts).min(sequence.length.div_ceil(rows));
        [rows * across, across, steps]
    }

    /// The same scan in one kernel, which reads every input once: see [`super::lookback`].
    pub(super) fn columns_at_once(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        sequence: &Sequence,
        parts: &ComposedSteps,
    ) -> Option<Vec<Action>> {
        let length = sequence.length;
        let [lanes, across, steps] = self.strip(scope, sequence, parts);
        let size = lanes / across * steps;
        let tiles = Tiles::new(scope, plan, parts, sequence, [lanes, across, size])?;
        let elements = sequence.needed(&parts.operands());
        let results = sequence.needed(&sequence.recurrence.results);
        let all = sequence.needed(&[&sequence.recurrence.results[..], &parts.operands()].concat());
        let operands = tiles.operands(scope, sequence, &all);
        let mut text = self.sums(parts, lanes);
        self.begin(&mut text, parts, &tiles, &operands, size);
        self.captures(&mut text, sequence, &operands, &all);
        self.declare_kept(&mut text, sequence, &all, steps);
        self.declare_parts(&mut text, parts, "own");
        text.line(format!("const long start = first + lane / {across} * {steps};"));

        // Each item composes its steps. Steps beyond the end repeat the last one, and are not used.
        text.line("#pragma unroll");
        text.open(format!("for (uint row = 0; row < {steps}; row++)"));
        text.line(format!("const long number = min(start + row, {}L);", length - 1));
        self.keep(&mut text, sequence, &operands, &all, "row");
        self.instructions(&mut text, sequence, &elements);
        self.elements(&mut text, sequence, parts);
        self.compose_step(&mut text, parts, "row == 0");
        text.close();
        self.scan_lanes(&mut text, parts, lanes, across);
        self.look_back(&mut text, parts, sequence, &tiles, &operands);

        // All steps, from the carries into the steps of each item.
        if let Some(is_there) = tiles.is_there() {
            text.open(format!("if ({is_there})"));
        }
        self.declare_carries(&mut text, parts, &|carry| format!("starts{carry}[{}]", tiles.column()));
        text.open(format!("if (lane >= {across})"));
        text.line(format!("const uint earlier = side + lane - {across};"));
        self.apply(&mut text, parts, "sums", "earlier");
        text.close();
        text.line("#pragma unroll");
        text.open(format!("for (uint row = 0; row < {steps}; row++)"));
        text.open(format!("if (start + row < {length})"));
        text.line("const long number = start + row;");
        self.whole_step(&mut text, sequence, &operands, &results, Inputs::Kept("row"));
        text.open(format!("if (number == {})", length - 1));
        last_carries(&mut text, sequence, &operands);
        text.close();
        text.close();
        text.close();
        if tiles.is_there().is_some() {
            text.close();
        }
        text.tidy();
        Some(self.at_once(scope, &tiles, &operands, text))
    }
}
