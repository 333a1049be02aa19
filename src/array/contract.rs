//! Contractions, as batches of matrix products on strided views.

use crate::affine::AffineMap;
use crate::array::memory::{self, OutOfMemory};
use crate::array::products::{BlockedProduct, MatrixLayout, dot, product};
use crate::array::{Array, Data, elementwise, for_data, reduce, view};
use crate::operation::{Binary, Contraction, Label, Labels, Reduction};
use crate::shape::{Axes, Shape, Type, Value, size, strides};
use smallvec::SmallVec;

/// The strides of an array's axes, by label.
struct Strides<'a> {
    labels: &'a [Label],
    strides: SmallVec<[usize; 4]>,
}

impl<'a> Strides<'a> {
    fn new(labels: &'a [Label], shape: &[usize]) -> Strides<'a> {
        Strides { labels, strides: strides(shape) }
    }

    fn of(&self, label: Label) -> usize {
        let axis = self.labels.iter().position(|&l| l == label).expect("a label of this array");
        self.strides[axis]
    }

    /// The one stride of these axes run through together in this order, if there is one.
    fn merged(&self, labels: &[Label], extent: &dyn Fn(Label) -> usize) -> Option<usize> {
        let mut inner: Option<(usize, usize)> = None;
        for &label in labels.iter().rev().filter(|&&label| extent(label) != 1) {
            let stride = self.of(label);
            inner = match inner {
                None => Some((stride, stride.saturating_mul(extent(label)))),
                Some((first, next)) if next == stride => Some((first, stride.saturating_mul(extent(label)))),
                Some(_) => return None,
            };
        }
        Some(inner.map_or(1, |(stride, _)| stride))
    }
}

/// An array with axes in another order of their labels.
fn permuted(a: Array, from: &[Label], to: &[Label]) -> Result<Array, OutOfMemory> {
    let permutation: Axes =
        to.iter().map(|label| from.iter().position(|l| l == label).expect("the same labels")).collect();
    let map = AffineMap::transpose(a.shape(), &permutation);
    for_data!(a, a => view::view(a, &map))
}

/// Runs an expression on the data of two arrays of one type of numbers, whichever it is.
macro_rules! for_numbers {
    ($left:expr, $right:expr, ($a:ident, $b:ident) => $body:expr) => {
        match ($left, $right) {
            (Array::F32($a), Array::F32($b)) => $body,
            (Array::F64($a), Array::F64($b)) => $body,
            (Array::I32($a), Array::I32($b)) => $body,
            (Array::I64($a), Array::I64($b)) => $body,
            _ => unreachable!("operands are numbers of one type"),
        }
    };
}

/// The sum of the products of all elements, of arrays that have their elements in memory.
fn whole<T: BlockedProduct>(a: &Data<T>, b: &Data<T>) -> Option<Array> {
    let (Data::Dense(a), Data::Dense(b)) = (a, b) else { return None };
    Some(T::wrap(Data::Uniform(Shape::new(), dot(a.len(), (a.as_slice(), 0, 1), (b.as_slice(), 0, 1)))))
}

/// A batch of products of matrices: the sizes of each, the layouts of the first operands and result, the extents of the batch, and
/// the distances to the next operands and result along each of them.
struct Batch {
    sizes: [usize; 3],
    layouts: [MatrixLayout; 3],
    extents: Shape,
    steps: SmallVec<[[usize; 3]; 4]>,
}

impl Batch {
    /// The products, as an array of a shape.
    fn products<T: BlockedProduct>(&self, a: Data<T>, b: Data<T>, shape: &Shape) -> Result<Array, OutOfMemory> {
        // A view of one element is uniform.
        let (a, b) = (in_buffer(a)?, in_buffer(b)?);
        let (a, b) = (a.as_slice().unwrap_or_default(), b.as_slice().unwrap_or_default());
        let mut out = memory::filled(shape, T::ZERO)?;
        let [mut at, mut bt, mut ct] = self.layouts;
        let mut position: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.extents.len());
        for _ in 0..size(&self.extents) {
            product(self.sizes, (a, at), (b, bt), (&mut out, ct));
            for axis in (0..self.extents.len()).rev() {
                position[axis] += 1;
                let starts = [&mut at.start, &mut bt.start, &mut ct.start];
                if position[axis] < self.extents[axis] {
                    starts.into_iter().zip(self.steps[axis]).for_each(|(start, step)| *start += step);
                    break;
                }
                position[axis] = 0;
                let all = self.extents[axis] - 1;
                starts.into_iter().zip(self.steps[axis]).for_each(|(start, step)| *start -= step * all);
            }
        }
        Ok(T::wrap(Data::from_vec(shape, out)))
    }
}

/// The same elements in a buffer, of an array that is not of rank 0.
fn in_buffer<T: BlockedProduct>(a: Data<T>) -> Result<Data<T>, OutOfMemory> {
    Ok(match a {
        Data::Uniform(shape, x) => Data::from_vec(&shape, memory::filled(&shape, x)?),
        dense => dense,
    })
}

/// A sum of products with labelled axes, of arrays of one type of numbers.
pub(crate) fn contract(spec: &Contraction, a: Array, b: Array) -> Result<Array, OutOfMemory> {
    // Vectors of a few numbers are soon multiplied, and it should take no longer to see that they are vectors.
    if spec.result.is_empty()
        && spec.left == spec.right
        && let Some(product) = for_numbers!(&a, &b, (a, b) => whole(a, b))
    {
        return Ok(product);
    }
    let shape = spec.shape(a.shape(), b.shape());
    let (left_shape, right_shape) = (Shape::from_slice(a.shape()), Shape::from_slice(b.shape()));
    let extent = |label: Label| spec.extent(label, &left_shape, &right_shape);
    let summed: Labels = spec.left.iter().copied().filter(|label| !spec.result.contains(label)).collect();
    if size(&shape) == 0 || summed.iter().any(|&label| extent(label) == 0) {
        return Ok(Array::zeros(&Type { dtype: a.dtype(), shape }));
    }
    match (a.uniform(), b.uniform()) {
        (Some(x), _) => return scaled(spec, &summed, x, &spec.left, a.shape(), b, &spec.right),
        (_, Some(x)) => return scaled(spec, &summed, x, &spec.right, b.shape(), a, &spec.left),
        _ => {}
    }
    let join = |parts: [&[Label]; 3]| -> Labels { parts.concat().into() };
    let batch: Labels =
        spec.result.iter().copied().filter(|label| spec.left.contains(label) && spec.right.contains(label)).collect();
    let rows: Labels = spec.result.iter().copied().filter(|label| !spec.right.contains(label)).collect();
    let columns: Labels = spec.result.iter().copied().filter(|label| !spec.left.contains(label)).collect();
    if rows.is_empty() && columns.is_empty() && spec.left.last().is_some_and(|label| batch.contains(label)) {
        // Only batches, and along memory at that: an elementwise product, and its sum.
        let order = join([&summed, &batch, &[]]);
        let (left, right) = (permuted(a, &spec.left, &order)?, permuted(b, &spec.right, &order)?);
        let product = elementwise::binary(Binary::Mul, left, right)?;
        let axes: Axes = (0..summed.len()).collect();
        return for_data!(product, product => reduce::reduce(Reduction::Sum, product, &axes));
    }
    // The order of summed labels that spares the most copies: the order of one operand, if the other can be read in it too.
    let left_strides = Strides::new(&spec.left, a.shape());
    let right_strides = Strides::new(&spec.right, b.shape());
    let right_order: Labels = spec.right.iter().copied().filter(|label| summed.contains(label)).collect();
    let readable = |order: &[Label]| {
        usize::from(left_strides.merged(order, &extent).is_some())
            + usize::from(right_strides.merged(order, &extent).is_some())
    };
    let summed = if readable(&right_order) > readable(&summed) { right_order } else { summed };
    let fits = |strides: &Strides, first: &[Label], second: &[Label]| {
        Some((strides.merged(first, &extent)?, strides.merged(second, &extent)?))
    };
    let (left, left_labels) = match fits(&left_strides, &rows, &summed) {
        Some(_) => (a, spec.left.clone()),
        None => {
            let order = join([&batch, &rows, &summed]);
            (permuted(a, &spec.left, &order)?, order)
        }
    };
    let (right, right_labels) = match fits(&right_strides, &summed, &columns) {
        Some(_) => (b, spec.right.clone()),
        None => {
            let order = join([&batch, &summed, &columns]);
            (permuted(b, &spec.right, &order)?, order)
        }
    };
    let result_strides = Strides::new(&spec.result, &shape);
    let result_labels = match fits(&result_strides, &rows, &columns) {
        Some(_) => spec.result.clone(),
        None => join([&batch, &rows, &columns]),
    };
    let shape_of = |labels: &[Label]| -> Shape { labels.iter().map(|&label| extent(label)).collect() };
    let left_strides = Strides::new(&left_labels, &shape_of(&left_labels));
    let right_strides = Strides::new(&right_labels, &shape_of(&right_labels));
    let result_shape = shape_of(&result_labels);
    let result_strides = Strides::new(&result_labels, &result_shape);
    let layout = |strides: &Strides, first: &[Label], second: &[Label]| {
        let (rows, columns) = fits(strides, first, second).expect("the order was chosen for this");
        MatrixLayout { start: 0, rows, columns }
    };
    let sizes = [size(&shape_of(&rows)), size(&shape_of(&summed)), size(&shape_of(&columns))];
    let layouts = [
        layout(&left_strides, &rows, &summed),
        layout(&right_strides, &summed, &columns),
        layout(&result_strides, &rows, &columns),
    ];
    let steps = batch
        .iter()
        .map(|&label| [left_strides.of(label), right_strides.of(label), result_strides.of(label)])
        .collect();
    let batch = Batch { sizes, layouts, extents: shape_of(&batch), steps };
    let result = for_numbers!(left, right, (left, right) => batch.products(left, right, &result_shape))?;
    if result_labels == spec.result { Ok(result) } else { permuted(result, &result_labels, &spec.result) }
}

/// The contraction with an operand whose elements are all `x`: the other one's sum, scaled and repeated.
fn scaled(
    spec: &Contraction,
    summed: &[Label],
    x: Value,
    uniform_labels: &[Label],
    uniform_shape: &[usize],
    other: Array,
    other_labels: &[Label],
) -> Result<Array, OutOfMemory> {
    let axes: Axes = (0..other_labels.len()).filter(|&axis| summed.contains(&other_labels[axis])).collect();
    let kept: Labels = other_labels.iter().copied().filter(|label| !summed.contains(label)).collect();
    let result_axes: Axes =
        kept.iter().map(|label| spec.result.iter().position(|l| l == label).expect("a label that is kept")).collect();
    let other_shape = Shape::from_slice(other.shape());
    let shape: Shape = spec
        .result
        .iter()
        .map(|label| match other_labels.iter().position(|l| l == label) {
            Some(axis) => other_shape[axis],
            None => uniform_shape[uniform_labels.iter().position(|l| l == label).expect("a label of an operand")],
        })
        .collect();
    let sum = for_data!(other, other => reduce::reduce(Reduction::Sum, other, &axes))?;
    let factor = Array::full(sum.shape(), x);
    let product = elementwise::binary(Binary::Mul, sum, factor)?;
    let map = AffineMap::broadcast(product.shape(), &shape, &result_axes);
    for_data!(product, product => view::view(product, &map))
}
