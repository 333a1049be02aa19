//! The source of programs for a device.

use super::code::DeviceCode;
use super::devices::{Device, DeviceLimits};
use super::failure::{DeviceProblem, DeviceResult};
use super::kernels::KernelWriter;
use super::tuning::ProductOptions;
use crate::kernel::{Procedure, Step};
use crate::shape::{DType, Type};
use crate::term::{self, Body};
use std::ops::Range;
use std::sync::Arc;

/// A bulk program, with the names of its parameters and results, if known.
pub(super) struct Named<'b> {
    pub(super) body: &'b Body,
    parameters: &'b [String],
    results: &'b [String],
}

impl<'b> From<&'b Body> for Named<'b> {
    fn from(body: &'b Body) -> Named<'b> {
        Named { body, parameters: &[], results: &[] }
    }
}

impl<'b> From<&'b term::Program> for Named<'b> {
    fn from(program: &'b term::Program) -> Named<'b> {
        Named { body: &program.body, parameters: &program.parameters, results: &program.results }
    }
}

/// Whether a procedure, or one inside of it, computes with `f64`.
fn has_doubles(procedure: &Procedure) -> bool {
    let is_double = |step: &Step| match step {
        Step::Nest(nest) => nest.values.iter().any(|(_, dtype)| *dtype == DType::F64),
        step => step.inner().iter().any(|inner| has_doubles(inner)),
    };
    procedure.buffers.iter().any(|buffer| buffer.ty.dtype == DType::F64) || procedure.steps.iter().any(is_double)
}

/// Programs as they are written for a device.
pub(super) struct DeviceSource {
    /// For each, its kernels in the source, and the types of its results.
    pub(super) codes: Vec<(DeviceCode, Range<usize>, Vec<Type>)>,
    pub(super) source: Arc<str>,
    pub(super) names: Vec<String>,
}

impl DeviceSource {
    pub(super) fn new(
        procedures: &[(Procedure, Option<Named<'_>>)],
        limits: DeviceLimits,
        products: &ProductOptions,
        device: &Device,
    ) -> DeviceResult<DeviceSource> {
        let mut writer = KernelWriter::new(limits, products.clone());
        let (mut doubles, mut codes) = (false, Vec::new());
        for (procedure, named) in procedures {
            doubles |= has_doubles(procedure);
            let first = writer.kernels();
            let result_types = match named {
                Some(named) => named.body.result_types().cloned().collect(),
                None => procedure.results.iter().map(|&id| procedure.buffers[id as usize].ty.clone()).collect(),
            };
            let code = match named {
                Some(named) => writer.program(procedure.clone(), named.parameters, named.results)?,
                None => writer.procedure(procedure.clone(), &[])?,
            };
            codes.push((code, first..writer.kernels(), result_types));
        }
        let (source, names, in_kernels) = writer.finish();
        if (doubles || in_kernels) && !device.has_doubles {
            let text = match doubles {
                true => "it has no f64 (cl_khr_fp64), and the program computes with it: stage it for arrays of f32",
                false => {
                    "it has no f64 (cl_khr_fp64), with which the program computes the error function, the gamma function \
                     and its relatives, or logaddexp, of f32 too: write it without those"
                }
            };
            return Err(DeviceProblem::Unsupported(text.into()));
        }
        Ok(DeviceSource { codes, source: source.into(), names })
    }
}
