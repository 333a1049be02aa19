//! The machine that kernels of matrices run on: its vectors, its products and its threads.

use super::Kernel;
use crate::array::matrix::{Cut, Elements, Machine, MatrixElement, Update, Vector};
use crate::engine::arrays::CacheLine;
use crate::engine::cpu::gemm::{self, GemmElement, Packing};
use crate::engine::cpu::places::{MatrixPlaces, Places};
use crate::engine::cpu::threads::{Helpers, SharedPointers};
#[cfg(target_arch = "x86_64")]
use crate::engine::cpu::vector::lanes::{Half32, Half64, Wide32, Wide64};
use crate::engine::cpu::vector::{Instructions, USES_REGISTERS};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};
use std::marker::PhantomData;

/// Multiplications that are worth a part.
const WORK: usize = 1 << 18;
/// The most parts for each thread: of products, and of other work, which packs more often in smaller parts.
const TILES: usize = 4;
const PARTS: usize = 2;
/// Rows and columns of a part are a multiple of this number, which suits products; but those of the last part, which are no fewer. A
/// single column may be computed in another way than one of several.
const LINES: usize = 32;

/// Vectors, and the instructions that they are made of.
pub(in crate::engine::cpu) trait Registers<T>: Vector<T> {
    /// Runs code compiled for the instructions.
    ///
    /// # Safety
    ///
    /// The machine has them.
    unsafe fn run(part: impl FnOnce());
}

impl<T: MatrixElement> Registers<T> for Elements<T> {
    #[inline(always)]
    unsafe fn run(part: impl FnOnce()) {
        part();
    }
}

/// Floats with registers of 64 and of 32 bytes.
pub(in crate::engine::cpu) trait RegisterElement: MatrixElement + GemmElement {
    type Wide: Registers<Self>;
    type Half: Registers<Self>;
}

macro_rules! registers {
    ($($t:ident: $wide:ident, $half:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        impl Registers<$t> for $wide {
            #[inline(always)]
            unsafe fn run(part: impl FnOnce()) {
                // SAFETY: as the caller's.
                unsafe { with_avx512(part) }
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl Registers<$t> for $half {
            #[inline(always)]
            unsafe fn run(part: impl FnOnce()) {
                // SAFETY: as the caller's.
                unsafe { with_avx2(part) }
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl RegisterElement for $t {
            type Wide = $wide;
            type Half = $half;
        }
    )*};
}

registers! {
    f64: Wide64, Half64;
    f32: Wide32, Half32;
}

#[cfg(not(target_arch = "x86_64"))]
impl<T: MatrixElement + GemmElement> RegisterElement for T {
    type Wide = Elements<T>;
    type Half = Elements<T>;
}

/// The machine that the engine was made for, with vectors of this type, memory to pack the operands of products, and threads to share
/// work with.
pub(super) struct Own<'a, V> {
    isa: Instructions,
    packing: &'a mut [CacheLine],
    helpers: Option<Helpers<'a>>,
    vector: PhantomData<V>,
}

impl<'a, V> Own<'a, V> {
    /// # Safety
    ///
    /// The machine has the instructions, and those of the vectors.
    pub(super) unsafe fn new(
        isa: Instructions,
        packing: &'a mut [CacheLine],
        helpers: Option<Helpers<'a>>,
    ) -> Own<'a, V> {
        Own { isa, packing, helpers, vector: PhantomData }
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

impl<T: MatrixElement + GemmElement, V: Registers<T>> Machine<T> for Own<'_, V> {
    type Vector = V;
    type Part<'p> = Own<'p, V>;

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

    fn run(&self, part: impl FnOnce()) {
        // SAFETY: whoever made this knows that the machine has the instructions.
        unsafe { V::run(part) }
    }

    fn in_parts(
        &mut self,
        cut: Cut,
        work: usize,
        mut out: ArrayViewMut2<T>,
        part: impl Fn(&mut Own<'_, V>, usize, ArrayViewMut2<T>) + Sync,
    ) {
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

/// Runs an operation on some matrices.
///
/// # Safety
///
/// The machine has the instructions.
pub(super) unsafe fn run<T: RegisterElement>(
    machine @ (isa, ..): (Instructions, &mut [CacheLine], Option<Helpers<'_>>),
    work: (&Kernel, usize, &[&[T]]),
    out: &mut [T],
    scratch: &mut [T],
) {
    // SAFETY: as the caller's.
    unsafe {
        match isa {
            Instructions::Avx512 if USES_REGISTERS => on::<T, T::Wide>(machine, work, out, scratch),
            Instructions::Avx2 if USES_REGISTERS => on::<T, T::Half>(machine, work, out, scratch),
            _ => on::<T, Elements<T>>(machine, work, out, scratch),
        }
    }
}

/// As [`run`], with vectors of a type.
///
/// # Safety
///
/// The machine has their instructions too.
#[inline(always)]
pub(in crate::engine::cpu) unsafe fn on<T: RegisterElement, V: Registers<T>>(
    (isa, packing, helpers): (Instructions, &mut [CacheLine], Option<Helpers<'_>>),
    (kernel, count, operands): (&Kernel, usize, &[&[T]]),
    out: &mut [T],
    scratch: &mut [T],
) {
    // SAFETY: as the caller's.
    unsafe {
        V::run(
            #[inline(always)]
            || kernel.run(&mut Own::<V>::new(isa, packing, helpers), count, operands, out, scratch),
        );
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
