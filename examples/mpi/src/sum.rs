//! Sums over all ranks, in the order of the ranks.

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// Numbers of this rank, and then their sums over all ranks.
///
/// MPI does not promise in which order an all-reduce adds. Here MPI only moves numbers, and they are added in the order of the
/// ranks: the sums have the same bits in every run with so many ranks, on whatever network. Each rank adds one segment of the
/// numbers, which it gets from all others, and sends the sums to all others: as many bytes as a ring all-reduce.
pub struct Sum {
    length: usize,
    /// The numbers, filled up to as many segments of one length as there are ranks.
    numbers: Vec<f64>,
    /// This rank's segment, of every rank.
    received: Vec<f64>,
    sums: Vec<f64>,
}

impl Sum {
    /// Room for so many numbers. It is all that is ever allocated.
    pub fn new(length: usize, ranks: usize) -> Sum {
        let segment = length.div_ceil(ranks);
        let room = vec![0.0; segment * ranks];
        Sum { length, numbers: room.clone(), received: room, sums: vec![0.0; segment] }
    }

    /// This rank's numbers, to be filled; after a sum, the sums.
    pub fn numbers(&mut self) -> &mut [f64] {
        &mut self.numbers[..self.length]
    }

    /// Makes sums of the numbers: all ranks call it.
    pub fn over(&mut self, world: &SimpleCommunicator) {
        self.over_while(world, || ());
    }

    /// As [`Sum::over`], and calls a function while the numbers are on their way.
    pub fn over_while<R>(&mut self, world: &SimpleCommunicator, meanwhile: impl FnOnce() -> R) -> R {
        let Sum { numbers, received, sums, .. } = self;
        let result = mpi::request::scope(|scope| {
            let exchange = world.immediate_all_to_all_into(scope, &numbers[..], &mut received[..]);
            let result = meanwhile();
            exchange.wait();
            result
        });
        sums.fill(0.0);
        for segment in received.chunks_exact(sums.len()) {
            sums.iter_mut().zip(segment).for_each(|(sum, number)| *sum += number);
        }
        world.all_gather_into(&sums[..], &mut numbers[..]);
        result
    }
}
