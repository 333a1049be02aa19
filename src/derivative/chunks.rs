//! Sums over chunks of data that do not fit memory together.

use super::jit::{Jit, Wanted};
use crate::algebra::Algebra;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::operation::Binary;
use crate::shape::{DType, Type};
use crate::staged::Staged;
use crate::tensor::{Family, Tree};
use std::panic::Location;

/// The family of the result of a program wanted of a function of parameters `P` and chunks `D` to trees `Y`.
type Sum<P, D, Y, W> = <W as Wanted<
    (<P as Tree<Concrete>>::Family, <D as Tree<Concrete>>::Family),
    <Y as Tree<Staged>>::Family,
    <P as Tree<Concrete>>::Family,
>>::Result;

impl<F, T, Y, W> Jit<F, T, Y, W>
where
    T: Tree<Staged>,
    Y: Tree<Staged>,
    F: Fn(&T) -> Y,
{
    /// The sum of the results for chunks of data, each the second argument with the same first one: a loss over more rows than fit
    /// memory, with its gradient. Chunks come from an iterator, that reads them from files for instance, and are dropped one by one. The
    /// sum is kept in place, so memory holds two chunks at most, what the program takes for one, and two results.
    ///
    /// Chunks of several lengths have a program each. Sums are in the order of the iterator, so the same chunks have the same bits.
    ///
    /// ```
    /// use deltaray::Error;
    /// use deltaray::prelude::*;
    ///
    /// fn loss<A: Algebra>((w, rows): &(Vector<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
    ///     rows.dot(w).powi(2).sum()
    /// }
    /// let loss = jit(loss).value_and_grad();
    /// let w = Vector::from(vec![1.0, 2.0]);
    /// // 1,000 rows of ones, and 10 more.
    /// let chunks = (0..11).map(|at| Ok::<_, Error>(ones((if at < 10 { 100 } else { 10 }, 2))));
    /// let (value, slope) = loss.sum_over(&w, chunks)?;
    /// assert_eq!((value.item(), slope.to_vec(), loss.programs()), (9.0 * 1010.0, vec![6.0 * 1010.0; 2], 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error of the iterator, of any type that takes this library's; those of [`Jit::call`]; and where there is no chunk,
    /// the results for two of them differ in structure or shapes, or one has booleans.
    #[track_caller]
    pub fn sum_over<P, D, E>(
        &self,
        first: &P,
        chunks: impl IntoIterator<Item = std::result::Result<D, E>>,
    ) -> std::result::Result<<Sum<P, D, Y, W> as Family>::At<Concrete>, E>
    where
        P: Tree<Concrete>,
        D: Tree<Concrete>,
        T: Tree<Staged, Family = (P::Family, D::Family)>,
        W: Wanted<T::Family, Y::Family, P::Family>,
        E: From<Error>,
    {
        let mut chunks = chunks.into_iter();
        let Some(chunk) = chunks.next() else {
            let problem = "there is no chunk, so the shapes of the sum are unknown";
            return Err(Error::operands("sum_over", problem, Location::caller()).into());
        };
        let mut sum = self.call((first, &chunk?))?;
        if let Some(ty) = sum.types().iter().find(|ty| ty.dtype == DType::Bool) {
            return Err(Error::operands("sum_over", format!("a result is {ty}"), Location::caller()).into());
        }
        let mut result = None;
        for chunk in chunks {
            let chunk = chunk?;
            match &mut result {
                None => result = Some(self.call((first, &chunk))?),
                Some(kept) => match self.call_into((first, &chunk), kept) {
                    // The sum below says what differs.
                    Err(Error::Output { .. }) => result = Some(self.call((first, &chunk))?),
                    other => other?,
                },
            }
            add::<Sum<P, D, Y, W>>(&mut sum, result.as_ref().expect("a result"))?;
        }
        Ok(sum)
    }
}

/// Adds a tree to another one of the same structure in place.
#[track_caller]
fn add<F: Family>(sum: &mut F::At<Concrete>, other: &F::At<Concrete>) -> Result<()> {
    if let Err(problem) = crate::tensor::check_same_trees(sum, other) {
        return Err(Error::operands(
            "sum_over",
            format!("results for two chunks differ: {problem}"),
            Location::caller(),
        ));
    }
    let mut others: Vec<&Array> = Vec::new();
    other.visit(&mut |array| others.push(array));
    let mut others = others.into_iter();
    sum.visit_mut(&mut |array| {
        let nothing = Concrete::zeros(&Type::scalar(array.dtype()));
        let (own, other) = (std::mem::replace(array, nothing), others.next().expect("trees of one structure"));
        *array = Concrete::binary(Binary::Add, own, other.clone());
    });
    Ok(())
}
