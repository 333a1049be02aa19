//! The computation of matrix products on devices: the candidates, and the choice among them.

use super::devices::DeviceLimits;
use super::failure::{DeviceProblem, DeviceResult};
use crate::kernel::{BATCH, COLUMN, MatrixProduct, ROW, SUMMED, Strided};
use crate::shape::DType;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The part of a matrix product that is computed together, in chunks along the summed axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// Rows of the result.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// Positions of the summed axis that are in local memory at a time.
    pub summed: usize,
    /// Rows of the block that is in registers.
    pub item_rows: usize,
    /// Columns of the block that is in registers.
    pub item_columns: usize,
}

/// How a matrix product is computed on a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ProductKernel {
    /// A work item computes an element.
    Elements,
    /// A group of work items computes a tile, each a block of its elements.
    Groups(Tile),
    /// A work item computes a tile, one block of elements after the other: for devices whose groups run one item after the
    /// other.
    Items(Tile),
}

/// A kernel in the form in which choices are remembered.
impl fmt::Display for ProductKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, tile) = match self {
            ProductKernel::Elements => return f.write_str("elements"),
            ProductKernel::Groups(tile) => ("groups", tile),
            ProductKernel::Items(tile) => ("items", tile),
        };
        let Tile { rows, columns, summed, item_rows, item_columns } = tile;
        write!(f, "{word} {rows} {columns} {summed} {item_rows} {item_columns}")
    }
}

/// Reads the output of [`Display`](fmt::Display).
impl FromStr for ProductKernel {
    type Err = String;

    fn from_str(text: &str) -> Result<ProductKernel, String> {
        let problem = || format!("`{text}` is not `elements`, nor `groups` or `items` with the five numbers of a tile");
        let mut words = text.split_whitespace();
        let word = words.next().ok_or_else(problem)?;
        let numbers: Vec<usize> = words.map(str::parse).collect::<Result<_, _>>().map_err(|_| problem())?;
        match (word, numbers[..].try_into().ok()) {
            ("elements", None) if numbers.is_empty() => Ok(ProductKernel::Elements),
            ("groups", Some(numbers)) => Ok(ProductKernel::Groups(Tile::of(numbers))),
            ("items", Some(numbers)) => Ok(ProductKernel::Items(Tile::of(numbers))),
            _ => Err(problem()),
        }
    }
}

/// The user's wishes for products.
#[derive(Clone, Debug, Default)]
pub(super) struct ProductOptions {
    /// The kernel for all of them.
    pub(super) kernel: Option<ProductKernel>,
    /// The number of parts into which the summed axis is split.
    pub(super) parts: Option<usize>,
    /// Whether kernels of large products are measured.
    pub(super) is_measured: bool,
    /// The fastest kernels, of kinds of products that were measured.
    pub(super) measured: BTreeMap<String, ProductKernel>,
}

/// The kind of a product, which determines its kernel: element type, layout of the arrays, and magnitudes of the extents,
/// whatever is computed of the elements or while they are loaded.
pub(super) fn kind(dtype: DType, product: &MatrixProduct) -> String {
    let magnitude = |role: usize| (product.count(role).max(1) as f64).log2().round();
    let [batches, rows, summed, columns] = [BATCH, ROW, SUMMED, COLUMN].map(magnitude);
    let neighbours = |operand: &Strided| match [ROW, SUMMED, COLUMN]
        .into_iter()
        .find(|&role| has_neighbours(&operand.strides[role]))
    {
        Some(ROW) => "rows",
        Some(SUMMED) => "summed",
        Some(_) => "columns",
        None => "apart",
    };
    let [left, right, result] = [&product.left, &product.right, &product.result].map(neighbours);
    format!("{dtype} 2^{batches} 2^{rows} 2^{summed} 2^{columns} {left} {right} {result}")
}

/// Whether the last axis of a role is one along which an operand's elements are neighbours.
pub(super) fn has_neighbours(strides: &[isize]) -> bool {
    strides.last().is_some_and(|stride| stride.unsigned_abs() == 1)
}

/// The extents of a product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sizes {
    pub(super) batches: usize,
    pub(super) rows: usize,
    pub(super) summed: usize,
    pub(super) columns: usize,
}

/// How a product is computed: by which kernel, and in how many parts of the summed axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProductChoice {
    pub(super) kernel: ProductKernel,
    pub(super) parts: usize,
}

/// Elements by which lines of a tile in local memory are longer, so that neighbours of both kinds are in different banks.
pub(super) const PADDING: usize = 1;

/// Groups that a device has for each of its units at least, if the summed axis is long enough to be taken in parts.
const GROUPS_OF_UNIT: usize = 2;

/// Positions of the summed axis in a part at least, and parts at most: they are summed one after the other.
const PART: usize = 256;
const PARTS: usize = 64;

/// Products of fewer multiplications are computed by element.
const FEW: usize = 1 << 14;

const fn tile(rows: usize, columns: usize, summed: usize, item_rows: usize, item_columns: usize) -> Tile {
    Tile::of([rows, columns, summed, item_rows, item_columns])
}

/// Tiles of groups, the largest first.
const GROUP_TILES: [Tile; 7] = [
    tile(128, 128, 16, 8, 8),
    tile(128, 64, 16, 8, 4),
    tile(64, 128, 16, 4, 8),
    tile(64, 64, 16, 4, 4),
    tile(32, 64, 16, 2, 4),
    tile(32, 32, 32, 2, 2),
    tile(16, 16, 32, 1, 1),
];

/// Tiles of work items that compute on their own, for elements of eight bytes. Tiles for four bytes have twice the columns.
const ITEM_TILES: [Tile; 4] =
    [tile(64, 64, 128, 8, 16), tile(64, 64, 128, 4, 16), tile(32, 32, 128, 4, 16), tile(16, 16, 128, 4, 16)];

impl Tile {
    const fn of([rows, columns, summed, item_rows, item_columns]: [usize; 5]) -> Tile {
        Tile { rows, columns, summed, item_rows, item_columns }
    }

    /// Work items of a group.
    pub(super) fn group(&self) -> usize {
        (self.rows / self.item_rows) * (self.columns / self.item_columns)
    }

    fn is_whole(&self) -> bool {
        let all = [self.rows, self.columns, self.summed, self.item_rows, self.item_columns];
        all.iter().all(|&extent| (1..=1024).contains(&extent))
            && self.rows.is_multiple_of(self.item_rows)
            && self.columns.is_multiple_of(self.item_columns)
            && self.item_rows * self.item_columns <= 256
    }
}

impl ProductKernel {
    /// Bytes of local memory that a group takes.
    pub(super) fn local(&self, dtype: DType) -> usize {
        // Users may ask for any extents.
        let lines = |tile: &Tile| tile.summed.saturating_mul(tile.rows.saturating_add(tile.columns));
        let elements = match self {
            ProductKernel::Elements => 0,
            ProductKernel::Groups(tile) => lines(tile).saturating_add(tile.summed.saturating_mul(2 * PADDING)),
            ProductKernel::Items(tile) => lines(tile).saturating_add(tile.rows.saturating_mul(tile.columns)),
        };
        elements.saturating_mul(dtype.bytes())
    }

    /// Whether a device can run the kernel.
    pub(super) fn fits(&self, dtype: DType, limits: &DeviceLimits) -> bool {
        match self {
            ProductKernel::Elements => true,
            ProductKernel::Groups(tile) => {
                tile.is_whole() && tile.group() <= limits.group && self.local(dtype) <= limits.local
            }
            ProductKernel::Items(tile) => tile.is_whole() && self.local(dtype) <= limits.local,
        }
    }

    /// Tiles of a product.
    fn tiles(&self, sizes: Sizes) -> usize {
        match self {
            ProductKernel::Elements => sizes.batches * sizes.rows * sizes.columns,
            ProductKernel::Groups(tile) | ProductKernel::Items(tile) => {
                sizes.batches * sizes.rows.div_ceil(tile.rows) * sizes.columns.div_ceil(tile.columns)
            }
        }
    }

    /// Kernels that a device can run, those that need not be looked at left out.
    pub(super) fn candidates(dtype: DType, limits: &DeviceLimits) -> Vec<ProductKernel> {
        let wide = if dtype.bytes() == 8 { 1 } else { 2 };
        let item = |tile: Tile| Tile { columns: tile.columns * wide, item_columns: tile.item_columns * wide, ..tile };
        let all: Vec<ProductKernel> = match limits.is_serial {
            true => ITEM_TILES.into_iter().map(|tile| ProductKernel::Items(item(tile))).collect(),
            false => GROUP_TILES.into_iter().map(ProductKernel::Groups).collect(),
        };
        all.into_iter().filter(|kernel| kernel.fits(dtype, limits)).collect()
    }
}

impl Sizes {
    pub(super) fn of(product: &MatrixProduct) -> Sizes {
        let [rows, summed, columns] = product.sizes();
        Sizes { batches: product.count(BATCH), rows, summed, columns }
    }

    /// Multiplications.
    pub(super) fn work(&self) -> usize {
        self.batches.saturating_mul(self.rows).saturating_mul(self.columns).saturating_mul(self.summed)
    }
}

impl ProductOptions {
    /// How a product is computed on a device.
    pub(super) fn choice(
        &self,
        dtype: DType,
        product: &MatrixProduct,
        limits: &DeviceLimits,
    ) -> DeviceResult<ProductChoice> {
        let sizes = Sizes::of(product);
        let kernel = match self.kernel {
            // Others have no kernels in tiles.
            _ if !dtype.is_float() => ProductKernel::Elements,
            Some(kernel) if kernel.fits(dtype, limits) => kernel,
            Some(kernel) => {
                return Err(DeviceProblem::Unsupported(format!(
                    "products by `{kernel}` take {} bytes of local memory for each group, of {}, and as many work items as \
                     blocks make up a tile, of at most {}, of which whole ones make up a tile",
                    kernel.local(dtype),
                    limits.local,
                    limits.group
                )));
            }
            None => match self.measured.get(&kind(dtype, product)) {
                Some(&kernel) if kernel.fits(dtype, limits) => kernel,
                _ => usual(dtype, sizes, limits),
            },
        };
        let parts = match (kernel, self.parts) {
            (ProductKernel::Elements, _) => 1,
            (_, Some(parts)) => parts.clamp(1, sizes.summed.max(1)),
            (_, None) => usual_parts(kernel, sizes, limits),
        };
        Ok(ProductChoice { kernel, parts })
    }
}

/// The kernel where nothing was measured: the one with the lowest estimated time.
fn usual(dtype: DType, sizes: Sizes, limits: &DeviceLimits) -> ProductKernel {
    if sizes.work() < FEW {
        return ProductKernel::Elements;
    }
    let candidates = ProductKernel::candidates(dtype, limits);
    let estimates = candidates.into_iter().map(|kernel| (estimate(kernel, sizes, limits), kernel));
    let best = estimates.min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or(ProductKernel::Elements, |(_, kernel)| kernel)
}

/// A measure of the time that a product takes: multiplications, those beyond the edges included, with the reads of local memory
/// for each, where units that have nothing to do count as if they had.
fn estimate(kernel: ProductKernel, sizes: Sizes, limits: &DeviceLimits) -> f64 {
    let (ProductKernel::Groups(tile) | ProductKernel::Items(tile)) = kernel else { return f64::INFINITY };
    let groups = (kernel.tiles(sizes) * usual_parts(kernel, sizes, limits)) as f64;
    let units = limits.units as f64;
    let rounds = (groups / units).ceil() * units / groups;
    let (rows, columns) = (tile.item_rows as f64, tile.item_columns as f64);
    let reads = (rows + columns) / (rows * columns);
    let multiplications = kernel.tiles(sizes) as f64 * (tile.rows * tile.columns) as f64 * sizes.summed as f64;
    multiplications * (1.0 + 2.0 * reads) * rounds
}

/// In how many parts the summed axis is taken: in one if there are tiles for all units.
fn usual_parts(kernel: ProductKernel, sizes: Sizes, limits: &DeviceLimits) -> usize {
    let wanted = limits.units * GROUPS_OF_UNIT;
    let parts = wanted / kernel.tiles(sizes).max(1);
    parts.min(sizes.summed / PART).clamp(1, PARTS)
}
