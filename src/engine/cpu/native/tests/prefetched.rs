//! Lines of memory that nests bring into the cache as they go.

use super::*;
use crate::engine::cpu::prefetch::Prefetch;
use std::collections::HashSet;

const LINE: usize = 64;

/// Runs the orders of a nest's loops, and returns the offsets of the lines that each brings into the cache from the first buffer
/// on: as the reference has it, for machine code shows in nothing but its results which lines it asked for.
fn lines(nest: &Nest, buffers: &[Vec<u8>], prefetch: Prefetch) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
        let arena = CodeArena::new(isa).expect("there are instructions");
        let prefetched = [prefetch];
        let orders = OrderedNest::all(&arena, nest, &prefetched, false).expect("there are orders");
        let plain = OrderedNest::all(&arena, nest, &[], false).expect("there are orders");
        let whole = NestSplit::whole;
        let written =
            |code: &OrderedNest| Some((code.written(&arena, whole(), &[])?, code.expanded(&whole(), true, &[])?));
        let codes: Vec<_> = orders.iter().filter_map(written).collect();
        let plain: Vec<_> = plain.iter().filter_map(written).collect();
        assert!(arena.seal() && !codes.is_empty() && codes.len() == plain.len());
        for ((code, expanded), (plain, _)) in codes.iter().zip(&plain) {
            assert_eq!(execute(code, buffers, Side::End), execute(plain, buffers, Side::End));
            let fenced: Vec<Fenced> = buffers.iter().map(|contents| Fenced::new(contents, Side::End)).collect();
            let (mut pointers, mut scratch) = (vec![std::ptr::null_mut(); code.slots.len()], Scratch::default());
            scratch.reserve(code);
            code.begin(&mut pointers, &mut scratch, |id| fenced[id as usize].at);
            // SAFETY: the buffers are those of the nest.
            let lines = unsafe { reference::run(expanded, &pointers[..expanded.bases.len()], 0, code.outer_extent()) };
            assert!(lines.iter().all(|&(_, writes)| writes == prefetch.writes));
            all.push(lines.into_iter().map(|(at, _)| at as usize - fenced[0].at as usize).collect());
        }
    }
    all
}

/// A nest of a row-major array of so many rows and columns: elements and exponentials, sums of rows, or sums of columns.
fn nests(rows: usize, columns: usize) -> Vec<(Nest, Vec<Vec<u8>>)> {
    let ty = Type::new(DType::F64, &[rows, columns]);
    let sums = |axis| move |graph: &mut Graph| vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![axis]), &[0])];
    let bodies = [
        body(std::slice::from_ref(&ty), |graph| vec![one(graph, Unary::Exp, 0)]),
        body(std::slice::from_ref(&ty), sums(1)),
        body(std::slice::from_ref(&ty), sums(0)),
    ];
    let nest = |body: &Body| {
        let procedure = lower(body);
        let [Step::Nest(nest)] = &procedure.steps[..] else { panic!("not one nest: {procedure}") };
        let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
        let mut buffers = begun(&procedure, &[Random(rows as u64).plain(&ty)]);
        fill(nest, &types, &mut buffers);
        (nest.clone(), buffers)
    };
    bodies.iter().map(nest).collect()
}

#[test]
fn all_lines_are_brought_into_the_cache_and_few_of_them_again() {
    for (rows, columns) in [(1, 1000), (7, 300), (64, 13), (216, 100), (1000, 3)] {
        for (at, (nest, buffers)) in nests(rows, columns).into_iter().enumerate() {
            let own = 8 * rows * columns;
            for bytes in [300, own, 100_000] {
                for (offset, writes) in [(own, false), (1 << 20, true)] {
                    let told = format!("{bytes} bytes by {rows} rows of {columns}");
                    let all = lines(&nest, &buffers, Prefetch { buffer: 0, offset, bytes, writes });
                    // As many bytes as are read are neither too many nor too few for a step that reads some registers.
                    assert!(all.iter().any(|lines| !lines.is_empty()) || bytes != own || at > 0, "{told}");
                    for lines in all {
                        let found: HashSet<usize> = lines.iter().map(|line| line / LINE).collect();
                        // The last line of a step may begin before its last byte does.
                        let missing = (offset..offset + bytes).step_by(LINE).filter(|at| !found.contains(&(at / LINE)));
                        assert!(lines.is_empty() || missing.count() <= 1, "{told}: {lines:?}");
                        assert!(lines.len() <= 5 * bytes.div_ceil(LINE) + 4, "{told}: {}", lines.len());
                    }
                }
            }
        }
    }
}
