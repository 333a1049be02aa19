//! Scans whose chunks have a group each, a tile: so many steps as its items take together.
//!
//! Steps are read and written row by row, neighbouring items at neighbouring steps. Between that, in local memory, each item
//! composes a few consecutive steps, and then all items find the composition before theirs, in as many rounds as the number of
//! items has binary digits.

use super::composition::Composition;
use super::lookback::Tiles;
use super::{ComposedSteps, LANES, power_of_two_below};
use crate::engine::opencl::code::{Action, Grid};
use crate::engine::opencl::devices::DeviceLimits;
use crate::engine::opencl::kernels::recurrence::{Inputs, Sequence, last_carries};
use crate::engine::opencl::kernels::{KernelOperands, KernelScope, KernelWriter};
use crate::shape::DType;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;

/// Steps that an item composes in a row, at most.
const STEPS: usize = 8;

/// The steps of a group.
#[derive(Clone, Copy, Debug)]
struct ScanTile {
    /// Its items.
    lanes: usize,
    /// Steps of each item.
    steps: usize,
    /// How far the steps of an item are from those of the next one in local memory, which is odd, so that they are in other
    /// banks.
    stride: usize,
}

impl ScanTile {
    /// So many steps of each item at most.
    fn new(parts: &ComposedSteps, length: usize, steps: usize, limits: &DeviceLimits) -> ScanTile {
        let (local, bytes) = (limits.local, parts.values.iter().map(|dtype| dtype.bytes()).sum::<usize>());
        let mut lanes = power_of_two_below(LANES.min(limits.group));
        let mut steps = steps.min(length.div_ceil(lanes)).max(1);
        loop {
            let tile = ScanTile { lanes, steps, stride: steps | 1 };
            // The items of a group could use more local memory than that, but several groups should run side by side.
            if bytes * lanes * (tile.stride + 3) <= local * 3 / 4 || (lanes, steps) == (1, 1) {
                return tile;
            }
            if steps > 1 { steps /= 2 } else { lanes /= 2 }
        }
    }

    fn size(self) -> usize {
        self.lanes * self.steps
    }

    /// The work items of so many groups.
    fn grid(self, groups: usize) -> Grid {
        Grid { items: groups * self.lanes, group: self.lanes }
    }

    /// Gives a group one of so many tiles of a place.
    fn declare(self, text: &mut Text, tiles: usize) {
        text.line("const long group = get_group_id(0);");
        text.declare("item", format!("const long item = group / {tiles};"));
        text.line(format!("const long first = group % {tiles} * {};", self.size()));
    }

    /// Where a step of the tile is in local memory.
    fn slot(self, within: &str) -> String {
        match (self.steps, self.stride) {
            (1, 1) => within.to_string(),
            (steps, stride) => format!("{within} / {steps} * {stride} + {within} % {steps}"),
        }
    }

    /// The head of a loop over the rows of the tile, and which of its steps is an item's.
    fn rows(self, text: &mut Text) {
        text.open(format!("for (uint row = 0; row < {}; row++)", self.steps));
        text.line(format!("const uint within = row * {} + lane;", self.lanes));
    }
}

impl KernelWriter {
    /// A scan whose chunks have a group each.
    pub(super) fn tiles(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        sequence: &Sequence,
        parts: &ComposedSteps,
    ) -> Vec<Action> {
        let (length, places) = (sequence.length, sequence.places);
        let (limits, steps) = (self.limits, STEPS.min(self.limits.least_steps));
        let tile = ScanTile::new(parts, length, steps, &limits);
        let tiles = length.div_ceil(tile.size());
        let mut actions = Vec::new();
        let mut starts = sequence.first.clone();
        if tiles > 1 {
            let count = tiles - 1;
            let [composed, carried] = self.memory(scope, plan, places, parts, tiles);
            starts = carried;

            // The steps of each tile but the last, composed.
            let elements = sequence.needed(&parts.operands());
            let operands = scope.operands(&sequence.read(&elements), &composed);
            let mut text = self.head(parts, tile);
            tile.declare(&mut text, count);
            self.captures(&mut text, sequence, &operands, &elements);
            self.fill(&mut text, parts, tile, length, &mut |writer, text| {
                writer.element_of_step(text, sequence, &operands, &elements, parts);
            });
            self.scan_tile(&mut text, parts, tile);
            text.open(format!("if (lane == {})", tile.lanes - 1));
            for (value, id) in composed.iter().enumerate() {
                text.line(format!("{}[group] = own{value};", operands.names[id]));
            }
            text.close();
            text.tidy();
            actions.push(self.group_kernel("tiles", &operands, tile.grid(places * count), text));

            // The carries into each tile.
            let tile = ScanTile::new(parts, count, steps, &limits);
            let operands = scope.operands(&[&sequence.first[..], &composed].concat(), &starts);
            let mut text = self.head(parts, tile);
            text.line("const long item = get_group_id(0);");
            self.declare_carries(&mut text, parts, &|carry| {
                format!("{}[item]", operands.names[&sequence.first[carry]])
            });
            let store = |text: &mut Text, at: &str, carry: usize, value: &str| {
                text.line(format!("{}[item * {tiles} + {at}] = {value};", operands.names[&starts[carry]]));
            };
            text.open("if (lane == 0)");
            (0..starts.len()).for_each(|carry| store(&mut text, "0", carry, &format!("carry{carry}")));
            text.close();
            text.open(format!("for (long first = 0; first < {count}; first += {})", tile.size()));
            self.fill(&mut text, parts, tile, count, &mut |writer, text| {
                for (value, &dtype) in parts.values.iter().enumerate() {
                    let element = format!("{}[item * {count} + number]", operands.names[&composed[value]]);
                    text.line(writer.language.declare(&format!("element{value}"), dtype, &element));
                }
            });
            self.scan_tile(&mut text, parts, tile);
            tile.rows(&mut text);
            text.open(format!("if (first + within < {count})"));
            self.up_to(&mut text, parts, tile, "within");
            let carried = |carry: usize| format!("carry{carry}");
            let mut next: Vec<String> = (0..starts.len()).map(carried).collect();
            for (carry, value) in self.applied(parts, &|value| format!("prefix{value}"), &carried) {
                next[carry] = value;
            }
            next.iter().enumerate().for_each(|(carry, value)| store(&mut text, "first + within + 1", carry, value));
            text.close();
            text.close();
            text.line(format!("const uint last = min({count} - first, {}L) - 1;", tile.size()));
            self.up_to(&mut text, parts, tile, "last");
            for (carry, next) in self.applied(parts, &|value| format!("prefix{value}"), &carried) {
                text.line(format!("carry{carry} = {next};"));
            }
            // The next steps take the place of these.
            text.line("barrier(CLK_LOCAL_MEM_FENCE);");
            text.close();
            text.tidy();
            actions.push(self.group_kernel("starts", &operands, tile.grid(places), text));
        }

        // All steps.
        let all = sequence.needed(&[&sequence.recurrence.results[..], &parts.operands()].concat());
        let elements = sequence.needed(&parts.operands());
        let read = [&starts[..], &sequence.read(&all)].concat();
        let operands = scope.operands(&read, &sequence.written());
        let mut text = self.head(parts, tile);
        tile.declare(&mut text, tiles);
        self.captures(&mut text, sequence, &operands, &all);
        self.fill(&mut text, parts, tile, length, &mut |writer, text| {
            writer.element_of_step(text, sequence, &operands, &elements, parts);
        });
        self.scan_tile(&mut text, parts, tile);
        let start = |carry: usize| format!("{}[group]", operands.names[&starts[carry]]);
        self.steps_of_tile(&mut text, parts, sequence, tile, &operands, (&start, Inputs::Arrays));
        text.tidy();
        actions.push(self.group_kernel("steps", &operands, tile.grid(places * tiles), text));
        actions
    }

    /// The same scan in one kernel, which reads every input once: see [`super::lookback`].
    pub(super) fn tiles_at_once(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        sequence: &Sequence,
        parts: &ComposedSteps,
    ) -> Option<Vec<Action>> {
        let tile = ScanTile::new(parts, sequence.length, self.kept_steps(sequence, parts), &self.limits);
        let tiles = Tiles::new(scope, plan, parts, sequence, [tile.lanes, 1, tile.size()])?;
        let elements = sequence.needed(&parts.operands());
        let all = sequence.needed(&[&sequence.recurrence.results[..], &parts.operands()].concat());
        let operands = tiles.operands(scope, sequence, &all);
        let mut text = self.head(parts, tile);
        self.begin(&mut text, parts, &tiles, &operands, tile.size());
        self.captures(&mut text, sequence, &operands, &all);
        self.declare_kept(&mut text, sequence, &all, tile.steps);
        text.line("#pragma unroll");
        self.fill(&mut text, parts, tile, sequence.length, &mut |writer, text| {
            writer.keep(text, sequence, &operands, &all, "row");
            writer.instructions(text, sequence, &elements);
            writer.elements(text, sequence, parts);
        });
        self.scan_tile(&mut text, parts, tile);
        self.look_back(&mut text, parts, sequence, &tiles, &operands);
        let start = |carry: usize| format!("starts{carry}[0]");
        self.steps_of_tile(&mut text, parts, sequence, tile, &operands, (&start, Inputs::Kept("row")));
        text.tidy();
        Some(self.at_once(scope, &tiles, &operands, text))
    }

    /// The steps of a tile that is composed, from these carries on.
    fn steps_of_tile(
        &mut self,
        text: &mut Text,
        parts: &ComposedSteps,
        sequence: &Sequence,
        tile: ScanTile,
        operands: &KernelOperands,
        (start, inputs): (&dyn Fn(usize) -> String, Inputs<'_>),
    ) {
        let length = sequence.length;
        // The carries into the steps of each item come first: applying the item's steps to them takes less time than composing
        // those with others.
        let changed = parts.all().enumerate().filter(|(_, (composition, ..))| *composition != Composition::Kept);
        let changed: Vec<(usize, DType)> = changed.map(|(carry, (_, dtype, _))| (carry, dtype)).collect();
        for &(carry, dtype) in &changed {
            text.line(format!("__local {} begins{carry}[{}];", self.element(dtype), tile.lanes));
        }
        self.declare_carries(text, parts, start);
        text.open("if (lane > 0)");
        text.line("const uint earlier = side + lane - 1;");
        self.apply(text, parts, "sums", "earlier");
        text.close();
        changed.iter().for_each(|(carry, _)| text.line(format!("begins{carry}[lane] = carry{carry};")));
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        if matches!(inputs, Inputs::Kept(_)) {
            text.line("#pragma unroll");
        }
        tile.rows(text);
        text.open(format!("if (first + within < {length})"));
        text.line("const long number = first + within;");
        for (carry, _) in &changed {
            text.line(format!("carry{carry} = begins{carry}[within / {}];", tile.steps));
        }
        if tile.steps > 1 {
            text.open(format!("if (within % {} > 0)", tile.steps));
            text.line(format!("const uint slot = {};", tile.slot("(within - 1)")));
            self.apply(text, parts, "scan", "slot");
            text.close();
        }
        let results = sequence.needed(&sequence.recurrence.results);
        self.whole_step(text, sequence, operands, &results, inputs);
        text.open(format!("if (number == {})", length - 1));
        last_carries(text, sequence, operands);
        text.close();
        text.close();
        text.close();
    }

    /// The beginning of kernels of tiles.
    fn head(&self, parts: &ComposedSteps, tile: ScanTile) -> Text {
        let mut text = self.sums(parts, tile.lanes);
        for (value, &dtype) in parts.values.iter().enumerate() {
            text.line(format!("__local {} scan{value}[{}];", self.element(dtype), tile.lanes * tile.stride));
        }
        text
    }

    /// The beginning of kernels whose items, so many in each group, compose their values.
    pub(super) fn sums(&self, parts: &ComposedSteps, lanes: usize) -> Text {
        let mut text = Text::default();
        for (value, &dtype) in parts.values.iter().enumerate() {
            text.line(format!("__local {} sums{value}[{}];", self.element(dtype), 2 * lanes));
        }
        text.line("const uint lane = get_local_id(0);");
        text
    }

    /// Fills local memory with the values of the tile's steps from `first` on. Steps beyond the last repeat the last one, and
    /// are not used.
    fn fill(
        &mut self,
        text: &mut Text,
        parts: &ComposedSteps,
        tile: ScanTile,
        count: usize,
        element: &mut dyn FnMut(&mut KernelWriter, &mut Text),
    ) {
        tile.rows(text);
        text.line(format!("const long number = min(first + within, {}L);", count - 1));
        element(self, text);
        text.line(format!("const uint slot = {};", tile.slot("within")));
        (0..parts.values.len()).for_each(|value| text.line(format!("scan{value}[slot] = element{value};")));
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
    }

    /// Composes: then `scan` has each item's steps up to each of them, and `sums` from `side` on, as `own`, all steps up to
    /// each item's last one.
    fn scan_tile(&mut self, text: &mut Text, parts: &ComposedSteps, ScanTile { lanes, steps, stride }: ScanTile) {
        let own = |value: usize| format!("own{value}");
        let number = parts.values.len();
        text.line(format!("const uint own = lane * {stride};"));
        for (value, &dtype) in parts.values.iter().enumerate() {
            text.line(self.language.declare_variable(&own(value), dtype, &format!("scan{value}[own]")));
        }
        if steps > 1 {
            text.open(format!("for (uint slot = own + 1; slot < own + {steps}; slot++)"));
            let both = self.composed(parts, &own, &|value| format!("scan{value}[slot]"));
            for (value, both) in both.into_iter().enumerate() {
                text.line(self.language.declare(&format!("both{value}"), parts.values[value], &both));
            }
            (0..number).for_each(|value| text.line(format!("scan{value}[slot] = own{value} = both{value};")));
            text.close();
        }
        self.scan_lanes(text, parts, lanes, 1);
    }

    /// Composes the values `own` of a group's items, at each of so many neighbouring places. Afterwards `sums` from `side` on,
    /// and `own`, hold the composition of all rows of items up to each of them.
    pub(super) fn scan_lanes(&mut self, text: &mut Text, parts: &ComposedSteps, lanes: usize, across: usize) {
        let (own, number) = (|value: usize| format!("own{value}"), parts.values.len());
        (0..number).for_each(|value| text.line(format!("sums{value}[lane] = own{value};")));
        text.line("uint side = 0;");
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.open(format!("for (uint reach = {across}; reach < {lanes}; reach *= 2)"));
        text.line("const uint earlier = side + max(lane, reach) - reach;");
        let both = self.composed(parts, &|value| format!("sums{value}[earlier]"), &own);
        for (value, both) in both.into_iter().enumerate() {
            let both = format!("lane < reach ? own{value} : ({both})");
            text.line(self.language.declare(&format!("both{value}"), parts.values[value], &both));
        }
        text.line(format!("side = {lanes} - side;"));
        (0..number).for_each(|value| text.line(format!("sums{value}[side + lane] = own{value} = both{value};")));
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.close();
    }

    /// All steps of the tile up to one of them, composed, under the names `prefix`.
    fn up_to(&mut self, text: &mut Text, parts: &ComposedSteps, tile: ScanTile, within: &str) {
        text.line(format!("const uint slot = {};", tile.slot(within)));
        text.line(format!("const uint earlier = side + max({within} / {}, 1u) - 1;", tile.steps));
        let both =
            self.composed(parts, &|value| format!("sums{value}[earlier]"), &|value| format!("scan{value}[slot]"));
        for (value, both) in both.into_iter().enumerate() {
            let both = format!("{within} < {} ? scan{value}[slot] : ({both})", tile.steps);
            text.line(self.language.declare(&format!("prefix{value}"), parts.values[value], &both));
        }
    }
}
