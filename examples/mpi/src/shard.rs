//! Which rows of the data a rank has.

use std::ops::Range;

/// The rows of a rank, in parts. All parts of all ranks have arrays of the same shape: one program serves them all. A part of
/// fewer rows than another one is filled up with rows of weight 0.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    pub rank: usize,
    pub ranks: usize,
    /// The number of parts that a rank computes one after the other.
    pub parts: usize,
    /// The number of rows of all ranks together.
    pub rows: usize,
}

impl Shard {
    /// The shard of a rank, in as few parts of at most so many rows as there can be.
    pub fn new(rank: usize, ranks: usize, rows: usize, most: usize) -> Shard {
        Shard { rank, ranks, parts: rows.div_ceil(ranks).div_ceil(most), rows }
    }

    /// The rows of each part, in their order: neighbours, so that those of all ranks are all rows.
    pub fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let Shard { rank, ranks, parts, rows } = *self;
        let start = move |part: usize| (part as u128 * rows as u128 / (ranks * parts) as u128) as usize;
        (rank * parts..(rank + 1) * parts).map(move |part| start(part)..start(part + 1))
    }

    /// The number of rows of a part's arrays.
    pub fn height(&self) -> usize {
        self.rows.div_ceil(self.ranks * self.parts)
    }

    /// The weights of a part's rows: 1, and 0 for those that fill it up.
    pub fn weights(&self, part: &Range<usize>) -> Vec<f64> {
        (0..self.height()).map(|row| f64::from(row < part.len())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_all_ranks_are_all_rows() {
        for (ranks, most, rows) in [(1, 7, 7), (2, 4, 7), (3, 9, 100), (5, 1, 3), (7, 10_000, 2_500_000)] {
            let (mut next, mut weight) = (0, 0.0);
            for rank in 0..ranks {
                let shard = Shard::new(rank, ranks, rows, most);
                assert!(shard.height() <= most);
                for part in shard.parts() {
                    assert_eq!(part.start, next);
                    assert!(part.len() <= shard.height() && part.len() + 1 >= shard.height());
                    weight += shard.weights(&part).iter().sum::<f64>();
                    next = part.end;
                }
            }
            assert_eq!((next, weight), (rows, rows as f64));
        }
    }
}
