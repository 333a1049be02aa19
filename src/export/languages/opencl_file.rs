//! A program as OpenCL C, and the launch plan for a host.

use super::file_names::FileNames;
use super::{check_sizes, lowered, words};
use crate::array::Array;
use crate::error::Result;
use crate::export::Program;
use crate::kernel::{self, BufferId, BufferSource, Nest, Procedure, Step};
use crate::shape::{DType, Value, steps};
use crate::source::c::C;
use crate::source::helpers;
use crate::source::isolated::{Isolated, isolated};
use crate::source::language::Language;
use crate::source::order::parallel_first;
use crate::source::plan::{BufferBinding, BufferPlan};
use crate::source::procedure::{FunctionWriter, touched};
use crate::source::stretch::stretches;
use crate::source::text::Text;
use crate::source::tidy::tidied;
use crate::source::writer::{BufferFacts, NestWriter};
use std::collections::{BTreeMap, BTreeSet};

/// A program as source of OpenCL C 1.2, and a launch plan with everything that a host program needs to run it.
///
/// The plan is JSON:
///
/// - `"format": "deltaray launch plan"`, `"version": 1`, `"name"`;
/// - `"buffers"`: memory objects, each with a `"name"`, its `"type"` (`f64`, `f32`, `i64`, `i32`, or `bool`, a byte that is 0 or 1),
///   the number of its `"elements"`, and a `"role"`: `"argument"` or `"result"`, with its `"position"` and its `"label"`, the name in the
///   program; `"memory"`, whose elements don't matter at first; or `"constant"`, whose elements are those of `"values"`, or all `"fill"`.
///   Numbers that JSON lacks are `"NaN"`, `"inf"` and `"-inf"`. Arrays are row-major.
/// - `"steps"`, to be done in order: `{"kernel": .., "global_size": n, "arguments": [..]}` launches a kernel for n work items
///   of one dimension, in groups of any size, its arguments being buffers by their names;
///   `{"fill": buffer, "elements": n, "value": x}` and `{"copy": buffer, "to": buffer, "elements": n}` do what they say.
/// - `"status"`: a buffer of role `"status"`, of one `i32`, or null. It is 0 before the first step; if it is not after
///   the last one, a loop had more steps than there is memory to go back over.
///
/// Loops, conditionals and sorts are kernels of one work item. Sums are in another order than on the processor; writes at
/// computed positions of one row are made by one work item, in order, so that results don't differ from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenClSource {
    /// The kernels, for one build of a program.
    pub kernels: String,
    /// The host's actions, as JSON.
    pub plan: String,
}

/// A file under construction.
struct File<'p> {
    procedure: &'p Procedure,
    names: &'p FileNames,
    plan: BufferPlan<'p>,
    /// Memory for steps that are one work item, by type and name.
    scratch: BTreeMap<String, (DType, usize)>,
    kernels: Text,
    steps: Vec<String>,
    constants: BTreeMap<BufferId, String>,
    fails: bool,
    count: usize,
}

/// A text in JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// A number in JSON.
fn number(value: Value) -> String {
    let float = |x: f64, text: String| match () {
        () if x.is_nan() => quoted("NaN"),
        () if x.is_infinite() => quoted(if x > 0.0 { "inf" } else { "-inf" }),
        () => text,
    };
    match value {
        Value::F32(x) => float(f64::from(x), format!("{x:?}")),
        Value::F64(x) => float(x, format!("{x:?}")),
        Value::I32(x) => x.to_string(),
        Value::I64(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
    }
}

/// A program as source of OpenCL C with a launch plan: see [`OpenClSource`].
///
/// # Errors
///
/// When the program has an operation that the language can't express; the error names it.
pub fn opencl(program: impl Into<Program>) -> Result<OpenClSource> {
    OpenClOptions::default().export(program)
}

/// How programs are written in OpenCL C: with OpenCL's own functions, unless said otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenClOptions {
    inline_math: bool,
}

impl OpenClOptions {
    /// Whether elementary functions, such as `exp` and `tanh`, are written inline, by the formulas of
    /// [`COptions::inline_math`](super::COptions::inline_math): their errors are less than those that OpenCL allows its own
    /// functions, where the device's quotients are exact. Sines, cosines, tangents and powers remain OpenCL's, but in loops that
    /// one work item runs.
    ///
    /// ```
    /// use deltaray::export::OpenClOptions;
    /// use deltaray::prelude::*;
    ///
    /// #[differentiable]
    /// fn energy(x: Vector<f64>) -> Scalar<f64> {
    ///     (-x.powi(2)).exp().sum()
    /// }
    ///
    /// let source = OpenClOptions::default().inline_math(true).export(&stage(energy, &zeros(1000))?)?;
    /// assert!(source.kernels.contains("energy_exp_inline_f64("));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn inline_math(self, inline: bool) -> OpenClOptions {
        OpenClOptions { inline_math: inline }
    }

    /// The program as source of OpenCL C with a launch plan.
    ///
    /// # Errors
    ///
    /// As [`opencl`](super::opencl).
    pub fn export(self, program: impl Into<Program>) -> Result<OpenClSource> {
        written(program.into(), self)
    }
}

fn written(program: Program, options: OpenClOptions) -> Result<OpenClSource> {
    let procedure = lowered(&program.body, "OpenCL C", kernel::lower_in_place_unblocked)?;
    let names = FileNames::new(&program, &words::opencl(), "f");
    let language = C { prefix: names.function.clone(), is_opencl: true, inline_math: options.inline_math };
    let mut writer = FunctionWriter::new(&language);
    let mut file = File {
        plan: BufferPlan::new(&procedure, &[]),
        procedure: &procedure,
        names: &names,
        scratch: BTreeMap::new(),
        kernels: Text::default(),
        steps: Vec::new(),
        constants: BTreeMap::new(),
        fails: false,
        count: 0,
    };
    for step in &procedure.steps {
        // Known arrays have memory objects of their own.
        file.plan.next();
        file.step(&mut writer, &language, step)?;
    }
    file.plan.next();
    file.copies();
    let mut source = Text::default();
    source.line(format!("/* {}, a program exported by deltaray: kernels for its launch plan. */", names.function));
    source.line("#pragma OPENCL EXTENSION cl_khr_fp64 : enable");
    source.line("");
    source.append(std::mem::take(&mut writer.constants));
    for helper in helpers::c_texts(&writer.helpers, &language.prefix, true) {
        source.lines(helper.lines());
        source.line("");
    }
    for mut function in std::mem::take(&mut writer.functions) {
        function.tidy();
        source.append(function);
        source.line("");
    }
    let memory = file.plan.slots().iter().map(|slot| (slot.dtype, slot.count));
    check_sizes(&program.body, memory.chain(file.scratch.values().copied()), "OpenCL C")?;
    let plan = file.launch_plan(&program);
    source.append(file.kernels);
    Ok(OpenClSource { kernels: source.finish(), plan })
}

impl File<'_> {
    fn name(&mut self, id: BufferId) -> String {
        let origin = self.procedure.origin(id);
        match self.plan.place(origin) {
            BufferBinding::Argument(position) => self.names.arguments[position].clone(),
            BufferBinding::Result(position) => self.names.results[position].clone(),
            BufferBinding::Slot(slot) => format!("memory{slot}"),
            BufferBinding::Constant(id) => {
                let next = format!("known{}", self.constants.len());
                self.constants.entry(id).or_insert(next).clone()
            }
            BufferBinding::Unused => unreachable!("what a step touches has a place"),
        }
    }

    fn dtype(&self, id: BufferId) -> DType {
        self.procedure.buffers[id as usize].ty.dtype
    }

    fn size(&self, id: BufferId) -> usize {
        self.procedure.buffers[id as usize].ty.size()
    }

    fn kernel_name(&mut self, word: &str) -> String {
        self.count += 1;
        format!("{}_{word}{}", self.names.function, self.count)
    }

    fn step(&mut self, writer: &mut FunctionWriter<'_>, language: &C, step: &Step) -> Result<()> {
        match step {
            Step::Nest(nest) => self.nest(writer, language, nest, false),
            Step::Product(product) => {
                let nest = product.as_nest(self.dtype(product.result.buffer));
                self.nest(writer, language, &nest, product.continues);
            }
            step => self.one_item(writer, language, step)?,
        }
        Ok(())
    }

    /// A kernel's head.
    fn open_kernel(&mut self, language: &C, kernel: &str, parameters: &[(String, DType, bool)]) {
        let all: Vec<String> = parameters
            .iter()
            .map(|(name, dtype, writes)| format!("{}restrict {name}", language.pointer(*dtype, *writes)))
            .collect();
        self.kernels.open(format!("__kernel void {kernel}({})", all.join(", ")));
    }

    fn launch(&mut self, kernel: &str, items: usize, parameters: &[(String, DType, bool)]) {
        let arguments: Vec<String> = parameters.iter().map(|(name, ..)| quoted(name)).collect();
        self.steps.push(format!(
            "{{\"kernel\": {}, \"global_size\": {items}, \"arguments\": [{}]}}",
            quoted(kernel),
            arguments.join(", ")
        ));
    }

    fn nest(&mut self, writer: &mut FunctionWriter<'_>, language: &C, nest: &Nest, continues: bool) {
        let nest = &tidied(nest, &self.plan.unread);
        if nest.stores.is_empty() {
            return;
        }
        let (read, stored) = touched(nest);
        let written: BTreeSet<BufferId> = stored.iter().map(|&id| self.procedure.origin(id)).collect();
        let mut parameters: Vec<(String, DType, bool)> = Vec::new();
        let mut known: BTreeMap<BufferId, (String, usize, DType)> = BTreeMap::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for id in read.into_iter().chain(stored) {
            let (name, dtype) = (self.name(id), self.dtype(id));
            if seen.insert(name.clone()) {
                parameters.push((name.clone(), dtype, written.contains(&self.procedure.origin(id))));
            }
            known.insert(id, (name, self.size(id), dtype));
        }
        let (name, count, dtype) =
            (|id: BufferId| known[&id].0.clone(), |id: BufferId| known[&id].1, |id: BufferId| known[&id].2);
        let goes_on = |id: BufferId| continues || self.procedure.continued.contains(&id);
        let buffers = BufferFacts { name: &name, count: &count, dtype: &dtype, continues: &goes_on };
        let (order, parallel) = parallel_first(nest);
        let items = steps(order[..parallel].iter().map(|&axis| nest.extents[axis]));
        let (nest, limits) = stretches(nest, &order, parallel);
        let mut loops = NestWriter::new(language, &nest, (order, parallel, limits), buffers, &mut writer.helpers);
        let fills = loops.fills(buffers);
        let mut text = Text::default();
        text.declare("item", language.declare_index("item", "get_global_id(0)"));
        loops.write(&mut text);
        text.tidy();
        for (id, value) in fills {
            self.steps.push(format!(
                "{{\"fill\": {}, \"elements\": {}, \"value\": {}}}",
                quoted(&name(id)),
                count(id),
                number(value)
            ));
        }
        if nest.extents.contains(&0) {
            return;
        }
        let kernel = self.kernel_name("nest");
        self.open_kernel(language, &kernel, &parameters);
        self.kernels.append(text);
        self.kernels.close();
        self.kernels.line("");
        self.launch(&kernel, items, &parameters);
    }

    /// A step that one work item does.
    fn one_item(&mut self, writer: &mut FunctionWriter<'_>, language: &C, step: &Step) -> Result<()> {
        let Isolated { procedure: alone, interface, read, written } = isolated(self.procedure, step);
        let function = writer.procedure("step", &alone, &interface)?;
        let mut parameters: Vec<(String, DType, bool)> = Vec::new();
        for &id in &read {
            let name = self.name(id);
            parameters.push((name, self.dtype(id), false));
        }
        for &id in &written {
            let name = self.name(id);
            parameters.push((name, self.dtype(id), true));
        }
        for (dtype, count) in function.scratch() {
            let name = format!("scratch_{}", dtype.name());
            let entry = self.scratch.entry(name.clone()).or_insert((dtype, 0));
            entry.1 = entry.1.max(count);
            parameters.push((name, dtype, true));
        }
        let kernel = self.kernel_name("sequential");
        let arguments: Vec<String> = parameters.iter().map(|(name, ..)| name.clone()).collect();
        if function.fails {
            self.fails = true;
            parameters.push(("status".into(), DType::I32, true));
        }
        self.open_kernel(language, &kernel, &parameters);
        let call = language.call(&function.name, &arguments);
        let line = if function.fails { format!("if (!{call}) status[0] = 1;") } else { format!("{call};") };
        self.kernels.line(line);
        self.kernels.close();
        self.kernels.line("");
        self.launch(&kernel, 1, &parameters);
        Ok(())
    }

    /// Results that are at other places.
    fn copies(&mut self) {
        for (position, id) in self.plan.copied() {
            let (from, to) = (self.name(id), self.names.results[position].clone());
            let elements = self.size(id);
            self.steps.push(format!(
                "{{\"copy\": {}, \"to\": {}, \"elements\": {elements}}}",
                quoted(&from),
                quoted(&to)
            ));
        }
    }

    fn launch_plan(&self, program: &Program) -> String {
        let mut buffers: Vec<String> = Vec::new();
        let mut buffer = |name: &str, dtype: DType, elements: usize, rest: String| {
            buffers.push(format!(
                "{{\"name\": {}, \"type\": {}, \"elements\": {elements}, {rest}}}",
                quoted(name),
                quoted(dtype.name())
            ));
        };
        let body = &program.body;
        let label = |names: &[String], at: usize| quoted(names.get(at).map_or("", |name| &name[..]));
        for (at, name) in self.names.arguments.iter().enumerate() {
            let (ty, label) = (body.parameter_type(at), label(&program.parameters, at));
            let rest = format!("\"role\": \"argument\", \"position\": {at}, \"label\": {label}");
            buffer(name, ty.dtype, ty.size(), rest);
        }
        for (at, (name, ty)) in self.names.results.iter().zip(body.result_types()).enumerate() {
            let label = label(&program.results, at);
            let rest = format!("\"role\": \"result\", \"position\": {at}, \"label\": {label}");
            buffer(name, ty.dtype, ty.size(), rest);
        }
        for (at, slot) in self.plan.slots().iter().enumerate() {
            buffer(&format!("memory{at}"), slot.dtype, slot.count, "\"role\": \"memory\"".into());
        }
        for (name, &(dtype, count)) in &self.scratch {
            buffer(name, dtype, count, "\"role\": \"memory\"".into());
        }
        for (&id, name) in &self.constants {
            let BufferSource::Constant(array) = &self.procedure.buffers[id as usize].source else {
                unreachable!("a known array")
            };
            buffer(name, array.dtype(), array.size(), format!("\"role\": \"constant\", {}", known(array)));
        }
        if self.fails {
            buffer("status", DType::I32, 1, "\"role\": \"status\"".into());
        }
        let listed = |items: &[String]| items.iter().map(|item| format!("    {item}")).collect::<Vec<_>>().join(",\n");
        format!(
            "{{\n  \"format\": \"deltaray launch plan\",\n  \"version\": 1,\n  \"name\": {},\n  \"status\": {},\n  \"buffers\": [\n{}\n  ],\n  \
             \"steps\": [\n{}\n  ]\n}}\n",
            quoted(&self.names.function),
            if self.fails { quoted("status") } else { "null".into() },
            listed(&buffers),
            listed(&self.steps)
        )
    }
}

/// The elements of a known array.
fn known(array: &Array) -> String {
    match array.uniform() {
        Some(value) => format!("\"fill\": {}", number(value)),
        None => {
            let values: Vec<String> = (0..array.size()).map(|at| number(array.element(at))).collect();
            format!("\"values\": [{}]", values.join(", "))
        }
    }
}
