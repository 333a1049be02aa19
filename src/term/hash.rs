//! Hashing for tables of terms: their keys are the library's own, so that the protection against chosen keys, which costs as much
//! as looking them up, has no use.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::OnceLock;

/// A table of terms.
pub(crate) type TermMap<K, V> = HashMap<K, V, BuildHasherDefault<TermHasher>>;

/// Multiplies and rotates, word by word.
#[derive(Clone, Copy, Default)]
pub(crate) struct TermHasher(u64);

/// An odd number without a pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl TermHasher {
    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for TermHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last));
        }
    }
    #[inline]
    fn write_u8(&mut self, x: u8) {
        self.word(u64::from(x));
    }
    #[inline]
    fn write_u32(&mut self, x: u32) {
        self.word(u64::from(x));
    }
    #[inline]
    fn write_u64(&mut self, x: u64) {
        self.word(x);
    }
    #[inline]
    fn write_usize(&mut self, x: usize) {
        self.word(x as u64);
    }
    #[inline]
    fn finish(&self) -> u64 {
        // Tables use the lowest bits, which products do not mix.
        (self.0 ^ (self.0 >> 32)).wrapping_mul(FACTOR).rotate_left(20)
    }
}

/// Facts about a body, each computed once, so that nested bodies are looked at once, however deep. A copy starts without them,
/// since copies are made to be changed.
#[derive(Default)]
pub(crate) struct BodyFacts {
    hash: OnceLock<u64>,
    simple: OnceLock<()>,
}

impl BodyFacts {
    /// The hash, computed if it is not known.
    pub(crate) fn hash(&self, compute: impl FnOnce() -> u64) -> u64 {
        *self.hash.get_or_init(compute)
    }

    /// Whether these may be the hashes of equal terms.
    pub(crate) fn may_equal(&self, other: &BodyFacts) -> bool {
        match (self.hash.get(), other.hash.get()) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// Whether the body is the result of simplification.
    pub(crate) fn is_simple(&self) -> bool {
        self.simple.get().is_some()
    }

    /// Notes that the body is the result of simplification.
    pub(crate) fn set_simple(&self) {
        self.simple.get_or_init(|| ());
    }
}

impl Clone for BodyFacts {
    fn clone(&self) -> BodyFacts {
        BodyFacts::default()
    }
}

impl fmt::Debug for BodyFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// The hash of something that is looked up among [`PositionTable`].
#[inline]
pub(crate) fn term_hash(term: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = TermHasher::default();
    term.hash(&mut hasher);
    hasher.finish()
}

/// Positions in a list of terms that differ, by the hashes of the terms. These are in the list alone: a table of terms would
/// hold them twice, and terms are large.
#[derive(Debug, Default)]
pub(crate) struct PositionTable {
    /// Part of the hash, and the position, at the first free place from the one that the hash selects. The number of places is
    /// a power of two, and some are always free.
    places: Vec<(u32, u32)>,
    taken: usize,
}

/// The content of a free place.
const FREE: (u32, u32) = (0, u32::MAX);

impl PositionTable {
    /// No positions, with room for so many.
    pub(crate) fn with_capacity(count: usize) -> PositionTable {
        PositionTable { places: vec![FREE; PositionTable::places_for(count)], taken: 0 }
    }

    fn places_for(count: usize) -> usize {
        (count * 2).next_power_of_two().max(16)
    }

    /// The position of a term with this hash.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let last = self.places.len().checked_sub(1)?;
        let mut at = hash as usize & last;
        loop {
            match self.places[at] {
                FREE => return None,
                (other, position) if other == hash as u32 && is_it(position) => return Some(position),
                _ => at = (at + 1) & last,
            }
        }
    }

    /// Adds the position of a term that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, position: u32) {
        if (self.taken + 1) * 3 > self.places.len() * 2 {
            let wider = vec![FREE; PositionTable::places_for(self.taken + 1)];
            for place in std::mem::replace(&mut self.places, wider) {
                if place != FREE {
                    self.put(place);
                }
            }
        }
        self.put((hash as u32, position));
        self.taken += 1;
    }

    fn put(&mut self, place: (u32, u32)) {
        let last = self.places.len() - 1;
        let mut at = place.0 as usize & last;
        while self.places[at] != FREE {
            at = (at + 1) & last;
        }
        self.places[at] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_found_by_hash_and_term() {
        // Words with many equal hashes.
        let words: Vec<u64> = (0..1000).map(|word| word * 7).collect();
        let hash = |word: u64| term_hash(&(word % 10));
        let mut positions = PositionTable::default();
        for (at, &word) in words.iter().enumerate() {
            assert_eq!(positions.find(hash(word), |at| words[at as usize] == word), None);
            positions.insert(hash(word), at as u32);
        }
        for (at, &word) in words.iter().enumerate() {
            assert_eq!(positions.find(hash(word), |at| words[at as usize] == word), Some(at as u32));
        }
        assert_eq!(positions.find(hash(3), |at| words[at as usize] == 3), None);
    }
}
