//! The machine that kernels of matrices run on: its vectors, its products and its threads.

use crate::array::matrix::{AnyMachine, Cut, Machine, MatrixElement, OnPart, Part, Update};
#[cfg(target_arch = "x86_64")]
use crate::array::matrix::{Target, Vector};
use crate::engine::arrays::CacheLine;
use crate::engine::cpu::gemm::{self, GemmElement, Packing};
use crate::engine::cpu::places::{MatrixPlaces, Places};
use crate::engine::cpu::threads::{Helpers, SharedPointers};
use crate::engine::cpu::vector::Instructions;
#[cfg(target_arch = "x86_64")]
use crate::engine::cpu::vector::{
    USES_REGISTERS,
    lanes::{Half32, Half64, Wide32, Wide64},
};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};

/// Multiplications that are worth a part.
const WORK: usize = 1 << 18;
/// The most parts for each thread: of products, and of other work, which packs more often in smaller parts.
const TILES: usize = 4;
const PARTS: usize = 2;
/// Rows and columns of a part are a multiple of this number, which suits products; but those of the last part, which are no fewer. A
/// single column may be computed in another way than one of several.
const LINES: usize = 32;

/// Floats with registers of 64 and of 32 bytes.
#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu) trait RegisterElement: MatrixElement + GemmElement {
    type Wide: Vector<Self>;
    type Half: Vector<Self>;
}

#[cfg(target_arch = "x86_64")]
impl RegisterElement for f64 {
    type Wide = Wide64;
    type Half = Half64;
}

#[cfg(target_arch = "x86_64")]
impl RegisterElement for f32 {
    type Wide = Wide32;
    type Half = Half32;
}

#[cfg(not(target_arch = "x86_64"))]
pub(in crate::engine::cpu) trait RegisterElement: MatrixElement + GemmElement {}

#[cfg(not(target_arch = "x86_64"))]
impl<T: MatrixElement + GemmElement> RegisterElement for T {}

/// Instructions that a machine has, which whoever makes these knows.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx512;
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl<T: RegisterElement> Target<T> for Avx512 {
    type Vector = T::Wide;

    #[inline(always)]
    fn run(self, part: impl FnOnce()) {
        // SAFETY: the machine has the instructions.
        unsafe { with_avx512(part) }
    }
}

#[cfg(target_arch = "x86_64")]
impl<T: RegisterElement> Target<T> for Avx2 {
    type Vector = T::Half;

    #[inline(always)]
    fn run(self, part: impl FnOnce()) {
        // SAFETY: the machine has the instructions.
        unsafe { with_avx2(part) }
    }
}

/// The machine that the engine was made for, with memory to pack the operands of products, and threads to share work with.
pub(super) struct Own<'a> {
    isa: Instructions,
    packing: &'a mut [CacheLine],
    helpers: Option<Helpers<'a>>,
}

impl<'a> Own<'a> {
    /// # Safety
    ///
    /// The machine has the instructions.
    pub(super) unsafe fn new(isa: Instructions, packing: &'a mut [CacheLine], helpers: Option<Helpers<'a>>) -> Own<'a> {
        Own { isa, packing, helpers }
    }

    /// Into how many parts so many multiplications are cut at most, given the most for each thread.
    fn parts(&self, work: usize, most: usize) -> usize {
        self.helpers.map_or(1, |helpers| (work / WORK).min(most * helpers.count()).max(1))
    }

    /// Into how many parts the rows, and the columns, of a product of these sizes are cut.
    pub(super) fn tiles(&self, [m, k, n]: [usize; 3]) -> [usize; 2] {
        let most = self.parts(m.saturating_mul(k).saturating_mul(n), TILES);
        let mut parts = [1, 1];
        loop {
            let edges = [m / parts[0], n / parts[1]];
            let longer = usize::from(edges[1] > edges[0]);
            if 2 * parts[0] * parts[1] > most || edges[longer] < 2 * LINES {
                return parts;
            }
            parts[longer] *= 2;
        }
    }
}

/// Where one of some parts of so many rows or columns begins.
fn bound(cut: Cut, lines: usize, part: usize, parts: usize) -> usize {
    let units = lines / LINES;
    match cut {
        _ if part == parts => lines,
        // Of rows that become longer: parts with as many elements.
        Cut::TriangleRows => ((part as f64 / parts as f64).sqrt() * units as f64) as usize * LINES,
        Cut::Rows | Cut::Columns => units * part / parts * LINES,
    }
}

/// A part of the rows or columns of a matrix, given its first element and how far apart elements are.
///
/// # Safety
///
/// The matrix has these elements, and nothing else uses them meanwhile.
unsafe fn part_of<'p, T>(start: *mut T, shape: [usize; 2], strides: [isize; 2]) -> ArrayViewMut2<'p, T> {
    // Views are made of distances forwards.
    let back = |axis: usize| if strides[axis] < 0 { (shape[axis] as isize - 1) * strides[axis] } else { 0 };
    let lowest = start.wrapping_offset(back(0) + back(1));
    let shape = (shape[0], shape[1]).strides((strides[0].unsigned_abs(), strides[1].unsigned_abs()));
    // SAFETY: as the caller's.
    let mut view = unsafe { ArrayViewMut2::from_shape_ptr(shape, lowest) };
    (0..2).filter(|&axis| strides[axis] < 0).for_each(|axis| view.invert_axis(Axis(axis)));
    view
}

impl<T: RegisterElement> Machine<T> for Own<'_> {
    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, mut c: ArrayViewMut2<T>) {
        let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
        assert!(b.nrows() == k && c.dim() == (m, n), "matrices fit");
        let lines = gemm::packing_lines([m, k, n], size_of::<T>());
        let (pointers, isa) =
            ([a.as_ptr().cast_mut(), b.as_ptr().cast_mut(), c.as_mut_ptr()].map(<*mut T>::cast), self.isa);
        let (shared, tiles) = (SharedPointers(&pointers), self.tiles([m, k, n]));
        let layouts = [(a.shape(), a.strides()), (b.shape(), b.strides()), (c.shape(), c.strides())];
        let run = |tile: usize, packing: &mut [CacheLine]| {
            assert!(lines <= packing.len(), "packing has room");
            let part = |axis: usize, number: usize| {
                let bound = |number: usize| bound(Cut::Rows, [m, n][axis], number, tiles[axis]);
                bound(number)..bound(number + 1)
            };
            let part = [part(0, tile / tiles[1]), part(1, tile % tiles[1])];
            let operands = [0, 1, 2].map(|which| {
                let (shape, strides) = layouts[which];
                let [rows, columns] = [0, 1].map(|axis| Places {
                    extents: std::slice::from_ref(&shape[axis]),
                    strides: std::slice::from_ref(&strides[axis]),
                });
                MatrixPlaces { start: shared.pointers()[which].cast(), rows, columns }
            });
            // SAFETY: views have elements at all of their positions, and one that is written to overlaps no other; tiles do not
            // overlap. The packing memory is large enough, and the machine has the instructions.
            unsafe { T::multiply(isa, part, k, operands, update, Packing { parts: packing, kept: None }) };
        };
        match self.helpers {
            Some(helpers) if tiles != [1, 1] => {
                helpers.each(tiles[0] * tiles[1], |tile, _, own| run(tile, &mut own.packing));
            }
            _ => run(0, self.packing),
        }
    }

    fn run(&self, part: Part<T>) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 if USES_REGISTERS => part.run_by(Avx512),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 if USES_REGISTERS => part.run_by(Avx2),
            _ => part.run_by(AnyMachine),
        }
    }

    fn in_parts(&mut self, cut: Cut, work: usize, mut out: ArrayViewMut2<T>, part: &OnPart<T>) {
        let axis = usize::from(cut == Cut::Columns);
        let lines = out.len_of(Axis(axis));
        let parts = self.parts(work, PARTS).min(lines / LINES);
        let Some(helpers) = self.helpers.filter(|_| parts > 1) else {
            return part(&mut Own { packing: self.packing, ..*self }, 0, out);
        };
        let (isa, pointer) = (self.isa, [out.as_mut_ptr().cast()]);
        let (shared, shape) = (SharedPointers(&pointer), [out.nrows(), out.ncols()]);
        let strides = [out.strides()[0], out.strides()[1]];
        helpers.each(parts, |number, _, own| {
            let [start, end] = [number, number + 1].map(|number| bound(cut, lines, number, parts));
            if start == end {
                return;
            }
            let mut shape = shape;
            shape[axis] = end - start;
            let first = shared.pointers()[0].cast::<T>().wrapping_offset(start as isize * strides[axis]);
            // SAFETY: parts do not overlap, and the view of the whole is borrowed until all are done. The machine has the
            // instructions that this one has.
            let (own_part, mut own) =
                unsafe { (part_of(first, shape, strides), Own::new(isa, &mut own.packing, None)) };
            part(&mut own, start, own_part);
        });
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2(part: impl FnOnce()) {
    part();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn with_avx512(part: impl FnOnce()) {
    part();
}
