//! Decoupled look-back, after Merrill and Garland: the groups of a scan tell each other the carries from tile to tile, so that
//! one kernel is enough and every input is read from memory once.
//!
//! A group takes the number of its tile from a counter, so that all earlier tiles belong to groups that have begun. It writes
//! the composition of its steps, and raises its tile's flag; looks back for the nearest tile whose outgoing carries are known;
//! and applies the steps in between to these. So it waits only for groups that have begun, but it does wait: OpenCL does not
//! promise that those make progress, though graphics processors provide it. For other devices there are kernels that wait for
//! nothing.
//!
//! The items of a group look at one flag each. As many tiles are under way as the device has room for, some hundreds, and the
//! known carries lag by the time that a message takes. A narrow window would have to be moved several times, and each move
//! would take as long as such a message.
//!
//! Numbers are the same in every run, wherever a group finds the carries. Tiles are grouped in spans. The tiles of a span are
//! composed from left to right and applied to the carries before the span, whichever group computes this; carries are told only
//! after spans. Telling them tile by tile would be as deterministic, but then all tiles of a place would have to be applied in
//! sequence. With spans, groups compose many of them at the same time, and a step of that sequence covers several tiles.

use super::{ComposedSteps, KernelWriter};
use crate::engine::opencl::code::{Action, Grid};
use crate::engine::opencl::kernels::recurrence::{Needed, Sequence};
use crate::engine::opencl::kernels::{KernelOperands, KernelScope};
use crate::kernel::BufferId;
use crate::shape::{DType, Value};
use crate::source::helpers::opencl;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;

/// Tiles of a span, at most.
const SPAN: usize = 8;

/// A tile about which nothing is known.
const NOWHERE: i64 = -2;

/// The tiles of a scan, each with a group.
pub(super) struct Tiles {
    /// Places of the scan.
    places: usize,
    /// Neighbouring places of a group: a strip.
    across: usize,
    /// Items of a group: some rows of so many as there are places.
    lanes: usize,
    /// Strips of the places.
    strips: usize,
    /// Tiles of a strip.
    number: usize,
    /// The messages between groups, if a strip has several tiles.
    told: Option<GroupMessages>,
}

/// Memory of the step's own in which groups tell each other something.
struct GroupMessages {
    /// A counter, which gives groups their tiles, and a flag for each tile: 1 once the composition of its steps is known, 2
    /// once its outgoing carries are known too.
    flags: BufferId,
    /// The values of each tile's composition, at each place.
    composed: Vec<BufferId>,
    /// The outgoing carries of each tile, at each place.
    carried: Vec<BufferId>,
}

impl Tiles {
    /// So many steps at each place in tiles of so many steps; `None` where there are more tiles than flags can count.
    pub(super) fn new(
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        parts: &ComposedSteps,
        sequence: &Sequence,
        [lanes, across, steps]: [usize; 3],
    ) -> Option<Tiles> {
        debug_assert!(lanes >= across && lanes.is_multiple_of(across), "a group has whole rows");
        let places = sequence.places;
        let (strips, number) = (places.div_ceil(across), sequence.length.div_ceil(steps));
        let all = strips.checked_mul(number).filter(|&all| all < i32::MAX as usize - lanes)?;
        let mut memory = |dtype: DType, count: usize| scope.add(plan.memory(dtype, count), dtype, count);
        let told = (number > 1).then(|| GroupMessages {
            flags: memory(DType::I32, all + 1),
            composed: parts.values.iter().map(|&dtype| memory(dtype, number * places)).collect(),
            carried: parts.dtypes.iter().map(|&dtype| memory(dtype, number * places)).collect(),
        });
        Some(Tiles { places, across, lanes, strips, number, told })
    }

    /// The work items of all groups.
    fn grid(&self) -> Grid {
        Grid { items: self.strips * self.number * self.lanes, group: self.lanes }
    }

    /// The arrays that the kernel takes, whose steps need these inputs.
    pub(super) fn operands(&self, scope: &KernelScope<'_>, sequence: &Sequence, needed: &Needed) -> KernelOperands {
        let told = self.told.iter().flat_map(|told| {
            std::iter::once(told.flags).chain(told.composed.iter().copied()).chain(told.carried.iter().copied())
        });
        let read = [&sequence.first[..], &sequence.read(needed)].concat();
        scope.operands(&read, &sequence.written().into_iter().chain(told).collect::<Vec<BufferId>>())
    }

    /// The position of an item's place in its strip.
    pub(super) fn column(&self) -> &'static str {
        if self.across == 1 { "0" } else { "column" }
    }

    /// Rows of a group.
    fn rows(&self) -> usize {
        self.lanes / self.across
    }

    /// Tiles of a span.
    fn span(&self) -> usize {
        SPAN.min(self.rows())
    }

    /// The condition that an item's place is one, where there may be others in the last strip, which have the last place's
    /// steps instead and write nothing.
    pub(super) fn is_there(&self) -> Option<String> {
        let condition = || format!("strip * {}L + {} < {}", self.across, self.column(), self.places);
        (!self.places.is_multiple_of(self.across)).then(condition)
    }

    /// Where something of a tile is in memory, at an item's place.
    fn at(&self, tile: &str) -> String {
        format!("{tile} * {}L + item", self.places)
    }

    /// Where the flag of a tile is.
    fn flag(&self, tile: &str) -> String {
        format!("1 + strip * {} + {tile}", self.number)
    }
}

impl KernelWriter {
    /// The kernel of all tiles, and the actions before its launch.
    pub(super) fn at_once(
        &mut self,
        scope: &KernelScope<'_>,
        tiles: &Tiles,
        operands: &KernelOperands,
        text: Text,
    ) -> Vec<Action> {
        let cleared = tiles.told.as_ref().map(|told| scope.fill(told.flags, Value::I32(0)));
        cleared.into_iter().chain([self.group_kernel("scan", operands, tiles.grid(), text)]).collect()
    }

    /// The beginning of a kernel of tiles of so many steps: finds the tile of its group.
    pub(super) fn begin(
        &self,
        text: &mut Text,
        parts: &ComposedSteps,
        tiles: &Tiles,
        operands: &KernelOperands,
        steps: usize,
    ) {
        for (carry, &dtype) in parts.dtypes.iter().enumerate() {
            text.line(format!("__local {} starts{carry}[{}];", self.element(dtype), tiles.across));
            if tiles.told.is_some() {
                text.line(format!("__local {} ends{carry}[{}];", self.element(dtype), tiles.across));
            }
        }
        match &tiles.told {
            Some(told) => {
                text.line("__local int ticket, nearest;");
                text.open("if (lane == 0)");
                text.line(format!("ticket = atomic_inc({});", self.shared_array(operands, told.flags, DType::I32)));
                text.line(format!("nearest = {NOWHERE};"));
                text.close();
                text.line("barrier(CLK_LOCAL_MEM_FENCE);");
                // The tiles of all strips take turns, so that those of each strip have the most time to tell their carries.
                text.line(format!("const int tile = ticket / {};", tiles.strips));
                text.declare("strip", format!("const int strip = ticket % {};", tiles.strips));
            }
            None => {
                text.line("const int tile = 0;");
                text.declare("strip", "const int strip = get_group_id(0);");
            }
        }
        let (across, last) = (tiles.across, tiles.places - 1);
        if across == 1 {
            text.declare("item", "const long item = strip;");
        } else {
            text.declare("column", format!("const uint column = lane % {across};"));
            text.declare("item", format!("const long item = min(strip * {across}L + column, {last}L);"));
        }
        text.line(format!("const long first = tile * {steps}L;"));
    }

    /// An array that other groups read or write at the same time.
    fn shared_array(&self, operands: &KernelOperands, id: BufferId, dtype: DType) -> String {
        format!("((volatile __global {} *){})", self.element(dtype), operands.names[&id])
    }

    /// Keeps an item's memory accesses on their side of this fence.
    fn fence(&mut self, text: &mut Text) {
        text.line(format!("{};", self.language.helper(&opencl::FENCE, DType::I32, &[], &mut self.helpers)));
    }

    /// Puts the carries into the tile in `starts` in local memory. The items of the last row have the tile's composition as
    /// `own`.
    pub(super) fn look_back(
        &mut self,
        text: &mut Text,
        parts: &ComposedSteps,
        sequence: &Sequence,
        tiles: &Tiles,
        operands: &KernelOperands,
    ) {
        let (across, column) = (tiles.across, tiles.column());
        let first = |carry: usize| format!("{}[item]", operands.names[&sequence.first[carry]]);
        let first_row = if across == 1 { "lane == 0".to_string() } else { format!("lane < {across}") };
        let Some(told) = &tiles.told else {
            text.open(format!("if ({first_row})"));
            (0..parts.dtypes.len()).for_each(|carry| text.line(format!("starts{carry}[{column}] = {};", first(carry))));
            text.close();
            text.line("barrier(CLK_LOCAL_MEM_FENCE);");
            return;
        };
        let flags = self.shared_array(operands, told.flags, DType::I32);
        let composed = self.shared_arrays(operands, &told.composed, &parts.values);
        let carried = self.shared_arrays(operands, &told.carried, &parts.dtypes);
        let guarded = |condition: &str| match tiles.is_there() {
            Some(is_there) => format!("if ({condition} && {is_there})"),
            None => format!("if ({condition})"),
        };
        let own = composed.iter().enumerate();
        let own = own.map(|(value, array)| format!("{array}[{}] = own{value};", tiles.at("tile")));
        let raised = format!("if (lane == 0) atomic_xchg({flags} + {}, 1);", tiles.flag("tile"));
        self.tell(text, &guarded(&format!("lane >= {}", tiles.lanes - across)), own, &raised);
        self.find(text, tiles, &flags);
        text.open(format!("if ({first_row})"));
        for (carry, array) in carried.iter().enumerate() {
            let known = format!("{array}[{}]", tiles.at("found"));
            text.line(format!("ends{carry}[{column}] = found < 0 ? {} : {known};", first(carry)));
        }
        text.close();
        let window = self.go_forward(text, parts, tiles, &composed, &first_row);

        // The outgoing carries of the tile are told before anything else is done.
        let span = tiles.span();
        let apart = span.saturating_mul(self.limits.spans_apart).min(tiles.number);
        text.line(format!("const bool tells = (tile + 1) % {apart} == 0 && tile < {};", tiles.number - 1));
        let ends = carried.iter().enumerate();
        let ends = ends.map(|(carry, array)| format!("{array}[{}] = ends{carry}[{column}];", tiles.at("tile")));
        let raised = format!("if (lane == 0 && tells) atomic_xchg({flags} + {}, 2);", tiles.flag("tile"));
        self.tell(text, &guarded(&format!("tells && {first_row}")), ends, &raised);

        // Into the tile go the carries into its span, with the tiles of the span before it applied.
        text.open(format!("if ({first_row})"));
        text.line(format!("const bool is_last = tile % {span} == {};", span - 1));
        let before = |carry: usize| format!("is_last ? starts{carry}[{column}] : ends{carry}[{column}]");
        self.declare_carries(text, parts, &before);
        text.open(format!("if (tile % {span} > 0)"));
        text.line(format!("const uint slot = other + (tile - found - 2) % {window} * {across} + {column};"));
        self.apply(text, parts, "sums", "slot");
        text.close();
        (0..parts.dtypes.len()).for_each(|carry| text.line(format!("starts{carry}[{column}] = carry{carry};")));
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
    }

    /// Makes items for which something holds write values for other groups, and then raises a flag that says so.
    fn tell(&mut self, text: &mut Text, holds: &str, writes: impl Iterator<Item = String>, raised: &str) {
        // The writes come before the flag for each item, and the other items before the one that raises it.
        text.open(holds);
        text.lines(writes);
        self.fence(text);
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
        text.line(raised);
    }

    fn shared_arrays(&self, operands: &KernelOperands, ids: &[BufferId], dtypes: &[DType]) -> Vec<String> {
        ids.iter().zip(dtypes).map(|(&id, &dtype)| self.shared_array(operands, id, dtype)).collect()
    }

    /// Finds the nearest tile whose outgoing carries are known, under the name `found`, or -1 before the first one. The
    /// compositions of all tiles in between are known then.
    fn find(&mut self, text: &mut Text, tiles: &Tiles, flags: &str) {
        text.line(format!("int found = {NOWHERE};"));
        text.open(format!("for (int end = tile; found == {NOWHERE}; end -= {})", tiles.lanes));
        text.line("const int earlier = end - 1 - (int)lane;");
        text.line("int state = 2;");
        text.open("if (earlier >= 0)");
        text.line(format!("do state = atomic_or({flags} + {}, 0); while (state == 0);", tiles.flag("earlier")));
        text.close();
        self.fence(text);
        text.line("if (state == 2) atomic_max(&nearest, max(earlier, -1));");
        text.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
        text.line("found = nearest;");
        // No item changes it before all have read it: they have to agree whether to continue.
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.close();
    }

    /// Goes from the tile that was found to the group's own. Afterwards `ends` has the carries after the last whole span before
    /// it, `starts` the carries into that span, and the half of `sums` from `other` on the tiles of the last window, each
    /// composed with those before it in its span. States how many tiles a window has.
    fn go_forward(
        &mut self,
        text: &mut Text,
        parts: &ComposedSteps,
        tiles: &Tiles,
        composed: &[String],
        first_row: &str,
    ) -> usize {
        let (across, column, span) = (tiles.across, tiles.column(), tiles.span());
        let window = tiles.rows() / span * span;
        text.line(format!("const uint other = {} - side;", tiles.lanes));
        text.open(format!("for (int next = found + 1; next <= tile; next += {window})"));
        text.line(format!("const int count = min({window}, tile + 1 - next);"));
        text.line(format!("const int row = lane / {across};"));
        text.open("if (row < count)");
        for (value, array) in composed.iter().enumerate() {
            text.line(format!("sums{value}[other + lane] = {array}[{}];", tiles.at("(next + row)")));
        }
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.open(format!("if (row * {span} < count)"));
        text.line(format!("uint slot = other + row * {} + {column};", span * across));
        for (value, &dtype) in parts.values.iter().enumerate() {
            text.line(self.language.declare_variable(&format!("span{value}"), dtype, &format!("sums{value}[slot]")));
        }
        text.open(format!("for (int tiles = min({span}, count - row * {span}); tiles > 1; tiles--)"));
        text.line(format!("slot += {across};"));
        let both = self.composed(parts, &|value| format!("span{value}"), &|value| format!("sums{value}[slot]"));
        for (value, both) in both.into_iter().enumerate() {
            text.line(self.language.declare(&format!("both{value}"), parts.values[value], &both));
        }
        (0..parts.values.len()).for_each(|value| text.line(format!("sums{value}[slot] = span{value} = both{value};")));
        text.close();
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.open(format!("if ({first_row})"));
        let carries = 0..parts.dtypes.len();
        self.declare_carries(text, parts, &|carry| format!("ends{carry}[{column}]"));
        for (carry, &dtype) in parts.dtypes.iter().enumerate() {
            text.line(self.language.declare_variable(&format!("before{carry}"), dtype, &format!("carry{carry}")));
        }
        text.open(format!("for (int whole = {span}; whole <= count; whole += {span})"));
        text.line(format!("const uint slot = other + (whole - 1) * {across} + {column};"));
        carries.clone().for_each(|carry| text.line(format!("before{carry} = carry{carry};")));
        self.apply(text, parts, "sums", "slot");
        text.close();
        carries.clone().for_each(|carry| text.line(format!("starts{carry}[{column}] = before{carry};")));
        carries.for_each(|carry| text.line(format!("ends{carry}[{column}] = carry{carry};")));
        text.close();
        // The next tiles take the place of these.
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.close();
        window
    }
}
