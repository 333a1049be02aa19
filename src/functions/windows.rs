//! Convolutions and pooling: reads of windows, and sums or extremes over them.
//!
//! The windows of an array are one affine view of it, which reads zeros outside; a convolution is a contraction of that view
//! with the kernel. So its derivatives are contractions of views too, and the kernel's needs no scatter.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::Array;
use crate::functions::fail;
use crate::operation::{Contraction, Label, Reduction};
use crate::shape::{Axes, DType, Shape, Type, Value};
use crate::tensor::{Float, Number, Rank, Tensor, Tensor3, Tensor4, Tensor5};
use smallvec::SmallVec;

/// How windows move over `D` axes: the stride, the zeros on either side, and the distance between reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window<const D: usize> {
    /// From one window to the next; not 0.
    pub stride: [usize; D],
    /// Zeros, before and after each axis, that windows may reach.
    pub padding: [(usize, usize); D],
    /// From one read of a window to the next; not 0.
    pub dilation: [usize; D],
}

/// Windows that move by 1, stay inside, and read neighbours.
impl<const D: usize> Default for Window<D> {
    fn default() -> Self {
        Window { stride: [1; D], padding: [(0, 0); D], dilation: [1; D] }
    }
}

impl<const D: usize> Window<D> {
    /// The windows of these extents over axes of these: how many, along each axis.
    fn counts(&self, axes: &[usize], extents: &[usize]) -> Result<Shape, String> {
        let count = |at: usize| {
            let (before, after) = self.padding[at];
            let room = axes[at].checked_add(before)?.checked_add(after)?;
            let reach = extents[at].checked_sub(1)?.checked_mul(self.dilation[at])?.checked_add(1)?;
            Some(room.checked_sub(reach)? / self.stride[at] + 1)
        };
        if self.stride.contains(&0) || self.dilation.contains(&0) {
            return Err("a stride or a dilation of 0".into());
        }
        let counts: Option<Shape> = (0..D).map(count).collect();
        counts.ok_or_else(|| {
            format!("windows of extents {extents:?} do not fit on axes of extents {axes:?} and {self:?}")
        })
    }

    /// The read of all windows: the source's `outer` leading axes, the windows' axes, then those inside of a window.
    ///
    /// # Errors
    ///
    /// Where windows are too far outside of the array, or too many.
    fn view(
        &self,
        (dtype, source): (DType, &[usize]),
        outer: usize,
        counts: &[usize],
        extents: &[usize],
    ) -> Result<AffineMap, String> {
        let too_far = || format!("windows by {self:?} go too far beyond axes of extents {:?}", &source[outer..]);
        let result: Shape = source[..outer].iter().chain(counts).chain(extents).copied().collect();
        let mut offsets: SmallVec<[i64; 4]> = SmallVec::from_elem(0, outer);
        let mut rows = Vec::with_capacity(source.len());
        for axis in 0..source.len() {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
            match axis.checked_sub(outer) {
                None => row[axis] = 1,
                Some(at) => {
                    let number = |number: usize| i64::try_from(number).map_err(|_| too_far());
                    // The one window, or the one read of a window, is not moved.
                    row[outer + at] = if counts[at] > 1 { number(self.stride[at])? } else { 0 };
                    row[outer + D + at] = if extents[at] > 1 { number(self.dilation[at])? } else { 0 };
                    offsets.push(-number(self.padding[at].0)?);
                }
            }
            rows.push(row);
        }
        Type::new(dtype, &result).check_size().map_err(|problem| format!("windows: {problem}"))?;
        AffineMap::checked(source, &result, &rows, &offsets).ok_or_else(too_far)
    }
}

#[track_caller]
fn convolution<A: Algebra, E: Number, R: Rank, const D: usize>(
    name: &str,
    x: &Tensor<A, E, R>,
    kernel: &Tensor<A, E, R>,
    window: &Window<D>,
    groups: usize,
) -> Tensor<A, E, R> {
    let (shape, weights) = (x.shape(), kernel.shape());
    let (channels, outputs) = (shape[1], weights[0]);
    let grouped = |count: usize| groups > 0 && count.is_multiple_of(groups);
    if !grouped(channels) || !grouped(outputs) || channels / groups != weights[1] {
        let problem =
            format!("an array of shape {:?} and kernels of shape {:?} in {groups} groups", &shape[..], &weights[..]);
        return fail(name, problem, &shape);
    }
    let counts = match window.counts(&shape[2..], &weights[2..]) {
        Ok(counts) => counts,
        Err(problem) => return fail(name, problem, &shape),
    };
    let split = |leading: &[usize], rest: &[usize]| -> Shape { leading.iter().chain(rest).copied().collect() };
    let source = split(&[shape[0], groups, weights[1]], &shape[2..]);
    let map = match window.view((E::DTYPE, &source), 3, &counts, &weights[2..]) {
        Ok(map) => map,
        Err(problem) => return fail(name, problem, &shape),
    };
    let result = split(&[shape[0], outputs], &counts);
    if let Err(problem) = Type::new(E::DTYPE, &result).check_size() {
        return fail(name, format!("result: {problem}"), &shape);
    }
    let windows = A::view(A::reshape(x.array().clone(), &source), &map);
    let kernels = A::reshape(kernel.array().clone(), &split(&[groups, outputs / groups, weights[1]], &weights[2..]));
    // Sample, group, channel of the group, windows, inside a window; then the output of the group.
    let label = |at: usize| at as Label;
    let all: SmallVec<[Label; 4]> = (0..3 + 2 * D).map(label).collect();
    let output = label(3 + 2 * D);
    let inside = (3 + D..3 + 2 * D).map(label);
    let spec = Contraction {
        left: all,
        right: [1, output, 2].into_iter().chain(inside).collect(),
        result: [0, 1, output].into_iter().chain((3..3 + D).map(label)).collect(),
    };
    let product = A::contract(&spec, windows, kernels);
    Tensor::wrap(A::reshape(product, &result))
}

#[track_caller]
fn pooled<A: Algebra, E: Float, R: Rank, const D: usize>(
    name: &str,
    x: &Tensor<A, E, R>,
    extents: [usize; D],
    window: &Window<D>,
    largest: bool,
) -> Tensor<A, E, R> {
    let shape = x.shape();
    let counts = match window.counts(&shape[2..], &extents) {
        Ok(counts) => counts,
        Err(problem) => return fail(name, problem, &shape),
    };
    let map = match window.view((E::DTYPE, &shape), 2, &counts, &extents) {
        Ok(map) => map,
        Err(problem) => return fail(name, problem, &shape),
    };
    let inside: Axes = (2 + D..2 + 2 * D).collect();
    let windows = A::view(x.array().clone(), &map);
    if !largest {
        let sum = Tensor::<A, E, R>::wrap(A::reduce(Reduction::Sum, windows, &inside));
        let count = extents.iter().product::<usize>();
        return Tensor::wrap(sum.into_dyn().over(count));
    }
    // Zeros outside of the array take no part in the comparison.
    let windows = match map.is_inside() {
        true => windows,
        false => {
            let full = |shape: &[usize], value: Value| A::constant(Array::full(shape, value));
            let mask = A::view(full(&shape, Value::Bool(true)), &map);
            let least = full(map.result(), E::from_number(f64::NEG_INFINITY).into_value());
            A::select(mask, windows, least)
        }
    };
    Tensor::wrap(A::reduce(Reduction::Max, windows, &inside))
}

impl<A: Algebra, E: Float> crate::tensor::TensorD<A, E> {
    /// Divided by how many there are.
    fn over(self, count: usize) -> A::Array {
        let divisor = self.filled(count as f64);
        (self / divisor).into_array()
    }
}

macro_rules! windows {
    ($($d:literal $tensor:ident $conv:ident $max:ident $mean:ident $axes:literal;)*) => {
        $(
            #[doc = concat!("The convolution (cross-correlation) of samples with kernels, over ", $axes, ".")]
            ///
            /// The samples' axes are sample, channel, and the window's axes; the kernels' are output, channel of its group, and
            /// the window's axes; the result's are sample, output, and the positions of the window. The channels and the
            /// outputs are split into `groups` groups, which don't see each other.
            ///
            /// ```
            /// use deltaray::functions::{Window, convolution_1d, convolution_2d, convolution_3d};
            /// use deltaray::prelude::*;
            ///
            /// let x = Tensor3::from_elements((1, 1, 4), vec![1.0, 2.0, 4.0, 8.0]);
            /// let kernel = Tensor3::from_elements((1, 1, 2), vec![1.0, 10.0]);
            /// let sums = convolution_1d(&x, &kernel, &Window::default(), 1);
            /// assert_eq!((sums.shape().to_vec(), sums.to_vec()), (vec![1, 1, 3], vec![21.0, 42.0, 84.0]));
            ///
            /// let sums = convolution_2d(&ones((1, 1, 3, 3)), &ones((1, 1, 2, 2)), &Window::default(), 1);
            /// assert_eq!(sums, full((1, 1, 2, 2), 4.0));
            /// let sums = convolution_3d(&ones((1, 1, 2, 3, 3)), &ones((4, 1, 2, 2, 2)), &Window::default(), 1);
            /// assert_eq!(sums, full((1, 4, 1, 2, 2), 8.0));
            /// ```
            ///
            /// # Panics
            ///
            /// When shapes, groups and windows don't fit each other; in a staged function that is the error of
            /// [`stage`](crate::derivative::stage) instead.
            #[track_caller]
            pub fn $conv<A: Algebra, E: Number>(
                x: &$tensor<A, E>,
                kernel: &$tensor<A, E>,
                window: &Window<$d>,
                groups: usize,
            ) -> $tensor<A, E> {
                convolution(stringify!($conv), x, kernel, window, groups)
            }

            #[doc = concat!("The largest element of each window of these extents, over ", $axes, " behind sample and channel.")]
            ///
            /// The result's axes are sample, channel, and the positions of the window. The derivative goes to the first of equal
            /// ones. Zeros of the padding are not among them: of a window outside it is −infinity.
            ///
            /// ```
            /// use deltaray::functions::{Window, max_pool_1d, max_pool_2d, max_pool_3d};
            /// use deltaray::prelude::*;
            ///
            /// let x = Tensor3::from_elements((1, 1, 4), vec![1.0, 4.0, 2.0, 3.0]);
            /// let halved = Window { stride: [2], ..Window::default() };
            /// assert_eq!(max_pool_1d(&x, [2], &halved).to_vec(), [4.0, 3.0]);
            ///
            /// let pooled = max_pool_2d::<Concrete, f64>(&ones((1, 1, 3, 3)), [2, 2], &Window::default());
            /// assert_eq!(pooled, ones((1, 1, 2, 2)));
            /// let pooled = max_pool_3d::<Concrete, f64>(&ones((1, 1, 2, 2, 3)), [2, 2, 2], &Window::default());
            /// assert_eq!(pooled, ones((1, 1, 1, 1, 2)));
            /// ```
            ///
            /// # Panics
            ///
            /// When windows don't fit the array; in a staged function that is the error of
            /// [`stage`](crate::derivative::stage) instead.
            #[track_caller]
            pub fn $max<A: Algebra, E: Float>(
                x: &$tensor<A, E>,
                extents: [usize; $d],
                window: &Window<$d>,
            ) -> $tensor<A, E> {
                pooled(stringify!($max), x, extents, window, true)
            }

            #[doc = concat!("The mean of each window of these extents, over ", $axes, " behind sample and channel.")]
            ///
            /// The result's axes are sample, channel, and the positions of the window. Zeros of the padding count.
            ///
            /// ```
            /// use deltaray::functions::{Window, mean_pool_1d, mean_pool_2d, mean_pool_3d};
            /// use deltaray::prelude::*;
            ///
            /// let x = Tensor3::from_elements((1, 1, 4), vec![1.0, 4.0, 2.0, 3.0]);
            /// let halved = Window { stride: [2], ..Window::default() };
            /// assert_eq!(mean_pool_1d(&x, [2], &halved).to_vec(), [2.5, 2.5]);
            ///
            /// let pooled = mean_pool_2d::<Concrete, f64>(&ones((1, 1, 3, 3)), [2, 2], &Window::default());
            /// assert_eq!(pooled, ones((1, 1, 2, 2)));
            /// let pooled = mean_pool_3d::<Concrete, f64>(&ones((1, 1, 2, 2, 3)), [2, 2, 2], &Window::default());
            /// assert_eq!(pooled, ones((1, 1, 1, 1, 2)));
            /// ```
            ///
            /// # Panics
            ///
            /// When windows don't fit the array; in a staged function that is the error of
            /// [`stage`](crate::derivative::stage) instead.
            #[track_caller]
            pub fn $mean<A: Algebra, E: Float>(
                x: &$tensor<A, E>,
                extents: [usize; $d],
                window: &Window<$d>,
            ) -> $tensor<A, E> {
                pooled(stringify!($mean), x, extents, window, false)
            }
        )*
    };
}

windows! {
    1 Tensor3 convolution_1d max_pool_1d mean_pool_1d "one axis";
    2 Tensor4 convolution_2d max_pool_2d mean_pool_2d "two axes";
    3 Tensor5 convolution_3d max_pool_3d mean_pool_3d "three axes";
}
