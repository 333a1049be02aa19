//! Writes at positions and ranges: `x.with(i, v)` by hand, `x[i] = v` under `#[differentiable]`.
//!
//! The array is given away and written in place if nobody else holds it: a loop of writes then costs time proportional to the
//! elements that it writes, eagerly too. A write is `scatter_set` or `scatter_add` at the positions, and has its derivative.

use crate::algebra::Algebra;
use crate::array::Array;
use crate::operation::{Binary, Unary};
use crate::shape::Type;
use crate::tensor::apply::{broadcast_shape, fail_array, stretch};
use crate::tensor::subscript::{WriteTarget, check_positions, read, written};
use crate::tensor::{Element, Number, Operand, Rank, Subscript, Tensor};

/// The rank of the elements at a subscript.
pub(super) type ReadRank<A, R, S> = <<S as Subscript<A>>::Positions as Rank>::TakenFrom<R>;

/// How a value is combined with the elements that are there.
#[derive(Clone, Copy)]
pub(super) enum UpdateMode {
    Set,
    Add,
    Subtract,
}

/// A place, the array that is read there, and a value of its shape.
pub(super) struct Opened<A: Algebra, E: Element, R: Rank> {
    pub place: WriteTarget<A>,
    pub read: Tensor<A, E, R>,
    pub value: Tensor<A, E, R>,
}

/// A value as an array of the shape that is read where it is written.
///
/// # Errors
///
/// The problem, where it does not broadcast to that.
#[track_caller]
fn fitted<A: Algebra>(value: A::Array, read: &[usize], into: &[usize]) -> Result<A::Array, String> {
    let found = A::shape(&value);
    match broadcast_shape(read, &found) {
        Some(shape) if shape[..] == *read => Ok(stretch::<A>(value, read)),
        _ => {
            let found = &found[..];
            Err(format!("a value of shape {found:?} into shape {into:?}, where shape {read:?} is written"))
        }
    }
}

/// Writes a value of the shape that is read at these positions, or one that broadcasts to it, into an array.
///
/// # Errors
///
/// The problem, where the value does not fit; the array is as it was.
#[track_caller]
fn write<A: Algebra>(
    target: &mut A::Array,
    mode: UpdateMode,
    place: WriteTarget<A>,
    value: impl FnOnce(&A::Array) -> A::Array,
) -> Result<(), String> {
    let (WriteTarget { positions, shape }, ty) = (place, A::type_of(target));
    // A literal takes the shape of an array.
    let value = value(&A::constant(Array::zeros(&Type::new(ty.dtype, &shape))));
    let value = fitted::<A>(value, &shape, &ty.shape)?;
    let value = match mode {
        UpdateMode::Set | UpdateMode::Add => value,
        UpdateMode::Subtract => A::unary(Unary::Neg, value),
    };
    // The handle on the value stands in, so that the array has one handle less while it is written.
    let array = std::mem::replace(target, value.clone());
    *target = match (mode, positions.is_empty()) {
        (UpdateMode::Set, true) => value,
        (UpdateMode::Set, false) => A::scatter_set(array, value, positions),
        (UpdateMode::Add | UpdateMode::Subtract, true) => A::binary(Binary::Add, array, value),
        (UpdateMode::Add | UpdateMode::Subtract, false) => A::scatter_onto(array, value, positions),
    };
    Ok(())
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// Writes a value where the array is, and reports problems in the name of a method.
    #[track_caller]
    pub(super) fn put<S: Subscript<A>, V: Operand<A, E, ReadRank<A, R, S>>>(
        &mut self,
        name: &str,
        mode: UpdateMode,
        subscript: S,
        value: V,
    ) {
        const { check_positions::<R, S::Positions>() }
        let result = match written::<A>(&self.shape(), &subscript.parts()) {
            Ok(place) => write::<A>(&mut self.array, mode, place, |like| value.into_operand(like)),
            Err(problem) => Err(problem),
        };
        self.checked(name, result);
    }

    /// Writes a function of the elements that are there.
    #[track_caller]
    pub(super) fn update<S: Subscript<A>, V: Operand<A, E, ReadRank<A, R, S>>>(
        &mut self,
        name: &str,
        subscript: S,
        update: impl FnOnce(Tensor<A, E, ReadRank<A, R, S>>) -> V,
    ) {
        const { check_positions::<R, S::Positions>() }
        let parts = subscript.parts();
        let result = match written::<A>(&self.shape(), &parts) {
            Ok(place) => {
                let value = update(Tensor::wrap(read::<A>(self.array.clone(), parts)));
                write::<A>(&mut self.array, UpdateMode::Set, place, |like| value.into_operand(like))
            }
            Err(problem) => Err(problem),
        };
        self.checked(name, result);
    }

    /// The array that is read at positions and ranges, and a value of its shape, for an operator whose result
    /// [`Tensor::close`] writes there; nothing where the value does not fit, which is reported.
    ///
    /// The operator is not given as a closure, which would hide the caller's line.
    #[track_caller]
    pub(super) fn open<S: Subscript<A>, V: Operand<A, E, ReadRank<A, R, S>>>(
        &mut self,
        name: &str,
        subscript: S,
        value: V,
    ) -> Option<Opened<A, E, ReadRank<A, R, S>>> {
        const { check_positions::<R, S::Positions>() }
        let parts = subscript.parts();
        let place = match written::<A>(&self.shape(), &parts) {
            Ok(place) => place,
            Err(problem) => {
                self.checked(name, Err(problem));
                return None;
            }
        };
        let read = read::<A>(self.array.clone(), parts);
        match fitted::<A>(value.into_operand(&read), &place.shape, &self.shape()) {
            Ok(value) => Some(Opened { place, read: Tensor::wrap(read), value: Tensor::wrap(value) }),
            Err(problem) => {
                self.checked(name, Err(problem));
                None
            }
        }
    }

    /// Writes back the elements that an operator updated.
    #[track_caller]
    pub(super) fn close<S: Rank>(&mut self, name: &str, place: WriteTarget<A>, updated: Tensor<A, E, S>) {
        let result = write::<A>(&mut self.array, UpdateMode::Set, place, |_| updated.array);
        self.checked(name, result);
    }

    #[track_caller]
    fn checked(&mut self, name: &str, result: Result<(), String>) {
        if let Err(problem) = result {
            self.array = fail_array::<A>(name, problem, A::type_of(&self.array));
        }
    }

    /// This array with a value at positions and ranges: `x.with(&i, 0.0)`, `x.with((&i, 1..), &row)`,
    /// `x.with((.., 0), &column)`.
    ///
    /// The value is an array that broadcasts to the shape that is read there, or a literal. A write at a position outside is
    /// ignored. The elements that are written over have derivative 0. In a loop write `x = x.with(..)`: an array that nobody
    /// else holds is written where it is.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// fn shifted<A: Algebra>(x: &Matrix<A, f64>) -> Matrix<A, f64> {
    ///     x.clone().with((.., 1..), x.slice(1, ..2)).with((.., 0), 0.0)
    /// }
    /// let x = Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(shifted(&x), [[0.0, 1.0, 2.0], [0.0, 4.0, 5.0]].into());
    /// let gradient = grad(|x| shifted(x).sum(), &x);
    /// assert_eq!(gradient, [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When the value does not broadcast to that shape, a range goes beyond its axis, or there are more positions and ranges
    /// than axes; staged, that is recorded instead.
    #[track_caller]
    pub fn with<S: Subscript<A>, V: Operand<A, E, ReadRank<A, R, S>>>(mut self, subscript: S, value: V) -> Self {
        self.put("with", UpdateMode::Set, subscript, value);
        self
    }

    /// This array with the elements at positions and ranges replaced by a function of them:
    /// `x.with_updated(&i, |x_i| x_i * 2.0)`.
    ///
    /// The function results in a value that [`Tensor::with`] takes.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.with_updated(1.., |rest| rest * 10.0).to_vec(), [1.0, 20.0, 30.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::with`].
    #[track_caller]
    pub fn with_updated<S, V>(mut self, subscript: S, update: impl FnOnce(Tensor<A, E, ReadRank<A, R, S>>) -> V) -> Self
    where
        S: Subscript<A>,
        V: Operand<A, E, ReadRank<A, R, S>>,
    {
        self.update("with_updated", subscript, update);
        self
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// This array with a value added at positions and ranges: `x.with_added((&i, ..), &row)`.
    ///
    /// Subscript and value are those of [`Tensor::with`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.with_added(1, 0.5).to_vec(), [1.0, 2.5, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::with`].
    #[track_caller]
    pub fn with_added<S: Subscript<A>, V: Operand<A, E, ReadRank<A, R, S>>>(mut self, subscript: S, value: V) -> Self {
        self.put("with_added", UpdateMode::Add, subscript, value);
        self
    }
}
