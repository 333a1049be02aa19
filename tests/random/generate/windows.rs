//! Convolutions and pooling of small samples, with windows that fit.

use deltaray::functions::{
    Window, convolution_1d, convolution_2d, max_pool_1d, max_pool_2d, mean_pool_1d, mean_pool_2d,
};
use deltaray::prelude::*;
use deltaray::staged::Staged;

type Any<E> = TensorD<Staged, E>;

/// An array of one to three axes as samples of channels over one axis.
fn samples<E: Float>(x: &Any<E>, turned: bool) -> Tensor3<Staged, E> {
    let shape = match (&x.shape()[..], turned) {
        (&[n], _) => (1, 1, n),
        (&[m, n], true) => (m, 1, n),
        (&[m, n], false) => (1, m, n),
        (shape, _) => (shape[..shape.len() - 2].iter().product(), shape[shape.len() - 2], shape[shape.len() - 1]),
    };
    x.reshape(shape)
}

/// The same over two axes.
fn images<E: Float>(x: &Any<E>, turned: bool) -> Tensor4<Staged, E> {
    let shape = match (&x.shape()[..], turned) {
        (&[n], true) => (1, 1, n, 1),
        (&[n], false) => (1, 1, 1, n),
        (&[m, n], _) => (1, 1, m, n),
        (shape, true) => (1, shape[..shape.len() - 2].iter().product(), shape[shape.len() - 2], shape[shape.len() - 1]),
        (shape, false) => {
            (shape[..shape.len() - 2].iter().product(), 1, shape[shape.len() - 2], shape[shape.len() - 1])
        }
    };
    x.reshape(shape)
}

/// A window of this extent over an axis: stride, padding and dilation. It reaches into the axis wherever it stands.
fn window(which: usize, axis: usize, extent: usize, dilated: bool) -> (usize, (usize, usize), usize) {
    let padding = match which % 3 {
        _ if extent < 2 => (0, 0),
        0 => (0, 0),
        1 => (1, 1),
        _ => (0, 1),
    };
    let dilation = if dilated && (extent - 1) * 2 < axis + padding.0 + padding.1 { 2 } else { 1 };
    (1 + which / 3 % 2, padding, dilation)
}

/// A window over two axes.
fn window_of_two(which: usize, axes: [usize; 2], extents: [usize; 2], dilated: bool) -> Window<2> {
    let of = |at: usize| window(which + 4 * at, axes[at], extents[at], dilated);
    let ((stride, padding, dilation), second) = (of(0), of(1));
    Window { stride: [stride, second.0], padding: [padding, second.1], dilation: [dilation, second.2] }
}

/// A convolution of an array with kernels that are parts of another one of its shape.
pub fn convolution<E: Float>(which: usize, x: &Any<E>, y: &Any<E>) -> Any<E> {
    let (turned, dilated, apart) =
        (which.is_multiple_of(2), (which / 2).is_multiple_of(2), (which / 4).is_multiple_of(2));
    if which.is_multiple_of(3) {
        let (x, kernel) = (images(x, turned), images(y, turned));
        let axes = [x.shape()[2], x.shape()[3]];
        let extents = axes.map(|axis| axis.min(2));
        let kernel = kernel.slice(2, ..extents[0]).slice(3, ..extents[1]);
        let window = window_of_two(which, axes, extents, dilated);
        // With groups, each channel has kernels of its own.
        return match apart {
            true => convolution_2d(&x, &kernel.slice(0, ..1).tr(&[1, 0]), &window, x.shape()[1]).into_dyn(),
            false => convolution_2d(&x, &kernel, &window, 1).into_dyn(),
        };
    }
    let (x, kernel) = (samples(x, turned), samples(y, turned));
    let (channels, axis) = (x.shape()[1], x.shape()[2]);
    let extent = axis.min(1 + which / 8 % 3);
    let kernel = kernel.slice(2, ..extent);
    let (stride, padding, dilation) = window(which, axis, extent, dilated);
    let window = Window { stride: [stride], padding: [padding], dilation: [dilation] };
    match apart {
        true => convolution_1d(&x, &kernel.slice(0, ..1).tr(&[1, 0]), &window, channels).into_dyn(),
        false => convolution_1d(&x, &kernel, &window, 1).into_dyn(),
    }
}

/// The largest elements or the means of windows.
pub fn pooling<E: Float>(which: usize, x: &Any<E>) -> Any<E> {
    let (turned, largest) = (which.is_multiple_of(2), (which / 2).is_multiple_of(2));
    if which.is_multiple_of(3) {
        let x = images(x, turned);
        let axes = [x.shape()[2], x.shape()[3]];
        let extents = axes.map(|axis| axis.min(2));
        let window = window_of_two(which, axes, extents, false);
        return match largest {
            true => max_pool_2d(&x, extents, &window).into_dyn(),
            false => mean_pool_2d(&x, extents, &window).into_dyn(),
        };
    }
    let x = samples(x, turned);
    let axis = x.shape()[2];
    let extents = [axis.min(1 + which / 4 % 3)];
    let (stride, padding, dilation) = window(which, axis, extents[0], false);
    let window = Window { stride: [stride], padding: [padding], dilation: [dilation] };
    match largest {
        true => max_pool_1d(&x, extents, &window).into_dyn(),
        false => mean_pool_1d(&x, extents, &window).into_dyn(),
    }
}
