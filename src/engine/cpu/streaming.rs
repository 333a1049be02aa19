//! Arrays that are written past the cache.
//!
//! Before a processor writes to a line of memory it reads the line, unless instructions say that they write all of it and that it need
//! not stay in the cache. Results of a program that are larger than a share of the last cache, and that no step of it reads, are
//! written so: a function of each element of a long array takes two thirds of the time.

use super::axis::Axis;
use super::code::advance;
use super::memory::BufferLocation;
use super::native::MachineCode;
use crate::kernel::{BufferId, Procedure};
use std::collections::HashSet;

/// Smaller arrays may still be in the cache when the caller reads them.
const LEAST: usize = 32 << 20;

/// The buffers of a procedure that are written past the cache, given where they are.
pub(super) fn streamed(procedure: &Procedure, places: &[BufferLocation]) -> Vec<BufferId> {
    let is_large = |id: &BufferId| procedure.buffers[*id as usize].ty.bytes().is_none_or(|bytes| bytes >= LEAST);
    let large: Vec<BufferId> = (0..procedure.buffers.len() as BufferId).filter(is_large).collect();
    if large.is_empty() {
        return large;
    }
    let read: HashSet<BufferLocation> =
        procedure.steps.iter().flat_map(|step| step.touched().0).map(|id| places[id as usize]).collect();
    large.into_iter().filter(|&id| !read.contains(&places[id as usize])).collect()
}

/// Machine code for a nest of one loop that writes past the cache. It begins where what it writes is aligned.
#[derive(Clone, Debug)]
pub(super) struct StreamingCode {
    pub(super) code: MachineCode,
    /// The numbers of the pointers to what it writes, and offsets in bytes.
    pub(super) stores: Vec<(usize, isize)>,
    /// The bytes of an element, and of a register.
    pub(super) element: usize,
    pub(super) register: usize,
}

impl StreamingCode {
    /// After how many elements all that it writes is aligned, if there are such.
    fn head(&self, pointers: &[*mut u8]) -> Option<usize> {
        let missing = |&(pointer, offset): &(usize, isize)| {
            pointers[pointer].wrapping_offset(offset).addr().wrapping_neg() % self.register
        };
        let bytes = missing(self.stores.first()?);
        let is_common = self.stores.iter().all(|store| missing(store) == bytes);
        (is_common && bytes.is_multiple_of(self.element)).then_some(bytes / self.element)
    }

    /// Runs so many steps from one on, the first of them by code without such writes; `false` where nothing can be aligned.
    ///
    /// # Safety
    ///
    /// As [`MachineCode::run`], for both.
    pub(super) unsafe fn run(
        &self,
        plain: &MachineCode,
        axis: &Axis,
        pointers: &mut [*mut u8],
        (first, steps): (usize, usize),
    ) -> bool {
        let Some(head) = self.head(pointers).filter(|&head| head < steps) else { return false };
        // SAFETY: as the caller's; the pointers are those of the step that each begins with.
        unsafe {
            if head > 0 {
                plain.run(pointers.as_ptr(), first, head);
            }
            advance(pointers, &axis.moves, head as isize);
            self.code.run(pointers.as_ptr(), first + head, steps - head);
            advance(pointers, &axis.moves, -(head as isize));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::compiled::{CompiledStep, Machine};
    use super::super::{Cpu, Program};
    use super::*;
    use crate::array::ElementType;
    use crate::prelude::*;
    use crate::term::Body;

    /// How many nests of a machine have code, and how many have code that streams.
    fn codes(machine: &Machine) -> [usize; 2] {
        let nests = || {
            machine.steps.iter().filter_map(|step| match step {
                CompiledStep::Nest { code, .. } => Some(code),
                _ => None,
            })
        };
        [
            nests().filter(|code| code.machine_code.is_some()).count(),
            nests().filter(|code| code.streaming.is_some()).count(),
        ]
    }

    /// Runs a program of two results at places that are so many elements after a line, and compares them with functions of the
    /// argument. Elements beside them must stay.
    fn check<T: ElementType>(program: &Body, streams: usize, x: &[T], results: [fn(T) -> T; 2]) {
        let edge = T::from_i64(-1);
        let lines = 64 / size_of::<T>();
        let mut room = [(); 2].map(|()| vec![edge; x.len() + 4 * lines]);
        for threads in [1, 2] {
            let program = Program::new(program, &Cpu::default().threads(threads)).unwrap();
            let [code, streaming] = codes(&program.machine);
            assert_eq!(streaming, if code > 0 { streams } else { 0 });
            for after in [[0, 0], [1, 1], [lines - 1, lines - 1], [2, 3]] {
                let mut parts = Vec::new();
                for (room, after) in room.iter_mut().zip(after) {
                    room.fill(edge);
                    let first = room.as_ptr().align_offset(64) + lines + after;
                    parts.push(&mut room[first - 1..first + x.len() + 1]);
                }
                let mut run = program.begin();
                run.argument_slice(x);
                parts.iter_mut().for_each(|part| run.result_slice(&mut part[1..=x.len()]));
                run.finish().unwrap();
                for (part, function) in parts.iter().zip(results) {
                    let wrong = x.iter().zip(&part[1..]).position(|(&x, &y)| function(x) != y);
                    assert_eq!(wrong, None, "{after:?} elements after a line");
                    assert!(part[0] == edge && part[x.len() + 1] == edge, "{after:?} elements after a line");
                }
            }
        }
    }

    #[test]
    fn long_arrays_are_written_past_the_cache_wherever_they_are() {
        let count = LEAST / 8 + 13;
        let x: Vec<f64> = (0..count).map(|k| k as f64).collect();
        let of = stage(|x: &Vector<_, f64>| (x * 2.0 + 1.0, x * x), &zeros(count)).unwrap();
        check(of.program(), 1, &x, [|x| 2.0 * x + 1.0, |x| x * x]);
        let count = LEAST / 4 + 13;
        let x: Vec<f32> = (0..count).map(|k| (k % 1000) as f32).collect();
        let of = stage(|x: &Vector<_, f32>| (x * 2.0 + 1.0, x * x), &zeros(count)).unwrap();
        check(of.program(), 1, &x, [|x| 2.0 * x + 1.0, |x| x * x]);
    }

    #[test]
    fn parts_of_one_array_that_are_written_by_one_loop_need_not_be_aligned_alike() {
        let of = |x: &Vector<_, f32>| concatenate(0, &[x * 2.0 + 1.0, x * x]);
        let count = LEAST / 8;
        for count in count..count + 18 {
            let x: Vec<f32> = (0..count).map(|k| (k % 1000) as f32).collect();
            let program = stage(of, &zeros(count)).unwrap();
            let expected = x.iter().map(|x| x * 2.0 + 1.0).chain(x.iter().map(|x| x * x));
            let [code, streaming] = codes(&Program::new(program.program(), &Cpu::default()).unwrap().machine);
            assert_eq!(streaming, code, "the loop writes past the cache");
            let program = program.compile(Cpu::default()).unwrap();
            let found = program.call(&Vector::from(x.clone())).unwrap().to_vec();
            assert!(found.into_iter().eq(expected), "{count} elements");
        }
    }

    #[test]
    fn results_of_steps_of_a_loop_stay_in_the_cache() {
        let count = LEAST / 8;
        let of = |(x, y): &(Vector<_, f64>, Vector<_, f64>)| {
            fold(x.clone(), y, |x, y: Scalar<_, f64>| x.sin() + x.sum() + y)
        };
        let of = stage(of, &(zeros(count), zeros(10))).unwrap();
        let program = Program::new(of.program(), &Cpu::default()).unwrap();
        let step = program.machine.steps.iter().find_map(|step| match step {
            CompiledStep::Loop(repeated) => Some(&repeated.step),
            _ => None,
        });
        assert_eq!(codes(step.expect("a loop"))[1], 0);
    }

    #[test]
    fn arrays_that_are_short_or_read_again_stay_in_the_cache() {
        let count = LEAST / 8 - 1;
        let of = stage(|x: &Vector<_, f64>| (x * 2.0 + 1.0, x * x), &zeros(count)).unwrap();
        let short = Program::new(of.program(), &Cpu::default()).unwrap();
        assert_eq!(codes(&short.machine)[1], 0);
        let count = LEAST / 8;
        let of = |x: &Vector<_, f64>| {
            let y = x.sin();
            (y.cumsum(0), y)
        };
        let of = stage(of, &zeros(count)).unwrap();
        let read = Program::new(of.program(), &Cpu::default()).unwrap();
        assert_eq!(codes(&read.machine)[1], 0);
    }
}
