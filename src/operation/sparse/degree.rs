//! An order of elimination that fills a factor with few entries: approximate minimum degree (Amestoy, Davis and Duff, 1996).
//!
//! Eliminating a variable joins all its neighbours with each other. Such a clique is kept as one *element*, a list of variables, so
//! that the graph never grows. A variable's degree is bounded from above by the sizes of its elements.

use crate::shape::sort_by_rank;

/// No variable.
const NONE: u32 = u32::MAX;

/// The graph of variables and elements; an element has the number of the variable whose elimination made it.
struct Graph {
    /// Variables next to a variable, and those of an element.
    variables: Vec<Vec<u32>>,
    /// Elements that a variable is in.
    elements: Vec<Vec<u32>>,
    /// The number of variables that a variable stands for, itself among them; 0 where another one stands for it.
    weights: Vec<u32>,
    states: Vec<State>,
    /// The bound of each variable's degree.
    degrees: Vec<u32>,
    /// Variables that another one stands for, or that are eliminated with it.
    merged: Vec<Vec<u32>>,
    buckets: Buckets,
    /// Of each element the number of its variables, and of those outside of the clique that was marked last.
    sizes: Vec<u32>,
    outside: Vec<u32>,
    /// Variables, and elements, that have the current number are marked.
    marks: Vec<u32>,
    element_marks: Vec<u32>,
    mark: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Variable,
    Element,
    Gone,
}

/// The variables of each degree, as lists that are linked in both directions.
struct Buckets {
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// No variable has a smaller degree.
    least: usize,
}

impl Buckets {
    fn insert(&mut self, variable: u32, degree: u32) {
        let degree = degree as usize;
        let head = self.first[degree];
        (self.next[variable as usize], self.previous[variable as usize]) = (head, NONE);
        if head != NONE {
            self.previous[head as usize] = variable;
        }
        self.first[degree] = variable;
        self.least = self.least.min(degree);
    }

    fn remove(&mut self, variable: u32, degree: u32) {
        let (next, previous) = (self.next[variable as usize], self.previous[variable as usize]);
        match previous {
            NONE => self.first[degree as usize] = next,
            previous => self.next[previous as usize] = next,
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }

    fn smallest(&mut self) -> u32 {
        while self.first[self.least] == NONE {
            self.least += 1;
        }
        self.first[self.least]
    }
}

/// The rows of a symmetric pattern in the order of their elimination. Row `i` has the columns `columns[offsets[i]..offsets[i + 1]]`.
pub(super) fn minimum_degree(offsets: &[usize], columns: &[u32]) -> Vec<u32> {
    let n = offsets.len() - 1;
    let mut graph = Graph::new(offsets, columns);
    // Rows with very many entries would make the others slow, and come last in any case.
    let dense = (10.0 * (n as f64).sqrt()).max(16.0) as u32;
    let (mut order, mut last) = (Vec::with_capacity(n), Vec::new());
    for row in 0..n as u32 {
        if graph.degrees[row as usize] > dense {
            graph.states[row as usize] = State::Gone;
            graph.weights[row as usize] = 0;
            last.push(row);
        }
    }
    sort_by_rank(&mut last, |&row| graph.degrees[row as usize].into());
    for row in (0..n as u32).rev() {
        if graph.states[row as usize] == State::Variable {
            graph.buckets.insert(row, graph.degrees[row as usize]);
        }
    }
    let mut left = (n - last.len()) as u32;
    while left > 0 {
        let pivot = graph.buckets.smallest();
        left -= graph.eliminate(pivot, left);
        graph.list(pivot, &mut order);
    }
    order.append(&mut last);
    order
}

impl Graph {
    fn new(offsets: &[usize], columns: &[u32]) -> Graph {
        let n = offsets.len() - 1;
        let others = |row: usize| {
            columns[offsets[row]..offsets[row + 1]].iter().copied().filter(|&column| column as usize != row).collect()
        };
        let variables: Vec<Vec<u32>> = (0..n).map(others).collect();
        let degrees = variables.iter().map(|own| own.len() as u32).collect();
        let buckets = Buckets { first: vec![NONE; n + 1], next: vec![NONE; n], previous: vec![NONE; n], least: 0 };
        Graph {
            variables,
            elements: vec![Vec::new(); n],
            weights: vec![1; n],
            states: vec![State::Variable; n],
            degrees,
            merged: vec![Vec::new(); n],
            buckets,
            sizes: vec![0; n],
            outside: vec![0; n],
            marks: vec![0; n],
            element_marks: vec![0; n],
            mark: 0,
        }
    }

    /// A pivot and all that is eliminated with it.
    fn list(&self, pivot: u32, order: &mut Vec<u32>) {
        let mut work = vec![pivot];
        while let Some(row) = work.pop() {
            order.push(row);
            work.extend(&self.merged[row as usize]);
        }
    }

    fn is_variable(&self, row: u32) -> bool {
        self.states[row as usize] == State::Variable
    }

    /// Makes a variable an element, of so many variables that are left. The number of variables that this eliminates.
    fn eliminate(&mut self, pivot: u32, left: u32) -> u32 {
        let p = pivot as usize;
        self.buckets.remove(pivot, self.degrees[p]);
        let mut eliminated = self.weights[p];
        let mut clique = self.clique(pivot);
        let size: u32 = clique.iter().map(|&row| self.weights[row as usize]).sum();
        self.count_outside(&clique);
        for &row in &clique {
            let own = row as usize;
            self.buckets.remove(row, self.degrees[own]);
            let (mark, marks, weights) = (self.mark, &self.marks, &self.weights);
            // Elements without variables outside of this one have become a part of it.
            let (element_marks, outside) = (&self.element_marks, &self.outside);
            let elements = &mut self.elements[own];
            elements.retain(|&element| element_marks[element as usize] == mark && outside[element as usize] > 0);
            let variables = &mut self.variables[own];
            variables.retain(|&other| marks[other as usize] != mark && weights[other as usize] > 0);
            let beside: u32 = variables.iter().map(|&other| weights[other as usize]).sum();
            let within: u32 = elements.iter().map(|&element| outside[element as usize]).fold(0, u32::saturating_add);
            elements.push(pivot);
            if beside == 0 && within == 0 {
                // Nothing but this element is next to it.
                eliminated += weights[own];
                self.absorb(row, pivot);
            } else {
                let joined = size - weights[own];
                self.degrees[own] = within.saturating_add(beside).min(self.degrees[own]).saturating_add(joined);
            }
        }
        self.merge(&mut clique);
        for &row in &clique {
            let own = row as usize;
            self.degrees[own] = self.degrees[own].min(left - eliminated - self.weights[own]);
            self.buckets.insert(row, self.degrees[own]);
        }
        self.states[p] = State::Element;
        self.sizes[p] = clique.iter().map(|&row| self.weights[row as usize]).sum();
        self.variables[p] = clique;
        eliminated
    }

    /// The variables next to a pivot, which get the current mark. Its elements become a part of its own.
    fn clique(&mut self, pivot: u32) -> Vec<u32> {
        self.mark += 1;
        self.marks[pivot as usize] = self.mark;
        let mut lists = vec![std::mem::take(&mut self.variables[pivot as usize])];
        for element in std::mem::take(&mut self.elements[pivot as usize]) {
            if self.states[element as usize] == State::Element {
                self.states[element as usize] = State::Gone;
                lists.push(std::mem::take(&mut self.variables[element as usize]));
            }
        }
        let mut clique = Vec::new();
        for row in lists.into_iter().flatten() {
            if self.is_variable(row) && self.weights[row as usize] > 0 && self.marks[row as usize] != self.mark {
                self.marks[row as usize] = self.mark;
                clique.push(row);
            }
        }
        clique
    }

    /// Counts, of each element that meets the marked clique, the variables outside of the clique. Elements without any are gone.
    fn count_outside(&mut self, clique: &[u32]) {
        for &row in clique {
            for &element in &self.elements[row as usize] {
                let at = element as usize;
                if self.states[at] != State::Element {
                    continue;
                }
                if self.element_marks[at] != self.mark {
                    (self.element_marks[at], self.outside[at]) = (self.mark, self.sizes[at]);
                }
                self.outside[at] -= self.weights[row as usize];
            }
        }
        for &row in clique {
            for &element in &self.elements[row as usize] {
                let at = element as usize;
                if self.states[at] == State::Element && self.outside[at] == 0 {
                    self.states[at] = State::Gone;
                    self.variables[at] = Vec::new();
                }
            }
        }
    }

    /// Lets a row be eliminated with another one.
    fn absorb(&mut self, row: u32, into: u32) {
        let own = row as usize;
        self.states[own] = State::Gone;
        self.weights[own] = 0;
        self.variables[own] = Vec::new();
        self.elements[own] = Vec::new();
        self.merged[into as usize].push(row);
    }

    /// Merges variables that have the same neighbours: one stands for all of them.
    fn merge(&mut self, rows: &mut Vec<u32>) {
        rows.retain(|&row| self.weights[row as usize] > 0);
        let key = |row: u32| {
            let (variables, elements) = (&self.variables[row as usize], &self.elements[row as usize]);
            let sum: u64 = variables.iter().chain(elements).map(|&other| u64::from(other)).sum();
            (variables.len(), elements.len(), sum)
        };
        let mut keyed: Vec<_> = rows.iter().map(|&row| (key(row), row)).collect();
        keyed.sort_unstable();
        for alike in keyed.chunk_by(|one, other| one.0 == other.0) {
            for (position, &(_, row)) in alike.iter().enumerate() {
                if self.weights[row as usize] > 0 && position + 1 < alike.len() {
                    self.merge_into(row, &alike[position + 1..]);
                }
            }
        }
        rows.retain(|&row| self.weights[row as usize] > 0);
    }

    /// Merges those of other variables with as many neighbours that have the same ones.
    fn merge_into<K>(&mut self, row: u32, others: &[(K, u32)]) {
        let own = row as usize;
        self.mark += 1;
        self.variables[own].iter().for_each(|&other| self.marks[other as usize] = self.mark);
        self.elements[own].iter().for_each(|&element| self.element_marks[element as usize] = self.mark);
        for &(_, other) in others {
            let at = other as usize;
            let is_same = self.weights[at] > 0
                && self.elements[at].iter().all(|&element| self.element_marks[element as usize] == self.mark)
                && self.variables[at].iter().all(|&next| self.marks[next as usize] == self.mark);
            if is_same {
                self.weights[own] += self.weights[at];
                self.degrees[own] = self.degrees[own].saturating_sub(self.weights[at]);
                self.absorb(other, row);
            }
        }
    }
}
