//! Colourings of sparse matrices: one derivative finds all columns, or rows, of one colour.
//!
//! All are greedy: each vertex takes the first colour that is free. Several orders are tried and the best colouring is kept
//! (Gebremedhin, Manne and Pothen, "What color is your Jacobian?", 2005).

use super::pattern::Pattern;
use crate::error::{Error, Result};
use crate::shape::sort_by_rank;
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};

/// A colour, counted from 0, for every row or column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Colouring {
    colours: Vec<usize>,
    count: usize,
}

impl Colouring {
    fn new(colours: Vec<usize>) -> Colouring {
        let count = colours.iter().max().map_or(0, |last| last + 1);
        Colouring { colours, count }
    }

    /// Colours for columns: no row has entries in two columns of one colour.
    ///
    /// The sum of the columns of one colour, which is the product with their sum of unit vectors, holds each of their entries
    /// alone.
    ///
    /// ```
    /// use deltaray::sparse::{Colouring, Pattern};
    ///
    /// let pattern = Pattern::from_rows(4, [vec![0, 1], vec![1, 2], vec![2, 3]])?;
    /// assert_eq!(Colouring::of_columns(&pattern).colours(), [0, 1, 0, 1]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn of_columns(pattern: &Pattern) -> Colouring {
        Colouring::of_rows(&pattern.transpose())
    }

    /// Colours for rows: no column has entries in two rows of one colour.
    ///
    /// ```
    /// use deltaray::sparse::{Colouring, Pattern};
    ///
    /// let pattern = Pattern::from_rows(4, [vec![0, 1], vec![1, 2], vec![2, 3]])?;
    /// assert_eq!(Colouring::of_rows(&pattern).colours(), [0, 1, 0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn of_rows(pattern: &Pattern) -> Colouring {
        let least = most_in_a_column(pattern).max(usize::from(pattern.rows() > 0));
        let natural = Colouring::new(apart(pattern, 0..pattern.rows()));
        if natural.count == least {
            return natural;
        }
        let mut order: Vec<usize> = (0..pattern.rows()).collect();
        sort_by_rank(&mut order, |&row| !(pattern.row(row).len() as u64));
        let mut best = fewest(natural, || Colouring::new(apart(pattern, order)));
        // Class by class, in any order of the classes, no more colours are needed, and perhaps fewer (Culberson, 1992).
        for round in 0..ROUNDS {
            if best.count == least {
                break;
            }
            let mut sizes = vec![0; best.count];
            best.colours.iter().for_each(|&colour| sizes[colour] += 1);
            let mut order: Vec<usize> = (0..pattern.rows()).collect();
            // Now the last classes first, now the largest.
            sort_by_rank(&mut order, |&row| best.colours[row] as u64);
            let ranks: Vec<usize> = if round % 2 == 0 { (0..best.count).collect() } else { sizes };
            sort_by_rank(&mut order, |&row| !(ranks[best.colours[row]] as u64));
            best = Colouring::new(apart(pattern, order));
        }
        best
    }

    /// Colours for the rows of a symmetric matrix, which serve for the columns too. The row and the column of an entry differ
    /// in colour, and every path of four vertices in the graph has at least three colours. Then each entry stands alone in the
    /// sum of the columns of one of its two colours (Coleman and Moré, 1984).
    ///
    /// An entry that the pattern has on only one side of the diagonal counts on both.
    ///
    /// ```
    /// use deltaray::sparse::{Colouring, Pattern};
    ///
    /// // A diagonal, and a full first row and column.
    /// let arrowhead = Pattern::from_rows(4, [vec![0, 1, 2, 3], vec![0, 1], vec![0, 2], vec![0, 3]])?;
    /// assert_eq!(Colouring::star(&arrowhead)?.colours(), [0, 1, 1, 1]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the pattern is not square.
    pub fn star(pattern: &Pattern) -> Result<Colouring> {
        let (rows, columns) = pattern.shape();
        if rows != columns {
            let problem = format!("a star colouring of a pattern of {rows} rows and {columns} columns");
            return Err(Error::Structure(problem));
        }
        let graph = &pattern.symmetric();
        let natural = Colouring::new(stars(graph, 0..rows));
        if natural.count <= 2 {
            return Ok(natural);
        }
        let mut order: Vec<usize> = (0..rows).collect();
        sort_by_rank(&mut order, |&vertex| !(graph.row(vertex).len() as u64));
        let largest_first = fewest(natural, || Colouring::new(stars(graph, order)));
        Ok(fewest(largest_first, || Colouring::new(stars(graph, smallest_last(graph)))))
    }

    /// The colour of every row or column, from 0.
    ///
    /// ```
    /// use deltaray::sparse::{Colouring, Pattern};
    ///
    /// let diagonal = Pattern::from_rows(3, [[0], [1], [2]])?;
    /// assert_eq!(Colouring::of_rows(&diagonal).colours(), [0, 0, 0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn colours(&self) -> &[usize] {
        &self.colours
    }

    /// Number of colours.
    ///
    /// ```
    /// use deltaray::sparse::{Colouring, Pattern};
    ///
    /// let pattern = Pattern::from_rows(4, [vec![0, 1], vec![1, 2], vec![2, 3]])?;
    /// assert_eq!(Colouring::of_columns(&pattern).count(), 2);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }
}

/// How often classes are put into another order.
const ROUNDS: usize = 12;

fn fewest(first: Colouring, second: impl FnOnce() -> Colouring) -> Colouring {
    let second = second();
    if second.count < first.count { second } else { first }
}

/// The most entries of a column: no colouring of the rows has fewer colours.
pub(super) fn most_in_a_column(pattern: &Pattern) -> usize {
    let mut counts = vec![0; pattern.columns()];
    pattern.column_indices().iter().for_each(|&column| counts[column] += 1);
    counts.into_iter().max().unwrap_or(0)
}

/// The most entries of a row: no colouring of the columns has fewer colours.
pub(super) fn most_in_a_row(pattern: &Pattern) -> usize {
    (0..pattern.rows()).map(|row| pattern.row(row).len()).max().unwrap_or(0)
}

/// Each row, in this order, takes the first colour that no row has that shares a column with it.
fn apart(pattern: &Pattern, order: impl IntoIterator<Item = usize>) -> Vec<usize> {
    const BITS: usize = u64::BITS as usize;
    // The colours that each column has met, as bits.
    let mut met: Vec<SmallVec<[u64; 1]>> = vec![SmallVec::new(); pattern.columns()];
    let mut colours = vec![0; pattern.rows()];
    let mut taken: Vec<u64> = Vec::new();
    for row in order {
        taken.clear();
        for &column in pattern.row(row) {
            let words = &met[column];
            if taken.len() < words.len() {
                taken.resize(words.len(), 0);
            }
            taken.iter_mut().zip(words).for_each(|(taken, word)| *taken |= word);
        }
        let free = taken.iter().position(|&word| word != u64::MAX);
        let colour = match free {
            Some(word) => word * BITS + taken[word].trailing_ones() as usize,
            None => taken.len() * BITS,
        };
        colours[row] = colour;
        for &column in pattern.row(row) {
            let words = &mut met[column];
            if words.len() <= colour / BITS {
                words.resize(colour / BITS + 1, 0);
            }
            words[colour / BITS] |= 1 << (colour % BITS);
        }
    }
    colours
}

/// Neighbours of a vertex of a symmetric pattern.
fn neighbours(graph: &Pattern, vertex: usize) -> impl Iterator<Item = usize> {
    graph.row(vertex).iter().copied().filter(move |&other| other != vertex)
}

/// The reverse of an order in which each vertex has the fewest neighbours among those that are left.
fn smallest_last(graph: &Pattern) -> Vec<usize> {
    let mut degrees: Vec<usize> = (0..graph.rows()).map(|vertex| neighbours(graph, vertex).count()).collect();
    let mut left: BTreeSet<(usize, usize)> = degrees.iter().copied().enumerate().map(|(v, d)| (d, v)).collect();
    let mut order = Vec::with_capacity(graph.rows());
    while let Some((_, vertex)) = left.pop_first() {
        order.push(vertex);
        for other in neighbours(graph, vertex) {
            if left.remove(&(degrees[other], other)) {
                degrees[other] -= 1;
                left.insert((degrees[other], other));
            }
        }
    }
    order.reverse();
    order
}

/// The neighbours that a vertex has in one colour.
enum Spokes {
    One(usize),
    Several,
}

/// Each vertex, in this order, takes the first colour that keeps the colouring a star colouring: any two colours induce stars,
/// each a hub with spokes of one colour.
fn stars(graph: &Pattern, order: impl IntoIterator<Item = usize>) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut colours = vec![NONE; graph.rows()];
    // The neighbours of a vertex by colour, and for each vertex the hubs of the stars in which it is one of several spokes.
    let mut around: HashMap<(usize, usize), Spokes> = HashMap::new();
    let mut hubs: Vec<Vec<usize>> = vec![Vec::new(); graph.rows()];
    // For each colour the last vertex that may not have it, and the last one that has a neighbour of it: which one.
    let mut forbidden: Vec<usize> = Vec::new();
    let mut seen: Vec<(usize, usize)> = Vec::new();
    for vertex in order {
        let coloured = |colours: &[usize], of: usize| -> Vec<usize> {
            neighbours(graph, of).filter(|&other| colours[other] != NONE).collect()
        };
        let near = coloured(&colours, vertex);
        for &other in &near {
            let colour = colours[other];
            forbidden[colour] = vertex;
            // The path from here over a spoke and its hub to another spoke.
            hubs[other].iter().for_each(|&hub| forbidden[colours[hub]] = vertex);
            match seen[colour] {
                // A hub would arise here: its colour may not occur beyond its spokes.
                (found, first) if found == vertex => {
                    let beyond = coloured(&colours, first).into_iter().chain(coloured(&colours, other));
                    beyond.for_each(|end| forbidden[colours[end]] = vertex);
                }
                _ => seen[colour] = (vertex, other),
            }
        }
        let own = forbidden.iter().position(|&last| last != vertex).unwrap_or(forbidden.len());
        if own == forbidden.len() {
            forbidden.push(NONE);
            seen.push((NONE, NONE));
        }
        colours[vertex] = own;
        for &other in &near {
            let mut join = |hub: usize, spoke: usize, colour: usize| match around.get_mut(&(hub, colour)) {
                None => {
                    around.insert((hub, colour), Spokes::One(spoke));
                }
                Some(Spokes::Several) => hubs[spoke].push(hub),
                Some(spokes) => {
                    if let Spokes::One(first) = std::mem::replace(spokes, Spokes::Several) {
                        hubs[first].push(hub);
                        hubs[spoke].push(hub);
                    }
                }
            };
            join(other, vertex, own);
            join(vertex, other, colours[other]);
        }
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(columns: usize, rows: impl IntoIterator<Item = Vec<usize>>) -> Pattern {
        Pattern::from_rows(columns, rows).unwrap()
    }

    /// Entries up to `width` beside the diagonal.
    fn banded(n: usize, width: usize) -> Pattern {
        pattern(n, (0..n).map(|i| (i.saturating_sub(width)..(i + width + 1).min(n)).collect()))
    }

    /// A diagonal, and a first row and column.
    fn arrowhead(n: usize) -> Pattern {
        pattern(n, (0..n).map(|i| if i == 0 { (0..n).collect() } else { vec![0, i] }))
    }

    /// The same with the full row and column in the last place.
    fn reversed_arrowhead(n: usize) -> Pattern {
        pattern(n, (0..n).map(|i| if i + 1 == n { (0..n).collect() } else { vec![i, n - 1] }))
    }

    /// A five-point stencil on a grid of n by n.
    fn grid(n: usize) -> Pattern {
        let near = |i: usize, j: usize| {
            let mut columns = vec![i * n + j];
            columns.extend((i > 0).then(|| (i - 1) * n + j));
            columns.extend((i + 1 < n).then(|| (i + 1) * n + j));
            columns.extend((j > 0).then(|| i * n + j - 1));
            columns.extend((j + 1 < n).then(|| i * n + j + 1));
            columns
        };
        pattern(n * n, (0..n * n).map(|at| near(at / n, at % n)))
    }

    /// A symmetric pattern by chance.
    fn random(n: usize, edges: usize, seed: u64) -> Pattern {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut rows: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
        for _ in 0..edges {
            let (i, j) = (next(), next());
            rows[i].push(j);
            rows[j].push(i);
        }
        pattern(n, rows)
    }

    fn is_valid_for_rows(pattern: &Pattern, colouring: &Colouring) -> bool {
        let by_column = pattern.transpose();
        (0..pattern.columns()).all(|column| {
            let mut colours: Vec<usize> = by_column.row(column).iter().map(|&row| colouring.colours()[row]).collect();
            colours.sort_unstable();
            colours.windows(2).all(|pair| pair[0] != pair[1])
        })
    }

    /// By the definition: neighbours differ, and no path of four vertices has two colours only.
    fn is_star(graph: &Pattern, colouring: &Colouring) -> bool {
        let colour = |vertex: usize| colouring.colours()[vertex];
        (0..graph.rows()).all(|a| {
            neighbours(graph, a).all(|b| {
                colour(a) != colour(b)
                    && neighbours(graph, b).filter(|&c| c != a).all(|c| {
                        neighbours(graph, c)
                            .filter(|&d| d != a && d != b)
                            .all(|d| colour(a) != colour(c) || colour(b) != colour(d))
                    })
            })
        })
    }

    #[test]
    fn columns_of_known_patterns() {
        for n in [4, 10, 200] {
            assert_eq!(Colouring::of_columns(&banded(n, 0)).count(), 1);
            assert_eq!(Colouring::of_columns(&banded(n, 1)).count(), 3);
            assert_eq!(Colouring::of_rows(&banded(n, 1)).count(), 3);
            assert_eq!(Colouring::of_columns(&arrowhead(n)).count(), n);
        }
        assert_eq!(Colouring::of_columns(&banded(200, 3)).count(), 7);
        // The best is 5; a greedy colouring comes near.
        let count = Colouring::of_columns(&grid(12)).count();
        assert!((5..=7).contains(&count), "{count}");
        // A full first row beside a diagonal: its columns all differ, its rows are two colours.
        let row = pattern(100, (0..100).map(|i| if i == 0 { (0..100).collect() } else { vec![i] }));
        assert_eq!((Colouring::of_columns(&row).count(), Colouring::of_rows(&row).count()), (100, 2));
        let column = row.transpose();
        assert_eq!((Colouring::of_columns(&column).count(), Colouring::of_rows(&column).count()), (2, 100));
    }

    #[test]
    fn empty_patterns() {
        let none = pattern(0, Vec::<Vec<usize>>::new());
        assert_eq!((Colouring::of_columns(&none).count(), Colouring::star(&none).unwrap().count()), (0, 0));
        let zero = pattern(3, vec![vec![]; 2]);
        assert_eq!(
            (Colouring::of_columns(&zero).colours(), Colouring::of_rows(&zero).colours()),
            (&[0; 3][..], &[0; 2][..])
        );
    }

    #[test]
    fn stars_of_known_patterns() {
        for n in [5, 10, 200] {
            assert_eq!(Colouring::star(&banded(n, 0)).unwrap().count(), 1);
            assert_eq!(Colouring::star(&banded(n, 1)).unwrap().count(), 3);
            assert_eq!(Colouring::star(&arrowhead(n)).unwrap().count(), 2);
            assert_eq!(Colouring::star(&reversed_arrowhead(n)).unwrap().count(), 2);
        }
        assert_eq!(Colouring::star(&banded(200, 3)).unwrap().count(), 7);
        assert_eq!(Colouring::star(&pattern(5, vec![(0..5).collect::<Vec<_>>(); 5])).unwrap().count(), 5);
        assert!(Colouring::star(&pattern(2, [vec![0]])).is_err());
    }

    #[test]
    fn colourings_of_random_patterns_are_valid() {
        for seed in 0..60 {
            let n = 5 + seed as usize % 30;
            let graph = random(n, 2 * n + seed as usize, seed);
            let star = Colouring::star(&graph).unwrap();
            assert!(is_star(&graph, &star), "seed {seed}\n{graph}{star:?}");
            assert!(is_valid_for_rows(&graph, &Colouring::of_rows(&graph)), "seed {seed}");
            assert!(is_valid_for_rows(&graph.transpose(), &Colouring::of_columns(&graph)), "seed {seed}");
            for order in [(0..n).rev().collect(), smallest_last(&graph)] {
                assert!(is_star(&graph, &Colouring::new(stars(&graph, order))), "seed {seed}");
            }
        }
        assert!(is_star(&grid(9), &Colouring::star(&grid(9)).unwrap()));
    }

    #[test]
    fn star_colourings_of_hubs_are_linear() {
        // A hundred thousand spokes: a square of that would not end.
        let n = 100_000;
        assert_eq!(Colouring::star(&arrowhead(n)).unwrap().count(), 2);
        assert_eq!(Colouring::star(&reversed_arrowhead(n)).unwrap().count(), 2);
    }
}
