//! The compression of a matrix of derivatives for one pattern, and the program that evaluates it.

use super::array::{SparsityArray, room};
use super::colouring::{Colouring, most_in_a_column, most_in_a_row};
use super::compress::{self, FloatLayout};
use super::csr::Csr;
use super::pattern::Pattern;
use super::reads::{self, Reads};
use super::run::run;
use crate::array::Array;
use crate::engine::cpu::CompiledAtFirstCall;
use crate::error::{Error, Result};
use crate::evaluate::Failure;
use crate::shape::{DType, Type, sort_by_rank};
use crate::tensor::{Float, Vector};
use crate::term::Body;
use std::panic::Location;
use std::sync::Arc;

/// By which derivatives a matrix is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Compression {
    /// One forward derivative (`jvp`) for the columns of each colour: no row meets two of them.
    Columns,
    /// One reverse derivative (`vjp`) for the rows of each colour: no column meets two of them.
    Rows,
    /// One reverse derivative for the rows of each colour, by the program's reads of its input: every read at known positions
    /// is a copy of its own, and rows of one colour share no copy, though they may share elements of the input. The derivatives
    /// by the copies are added at the elements that they are of.
    ///
    /// Never more colours than [`Compression::Rows`] would need at best, often far fewer: all residuals of a bundle
    /// adjustment that stand at one place of their observations are of one colour. The batch has a row of all copies for
    /// each colour.
    Reads,
    /// One product with the symmetric matrix for each colour of a star colouring.
    Star,
}

/// A request for a compressed matrix.
pub(super) struct CompressionRequest<'a> {
    pub(super) body: &'a Body,
    /// The number of leading parameters that derivatives are taken by.
    pub(super) active: usize,
    /// The parameters, known where they are fixed.
    pub(super) parameters: Vec<SparsityArray>,
    /// A pattern from the user.
    pub(super) given: Option<Arc<Pattern>>,
    /// Which compression the user wants.
    pub(super) compression: Option<Compression>,
    /// The user's line.
    pub(super) place: &'a Location<'a>,
}

/// A matrix of derivatives, compressed for one pattern.
///
/// ```
/// use deltaray::prelude::*;
/// use deltaray::sparse::{Compressed, Compression, SparsityArray};
///
/// let gradient = stage(|x: &Vector<_, f64>| x.powi(3).sum(), &zeros(3))?.grad()?;
/// let unknown = || vec![SparsityArray::unknown(gradient.program().parameter_type(0).clone())];
/// let hessian = Compressed::hessian::<f64>(gradient.differentiable(), 1, unknown())?;
/// assert_eq!((hessian.compression(), hessian.seeds(), hessian.nonzeros()), (Compression::Star, 1, 3));
/// assert_eq!((hessian.pattern().row(2), hessian.colouring().colours()), (&[2][..], &[0, 0, 0][..]));
/// assert!(hessian.program().is_some() && hessian.entries().is_some());
/// let jacobian = Compressed::jacobian::<f64>(gradient.differentiable(), 1, unknown(), Some(Compression::Rows))?;
/// let point = Vector::from(vec![1.0, 2.0, 3.0]).into_array();
/// assert_eq!(hessian.evaluate::<f64>(vec![point.clone()])?, jacobian.evaluate(vec![point])?);
/// # Ok::<(), deltaray::Error>(())
/// ```
pub struct Compressed {
    pub(super) pattern: Arc<Pattern>,
    /// The names of the function's parameters, where they are known.
    pub(super) names: Vec<String>,
    compression: Compression,
    colouring: Colouring,
    /// A row of results for each colour; none where there are no entries.
    pub(super) program: Option<Body>,
    kernels: CompiledAtFirstCall,
    /// The positions among all results that are added up.
    pub(super) sources: Vec<usize>,
    /// The entry that each of them belongs to; where there is none, each to the next.
    pub(super) targets: Option<Vec<usize>>,
}

impl Compressed {
    /// One without entries.
    fn empty(pattern: Arc<Pattern>, compression: Compression, colouring: Colouring) -> Compressed {
        let kernels = CompiledAtFirstCall::default();
        let (names, sources) = (Vec::new(), Vec::new());
        Compressed { pattern, names, compression, colouring, program: None, kernels, sources, targets: None }
    }

    /// The Jacobian of a bulk program: its float results by the float arrays among its first `active` parameters, which have
    /// one element type.
    ///
    /// Known integer parameters, and known floats beyond the first `active`, shape the pattern. If no compression is given, the
    /// one with the fewest seeds is chosen.
    ///
    /// # Errors
    ///
    /// For [`Compression::Star`]; when the parameters or `E` have other types than the program's; when there are more than 2³²
    /// columns; and when there is no memory for a pattern.
    #[track_caller]
    pub fn jacobian<E: Float>(
        body: &Body,
        active: usize,
        parameters: Vec<SparsityArray>,
        compression: Option<Compression>,
    ) -> Result<Compressed> {
        let place = Location::caller();
        if compression == Some(Compression::Star) {
            let problem = "a star colouring compresses Hessians, which are symmetric";
            return Err(Error::operands("sparse_jacobian", problem, place));
        }
        CompressionRequest { body, active, parameters, given: None, compression, place }
            .checked::<E>("sparse_jacobian")?
            .jacobian::<E>()
    }

    /// The Hessian of the function whose gradient a bulk program computes. The float arrays among the program's first `active`
    /// parameters have one element type; its float results are the derivatives by these, in the same order.
    ///
    /// Other parameters shape the pattern where they are known, as for [`Compressed::jacobian`]. The matrix is taken to be
    /// symmetric: of an entry and its mirror image only one is evaluated. The derivative of a derivative rule of one's own need
    /// not be; [`Compressed::jacobian`] finds it.
    ///
    /// # Errors
    ///
    /// When the program has fewer or more results than parameters that they are derivatives by; else as
    /// [`Compressed::jacobian`].
    #[track_caller]
    pub fn hessian<E: Float>(gradient: &Body, active: usize, parameters: Vec<SparsityArray>) -> Result<Compressed> {
        let place = Location::caller();
        let request = CompressionRequest { body: gradient, active, parameters, given: None, compression: None, place };
        request.checked::<E>("sparse_hessian")?.hessian::<E>()
    }

    /// The matrix at a point: the values of all of the program's parameters.
    ///
    /// # Errors
    ///
    /// When the arguments or `E` have other types than the program's, and when there is no memory.
    #[track_caller]
    pub fn evaluate<E: Float>(&self, arguments: Vec<Array>) -> Result<Csr<E>> {
        let place = Location::caller();
        if let Some(program) = &self.program {
            let element = program.result_types().next().map(|ty| ty.dtype);
            let expected = parameter_types(program, program.arity());
            check_types(&expected, arguments.iter().map(Array::ty), element, E::DTYPE)
                .map_err(|problem| Error::operands("evaluate", problem, place))?;
        }
        self.evaluated(&arguments)
    }

    /// Where entries are.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// By which derivatives the entries are found.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The colours of columns or rows.
    pub fn colouring(&self) -> &Colouring {
        &self.colouring
    }

    /// How many derivatives are taken in one evaluation; 0 where there are no entries.
    pub fn seeds(&self) -> usize {
        if self.program.is_some() { self.colouring.count() } else { 0 }
    }

    /// Number of entries.
    pub fn nonzeros(&self) -> usize {
        self.pattern.nonzeros()
    }

    /// The program of the derivatives along all colours; none where there are no entries.
    pub fn program(&self) -> Option<&Body> {
        self.program.as_ref()
    }

    #[track_caller]
    pub(super) fn evaluated<E: Float>(&self, arguments: &[Array]) -> Result<Csr<E>> {
        let mut values = vec![E::ZERO; self.nonzeros()];
        if let Some(program) = &self.program {
            let results = self.kernels.program(program)?.run(arguments)?;
            let batch = E::unwrap(&results[0]).expect("the batch has the element type of the results");
            let sources = self.sources.iter().map(|&source| batch.element(source));
            match &self.targets {
                None => values.iter_mut().zip(sources).for_each(|(value, found)| *value = found),
                Some(targets) => {
                    targets
                        .iter()
                        .zip(sources)
                        .for_each(|(&target, found)| values[target] = values[target].plus(found));
                }
            }
        }
        Csr::new(self.pattern.clone(), Vector::from(values))
    }
}

/// Checks the types of a program's parameters, and the element type of a matrix.
fn check_types(
    expected: &[Type],
    found: impl Iterator<Item = Type>,
    element: Option<DType>,
    wanted: DType,
) -> std::result::Result<(), String> {
    let found: Vec<Type> = found.collect();
    if expected != found {
        return Err(format!("the program takes {expected:?}, but {found:?} are given"));
    }
    match element {
        Some(element) if element != wanted => Err(format!("the matrix is of {element}, but {wanted} is wanted")),
        _ => Ok(()),
    }
}

/// Checks that all floats of a program's first `active` parameters and of its results are of one type.
pub(super) fn check_floats<E: Float>(body: &Body, active: usize) -> std::result::Result<(), String> {
    let mut types = (0..active).map(|position| body.parameter_type(position)).chain(body.result_types());
    match types.find(|ty| ty.dtype.is_float() && ty.dtype != E::DTYPE) {
        Some(ty) => Err(format!("all floats of the first argument and the result are {}, but one is {ty}", E::DTYPE)),
        None => Ok(()),
    }
}

fn error(Failure { operation, problem }: Failure, place: &Location<'_>) -> Error {
    problem.error(&operation, place)
}

fn parameter_types(body: &Body, count: usize) -> Vec<Type> {
    (0..count).map(|at| body.parameter_type(at).clone()).collect()
}

/// The input as columns: each float array's elements after those before.
///
/// # Errors
///
/// When there are more of them than columns may be, or no memory for them.
fn columns_of(layout: &FloatLayout, place: &Location<'_>) -> Result<Vec<SparsityArray>> {
    let input = |(ty, first): &(Type, Option<usize>)| {
        let Some(first) = first else { return Ok(SparsityArray::unknown(ty.clone())) };
        room(ty).map_err(|problem| problem.error("sparse derivatives", place))?;
        let columns = u32::try_from(*first).ok().and_then(|first| SparsityArray::input(ty.clone(), first));
        columns.ok_or_else(|| {
            let problem = format!("there are {} columns, and 2³² at most are counted", layout.size);
            Error::operands("sparse derivatives", problem, place)
        })
    };
    layout.arrays.iter().map(input).collect()
}

/// The rows of float results, as the columns that they depend on.
fn rows_of(results: &[SparsityArray]) -> impl Iterator<Item = &[u32]> {
    let floats = results.iter().filter(|result| result.ty().dtype.is_float());
    floats.flat_map(|result| (0..result.ty().size()).map(|position| result.columns(position)))
}

fn pattern_of(results: &[SparsityArray], columns: usize) -> Result<Pattern> {
    Pattern::from_rows(columns, rows_of(results).map(|row| row.iter().map(|&column| column as usize)))
}

impl CompressionRequest<'_> {
    /// The same, if its parts fit together.
    fn checked<E: Float>(self, operation: &str) -> Result<Self> {
        let expected = parameter_types(self.body, self.body.arity());
        let found = self.parameters.iter().map(|parameter| parameter.ty().clone());
        check_types(&expected, found, None, E::DTYPE)
            .and_then(|()| match self.active <= expected.len() {
                true => check_floats::<E>(self.body, self.active),
                false => Err(format!("a derivative by {} of {} parameters", self.active, expected.len())),
            })
            .map_err(|problem| Error::operands(operation, problem, self.place))?;
        Ok(self)
    }

    fn columns(&self) -> FloatLayout {
        FloatLayout::new(&parameter_types(self.body, self.active))
    }

    /// The dependence of the program's results on its input.
    fn pattern(&self) -> Result<Pattern> {
        let layout = self.columns();
        let mut arguments = columns_of(&layout, self.place)?;
        // Derivatives are taken by floats, whose elements stay unknown; integer arguments count where they are known.
        for (argument, (own, (_, first))) in arguments.iter_mut().zip(self.parameters.iter().zip(&layout.arrays)) {
            if first.is_none() {
                *argument = own.clone();
            }
        }
        arguments.extend_from_slice(&self.parameters[self.active..]);
        let results = run(self.body, arguments).map_err(|failure| error(failure, self.place))?;
        pattern_of(&results, layout.size)
    }

    /// The Jacobian: by columns, rows or reads, whichever takes fewest seeds, or as the user wants.
    pub(super) fn jacobian<E: Float>(self) -> Result<Compressed> {
        let given = self.given.clone();
        let reads_wanted = given.is_none() && matches!(self.compression, None | Some(Compression::Reads));
        let copies = if reads_wanted { Some(self.copies()?) } else { None };
        let pattern = match (given, &copies) {
            (Some(given), _) => given,
            (None, Some(copies)) => Arc::new(copies.joined(self.columns().size)?),
            (None, None) => Arc::new(self.pattern()?),
        };
        let (compression, colouring) = self.fewest_seeds(&pattern, copies.as_ref());
        let mut compressed = Compressed::empty(pattern, compression, colouring);
        if compressed.nonzeros() == 0 {
            return Ok(compressed);
        }
        let (pattern, colouring) = (&compressed.pattern, &compressed.colouring);
        let (rows, columns) = pattern.shape();
        match (compression, &copies) {
            (Compression::Columns, _) => {
                compressed.program = Some(compress::of_columns::<E>(self.body, self.active, colouring)?);
                compressed.sources = sources(pattern, |row, column| colouring.colours()[column] * rows + row);
            }
            (Compression::Reads, Some(copies)) => {
                compressed.program = Some(compress::of_reads::<E>(&copies.reads, colouring)?);
                let (sources, targets) = copies.entries(pattern, colouring);
                (compressed.sources, compressed.targets) = (sources, Some(targets));
            }
            _ => {
                compressed.program = Some(compress::of_rows::<E>(self.body, self.active, colouring)?);
                compressed.sources = sources(pattern, |row, column| colouring.colours()[row] * columns + column);
            }
        }
        Ok(compressed)
    }

    /// The compression of fewest seeds; of several the first, for forward derivatives cost less, and copies take memory.
    fn fewest_seeds(&self, pattern: &Pattern, copies: Option<&ElementCopies>) -> (Compression, Colouring) {
        let (in_rows, in_columns) = (most_in_a_row(pattern), most_in_a_column(pattern));
        let mut candidates = vec![(in_rows, Compression::Columns), (in_columns, Compression::Rows)];
        candidates.extend(copies.map(|copies| (most_in_a_column(&copies.pattern), Compression::Reads)));
        candidates.retain(|&(_, candidate)| self.compression.is_none_or(|wanted| wanted == candidate));
        // The most promising first, so that colourings that can't be better are not made.
        sort_by_rank(&mut candidates, |&(least, _)| least as u64);
        let mut best: Option<(usize, Compression, Colouring)> = None;
        for (least, compression) in candidates {
            if best.as_ref().is_some_and(|&(count, other, _)| (least, compression) > (count, other)) {
                continue;
            }
            let colouring = match (compression, copies) {
                (Compression::Columns, _) => Colouring::of_columns(pattern),
                (Compression::Reads, Some(copies)) => Colouring::of_rows(&copies.pattern),
                _ => Colouring::of_rows(pattern),
            };
            let count = colouring.count();
            if best.as_ref().is_none_or(|&(fewest, other, _)| (count, compression) < (fewest, other)) {
                best = Some((count, compression, colouring));
            }
        }
        let (_, compression, colouring) = best.expect("one compression at least is tried");
        (compression, colouring)
    }

    /// The program cut off from its input, with the pattern by the copies.
    fn copies(&self) -> Result<ElementCopies> {
        let failed = |failure| error(failure, self.place);
        let unknown = |array: &SparsityArray| match array.ty().dtype.is_float() {
            true => SparsityArray::unknown(array.ty().clone()),
            false => array.clone(),
        };
        let mut parameters: Vec<SparsityArray> = self.parameters[..self.active].iter().map(unknown).collect();
        parameters.extend_from_slice(&self.parameters[self.active..]);
        let reads = reads::cut(self.body, self.active, &parameters).map_err(failed)?;
        // The copies of the input's columns are columns of the input.
        let mut inputs = parameters.clone();
        let layout = self.columns();
        for (input, (column, (_, first))) in
            inputs.iter_mut().zip(columns_of(&layout, self.place)?.into_iter().zip(&layout.arrays))
        {
            if first.is_some() {
                *input = column;
            }
        }
        let copied = run(&reads.selection, inputs).map_err(failed)?;
        let layout = FloatLayout::new(reads.selection.result_types());
        let mut arguments = columns_of(&layout, self.place)?;
        arguments.extend(parameters);
        let results = run(&reads.body, arguments).map_err(failed)?;
        let pattern = pattern_of(&results, layout.size)?;
        let origins = rows_of(&copied).map(|columns| columns.first().map(|&column| column as usize)).collect();
        Ok(ElementCopies { reads, pattern, origins })
    }

    /// The Hessian whose gradient the program computes: by a star colouring, one product for each colour.
    pub(super) fn hessian<E: Float>(self) -> Result<Compressed> {
        let found = match &self.given {
            Some(given) => given.clone(),
            None => Arc::new(self.pattern()?),
        };
        let (rows, columns) = found.shape();
        if rows != columns {
            let problem = format!("a gradient of {rows} elements by {columns}");
            return Err(Error::operands("sparse_hessian", problem, self.place));
        }
        // The matrix is symmetric; a pattern that is found need not be.
        let pattern = Arc::new(found.symmetric());
        let colouring = Colouring::star(&pattern)?;
        let compression = Compression::Star;
        let mut compressed = Compressed::empty(pattern, compression, colouring);
        if compressed.nonzeros() > 0 {
            compressed.program = Some(compress::of_columns::<E>(self.body, self.active, &compressed.colouring)?);
            compressed.sources = star_sources(&compressed.pattern, compressed.colouring.colours());
        }
        Ok(compressed)
    }
}

/// Where in the batch each entry of a pattern is.
fn sources(pattern: &Pattern, source: impl Fn(usize, usize) -> usize) -> Vec<usize> {
    let rows = (0..pattern.rows()).flat_map(|row| pattern.row(row).iter().map(move |&column| (row, column)));
    rows.map(|(row, column)| source(row, column)).collect()
}

/// Where in the batch of a star colouring each entry of a symmetric pattern is: an entry stands alone in its row's sum over
/// the colour of its column, or else the entry on the other side of the diagonal does.
fn star_sources(pattern: &Pattern, colours: &[usize]) -> Vec<usize> {
    let size = pattern.rows();
    let mut sources = Vec::with_capacity(pattern.nonzeros());
    let mut counts = vec![0; size];
    for row in 0..size {
        pattern.row(row).iter().for_each(|&column| counts[colours[column]] += 1);
        for &column in pattern.row(row) {
            sources.push(match counts[colours[column]] {
                1 => colours[column] * size + row,
                _ => colours[row] * size + column,
            });
        }
        pattern.row(row).iter().for_each(|&column| counts[colours[column]] = 0);
    }
    sources
}

/// A program as a function of copies of the elements that it reads.
struct ElementCopies {
    reads: Reads,
    /// The copies' elements are the columns.
    pattern: Pattern,
    /// The column of the input for each copy; `None` for a read outside.
    origins: Vec<Option<usize>>,
}

impl ElementCopies {
    fn origins_of(&self, row: usize) -> impl Iterator<Item = (usize, usize)> {
        self.pattern.row(row).iter().filter_map(|&copy| Some((copy, self.origins[copy]?)))
    }

    /// The pattern by the input.
    fn joined(&self, columns: usize) -> Result<Pattern> {
        let rows = (0..self.pattern.rows()).map(|row| self.origins_of(row).map(|(_, column)| column));
        Pattern::from_rows(columns, rows)
    }

    /// The positions in the batch of the values to add up, and for each the entry that it belongs to.
    fn entries(&self, pattern: &Pattern, colouring: &Colouring) -> (Vec<usize>, Vec<usize>) {
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for row in 0..pattern.rows() {
            let start = colouring.colours()[row] * self.pattern.columns();
            for (copy, column) in self.origins_of(row) {
                let place = pattern.row(row).binary_search(&column).expect("the pattern joins the copies");
                sources.push(start + copy);
                targets.push(pattern.row_offsets()[row] + place);
            }
        }
        (sources, targets)
    }
}
