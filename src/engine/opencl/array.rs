//! Arrays in a device's memory.

use super::devices::Device;
use super::failure::DeviceResult;
use super::memory::{DevicePointer, DeviceShare};
use super::transfer;
use crate::array::Array;
use crate::engine::arguments::Typed;
use crate::error::Result;
use crate::shape::Type;
use std::panic::Location;
use std::sync::Arc;

/// An array in a device's memory.
///
/// Clones are handles on the same elements, which nothing changes. When the last one is dropped, the memory waits for other
/// arrays of the program that it was made by.
#[derive(Clone, Debug)]
pub struct DeviceArray {
    pub(super) ty: Type,
    pub(super) place: DevicePointer,
    pub(super) shared: Arc<DeviceShare>,
}

impl Typed for DeviceArray {
    fn is_of(&self, ty: &Type) -> bool {
        self.ty == *ty
    }

    fn own_type(&self) -> Type {
        self.ty.clone()
    }
}

impl DeviceArray {
    /// Element type and shape.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let square = Program::new(stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]).into_array())?;
    /// assert_eq!(x.ty().to_string(), "f64[2]");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The device that it is on.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let square = Program::new(stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]).into_array())?;
    /// assert_eq!(x.device(), square.device());
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Waits until the elements are there: until they are uploaded, or until the run is done that results in them.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let square = Program::new(stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]).into_array())?;
    /// let squares = square.run(&[x])?;
    /// squares[0].wait()?;
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the driver says that something of it was not.
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        let place = Location::caller();
        self.arrived().map_err(|problem| problem.error(&self.device().to_string(), "wait", Some(place)))
    }

    fn arrived(&self) -> DeviceResult<()> {
        let written = self.place.memory.work().written.clone();
        if let Some(written) = written {
            written.wait()?;
            self.place.memory.work().set_arrived();
        }
        Ok(())
    }

    /// The elements, once they are computed. Later launches are not waited for.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let square = Program::new(stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]).into_array())?;
    /// assert_eq!(square.run(&[x])?[0].download()?.to_vec::<f64>(), Some(vec![9.0, 16.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the driver does not bring them, or the host has no memory for them.
    #[track_caller]
    pub fn download(&self) -> Result<Array> {
        Ok(DeviceArray::download_all(std::slice::from_ref(self))?.swap_remove(0))
    }

    /// The elements of several arrays, as [`DeviceArray::download`]: all transfers are started before the first is waited for.
    ///
    /// ```no_run
    /// use deltaray::opencl::{DeviceArray, OpenCl};
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]))?;
    /// let arrays = DeviceArray::download_all(x.arrays())?;
    /// assert_eq!(arrays[0].to_vec::<f64>(), Some(vec![3.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As of one array.
    #[track_caller]
    pub fn download_all(arrays: &[DeviceArray]) -> Result<Vec<Array>> {
        let place = Location::caller();
        let wanted: Vec<_> = arrays.iter().map(|array| (&*array.shared, &array.ty, &array.place)).collect();
        transfer::download(&wanted).map_err(|problem| {
            let device = arrays.first().map_or_else(String::new, |array| array.device().to_string());
            problem.error(&device, "download", Some(place))
        })
    }
}
