//! From the shared graph to lines with lets.

pub(super) mod sweeps;

use super::expression::{PrintedOperand, operation};
use super::lines::{STEP, TextBlock, WIDTH, fits, wrap};
use super::literal::{self, Constants, LiteralSpelling};
use super::names::{Name, Names};
use super::text::{Precedence, PrintedExpression};
use crate::array::Array;
use crate::shape::{Type, sort_by_rank};
use crate::term::Custom;
use crate::term::op::{Body, Node, NodeId};
use crate::term::op::{Branch, Build, Op, Scan};
use std::collections::HashMap;
use std::mem;
use std::rc::Rc;

/// However deep a body is indented, its expressions may be as wide as this.
const NARROWEST: usize = 40;
/// Brackets nest no deeper than this in one expression.
const DEPTH: usize = 3;
/// Facts about a whole program while it is written.
pub(super) struct ProgramWriter {
    names: Names,
    constants: Constants,
    /// For each body, by its address, which parameters and captures its text mentions.
    mentions: HashMap<*const Body<Build>, Rc<[bool]>>,
}

/// Where the value of a node is found.
enum NodeText {
    /// Under a name.
    Named(Name),
    /// Here, to be written where it is used.
    Inline(PrintedExpression),
    /// Under a name for each output.
    Outputs(Vec<Name>),
    /// It is a uniform constant, written anew wherever it is used.
    Constant,
    /// It was written where it was used.
    Taken,
}

impl ProgramWriter {
    /// A writer of a program whose parameters have names already.
    pub(super) fn new(names: Names, spelling: LiteralSpelling) -> ProgramWriter {
        ProgramWriter { names, constants: Constants::new(spelling), mentions: HashMap::new() }
    }

    /// The lines below a program's first; spelled exactly they are followed by the elements of the constants.
    pub(super) fn program(mut self, body: &Body<Build>, parameters: Vec<Name>) -> Vec<String> {
        let mut lines = self.body(body, parameters, STEP).into_lines(STEP);
        let constants = self.constants.number(&mut lines);
        if self.constants.spelling == LiteralSpelling::Exact && !constants.is_empty() {
            lines.push("constants:".to_string());
            for definition in self.constants.definitions(&constants) {
                lines.extend(wrap(definition, STEP));
            }
        }
        lines
    }

    /// Which of a body's parameters and captures occur in its text. A body may have captures that it has no use for.
    fn mentions(&mut self, body: &Body<Build>) -> Rc<[bool]> {
        let address: *const Body<Build> = body;
        if let Some(known) = self.mentions.get(&address) {
            return known.clone();
        }
        let mut mentioned = vec![false; body.arity()];
        let mut mention = |arg: NodeId| {
            if let Some(parameter) = mentioned.get_mut(arg as usize) {
                *parameter = true;
            }
        };
        for node in &body.nodes {
            let own = own_operands(&node.op).min(node.args.len());
            node.args[..own].iter().copied().for_each(&mut mention);
            self.captures(node).into_iter().for_each(&mut mention);
        }
        body.results.iter().copied().for_each(&mut mention);
        let mentioned: Rc<[bool]> = mentioned.into();
        self.mentions.insert(address, mentioned.clone());
        mentioned
    }

    /// The operands that occur in the text of a node's bodies. The recursion is as deep as bodies are nested.
    fn captures(&mut self, node: &Node<Build>) -> Vec<NodeId> {
        let captures = &node.args[own_operands(&node.op).min(node.args.len())..];
        if captures.is_empty() {
            return Vec::new();
        }
        let mut bodies: Vec<Rc<[bool]>> = node.op.bodies().into_iter().map(|body| self.mentions(body)).collect();
        if let Op::Extra(extra) = &node.op {
            bodies.push(self.mentions(&extra.body));
        }
        // Captures are the last of every body's arguments.
        let mentions = |at: usize| bodies.iter().any(|body| body[body.len() - captures.len() + at]);
        captures.iter().enumerate().filter(|&(at, _)| mentions(at)).map(|(_, &arg)| arg).collect()
    }

    /// A body whose lines begin at a column. The recursion is as deep as bodies are nested.
    fn body(&mut self, body: &Body<Build>, parameters: Vec<Name>, indent: usize) -> TextBlock {
        let mut walk = BodyWriter::new(self, body, parameters, indent);
        for at in body.arity()..body.nodes.len() {
            walk.node(at);
        }
        walk.finish()
    }
}

/// One body on its way to lines.
struct BodyWriter<'w, 'b> {
    writer: &'w mut ProgramWriter,
    body: &'b Body<Build>,
    indent: usize,
    /// How often nodes are written as operands and results.
    uses: Vec<u32>,
    /// Nodes that the texts of inner bodies mention: they are referred to by name.
    captured: Vec<bool>,
    slots: Vec<NodeText>,
    lines: Vec<String>,
}

impl<'w, 'b> BodyWriter<'w, 'b> {
    fn new(writer: &'w mut ProgramWriter, body: &'b Body<Build>, parameters: Vec<Name>, indent: usize) -> Self {
        debug_assert_eq!(parameters.len(), body.arity());
        let (mut captured, mut uses) = (vec![false; body.nodes.len()], vec![0; body.nodes.len()]);
        for node in &body.nodes {
            let own = own_operands(&node.op).min(node.args.len());
            node.args[..own].iter().for_each(|&arg| uses[arg as usize] += 1);
            writer.captures(node).into_iter().for_each(|arg| captured[arg as usize] = true);
        }
        body.results.iter().for_each(|&result| uses[result as usize] += 1);
        let slots = parameters.into_iter().map(NodeText::Named).collect();
        BodyWriter { writer, body, indent, uses, captured, slots, lines: Vec::new() }
    }

    fn node(&mut self, at: usize) {
        let body = self.body;
        let node = &body.nodes[at];
        let slot = match &node.op {
            Op::Output(position) => match &self.slots[node.args[0] as usize] {
                NodeText::Outputs(names) => NodeText::Named(names[*position].clone()),
                _ => unreachable!("an output of an operation with one output"),
            },
            Op::Constant(array) if literal::uniform(array).is_some() && !self.captured[at] => NodeText::Constant,
            Op::Constant(array) => {
                let expression = self.writer.constants.expression(array);
                self.place(at, expression)
            }
            Op::Scan(scan) => self.scan(at, scan),
            Op::Branch(branch) => self.branch(at, branch),
            Op::Custom(custom) => self.custom(at, custom),
            Op::Sweeps(sweeps) => self.sweeps(at, sweeps),
            Op::Extra(extra) => self.build(at, extra),
            _ => {
                let expression = self.operation(node);
                self.place(at, expression)
            }
        };
        self.slots.push(slot);
    }

    /// Columns for an expression that might follow `let m1: f64[3] = `.
    fn budget(&self, node: &Node<Build>) -> usize {
        let types: usize = node.types.iter().map(|ty| ty.to_string().len() + 8).sum();
        WIDTH.saturating_sub(self.indent + types + 6).max(NARROWEST)
    }

    fn operation(&mut self, node: &Node<Build>) -> PrintedExpression {
        let budget = self.budget(node);
        self.fit(&node.args, budget);
        loop {
            let operands = self.operands(&node.args);
            let expression = operation(&node.op, &operands, &mut self.writer.constants);
            if expression.width <= budget || !self.bind_widest(&node.args) {
                self.take(&node.args);
                return expression;
            }
        }
    }

    /// Names operands until the others fit in so many columns.
    fn fit(&mut self, args: &[NodeId], budget: usize) {
        let mut inline: Vec<(usize, NodeId)> = Vec::new();
        let mut width = 0;
        for &arg in args {
            match &self.slots[arg as usize] {
                NodeText::Inline(expression) if expression.depth >= DEPTH => self.bind(arg as usize),
                NodeText::Inline(expression) => {
                    width += expression.width + 2;
                    inline.push((expression.width, arg));
                }
                NodeText::Named(name) => width += name.len() + 2,
                _ => width += 4,
            }
        }
        // Widest first, so that few are named; among equals the first.
        let mut order: Vec<usize> = (0..inline.len()).collect();
        sort_by_rank(&mut order, |&at| !(inline[at].0 as u64));
        let mut bound: Vec<usize> = Vec::new();
        for at in order {
            if width <= budget {
                break;
            }
            width = (width + 3).saturating_sub(inline[at].0);
            bound.push(at);
        }
        // In the order of the operands: a program prints the same in whatever order its arena has them.
        bound.sort_unstable();
        for at in bound {
            self.bind(inline[at].1 as usize);
        }
    }

    /// Names the widest operand that is not named yet, if there is one.
    fn bind_widest(&mut self, args: &[NodeId]) -> bool {
        let width = |slot: &NodeText| match slot {
            NodeText::Inline(expression) => expression.width,
            _ => 0,
        };
        // Of equally wide ones the first.
        let widest = args.iter().copied().rev().max_by_key(|&arg| width(&self.slots[arg as usize]));
        match widest {
            Some(arg) if matches!(self.slots[arg as usize], NodeText::Inline(_)) => {
                self.bind(arg as usize);
                true
            }
            _ => false,
        }
    }

    /// Writes a let for a node that waits to be written where it is used.
    fn bind(&mut self, at: usize) {
        if let NodeText::Inline(expression) = mem::replace(&mut self.slots[at], NodeText::Taken) {
            self.slots[at] = self.bound(at, expression);
        }
    }

    /// Writes a let.
    fn bound(&mut self, at: usize, expression: PrintedExpression) -> NodeText {
        let name = self.writer.names.binder();
        self.write_let(&name, self.body.nodes[at].ty(), &expression.text);
        NodeText::Named(name)
    }

    fn write_let(&mut self, name: &Name, ty: &Type, text: &str) {
        self.line(format!("let {name}: {ty} = {text}"));
    }

    fn line(&mut self, text: String) {
        self.lines.extend(wrap(text, self.indent));
    }

    /// Leaves an expression for its one user, or names it.
    fn place(&mut self, at: usize, expression: PrintedExpression) -> NodeText {
        if self.uses[at] == 1 && !self.captured[at] { NodeText::Inline(expression) } else { self.bound(at, expression) }
    }

    fn operands(&mut self, args: &[NodeId]) -> Vec<PrintedOperand<'b>> {
        args.iter().map(|&arg| self.operand(arg as usize)).collect()
    }

    fn operand(&mut self, at: usize) -> PrintedOperand<'b> {
        let node = &self.body.nodes[at];
        let constant: Option<&Array> = match &node.op {
            Op::Constant(array) if literal::uniform(array).is_some() => Some(array),
            _ => None,
        };
        let expression = match (constant, &self.slots[at]) {
            (Some(array), _) => self.writer.constants.expression(array),
            (None, NodeText::Named(name)) => PrintedExpression::new(name.to_string(), Precedence::Atom, 0),
            (None, NodeText::Inline(expression)) => expression.clone(),
            _ => unreachable!("operands have one output, and are written once or have a name"),
        };
        let (uniform, spelling) = (constant.and_then(literal::uniform), self.writer.constants.spelling);
        PrintedOperand { expression, uniform, spelling, ty: node.ty() }
    }

    /// Frees the texts of operands that were written.
    fn take(&mut self, args: &[NodeId]) {
        for &arg in args {
            if matches!(self.slots[arg as usize], NodeText::Inline(_)) {
                self.slots[arg as usize] = NodeText::Taken;
            }
        }
    }

    /// `a, b`, of operands that were made to fit before.
    fn listed(&mut self, args: &[NodeId]) -> String {
        let texts: Vec<String> = self.operands(args).into_iter().map(|operand| operand.expression.text).collect();
        self.take(args);
        texts.join(", ")
    }

    /// The names under which an inner body knows its captures.
    fn capture_names(&self, args: &[NodeId]) -> Vec<Name> {
        let name = |&arg: &NodeId| match &self.slots[arg as usize] {
            NodeText::Named(name) => name.clone(),
            // No body mentions it.
            _ => Name::from(""),
        };
        args.iter().map(name).collect()
    }

    /// `let (m1: f64, _: f64[3]) =`, and the names.
    fn outputs(&mut self, at: usize) -> (String, Vec<Name>) {
        let node = &self.body.nodes[at];
        let mut binders = Vec::new();
        let mut names = Vec::new();
        for ty in &node.types {
            let name = self.writer.names.binder();
            binders.push(format!("{name}: {ty}"));
            names.push(name);
        }
        let text = match &binders[..] {
            [one] => format!("let {one} ="),
            several => format!("let ({}) =", several.join(", ")),
        };
        (text, names)
    }

    /// Writes the head of a definition and its body: on one line, if that has no lets and fits.
    fn write_block(&mut self, head: String, block: TextBlock) {
        if block.lines.is_empty() && fits(&head, &block.result, self.indent) {
            self.line(format!("{head} {}", block.result.text));
        } else {
            self.line(head);
            self.lines.extend(block.into_lines(self.indent + STEP));
        }
    }

    fn scan(&mut self, at: usize, scan: &Scan<Build>) -> NodeText {
        let args = &self.body.nodes[at].args;
        let (carries, rest) = args.split_at(scan.carries);
        let (inputs, captures) = rest.split_at(scan.inputs);
        let own = scan.carries + scan.inputs;
        self.fit(&args[..own], WIDTH / 2);
        let carry_texts = self.listed(carries);
        let input_texts = self.listed(inputs);
        let (binders, outputs) = self.outputs(at);
        let names = &mut self.writer.names;
        let mut parameters: Vec<Name> = (0..scan.carries).map(|_| names.carry()).collect();
        parameters.extend((0..scan.inputs).map(|_| names.slice()));
        let typed: Vec<String> = parameters
            .iter()
            .enumerate()
            .map(|(position, name)| format!("{name}: {}", scan.body.parameter_type(position)))
            .collect();
        parameters.extend(self.capture_names(captures));
        let direction = if scan.reverse { ", reverse" } else { "" };
        let over = if inputs.is_empty() { String::new() } else { format!(" over ({input_texts})") };
        let head =
            format!("{binders} scan[{}{direction}] from ({carry_texts}){over} λ({}).", scan.length, typed.join(", "));
        let block = self.writer.body(&scan.body, parameters, self.indent + STEP);
        self.write_block(head, block);
        NodeText::Outputs(outputs)
    }

    fn branch(&mut self, at: usize, branch: &Branch<Build>) -> NodeText {
        let args = &self.body.nodes[at].args;
        self.fit(&args[..1], WIDTH / 2);
        let condition = self.operand(args[0] as usize).expression.at(Precedence::Atom);
        self.take(&args[..1]);
        let captures = self.capture_names(&args[1..]);
        let (binders, outputs) = self.outputs(at);
        let head = format!("{binders} branch {condition} then");
        let then = self.writer.body(&branch.then, captures.clone(), self.indent + STEP);
        let otherwise = self.writer.body(&branch.otherwise, captures, self.indent + STEP);
        let line = format!("{head} {} else", then.result.text);
        if then.lines.is_empty() && otherwise.lines.is_empty() && fits(&line, &otherwise.result, self.indent) {
            self.line(format!("{line} {}", otherwise.result.text));
        } else {
            self.line(head);
            self.lines.extend(then.into_lines(self.indent + STEP));
            self.line("else".to_string());
            self.lines.extend(otherwise.into_lines(self.indent + STEP));
        }
        NodeText::Outputs(outputs)
    }

    fn custom(&mut self, at: usize, custom: &Custom<Build>) -> NodeText {
        let args = &self.body.nodes[at].args;
        self.fit(args, WIDTH / 2);
        let operands = self.listed(args);
        let (binders, outputs) = self.outputs(at);
        let heads = [format!("{binders} custom ({operands})"), "vjp".into(), "jvp".into()];
        let bodies = [Some(&custom.value), custom.vjp.as_ref(), custom.jvp.as_ref()];
        for (head, body) in heads.into_iter().zip(bodies) {
            let Some(body) = body else { continue };
            let names = &mut self.writer.names;
            let mut parameters: Vec<Name> = (0..args.len()).map(|_| names.carry()).collect();
            parameters.extend((args.len()..body.arity()).map(|_| names.slice()));
            let typed = parameters.iter().enumerate();
            let typed: Vec<String> =
                typed.map(|(position, name)| format!("{name}: {}", body.parameter_type(position))).collect();
            let block = self.writer.body(body, parameters, self.indent + STEP);
            self.write_block(format!("{head} λ({}).", typed.join(", ")), block);
        }
        NodeText::Outputs(outputs)
    }

    fn build(&mut self, at: usize, build: &Build) -> NodeText {
        let node = &self.body.nodes[at];
        let names = &mut self.writer.names;
        let (lets, open) = (names.let_count(), names.open_indices());
        // If the body needs lines of its own the build gets a let, whose name comes before those inside.
        let name = names.binder();
        let indices: Vec<Name> = build.extents.iter().map(|_| names.index()).collect();
        let head = format!("build {:?} λ[{}].", &build.extents[..], indices.join(", "));
        let parameters = indices.into_iter().chain(self.capture_names(&node.args)).collect();
        let block = self.writer.body(&build.body, parameters, self.indent + STEP);
        self.writer.names.close_indices(open);
        let one_line = block.lines.is_empty()
            && block.result.depth < DEPTH
            && head.chars().count() + 1 + block.result.width <= self.budget(node);
        if one_line {
            self.writer.names.forget_lets(lets);
            let text = format!("{head} {}", block.result.text);
            return self.place(at, PrintedExpression::new(text, Precedence::Any, block.result.depth + 1));
        }
        let head = format!("let {name}: {} = {head}", node.ty());
        self.line(head);
        self.lines.extend(block.into_lines(self.indent + STEP));
        NodeText::Named(name)
    }

    fn finish(mut self) -> TextBlock {
        let results = &self.body.results;
        let budget = WIDTH.saturating_sub(self.indent).max(NARROWEST);
        if let [one] = results[..] {
            let result = self.operand(one as usize).expression;
            return TextBlock { lines: self.lines, result };
        }
        self.fit(results, budget.saturating_sub(2));
        let text = format!("({})", self.listed(results));
        TextBlock { lines: self.lines, result: PrintedExpression::new(text, Precedence::Atom, 1) }
    }
}

/// How many of an operation's operands are evaluated with it; the others are captured by its bodies.
pub(super) fn own_operands(op: &Op<Build>) -> usize {
    match op {
        Op::Scan(scan) => scan.carries + scan.inputs,
        Op::Branch(_) => 1,
        Op::Sweeps(sweeps) => sweeps.captures(),
        Op::Extra(_) => 0,
        _ => usize::MAX,
    }
}
