//! Sets of columns: the elements of the input that an element may depend on.

use crate::shape::sort_by_rank;
use std::collections::HashMap;
use std::rc::Rc;

/// A sorted set of columns. Sets of several columns are shared by all elements that have them.
#[derive(Clone, Debug, Default)]
pub(super) enum ColumnSet {
    /// No column.
    #[default]
    None,
    /// One column.
    One(u32),
    /// Several columns, ascending.
    Many(Rc<[u32]>),
}

impl ColumnSet {
    /// The columns, ascending.
    pub(super) fn as_slice(&self) -> &[u32] {
        match self {
            ColumnSet::None => &[],
            ColumnSet::One(column) => std::slice::from_ref(column),
            ColumnSet::Many(columns) => columns,
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, ColumnSet::None)
    }

    fn from_sorted(columns: &[u32]) -> ColumnSet {
        match columns {
            [] => ColumnSet::None,
            [column] => ColumnSet::One(*column),
            _ => ColumnSet::Many(columns.into()),
        }
    }

    /// The union of two sets; where one contains the other it is that one, shared.
    pub(super) fn union(&self, other: &ColumnSet) -> ColumnSet {
        let (long, short) = match (self, other) {
            (ColumnSet::Many(a), ColumnSet::Many(b)) if Rc::ptr_eq(a, b) => return self.clone(),
            _ if self.as_slice().len() >= other.as_slice().len() => (self, other),
            _ => (other, self),
        };
        let (whole, part) = (long.as_slice(), short.as_slice());
        if part.iter().all(|column| whole.binary_search(column).is_ok()) {
            return long.clone();
        }
        let mut merged = Vec::with_capacity(whole.len() + part.len());
        let (mut i, mut j) = (0, 0);
        while i < whole.len() && j < part.len() {
            let (a, b) = (whole[i], part[j]);
            merged.push(a.min(b));
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
        merged.extend_from_slice(&whole[i..]);
        merged.extend_from_slice(&part[j..]);
        ColumnSet::from_sorted(&merged)
    }

    /// The union of many sets, made at once: a union after the other would be quadratic.
    pub(super) fn union_of<'a>(sets: impl IntoIterator<Item = &'a ColumnSet>) -> ColumnSet {
        let mut sets: Vec<&ColumnSet> = sets.into_iter().filter(|set| !set.is_empty()).collect();
        // Equal handles of one set lie beside each other then.
        sort_by_rank(&mut sets, |set| set.as_slice().as_ptr().addr() as u64);
        sets.dedup_by_key(|set| set.as_slice().as_ptr());
        match sets[..] {
            [] => return ColumnSet::None,
            [only] => return only.clone(),
            [a, b] => return a.union(b),
            _ => {}
        }
        let mut all: Vec<u32> = sets.iter().flat_map(|set| set.as_slice()).copied().collect();
        all.sort_unstable();
        all.dedup();
        match sets.iter().find(|set| set.as_slice().len() == all.len()) {
            Some(whole) => (*whole).clone(),
            None => ColumnSet::from_sorted(&all),
        }
    }
}

/// The unions of the sets of two arrays, element by element.
pub(super) fn zip_unions(a: &Rc<Vec<ColumnSet>>, b: &Rc<Vec<ColumnSet>>) -> Rc<Vec<ColumnSet>> {
    if Rc::ptr_eq(a, b) {
        return a.clone();
    }
    // Elements that share both sets share their union. The arrays keep the sets alive, and thus the addresses apart.
    let mut known: HashMap<(*const u32, *const u32), ColumnSet> = HashMap::new();
    let union = |(a, b): (&ColumnSet, &ColumnSet)| match (a, b) {
        (ColumnSet::Many(x), ColumnSet::Many(y)) if !Rc::ptr_eq(x, y) => {
            known.entry((x.as_ptr(), y.as_ptr())).or_insert_with(|| a.union(b)).clone()
        }
        _ => a.union(b),
    };
    Rc::new(a.iter().zip(b.iter()).map(union).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(columns: &[u32]) -> ColumnSet {
        ColumnSet::from_sorted(columns)
    }

    #[test]
    fn unions_are_sorted_and_share_what_contains_the_other() {
        let (a, b) = (set(&[1, 4, 9]), set(&[0, 4]));
        assert_eq!(a.union(&b).as_slice(), [0, 1, 4, 9]);
        assert_eq!(b.union(&a).as_slice(), [0, 1, 4, 9]);
        assert_eq!(set(&[]).union(&set(&[3])).as_slice(), [3]);
        assert_eq!(set(&[2]).union(&set(&[1])).as_slice(), [1, 2]);
        assert_eq!(a.union(&set(&[4])).as_slice().as_ptr(), a.as_slice().as_ptr());
        let all = ColumnSet::union_of([&a, &b, &set(&[9]), &a, &set(&[])]);
        assert_eq!(all.as_slice(), [0, 1, 4, 9]);
        assert_eq!(ColumnSet::union_of([&a, &set(&[1]), &set(&[9])]).as_slice().as_ptr(), a.as_slice().as_ptr());
        assert!(ColumnSet::union_of([]).is_empty());
    }

    #[test]
    fn elements_with_one_set_share_one_union() {
        let (a, b) = (set(&[0, 1]), set(&[1, 2]));
        let (left, right) = (Rc::new(vec![a.clone(), a.clone(), set(&[5])]), Rc::new(vec![b.clone(), b, a]));
        let unions = zip_unions(&left, &right);
        assert_eq!(unions[0].as_slice(), [0, 1, 2]);
        assert_eq!(unions[0].as_slice().as_ptr(), unions[1].as_slice().as_ptr());
        assert_eq!(unions[2].as_slice(), [0, 1, 5]);
    }
}
