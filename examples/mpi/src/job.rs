//! The computation of a rank: a task, staged for its shard.

use crate::options::Options;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use deltaray::tensor::{Family, duplicate};
use deltaray_example_mpi::checkpoint::hash;
use deltaray_example_mpi::shard::Shard;

/// How a step follows from the gradient.
#[derive(Clone, Copy, PartialEq)]
pub enum Method {
    /// Gradient descent with momentum.
    Descent,
    /// Newton's method, where the Hessian is diagonal.
    Newton,
}

/// A task, for the shard of this rank.
pub struct Job {
    pub method: Method,
    /// The first parameters: the elements of all arrays of their tree.
    pub parameters: Vec<f64>,
    /// The numbers of all rows for training, and of those of a part's arrays.
    pub rows: usize,
    pub height: usize,
    pub features: usize,
    /// For each part, its share of the loss: those of all parts of all ranks add up to it.
    pub loss: Vec<SliceFunction<f64>>,
    /// The gradient of the last part's share, in halves where communication overlaps with it.
    pub halves: Option<Halves>,
    /// For each part of the rows for testing, the sum of their scores; and the number of those rows of all ranks.
    pub score: Vec<SliceFunction<f64>>,
    pub tested: usize,
    /// The name of the score.
    pub scored: &'static str,
    /// The text of the staged loss.
    program: String,
}

/// A task's data on this rank.
pub struct Data<D> {
    pub features: usize,
    /// The shards that the parts are of.
    pub training: Shard,
    pub test: Shard,
    pub parts: Vec<D>,
    pub test_parts: Vec<D>,
}

impl Job {
    /// Stages the loss and the score, which are sums over rows, of a tree of parameters and of a part of the rows.
    pub fn new<P, D, L, S>(
        options: &Options,
        (method, scored): (Method, &'static str),
        start: &P,
        data: &Data<D>,
        (loss, score): (&L, &S),
    ) -> deltaray::Result<Job>
    where
        P: Family<At<Concrete> = P> + Tree<Concrete, Family = P>,
        D: Family<At<Concrete> = D> + Tree<Concrete, Family = D>,
        L: ArrayFn<In = (P, D), Out = Scalar<Concrete, f64>>,
        S: ArrayFn<In = (P, D), Out = Scalar<Concrete, f64>>,
    {
        let staged = stage(loss.closure(), (start, &data.parts[0]))?;
        let mut function = staged.over_slices_with(&data.parts[0])?.on(Cpu::default().threads(1)).with_gradient()?;
        if method == Method::Newton {
            function = function.with_hvp()?;
        }
        let score = stage(score.closure(), (start, &data.test_parts[0]))?.over_slices_with(&data.test_parts[0])?;
        let last = data.parts.last().expect("a part");
        Ok(Job {
            method,
            parameters: ravel(start).0.to_vec(),
            rows: data.training.rows,
            height: data.training.height(),
            features: data.features,
            loss: of_each(function, &data.parts)?,
            halves: if options.overlap { Some(Halves::new(start, last, loss)?) } else { None },
            score: of_each(score.on(Cpu::default().threads(1)), &data.test_parts)?,
            tested: data.test.rows,
            scored,
            program: staged.to_string(),
        })
    }

    /// The options that the parameters after each step depend on, but for the number of ranks.
    pub fn settings(&self, options: &Options) -> String {
        let Options { task, clusters, seed, rate, momentum, part_rows, overlap, .. } = options;
        let Job { rows, features, .. } = self;
        format!(
            "{task}, {rows} rows of {features} features, {clusters} clusters, seed {seed}, rate {rate}, momentum {momentum}, \
             parts of {part_rows}, overlap {overlap}"
        )
    }

    /// The facts that all ranks have to agree on.
    pub fn facts(&self, options: &Options) -> Vec<(&'static str, String)> {
        vec![
            ("the task", options.task.clone()),
            ("the number of rows", self.rows.to_string()),
            ("the number of features", self.features.to_string()),
            ("the number of parameters", self.parameters.len().to_string()),
            ("the number of a part's rows", self.height.to_string()),
            ("the program's hash", format!("{:016x}", hash(self.program.as_bytes()))),
            ("the training", self.settings(options)),
            ("the number of steps", options.steps.to_string()),
            ("the option --checkpoint", if options.checkpoint.is_some() { "given" } else { "not given" }.to_string()),
            ("the option --times", options.times.to_string()),
        ]
    }
}

/// The same function of each of several data: one program.
fn of_each<D>(mut function: SliceFunction<f64>, parts: &[D]) -> deltaray::Result<Vec<SliceFunction<f64>>>
where
    D: Tree<Concrete>,
{
    let each = parts.iter().map(|part| {
        function.set_data(part)?;
        Ok(function.clone())
    });
    each.collect()
}

/// The gradient of a part's share of the loss in two halves, each of which is a program that results in the loss too: by the
/// parameters from a position on, and by those before it. So the one is there before the other is computed; what both need is
/// computed twice.
pub struct Halves {
    pub cut: usize,
    pub by_last: Half,
    pub by_first: Half,
}

/// Writes the gradient at the parameters by some of them.
type Half = Box<dyn Fn(&[f64], &mut [f64]) -> deltaray::Result<f64>>;

impl Halves {
    fn new<P, D, L>(start: &P, part: &D, loss: &L) -> deltaray::Result<Halves>
    where
        P: Family<At<Concrete> = P> + Tree<Concrete, Family = P>,
        D: Family<At<Concrete> = D> + Tree<Concrete, Family = D>,
        L: ArrayFn<In = (P, D), Out = Scalar<Concrete, f64>>,
    {
        let (all, unravel): (Vector<Concrete, f64>, _) = ravel(start);
        let cut = middle(&start.types().iter().map(|ty| ty.shape.iter().product()).collect::<Vec<_>>());
        let (first, last) = (all.slice(0, ..cut), all.slice(0, cut..));
        let whole = |first: &Vector<Staged, f64>, last: &Vector<Staged, f64>, part: &D::At<Staged>| {
            let parameters = unravel.tree(&concatenate(0, &[first.clone(), last.clone()]));
            loss.call(&(parameters, duplicate(part)))
        };
        let by_last = stage(|(last, first, part)| whole(first, last, part), (&last, &first, part))?;
        let by_last = by_last.over_slices_with((&first, part))?.on(Cpu::default().threads(1)).with_gradient()?;
        let by_first = stage(|(first, last, part)| whole(first, last, part), (&first, &last, part))?;
        let by_first = by_first.over_slices_with((&last, part))?.on(Cpu::default().threads(1)).with_gradient()?;
        let (part, other) = (duplicate(part), duplicate(part));
        Ok(Halves {
            cut,
            by_last: Box::new(move |parameters, gradient| {
                let mut function = by_last.clone();
                function.set_data((&Vector::from(parameters[..cut].to_vec()), &part))?;
                function.value_and_grad(&parameters[cut..], gradient)
            }),
            by_first: Box::new(move |parameters, gradient| {
                let mut function = by_first.clone();
                function.set_data((&Vector::from(parameters[cut..].to_vec()), &other))?;
                function.value_and_grad(&parameters[..cut], gradient)
            }),
        })
    }
}

/// The boundary between arrays of these sizes that is nearest to the middle of them all.
fn middle(sizes: &[usize]) -> usize {
    let all: usize = sizes.iter().sum();
    let ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    ends.min_by_key(|&end| (2 * end).abs_diff(all)).unwrap_or(0)
}

/// Rows for a loss that is a sum over rows, some of which count.
#[derive(Tree)]
pub struct Rows<A: Algebra> {
    /// [rows, features].
    pub x: Matrix<A, f64>,
    /// 1, or 0 for a row that is there for the shape alone.
    pub weights: Vector<A, f64>,
}
