//! Which kernels of matrix products were the fastest on a device, measured and remembered.

use super::OpenCl;
use super::cache::Cache;
use super::devices::Device;
use super::failure::DeviceResult;
use super::tuning::{ProductKernel, Sizes, kind};
use crate::kernel::{BufferId, BufferSource, MatrixProduct, Procedure, ProcedureBuffer, Step};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Products of fewer multiplications are not worth measuring.
const LEAST: usize = 1 << 18;

/// The kernels that this process has found.
static FOUND: Mutex<BTreeMap<String, ProductKernel>> = Mutex::new(BTreeMap::new());

/// The fastest kernels for the products of procedures that are large enough to matter, given how long a procedure's product takes
/// by a kernel.
pub(super) fn kernels<'p>(
    procedures: impl Iterator<Item = &'p Procedure>,
    device: &Device,
    options: &OpenCl,
    seconds: impl Fn(&Procedure, ProductKernel) -> DeviceResult<f64>,
) -> DeviceResult<BTreeMap<String, ProductKernel>> {
    let (mut products, mut fastest) = (Vec::new(), BTreeMap::new());
    procedures.for_each(|procedure| add_products(procedure, &mut products));
    let cache = options.cache();
    for (procedure, product) in products {
        let dtype = procedure.buffers[product.result.buffer as usize].ty.dtype;
        let kind = kind(dtype, product);
        if !dtype.is_float() || Sizes::of(product).work() < LEAST || fastest.contains_key(&kind) {
            continue;
        }
        let key = key(device, options, &kind);
        let known = FOUND.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        let fits = |kernel: &ProductKernel| kernel.fits(dtype, &options.limits(device));
        let kernel = match known.or_else(|| kept(cache.as_ref(), &key)).filter(fits) {
            Some(kernel) => kernel,
            None => {
                let alone = alone(procedure, product);
                let candidates = ProductKernel::candidates(dtype, &options.limits(device));
                let kernel = fastest_of(candidates, |kernel| seconds(&alone, kernel))?;
                keep(cache.as_ref(), &key, kernel);
                kernel
            }
        };
        FOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(key, kernel);
        fastest.insert(kind, kernel);
    }
    Ok(fastest)
}

/// The key of a choice: everything that it depends on.
fn key(device: &Device, options: &OpenCl, kind: &str) -> String {
    let Device { platform, name, driver, version, .. } = device;
    let is_serial = options.limits(device).is_serial;
    format!("kernel of products\n{platform}\n{name}\n{driver}\n{version}\n{is_serial}\n{kind}")
}

/// The kernel that another process has found, if readable.
fn kept(cache: Option<&Cache>, key: &str) -> Option<ProductKernel> {
    String::from_utf8(cache?.get(key)?).ok()?.parse().ok()
}

fn keep(cache: Option<&Cache>, key: &str, kernel: ProductKernel) {
    if let Some(cache) = cache {
        cache.put(key, kernel.to_string().as_bytes());
    }
}

/// The products of a procedure, and of those inside of it.
fn add_products<'p>(procedure: &'p Procedure, products: &mut Vec<(&'p Procedure, &'p MatrixProduct)>) {
    for step in &procedure.steps {
        if let Step::Product(product) = step {
            products.push((procedure, product));
        }
        step.inner().into_iter().for_each(|inner| add_products(inner, products));
    }
}

/// A procedure that computes a product of its arguments, which lie as those of the product do.
fn alone(procedure: &Procedure, product: &MatrixProduct) -> Procedure {
    let buffer =
        |id: BufferId, source: BufferSource| ProcedureBuffer { ty: procedure.buffers[id as usize].ty.clone(), source };
    let mut product = product.clone();
    let buffers = vec![
        buffer(product.left.buffer, BufferSource::Parameter(0)),
        buffer(product.right.buffer, BufferSource::Parameter(1)),
        buffer(product.result.buffer, BufferSource::Local),
    ];
    (product.left.buffer, product.right.buffer, product.result.buffer) = (0, 1, 2);
    product.continues = false;
    let steps = vec![Step::Product(Box::new(product))];
    Procedure { buffers, parameters: 2, results: vec![2], continued: Vec::new(), changing: Default::default(), steps }
}

/// The fastest of kernels. Those that the device's compiler refuses, or for which it has no room, are not among them.
fn fastest_of(
    candidates: impl IntoIterator<Item = ProductKernel>,
    seconds: impl Fn(ProductKernel) -> DeviceResult<f64>,
) -> DeviceResult<ProductKernel> {
    let mut fastest: Option<(f64, ProductKernel)> = None;
    let mut problem = None;
    for kernel in candidates {
        match seconds(kernel) {
            Ok(time) if fastest.is_none_or(|(least, _)| time < least) => fastest = Some((time, kernel)),
            Ok(_) => {}
            Err(found) => problem = Some(found),
        }
    }
    match (fastest, problem) {
        (Some((_, kernel)), _) => Ok(kernel),
        (None, Some(problem)) => Err(problem),
        (None, None) => Ok(ProductKernel::Elements),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_found_again_and_what_is_no_choice_is_ignored() {
        let folder = std::env::temp_dir().join(format!("deltaray-products-{}", std::process::id()));
        let cache = Cache::new(folder.clone());
        let kernel: ProductKernel = "groups 64 32 16 4 2".parse().unwrap();
        assert_eq!(kept(Some(&cache), "a"), None);
        keep(Some(&cache), "a", kernel);
        cache.put("b", b"groups 64");
        cache.put("c", &[0xff, 0xfe]);
        assert_eq!(kept(Some(&cache), "a"), Some(kernel));
        assert_eq!(kept(Some(&cache), "b"), None);
        assert_eq!(kept(Some(&cache), "c"), None);
        assert_eq!(kept(None, "a"), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
