//! The gain of computing operands of products where they are loaded.
//!
//! A tile of an operand is loaded by as many groups as the result has tiles along the other operand's lines, and each of them
//! computes it. In return the operand is neither written nor read. Both are counted in the bytes that could be moved to or from
//! memory in the same time.

use super::places;
use crate::engine::opencl::kernels::parts::axes_of_values;
use crate::engine::opencl::tuning::Tile;
use crate::kernel::roots::own_cost;
use crate::kernel::{BATCH, BufferId, COLUMN, MatrixProduct, Nest, NestValue, Procedure, ROW, SUMMED};
use crate::shape::{DType, steps};

/// Simple operations that take as long as a byte to memory. Graphics processors do ten and more meanwhile, but while tiles are
/// loaded not all of their units have something to do. Processors take the elements of tiles one after the other: measured with
/// PoCL 3.1, half a nanosecond for each operation, and a fifth for a byte.
const OPERATIONS: f64 = 8.0;
const OPERATIONS_IN_TURN: f64 = 1.0;

/// The share of a byte's time that it takes where other groups have read it: it is in a cache that all of them share, which is
/// a few times as fast as memory.
const AGAIN: f64 = 0.25;

/// The multiple of its bytes that an element costs whose neighbours in memory are not neighbours in the operand: caches load
/// whole lines, whose other elements are used somewhat later, if the line is still there.
const SCATTERED: f64 = 4.0;

/// Simple operations in a division of positions by known numbers: a long product, and shifts.
const DIVISION: f64 = 5.0;

/// Bytes that could be moved while one more kernel is launched; on the fastest devices many more.
const LAUNCH: f64 = 65536.0;

/// The arrays that a prologue reads may be so many times as large as the operand, at most: they are in memory for longer.
const MOST_READ: f64 = 4.0;

/// Values of a prologue, at most: loops that load tiles are unrolled.
const MOST_VALUES: usize = 64;

/// An array that products compute as they load it, instead of the nest that did.
pub(super) struct Exchange<'a> {
    pub(super) procedure: &'a Procedure,
    pub(super) array: BufferId,
    /// The nest as it was.
    pub(super) whole: &'a Nest,
    /// The rest of the nest, if there is one.
    pub(super) rest: Option<&'a Nest>,
    pub(super) prologue: &'a Nest,
    /// Whether the device's work items run one after the other.
    pub(super) is_serial: bool,
}

impl Exchange<'_> {
    /// The gain in bytes with these products, which have the prologue; `None` if there is none.
    pub(super) fn gain<'p>(&self, products: impl Iterator<Item = (&'p MatrixProduct, Tile)>) -> Option<f64> {
        let Exchange { procedure, array, whole, rest, prologue, is_serial } = *self;
        let of_byte = if is_serial { OPERATIONS_IN_TURN } else { OPERATIONS };
        let elements = positions(prologue);
        let bytes = elements * procedure.buffers[array as usize].ty.dtype.bytes() as f64;
        // The axis along which the operand has its neighbours.
        let along = |nest: &Nest| {
            let store = nest.stores.iter().find(|store| procedure.origin(store.buffer) == array);
            store.and_then(|store| store.at.coefficients.iter().position(|&coefficient| coefficient == 1))
        };
        if self.read(prologue, None) > MOST_READ * bytes || prologue.values.len() > MOST_VALUES {
            return None;
        }
        let read = self.read(prologue, along(prologue));
        // The rest of the nest has its axes.
        let axis = along(whole);
        let work = |nest: &Nest| self.read(nest, axis) + positions(nest) * operations_of(nest) / of_byte;
        let mut before = work(whole) + bytes + if rest.is_none() { LAUNCH } else { 0.0 };
        let mut after = rest.map_or(0.0, work);
        for (product, tile) in products {
            let (loads, operations) = self.loads(product, tile);
            let times = 1.0 + (loads / elements - 1.0).max(0.0) * AGAIN;
            before += times * bytes;
            after += times * read + operations / of_byte;
        }
        (after < before).then_some(before - after)
    }

    /// How many elements of the array all tiles of a product load, and the operations of the prologue for that. One of these is
    /// a load that happens without the prologue too.
    fn loads(&self, product: &MatrixProduct, tile: Tile) -> (f64, f64) {
        let (mut loads, mut operations) = (0.0, 0.0);
        for (side, operand) in [&product.left, &product.right].into_iter().enumerate() {
            if self.procedure.origin(operand.buffer) != self.array {
                continue;
            }
            let (lines, others) = [(ROW, COLUMN), (COLUMN, ROW)][side];
            let tiles = product.count(others).div_ceil([tile.columns, tile.rows][side]);
            let loaded = steps([BATCH, lines, SUMMED].map(|role| product.count(role))) as f64 * tiles as f64;
            let element = places::operand(product, side);
            let axes = self.prologue.extents.iter().zip(&self.prologue.stores[0].at.coefficients);
            let divided = axes.filter(|&(&extent, &stride)| element.position(stride, extent).is_none()).count();
            loads += loaded;
            operations += loaded * (operations_of(self.prologue) - 1.0 + divided as f64 * DIVISION);
        }
        (loads, operations)
    }

    /// The bytes that a nest reads, each place once; places that are not adjacent along an axis count several times.
    fn read(&self, nest: &Nest, along: Option<usize>) -> f64 {
        let axes = axes_of_values(nest);
        let of = |(id, (value, dtype)): (usize, &(NestValue, DType))| {
            let (NestValue::Load { buffer, at, .. } | NestValue::Gather { buffer, at, .. }) = value else { return 0.0 };
            let is_computed = |axis: usize| match value {
                NestValue::Gather { index, .. } => axes[*index as usize].contains(&axis),
                _ => false,
            };
            let is_scattered = along.is_some_and(|axis| at.coefficients[axis].unsigned_abs() > 1 || is_computed(axis));
            let places = steps(axes[id].iter().map(|&axis| nest.extents[axis]));
            let places = places.min(self.procedure.buffers[*buffer as usize].ty.size()) as f64;
            places * dtype.bytes() as f64 * if is_scattered { SCATTERED } else { 1.0 }
        };
        nest.values.iter().enumerate().map(of).sum()
    }
}

fn positions(nest: &Nest) -> f64 {
    steps(nest.extents.iter().copied()) as f64
}

/// The simple operations at each position of a nest: loads are some too.
fn operations_of(nest: &Nest) -> f64 {
    let cost = |value: &NestValue| match value {
        NestValue::Constant(_) | NestValue::Position(_) => 0.0,
        value => value.operation().map_or(1.0, |op| own_cost(&op)),
    };
    nest.values.iter().map(|(value, _)| cost(value)).sum()
}
