//! Platforms and devices, and the objects made there: contexts, memory, programs and their kernels.

use super::{bytes, done, number, text};
use crate::engine::opencl::failure::{DeviceProblem, DeviceResult};
use ocl::ffi::{
    CL_BUILD_PROGRAM_FAILURE, CL_BUILD_SUCCESS, CL_DEVICE_TYPE_ALL, CL_KERNEL_LOCAL_MEM_SIZE,
    CL_KERNEL_WORK_GROUP_SIZE, CL_MEM_READ_WRITE, CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BUILD_LOG,
    CL_PROGRAM_BUILD_STATUS, CL_SUCCESS, cl_device_id, cl_device_info, cl_kernel_work_group_info, cl_platform_id,
    cl_program_build_info,
};
use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::opencl) struct PlatformId(cl_platform_id);

/// A device, which is there for as long as the process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::opencl) struct DeviceId(cl_device_id);

// SAFETY: it is a name, which any thread may say.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

/// All drivers that the loader finds.
pub(in crate::engine::opencl) fn platforms() -> DeviceResult<Vec<PlatformId>> {
    let mut count = 0;
    // SAFETY: only their number is asked for.
    done(unsafe { ocl::ffi::clGetPlatformIDs(0, ptr::null_mut(), &mut count) })?;
    let mut all = vec![ptr::null_mut(); count as usize];
    // SAFETY: there is room for so many.
    done(unsafe { ocl::ffi::clGetPlatformIDs(count, all.as_mut_ptr(), ptr::null_mut()) })?;
    Ok(all.into_iter().map(PlatformId).collect())
}

/// All devices of a driver.
pub(in crate::engine::opencl) fn devices(platform: PlatformId) -> DeviceResult<Vec<DeviceId>> {
    let mut count = 0;
    let ask = |room, to, count| {
        // SAFETY: the platform is there, and so is the room for those that are asked for.
        done(unsafe { ocl::ffi::clGetDeviceIDs(platform.0, CL_DEVICE_TYPE_ALL, room, to, count) })
    };
    ask(0, ptr::null_mut(), &mut count)?;
    let mut all = vec![ptr::null_mut(); count as usize];
    ask(count, all.as_mut_ptr(), ptr::null_mut())?;
    Ok(all.into_iter().map(DeviceId).collect())
}

impl PlatformId {
    /// The platform's name.
    pub(in crate::engine::opencl) fn name(self) -> DeviceResult<String> {
        let name = bytes(|size, to, needed| {
            // SAFETY: there is room for so many bytes.
            unsafe { ocl::ffi::clGetPlatformInfo(self.0, ocl::ffi::CL_PLATFORM_NAME, size, to, needed) }
        })?;
        Ok(text(&name))
    }
}

impl DeviceId {
    pub(super) fn address(self) -> cl_device_id {
        self.0
    }

    fn info(self, request: cl_device_info) -> DeviceResult<Vec<u8>> {
        bytes(|size, to, needed| {
            // SAFETY: there is room for so many bytes.
            unsafe { ocl::ffi::clGetDeviceInfo(self.0, request, size, to, needed) }
        })
    }

    /// A number that it states.
    pub(in crate::engine::opencl) fn number(self, request: cl_device_info) -> DeviceResult<u64> {
        number(&self.info(request)?)
    }

    /// The first of several numbers of the size of addresses that it states.
    pub(in crate::engine::opencl) fn first_number(self, request: cl_device_info) -> DeviceResult<u64> {
        number(self.info(request)?.get(..size_of::<usize>()).unwrap_or_default())
    }

    /// A text that it states.
    pub(in crate::engine::opencl) fn text(self, request: cl_device_info) -> DeviceResult<String> {
        Ok(text(&self.info(request)?))
    }
}

objects! {
    /// The owner of a device's memory, programs and queues.
    Context, "context", clReleaseContext;
    /// A program, before or after it is built.
    Built, "program", clReleaseProgram;
    /// The driver's part of memory.
    Stored, "memory", clReleaseMemObject;
    /// The driver's part of a kernel.
    Compiled, "kernel", clReleaseKernel;
}

// SAFETY: OpenCL's functions may be called by several threads with the same object, but for those that set a kernel's arguments.
unsafe impl Sync for Context {}
// SAFETY: as above.
unsafe impl Sync for Built {}
// SAFETY: as above.
unsafe impl Sync for Stored {}

impl Context {
    pub(in crate::engine::opencl) fn new(device: DeviceId) -> DeviceResult<Context> {
        let mut status = CL_SUCCESS;
        // SAFETY: one device is named, and nobody is to be told of errors.
        let raw = unsafe { ocl::ffi::clCreateContext(ptr::null(), 1, &device.0, None, ptr::null_mut(), &mut status) };
        Context::made(raw, status)
    }

    pub(super) fn address(&self) -> *mut std::ffi::c_void {
        self.raw()
    }
}

/// Memory of a device.
#[derive(Debug)]
pub(in crate::engine::opencl) struct Memory {
    stored: Stored,
    /// Which no other memory of the process has or has had.
    number: u64,
}

impl Memory {
    pub(in crate::engine::opencl) fn new(context: &Context, bytes: usize) -> DeviceResult<Memory> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut status = CL_SUCCESS;
        // SAFETY: no memory of the host is named.
        let raw =
            unsafe { ocl::ffi::clCreateBuffer(context.raw(), CL_MEM_READ_WRITE, bytes, ptr::null_mut(), &mut status) };
        Ok(Memory { stored: Stored::made(raw, status)?, number: NUMBER.fetch_add(1, Ordering::Relaxed) })
    }

    pub(super) fn address(&self) -> *mut std::ffi::c_void {
        self.stored.raw()
    }
}

impl Built {
    /// A program of a source.
    pub(in crate::engine::opencl) fn of_source(context: &Context, source: &str) -> DeviceResult<Built> {
        let (mut status, start, length) = (CL_SUCCESS, source.as_ptr().cast(), source.len());
        // SAFETY: there is one text, of this length.
        let raw = unsafe { ocl::ffi::clCreateProgramWithSource(context.raw(), 1, &start, &length, &mut status) };
        Built::made(raw, status)
    }

    /// A program that was built for a device before.
    pub(in crate::engine::opencl) fn of_binary(
        context: &Context,
        device: DeviceId,
        binary: &[u8],
    ) -> DeviceResult<Built> {
        let (mut own, mut status, start, length) = (CL_SUCCESS, CL_SUCCESS, binary.as_ptr(), binary.len());
        // SAFETY: there is one device, and one binary of this length.
        let raw = unsafe {
            let (context, device) = (context.raw(), &device.0);
            ocl::ffi::clCreateProgramWithBinary(context, 1, device, &length, &start, &mut own, &mut status)
        };
        let made = Built::made(raw, status)?;
        done(own)?;
        Ok(made)
    }

    /// Compiles a source, or links a binary.
    pub(in crate::engine::opencl) fn build(&self, device: DeviceId, options: &str) -> DeviceResult<()> {
        let options = CString::new(options).map_err(|error| DeviceProblem::Driver(error.to_string()))?;
        // SAFETY: there is one device, and the options end with a zero. Without somebody to tell, the call waits.
        let status =
            unsafe { ocl::ffi::clBuildProgram(self.raw(), 1, &device.0, options.as_ptr(), None, ptr::null_mut()) };
        // Some drivers state a failure only here.
        let is_built = || Ok(number(&self.build_info(device, CL_PROGRAM_BUILD_STATUS)?)? as i32 == CL_BUILD_SUCCESS);
        if status == CL_SUCCESS && is_built()? {
            return Ok(());
        }
        let log = self.build_info(device, CL_PROGRAM_BUILD_LOG).map(|log| text(&log)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
        match status {
            _ if !lines.is_empty() => Err(DeviceProblem::Build(lines.join("\n"))),
            CL_SUCCESS | CL_BUILD_PROGRAM_FAILURE => Err(DeviceProblem::Build("it does not say why".into())),
            status => Err(DeviceProblem::of_status(status)),
        }
    }

    fn build_info(&self, device: DeviceId, request: cl_program_build_info) -> DeviceResult<Vec<u8>> {
        bytes(|size, to, needed| {
            // SAFETY: there is room for so many bytes.
            unsafe { ocl::ffi::clGetProgramBuildInfo(self.raw(), device.0, request, size, to, needed) }
        })
    }

    /// The binary of a program that was built for one device; `None` if the driver has none.
    pub(in crate::engine::opencl) fn binary(&self) -> DeviceResult<Option<Vec<u8>>> {
        let sizes = bytes(|size, to, needed| {
            // SAFETY: there is room for so many bytes.
            unsafe { ocl::ffi::clGetProgramInfo(self.raw(), CL_PROGRAM_BINARY_SIZES, size, to, needed) }
        })?;
        let Ok(length) = number(&sizes) else { return Ok(None) };
        let mut binary = vec![0u8; length as usize];
        let mut start = binary.as_mut_ptr();
        // SAFETY: there is one device, and so one place to write to, which has room for as much as was stated.
        done(unsafe {
            let (room, to) = (size_of_val(&start), (&raw mut start).cast());
            ocl::ffi::clGetProgramInfo(self.raw(), CL_PROGRAM_BINARIES, room, to, ptr::null_mut())
        })?;
        Ok(Some(binary).filter(|binary| !binary.is_empty()))
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::opencl) enum KernelArgument<'a> {
    Memory(&'a Memory),
    Number(i64),
}

/// The value that a kernel's argument was last set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LastArgument {
    Nothing,
    Memory(u64),
    Number(i64),
}

/// A kernel, and the arguments of its next launch.
#[derive(Debug)]
pub(in crate::engine::opencl) struct DeviceKernel {
    compiled: Compiled,
    told: Vec<LastArgument>,
}

impl DeviceKernel {
    pub(in crate::engine::opencl) fn new(program: &Built, name: &str) -> DeviceResult<DeviceKernel> {
        let name = CString::new(name).map_err(|error| DeviceProblem::Driver(error.to_string()))?;
        let mut status = CL_SUCCESS;
        // SAFETY: the name ends with a zero.
        let raw = unsafe { ocl::ffi::clCreateKernel(program.raw(), name.as_ptr(), &mut status) };
        Ok(DeviceKernel { compiled: Compiled::made(raw, status)?, told: Vec::new() })
    }

    pub(super) fn address(&self) -> *mut std::ffi::c_void {
        self.compiled.raw()
    }

    /// Makes later launches take this, and returns whether it is a change: the driver is only told of changes.
    pub(in crate::engine::opencl) fn set(&mut self, at: usize, argument: KernelArgument<'_>) -> DeviceResult<bool> {
        if self.told.len() <= at {
            self.told.resize(at + 1, LastArgument::Nothing);
        }
        let told = match argument {
            // By its number: other memory may come to be where it was.
            KernelArgument::Memory(memory) => LastArgument::Memory(memory.number),
            KernelArgument::Number(number) => LastArgument::Number(number),
        };
        if self.told[at] == told {
            return Ok(false);
        }
        self.told[at] = LastArgument::Nothing;
        let (index, kernel) = (at as u32, self.compiled.raw());
        done(match argument {
            KernelArgument::Memory(memory) => {
                let raw = memory.stored.raw();
                // SAFETY: the address of memory is what is passed for an array.
                unsafe { ocl::ffi::clSetKernelArg(kernel, index, size_of_val(&raw), (&raw const raw).cast()) }
            }
            KernelArgument::Number(number) => {
                // SAFETY: so many bytes are there.
                unsafe { ocl::ffi::clSetKernelArg(kernel, index, size_of_val(&number), (&raw const number).cast()) }
            }
        })?;
        self.told[at] = told;
        Ok(true)
    }

    fn info(&self, device: DeviceId, request: cl_kernel_work_group_info) -> DeviceResult<u64> {
        let stated = bytes(|size, to, needed| {
            // SAFETY: there is room for so many bytes.
            unsafe { ocl::ffi::clGetKernelWorkGroupInfo(self.compiled.raw(), device.0, request, size, to, needed) }
        })?;
        number(&stated)
    }

    /// The most work items of a group.
    pub(in crate::engine::opencl) fn largest_group(&self, device: DeviceId) -> DeviceResult<usize> {
        Ok(self.info(device, CL_KERNEL_WORK_GROUP_SIZE)? as usize)
    }

    /// Bytes of local memory that a group takes.
    pub(in crate::engine::opencl) fn local_memory(&self, device: DeviceId) -> DeviceResult<u64> {
        self.info(device, CL_KERNEL_LOCAL_MEM_SIZE)
    }
}
