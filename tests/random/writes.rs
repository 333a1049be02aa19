//! Random loops that write: into a vector, a matrix and positions that they carry, where known, computed or looked up among those,
//! with reads of the arrays before, between and after; in a loop, in a mapped one, with checkpoints, ended by a condition.
//!
//! A seed draws a plan, and the plan is staged as users write such loops.

use super::chance::Random;
use super::generate::Case;
use deltaray::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

type V<A> = Vector<A, f64>;
type M<A> = Matrix<A, f64>;
type S<A> = Scalar<A, f64>;
type I<A> = Scalar<A, i64>;
type K<A> = Vector<A, i64>;
/// The carries of loops.
type State<A> = (V<A>, M<A>, S<A>, K<A>);
/// The inputs of programs: first values, and arrays that steps read.
type Inputs<A> = ((V<A>, M<A>), (V<A>, M<A>, K<A>));

/// A position along an axis, in a step.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// So many after the step's own.
    Step(i64),
    /// From the last one on.
    Backwards,
    /// So many apart.
    Stride(i64, i64),
    /// Looked up among the carried ones.
    Looked(i64),
}

/// A number that a step computes.
#[derive(Clone, Debug)]
enum Number {
    Element(Position),
    Cell(Position, Position),
    Input(Position),
    Carried,
    /// All elements of the vector.
    Total,
    /// All elements of a row, with weights.
    Row(Position),
    /// A loop that reads the vector.
    Loop(usize),
    Product(Box<Number>, Box<Number>),
}

/// How a number is written to a place.
#[derive(Clone, Copy, Debug)]
enum Way {
    Set,
    Add,
    Multiply,
    /// The larger of the element there and the number. (Where nothing is written `scatter_max` takes infinity, which is no fair
    /// test.)
    Max,
}

/// A part of a step.
#[derive(Clone, Debug)]
enum Change {
    Element(Way, Position, Number),
    /// A stretch, computed from a read along another one.
    Stretch(Way, Position, Position),
    /// Positions among which some are the same.
    Several(Way, Position, Number),
    /// From the vector as it was when the step began; the current vector selects the position.
    Before(Position, Position),
    Cell(Way, Position, Position, Number),
    Row(Way, Position, Position),
    Column(Position, Number),
    /// Through a matrix with its axes turned.
    Turned(Position, Number),
    /// Rows that are scattered, turned and added.
    AddedTurned(Position),
    /// The whole vector plus weights.
    Everywhere(Number),
    /// The whole matrix plus an outer product.
    Outer(Number),
    /// Every element by itself.
    Elementwise,
    Carried(Number),
    /// Writes the positions themselves.
    Position(Way, Position, Position),
    Guarded(Position, Vec<Change>),
    Inner(usize, Vec<Change>),
    InnerWhile(i64, Vec<Change>),
}

/// The loop that changes are the step of.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Fold,
    FoldReverse,
    Scan,
    Checkpoints(Checkpoints),
    While,
    WhileCheckpoints(Checkpoints),
}

/// The construct around the loop.
#[derive(Clone, Copy, Debug)]
enum Around {
    Nothing,
    /// Mapped over so many positions.
    Map(usize),
    Side,
    Twice,
}

#[derive(Clone, Debug)]
struct Plan {
    extent: usize,
    rows: usize,
    columns: usize,
    steps: usize,
    changes: Vec<Change>,
    kind: Kind,
    around: Around,
    /// Which results are those of the loop; others are the first values.
    uses: [bool; 3],
}

fn position(random: &mut Random) -> Position {
    match random.below(8) {
        0..=3 => Position::Step(random.whole(-1, 2)),
        4 => Position::Backwards,
        5 => Position::Stride(random.whole(2, 3), random.whole(-1, 1)),
        _ => Position::Looked(random.whole(0, 1)),
    }
}

fn number(random: &mut Random, depth: usize) -> Number {
    match random.below(if depth > 0 { 9 } else { 7 }) {
        0 | 1 => Number::Element(position(random)),
        2 => Number::Cell(position(random), position(random)),
        3 => Number::Input(position(random)),
        4 => Number::Carried,
        5 => Number::Row(position(random)),
        6 if random.chance(0.5) => Number::Total,
        6 => Number::Loop(1 + random.below(3)),
        _ => Number::Product(Box::new(number(random, depth - 1)), Box::new(number(random, depth - 1))),
    }
}

fn changes(random: &mut Random, depth: usize) -> Vec<Change> {
    (0..random.whole(1, 3)).map(|_| change(random, depth)).collect()
}

fn change(random: &mut Random, depth: usize) -> Change {
    let way = random.weighted(&[(4, Way::Set), (3, Way::Add), (1, Way::Multiply), (1, Way::Max)]);
    match random.below(if depth > 0 { 22 } else { 18 }) {
        0..=2 => Change::Element(way, position(random), number(random, 1)),
        3 => Change::Stretch(way, position(random), position(random)),
        4 => Change::Several(way, position(random), number(random, 1)),
        5 => Change::Before(position(random), position(random)),
        6 | 7 => Change::Cell(way, position(random), position(random), number(random, 1)),
        8 | 9 => Change::Row(way, position(random), position(random)),
        10 => Change::Column(position(random), number(random, 0)),
        11 => Change::Turned(position(random), number(random, 0)),
        12 => Change::AddedTurned(position(random)),
        13 if random.chance(0.5) => Change::Everywhere(number(random, 1)),
        13 => Change::Outer(number(random, 1)),
        14 => Change::Elementwise,
        15 => Change::Carried(number(random, 1)),
        16 | 17 => Change::Position(way, position(random), position(random)),
        18 | 19 => Change::Guarded(position(random), changes(random, depth - 1)),
        20 => Change::Inner(1 + random.below(3), changes(random, depth - 1)),
        _ => Change::InnerWhile(random.whole(1, 3), changes(random, depth - 1)),
    }
}

impl Plan {
    fn new(random: &mut Random) -> Plan {
        let few = 1 + random.below(3);
        let checkpoints =
            random.pick(&[Checkpoints::Every(few), Checkpoints::Snapshots(few), Checkpoints::Bytes(60 * few)]);
        // Additions to all of a matrix are in place from a thousand elements on.
        let is_large = random.chance(0.06);
        let extent = random.weighted(&[(1, 0), (1, 1), (6, 4), (4, 7), (1, 40)]);
        let rows = if is_large { 40 } else { random.weighted(&[(1, 1), (4, 3), (2, 5)]) };
        Plan {
            extent,
            rows,
            columns: if is_large { 32 } else { random.weighted(&[(1, 1), (3, 2), (3, 4)]) },
            steps: if is_large { 2 } else { random.pick(&[1, 2, 3, extent.min(6)]) },
            changes: changes(random, 2),
            kind: random.weighted(&[
                (4, Kind::Fold),
                (2, Kind::FoldReverse),
                (2, Kind::Scan),
                (3, Kind::Checkpoints(checkpoints)),
                (2, Kind::While),
                (1, Kind::WhileCheckpoints(checkpoints)),
            ]),
            around: random.weighted(&[
                (4, Around::Nothing),
                (3, Around::Map(few)),
                (2, Around::Side),
                (2, Around::Twice),
            ]),
            uses: random.weighted(&[
                (5, [true; 3]),
                (1, [true, false, false]),
                (1, [false, true, false]),
                (1, [true, false, true]),
            ]),
        }
    }

    fn run<A: Algebra>(self: &Arc<Plan>, first: State<A>, inputs: &Inputs<A>, offset: &I<A>) -> State<A> {
        let counts = iota(self.steps);
        let (v, m, _) = &inputs.1;
        let world = World { plan: self.clone(), inputs: (v.clone(), m.clone()), at: offset.clone() };
        let most = self.steps as i64;
        let step = move |state: State<A>, at: I<A>| world.after(&at).all(&world.plan.changes, state);
        let goes_on = move |(at, (_, _, carried, _)): &(I<A>, State<A>)| at.lt(most) & carried.lt(0.95);
        match self.kind {
            Kind::Fold => fold(first, &counts, step),
            Kind::FoldReverse => fold_reverse(first, &counts, step),
            Kind::Scan => {
                let keeping = |state: State<A>, at: I<A>| {
                    let kept = state.0.at(&at) * state.1.at((&at, 0));
                    (step(state, at), kept)
                };
                let ((vector, matrix, carried, positions), kept) = scan(first, &counts, self.steps, keeping);
                (vector, matrix, carried + kept.sum(), positions)
            }
            Kind::Checkpoints(checkpoints) => {
                checkpoints.scan(first, &counts, self.steps, move |state, at| (step(state, at), ())).0
            }
            Kind::While => while_loop((scalar(0), first), goes_on, |(at, state)| (&at + 1, step(state, at))).1,
            Kind::WhileCheckpoints(checkpoints) => {
                let counted = move |(at, state): (I<A>, State<A>)| (&at + 1, step(state, at));
                checkpoints.while_loop((scalar(0), first), goes_on, counted).1
            }
        }
    }

    fn call<A: Algebra>(self: &Arc<Plan>, inputs: &Inputs<A>) -> (V<A>, M<A>, S<A>) {
        let first = || (inputs.0.0.sin(), inputs.0.1.clone(), scalar(0.5), inputs.1.2.clone());
        let nowhere = scalar(0);
        let three = |(vector, matrix, number, _): State<A>| (vector, matrix, number);
        let (vector, matrix, number) = match self.around {
            Around::Nothing => three(self.run(first(), inputs, &nowhere)),
            Around::Map(count) => {
                let run = |at: &I<A>| self.run(first(), inputs, at);
                (build(count, |at| run(&at).2), build(count, |at| run(&at).0), build(count, |at| run(&at).1).sum())
            }
            Around::Side => three(cond(inputs.0.0.at(0).gt(-0.3), || self.run(first(), inputs, &nowhere), first)),
            Around::Twice => three(iterate(first(), 2, |state| self.run(state, inputs, &nowhere))),
        };
        let [uses_vector, uses_matrix, uses_number] = self.uses;
        (
            if uses_vector { vector } else { inputs.0.0.clone() },
            if uses_matrix { matrix } else { inputs.0.1.clone() },
            if uses_number { number } else { scalar(0.5) },
        )
    }
}

/// The inputs of a step apart from its carries.
struct World<A: Algebra> {
    plan: Arc<Plan>,
    inputs: (V<A>, M<A>),
    at: I<A>,
}

impl<A: Algebra> World<A> {
    /// The same so many steps on.
    fn after(&self, steps: &I<A>) -> World<A> {
        World { plan: self.plan.clone(), inputs: self.inputs.clone(), at: &self.at + steps }
    }

    fn position(&self, position: Position, extent: usize, positions: &K<A>) -> I<A> {
        match position {
            Position::Step(offset) => &self.at + offset,
            Position::Backwards => &self.at * -1 + (extent as i64 - 1),
            Position::Stride(factor, offset) => &self.at * factor + offset,
            Position::Looked(offset) => positions.at(&self.at + offset),
        }
    }

    /// Positions among the elements of the vector, the rows and the columns of the matrix.
    fn places<'a>(&'a self, positions: &'a K<A>) -> [impl Fn(Position) -> I<A> + 'a; 3] {
        let Plan { extent, rows, columns, .. } = *self.plan;
        [extent, rows, columns].map(|extent| move |at: Position| self.position(at, extent, positions))
    }

    fn number(&self, number: &Number, state: &State<A>) -> S<A> {
        let (vector, matrix, carried, positions) = state;
        let [element, row, column] = self.places(positions);
        match number {
            Number::Element(at) => vector.at(element(*at)).sin(),
            Number::Cell(i, j) => matrix.at((row(*i), column(*j))) * 0.7,
            Number::Input(at) => self.inputs.0.at(element(*at)),
            Number::Carried => carried.cos(),
            Number::Total => (vector.sum() * 0.4).tanh(),
            Number::Row(at) => (matrix.index_axis(0, row(*at)) * self.inputs.1.index_axis(0, row(*at))).sum().sin(),
            Number::Loop(count) => {
                fold(scalar(0.2), &iota(*count), |sum: S<A>, at: I<A>| sum * 0.6 + vector.at(at + &self.at).sin())
            }
            Number::Product(left, right) => self.number(left, state) * self.number(right, state),
        }
    }

    fn all(&self, changes: &[Change], state: State<A>) -> State<A> {
        let before = state.0.clone();
        changes.iter().fold(state, |state, change| self.change(change, state, &before))
    }

    fn change(&self, change: &Change, state: State<A>, before: &V<A>) -> State<A> {
        let number = |number: &Number| self.number(number, &state);
        let (vector, matrix, carried, positions) = &state;
        let [element, row, column] = self.places(positions);
        let vector_becomes = |vector: V<A>| (vector, matrix.clone(), carried.clone(), positions.clone());
        let matrix_becomes = |matrix: M<A>| (vector.clone(), matrix, carried.clone(), positions.clone());
        let (rows, columns) = (self.plan.rows, self.plan.columns);
        match change {
            Change::Element(way, at, value) => {
                let (at, value) = (element(*at), number(value));
                vector_becomes(match way {
                    Way::Set => vector.scatter_set(&at, &value),
                    Way::Add => vector.scatter_add(&at, &value),
                    Way::Multiply => vector.scatter_multiply(&at, &value),
                    Way::Max => vector.scatter_set(&at, &vector.at(&at).max(&value)),
                })
            }
            Change::Stretch(way, to, from) => {
                let (to, from) = (iota(3) + element(*to), iota(3) + element(*from));
                let values = vector.gather(&from) * 0.8;
                vector_becomes(match way {
                    Way::Set => vector.scatter_set(&to, &values),
                    Way::Add => vector.scatter_add(&to, &values),
                    Way::Multiply => vector.scatter_multiply(&to, &values.cos()),
                    Way::Max => vector.scatter_set(&to, &vector.gather(&to).max(&values)),
                })
            }
            Change::Several(way, at, value) => {
                let at = positions + element(*at);
                let values = at.cast::<f64>().sin() * number(value);
                vector_becomes(match way {
                    Way::Set => vector.scatter_set(&at, &values),
                    Way::Add => vector.scatter_add(&at, &values),
                    Way::Multiply => vector.scatter_multiply(&at, &values),
                    Way::Max => vector.scatter_set(&at, &vector.gather(&at).max(&values)),
                })
            }
            Change::Before(to, from) => {
                // The position depends on the written values: no order lets that write go into the array.
                let at = vector.at(element(*to)).gt(0.0).select(element(*from), element(*to));
                let value = before.at(at) * vector.at(element(*to));
                vector_becomes(vector.scatter_set(element(*to), &value.sin()))
            }
            Change::Cell(way, i, j, value) => {
                let (at, value) = ((row(*i), column(*j)), number(value));
                matrix_becomes(match way {
                    Way::Set => matrix.scatter_set(at, &value),
                    Way::Add => matrix.scatter_add(at, &value),
                    Way::Multiply => matrix.scatter_multiply(at, &value),
                    Way::Max => matrix.scatter_set(at.clone(), &matrix.at(at).max(&value)),
                })
            }
            Change::Row(way, to, from) => {
                let (to, from) = (row(*to), row(*from));
                let values = matrix.index_axis(0, &from).sin() + self.inputs.1.index_axis(0, &to) * 0.3;
                matrix_becomes(match way {
                    Way::Set => matrix.scatter_set(&to, &values),
                    Way::Add => matrix.scatter_add(&to, &values),
                    Way::Multiply => matrix.scatter_multiply(&to, &values),
                    Way::Max => matrix.scatter_set(&to, &matrix.index_axis(0, &to).max(&values)),
                })
            }
            Change::Column(at, value) => {
                let at = column(*at);
                let values = (matrix.index_axis(1, &at) * number(value)).cos();
                matrix_becomes(matrix.scatter_set((iota(rows), at.broadcast_to(rows)), &values))
            }
            Change::Turned(at, value) => {
                let (turned, at) = (matrix.transpose(), column(*at));
                let values = turned.index_axis(0, &at).cos() * number(value);
                matrix_becomes(turned.scatter_set(&at, &values).transpose())
            }
            Change::AddedTurned(at) => {
                let values = matrix.transpose().gather(iota(2)).sin() * 0.5;
                let places = iota(2) * column(*at);
                matrix_becomes(matrix + values.scatter(&places, columns).transpose())
            }
            Change::Everywhere(value) => vector_becomes(vector + &self.inputs.0 * number(value) * 0.5),
            Change::Outer(value) => {
                let (column, row) = (self.inputs.1.sum_axis(1).sin(), self.inputs.1.index_axis(0, 0));
                matrix_becomes(matrix + column.outer(&(row * number(value))) * 0.3)
            }
            Change::Elementwise => ((vector * 0.9).sin(), (matrix * 1.1).tanh(), carried.clone(), positions.clone()),
            Change::Carried(value) => {
                (vector.clone(), matrix.clone(), (carried + number(value)).sin(), positions.clone())
            }
            Change::Position(way, to, from) => {
                let (to, value) = (element(*to), element(*from).modulo(self.plan.extent as i64 + 1));
                let positions = match way {
                    Way::Set | Way::Multiply => positions.scatter_set(&to, &value),
                    Way::Add => positions.scatter_add(&to, &value),
                    Way::Max => positions.scatter_set(&to, &positions.at(&to).max(&value)),
                };
                (vector.clone(), matrix.clone(), carried.clone(), positions)
            }
            Change::Guarded(at, changes) => {
                cond(vector.at(element(*at)).gt(0.1), || self.all(changes, state.clone()), || state.clone())
            }
            Change::Inner(count, changes) => {
                fold(state.clone(), &iota(*count), |state: State<A>, at: I<A>| self.after(&at).all(changes, state))
            }
            Change::InnerWhile(limit, changes) => {
                let goes_on = |(at, (_, _, carried, _)): &(I<A>, State<A>)| at.lt(*limit) & carried.lt(0.9);
                let step = |(at, state): (I<A>, State<A>)| {
                    let state = self.after(&at).all(changes, state);
                    (at + 1, state)
                };
                while_loop((scalar(0), state.clone()), goes_on, step).1
            }
        }
    }
}

/// The program and inputs that a seed names.
pub fn case(seed: u64) -> Case {
    let random = &mut Random::new(seed);
    let plan = Arc::new(Plan::new(random));
    let mut numbers = |count: usize| (0..count).map(|_| random.between(-1.5, 1.5)).collect::<Vec<f64>>();
    let (n, shape) = (plan.extent, (plan.rows, plan.columns));
    let vectors = [numbers(n), numbers(n)].map(V::<Concrete>::from);
    let matrices = [(); 2].map(|()| M::<Concrete>::from_elements(shape, numbers(shape.0 * shape.1)));
    let looked_up: Vec<i64> = (0..4).map(|_| random.whole(-1, n as i64)).collect();
    let ([x, v], [a, m]) = (vectors, matrices);
    let inputs: Inputs<Concrete> = ((x, a), (v, m, looked_up.into()));
    let function = stage(|inputs| plan.call(inputs), &inputs).expect("loops that write can be staged");
    Case { seed, body: function.source().clone(), inputs: inputs.leaves(), library: BTreeSet::new() }
}
