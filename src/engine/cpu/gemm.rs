//! Products of two matrices, blocked for caches and packed for vectors, in memory of the caller.
//!
//! This follows GotoBLAS: a block of the right operand is packed into panels with as many columns as a kernel takes, then
//! blocks of the left one into panels of rows, and a kernel multiplies a panel by a panel with all sums in registers. Rows and
//! columns may combine several axes, such as the windows of a convolution; packing reads each of these in place, so there is no
//! copy of all windows. Every element of the result is summed in one order, whatever rows and columns are asked for.

use super::elements::{counted, load, store};
#[cfg(target_arch = "x86_64")]
use super::microkernel::Registers;
use super::microkernel::{Interleave, Microkernel, PlainProduct};
use super::places::{MatrixPlaces, Places, are_next, distance};
use super::vector::Instructions;
#[cfg(target_arch = "x86_64")]
use super::vector::USES_REGISTERS;
#[cfg(target_arch = "x86_64")]
use super::vector::lanes::{BitsHalf32, BitsHalf64, Half32, Half64, Wide32, Wide64};
use crate::array::Arithmetic;
use crate::array::matrix::Update;
use crate::engine::arrays::CacheLine;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The part of the right operand's rows that is packed at once, at most: a panel of the left operand stays in the first cache.
const DEPTH: usize = 256;
/// Parts are multiples of this, which registers divide.
const STEPS: usize = 16;
/// Rows of the left operand that are packed at once, which stay in the second cache.
const ROWS: usize = 144;
/// Columns of the right operand that are packed at once, which stay in the third cache.
const COLUMNS: usize = 1024;
/// Rows, or columns, of one operand that packing the other one is not worth for.
const DIRECT: usize = 96;
/// Multiples of the rows and the columns of all kernels.
const PANELS: (usize, usize) = (24, 32);

/// Lines of memory that packing needs for a product of these sizes, of elements of so many bytes.
pub(super) fn packing_lines([m, k, n]: [usize; 3], bytes: usize) -> usize {
    // Which operand is packed as which depends on the result's layout.
    let lines = |rows: usize, columns: usize| {
        let rows = rows.min(ROWS).next_multiple_of(PANELS.0);
        let columns = columns.min(COLUMNS).next_multiple_of(PANELS.1);
        ((rows + columns) * k.min(DEPTH) * bytes).div_ceil(size_of::<CacheLine>()) + 1
    };
    lines(m, n).max(lines(n, m))
}

/// Lines of memory for the whole right operand of a product of these sizes, packed.
pub(super) fn kept_lines([_, k, n]: [usize; 3], bytes: usize) -> usize {
    let columns = n.div_ceil(PANELS.1).saturating_mul(PANELS.1);
    k.saturating_mul(columns).saturating_mul(bytes).div_ceil(size_of::<CacheLine>())
}

/// The right operand of products that have no other, packed by the first of them.
#[derive(Debug)]
pub(super) struct KeptOperand {
    pub(super) lines: Vec<CacheLine>,
    pub(super) is_packed: bool,
}

/// Memory for packing: for a part of each operand, and for all of the right one, where others have it too.
pub(super) struct Packing<'a> {
    pub(super) parts: &'a mut [CacheLine],
    pub(super) kept: Option<&'a mut KeptOperand>,
}

impl Packing<'_> {
    /// The same memory, for one of several products.
    pub(super) fn again(&mut self) -> Packing<'_> {
        Packing { parts: self.parts, kept: self.kept.as_deref_mut() }
    }
}

/// Elements that kernels multiply.
pub(super) trait GemmElement: Arithmetic {
    /// Some rows and columns of a result that `left · right` updates; the left operand has `depth` columns.
    ///
    /// # Safety
    ///
    /// The operands have elements at all positions of their matrices, the result overlaps neither, and the packing memory
    /// has as many lines as [`packing_lines`] says, for these sizes or larger ones, and as [`kept_lines`] says. An operand that is
    /// kept is all of the right one, packed for the same depth. The machine has the instructions.
    unsafe fn multiply(
        isa: Instructions,
        part: [Range<usize>; 2],
        depth: usize,
        operands: [MatrixPlaces<'_, Self>; 3],
        update: Update,
        packing: Packing<'_>,
    );
}

macro_rules! kernels {
    ($t:ident, $portable:literal, $narrow:ident: $columns:literal$(, $wide:ident: $wide_columns:literal)?) => {
        impl GemmElement for $t {
            unsafe fn multiply(
                isa: Instructions,
                part: [Range<usize>; 2],
                depth: usize,
                operands: [MatrixPlaces<'_, $t>; 3],
                update: Update,
                packing: Packing<'_>,
            ) {
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn narrow(
                    part: [Range<usize>; 2],
                    depth: usize,
                    operands: [MatrixPlaces<'_, $t>; 3],
                    update: Update,
                    packing: Packing<'_>,
                ) {
                    // SAFETY: as the caller's.
                    unsafe { blocked::<$t, Registers<$narrow>, 6, $columns>(part, depth, operands, update, packing) }
                }
                $(#[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma")]
                unsafe fn wide(
                    part: [Range<usize>; 2],
                    depth: usize,
                    operands: [MatrixPlaces<'_, $t>; 3],
                    update: Update,
                    packing: Packing<'_>,
                ) {
                    // SAFETY: as the caller's.
                    unsafe { blocked::<$t, Registers<$wide>, 8, $wide_columns>(part, depth, operands, update, packing) }
                })?
                // SAFETY: as the caller's; the machine has the instructions.
                unsafe {
                    match isa {
                        $(#[cfg(target_arch = "x86_64")]
                        Instructions::Avx512 if const { USES_REGISTERS && $wide_columns > 0 } => {
                            wide(part, depth, operands, update, packing)
                        })?
                        #[cfg(target_arch = "x86_64")]
                        Instructions::Avx512 | Instructions::Avx2 if const { USES_REGISTERS } => {
                            narrow(part, depth, operands, update, packing)
                        }
                        _ => blocked::<$t, PlainProduct, 4, $portable>(part, depth, operands, update, packing),
                    }
                }
            }
        }
    };
}

kernels!(f64, 4, Half64: 8, Wide64: 16);
kernels!(f32, 8, Half32: 16, Wide32: 32);
// Products of integers are rare, and fast enough with registers of 32 bytes.
kernels!(i64, 4, BitsHalf64: 8);
kernels!(i32, 8, BitsHalf32: 16);

/// Whether the product of transposes costs less. `are_runs` says whether elements are adjacent: in a column of the left
/// operand, in a row of the right one, and in a column, and a row, of the result.
#[inline(always)]
fn is_swapped<const R: usize, const C: usize>([m, k, n]: [usize; 3], are_runs: [[bool; 2]; 2]) -> bool {
    let [[left, right], [by_column, by_row]] = are_runs;
    cycles::<R, C>([n, k, m], left, by_column) < cycles::<R, C>([m, k, n], right, by_row)
}

/// The approximate cycles of a product: for kernels, for packing, and for writes of elements outside of whole kernel rows.
#[inline(always)]
fn cycles<const R: usize, const C: usize>([m, k, n]: [usize; 3], is_right_run: bool, is_result_run: bool) -> f64 {
    let (rows, columns, rest) = (m.next_multiple_of(R) as f64, (n - n % C) as f64, (n % C) as f64);
    let kernels = rows * n.div_ceil(C) as f64;
    let right = match is_right_run {
        true if m <= DIRECT => 0.0,
        true => columns / 8.0,
        false => columns,
    };
    let left = if n <= DIRECT { 0.0 } else { rows };
    let alone = if is_result_run { 2.0 * rest } else { 3.0 * n as f64 };
    (kernels + right + rest + left) * k as f64 + alone * m as f64
}

/// The product with kernels of `R` rows and `C` columns.
#[inline(always)]
unsafe fn blocked<
    T: GemmElement,
    K: Microkernel<T, R, C> + Interleave<T, R> + Interleave<T, C>,
    const R: usize,
    const C: usize,
>(
    [rows, columns]: [Range<usize>; 2],
    k: usize,
    [a, b, c]: [MatrixPlaces<'_, T>; 3],
    update: Update,
    Packing { parts: packing, kept }: Packing<'_>,
) {
    // A product is the transpose of the product of transposes too.
    let sizes = [rows.len(), k, columns.len()];
    let are_runs = [[a.rows.is_run(), b.columns.is_run()], [c.rows.is_run(), c.columns.is_run()]];
    let is_swapped = is_swapped::<R, C>(sizes, are_runs);
    let ([rows, columns], [a, b, c]) = match is_swapped {
        true => ([columns, rows], [b.transposed(), a.transposed(), c.transposed()]),
        false => ([rows, columns], [a, b, c]),
    };
    let packed_left = packing.as_mut_ptr().cast::<T>();
    let packed_right = packed_left.wrapping_add(ROWS.min(rows.len()).next_multiple_of(R) * DEPTH.min(k));
    let kept = kept.filter(|_| !is_swapped);
    let is_packed = kept.as_ref().is_some_and(|kept| kept.is_packed);
    let kept_right = kept.map(|kept| {
        kept.is_packed = true;
        kept.lines.as_mut_ptr().cast::<T>()
    });
    // Parts of about the same depth: a thin one costs as many reads and writes of the result as a thick one.
    let part = k.div_ceil(k.div_ceil(DEPTH).max(1)).next_multiple_of(STEPS).max(STEPS);
    let mut depths = [[const { MaybeUninit::uninit() }; DEPTH]; 2];
    let (mut down, mut starts) = ([MaybeUninit::uninit(); ROWS], [MaybeUninit::uninit(); ROWS]);
    // A tile whose rows do not lie together in the result, and the rows that one at the end lacks; zeros, since sums may be
    // added to them.
    let mut sums = [[T::ZERO; C]; R];
    counted!(column in (columns.start)..columns.end, COLUMNS => {
        let width = COLUMNS.min(columns.end - column);
        counted!(depth in 0..k.max(1), part => {
            let count = part.min(k - depth);
            let update = if update == Update::Set && depth > 0 { Update::Add } else { update };
            let [left_depths, right_depths] = &mut depths;
            let left_depths = a.columns.fill(depth, &mut left_depths[..count]);
            let right_depths = b.rows.fill(depth, &mut right_depths[..count]);
            // Where few rows are multiplied by a panel, it is read where it is, if its rows' elements are together.
            let in_place = kept_right.is_none() && rows.len() <= DIRECT && b.columns.distance() == Some(1);
            let right_distance = distance(right_depths).filter(|_| in_place);
            let direct = right_distance.map_or(0, |_| width - width % C);
            let left_distance = distance(left_depths).filter(|_| width <= DIRECT);
            let packed_right = kept_right.map_or(packed_right, |start| {
                start.wrapping_add((column - columns.start) * k + depth * width.next_multiple_of(C))
            });
            // SAFETY: positions are inside of the matrices, and the packing memory has room for the panels.
            unsafe {
                if !is_packed {
                    let rest = column + direct..column + width;
                    pack::<T, K, C>((b.start, b.columns), rest, right_depths, packed_right.wrapping_add(direct * count));
                }
                counted!(row in (rows.start)..rows.end, ROWS => {
                    let height = ROWS.min(rows.end - row);
                    let down = c.rows.fill(row, &mut down[..height]);
                    // Where the left panels' rows begin, and how far apart their elements are.
                    let (starts, left_distance) = match left_distance {
                        Some(distance) => (a.rows.fill(row, &mut starts[..height]), distance),
                        None => {
                            pack::<T, K, R>((a.start, a.rows), row..row + height, left_depths, packed_left);
                            (&[][..], R as isize)
                        }
                    };
                    let left_start = a.start.wrapping_offset(*left_depths.first().unwrap_or(&0));
                    counted!(j in 0..width, C => {
                        let mut across = [MaybeUninit::uninit(); C];
                        let across = c.columns.fill(column + j, &mut across[..C.min(width - j)]);
                        let is_whole = across.len() == C && are_next(across);
                        let pieces = LinePieces::<C>::new(if is_whole { &[] } else { across });
                        let first = c.start.wrapping_offset(if is_whole { across[0] } else { 0 });
                        let right = match right_distance {
                            Some(distance) if j < direct => {
                                let first = right_depths.first().unwrap_or(&0);
                                (b.start.wrapping_offset(first + b.columns.at(column + j)).cast_const(), distance)
                            }
                            _ => (packed_right.wrapping_add(j * count).cast_const(), C as isize),
                        };
                        counted!(i in 0..height, R => {
                            let panel = packed_left.wrapping_add(i * count).cast_const();
                            let mut left = [panel; R];
                            counted!(line in 0..R => {
                                left[line] = match starts {
                                    [] => panel.wrapping_add(line),
                                    starts => left_start.wrapping_offset(starts[(i + line).min(height - 1)]).cast_const(),
                                };
                            });
                            let count_rows = R.min(height - i);
                            let sums = sums.as_mut_ptr().cast::<T>();
                            let mut result = [first; R];
                            match <&[isize; R]>::try_from(&down[i..i + count_rows]) {
                                Ok(down) if is_whole => {
                                    counted!(line in 0..R => { result[line] = first.wrapping_offset(down[line]) });
                                }
                                _ => counted!(line in 0..R => {
                                    result[line] = match down.get(i + line) {
                                        Some(&place) if is_whole => first.wrapping_offset(place),
                                        _ => sums.wrapping_add(line * C),
                                    };
                                }),
                            }
                            let own = if is_whole { update } else { Update::Set };
                            K::run(count, (left, left_distance), right, result, own);
                            if is_whole {
                                continue;
                            }
                            counted!(line in 0..count_rows => {
                                let (row, sums) = (first.wrapping_offset(down[i + line]), sums.wrapping_add(line * C));
                                let together = |place, at| {
                                    let (to, sums) = (row.wrapping_offset(place), sums.wrapping_add(at));
                                    counted!(at in 0..PIECE => {
                                        put(to.wrapping_add(at), load(sums.wrapping_add(at)), update);
                                    });
                                };
                                let alone =
                                    |place, at| put(row.wrapping_offset(place), load(sums.wrapping_add(at)), update);
                                pieces.each(together, alone);
                            });
                        });
                    });
                });
            }
        });
    });
}

#[inline(always)]
pub(super) unsafe fn put<T: GemmElement>(place: *mut T, sum: T, update: Update) {
    // SAFETY: the caller promises an element there.
    unsafe {
        let sum = match update {
            Update::Set => sum,
            Update::Add => load(place).plus(sum),
            Update::Subtract => load(place).plus(sum.times(minus_one())),
        };
        store(place, sum);
    };
}

#[inline(always)]
pub(super) fn minus_one<T: GemmElement>() -> T {
    T::from_i32(-1)
}

/// Packs lines, rows or columns, into panels of `W` of them: at each depth the elements of all lines in turn. Missing lines are
/// zeros.
#[inline(always)]
unsafe fn pack<T: GemmElement, K: Interleave<T, W>, const W: usize>(
    (start, lines): (*mut T, Places<'_>),
    part: Range<usize>,
    depths: &[isize],
    to: *mut T,
) {
    let mut first = part.start;
    let mut panel = to;
    while first < part.end {
        let mut places = [MaybeUninit::uninit(); W];
        let places = lines.fill(first, &mut places[..W.min(part.end - first)]);
        // SAFETY: as the caller's.
        unsafe {
            match distance(places).filter(|_| places.len() == W) {
                Some(1) => {
                    counted!(p in 0..depths.len() => {
                        let from = start.wrapping_offset(depths[p].wrapping_add(places[0]));
                        store(panel.wrapping_add(p.wrapping_mul(W)).cast(), load(from.cast::<[T; W]>()));
                    });
                }
                Some(between) => {
                    let first = start.wrapping_offset(depths.first().unwrap_or(&0).wrapping_add(places[0]));
                    let interleaved = match distance(depths) {
                        Some(1) => K::interleave((first, between), depths.len(), panel),
                        _ => 0,
                    };
                    counted!(p in interleaved..depths.len() => {
                        let from = start.wrapping_offset(depths[p].wrapping_add(places[0]));
                        let to = panel.wrapping_add(p.wrapping_mul(W));
                        counted!(i in 0..W => {
                            let from = from.wrapping_offset((i as isize).wrapping_mul(between));
                            store(to.wrapping_add(i), load(from));
                        });
                    });
                }
                None => {
                    let pieces = LinePieces::<W>::new(places);
                    let is_whole = places.len() == W;
                    counted!(p in 0..depths.len() => {
                        let (from, to) = (start.wrapping_offset(depths[p]), panel.wrapping_add(p.wrapping_mul(W)));
                        if !is_whole {
                            store(to.cast(), [T::ZERO; W]);
                        }
                        let together = |place, line| {
                            let (from, to) = (from.wrapping_offset(place), to.wrapping_add(line));
                            store(to.cast(), load(from.cast::<[T; PIECE]>()));
                        };
                        let alone =
                            |place, line| store(to.wrapping_add(line), load(from.wrapping_offset(place).cast_const()));
                        pieces.each(together, alone);
                    });
                }
            }
        }
        panel = panel.wrapping_add(W * depths.len());
        first += W;
    }
}

/// Elements that are copied at once, where they are next to each other.
const PIECE: usize = 4;

/// Where the elements of up to `W` lines are in memory, and which lines they are: of some next to each other, and of the
/// rest.
struct LinePieces<const W: usize> {
    together: [MaybeUninit<(isize, usize)>; W],
    alone: [MaybeUninit<(isize, usize)>; W],
    /// How many there are of either.
    counts: [usize; 2],
}

impl<const W: usize> LinePieces<W> {
    #[inline(always)]
    fn new(places: &[isize]) -> LinePieces<W> {
        let [together, alone] = [[const { MaybeUninit::uninit() }; W]; 2];
        let mut pieces = LinePieces { together, alone, counts: [0; 2] };
        let mut at = 0;
        while at < places.len() {
            if places.len() - at >= PIECE && are_next(&places[at..at + PIECE]) {
                pieces.together[pieces.counts[0]].write((places[at], at));
                pieces.counts[0] += 1;
                at += PIECE;
            } else {
                pieces.alone[pieces.counts[1]].write((places[at], at));
                pieces.counts[1] += 1;
                at += 1;
            }
        }
        pieces
    }

    /// Calls functions with the place in memory and the line of each piece, and of each line alone.
    #[inline(always)]
    fn each(&self, mut together: impl FnMut(isize, usize), mut alone: impl FnMut(isize, usize)) {
        counted!(at in 0..self.counts[0] => {
            // SAFETY: so many have been written.
            let (place, line) = unsafe { self.together[at].assume_init() };
            together(place, line);
        });
        counted!(at in 0..self.counts[1] => {
            // SAFETY: as above.
            let (place, line) = unsafe { self.alone[at].assume_init() };
            alone(place, line);
        });
    }
}

#[cfg(test)]
mod tests;
