//! Loops with several sweeps, as text.

use super::{BodyWriter, NodeText};
use crate::term::op::Build;
use crate::term::op::{Checkpoints, Steps, Sweeps};
use crate::term::print::lines::{STEP, WIDTH};
use crate::term::print::names::Name;

/// The choice of checkpoints, printed after the number of steps.
pub(in crate::term::print) fn checkpoints(checkpoints: Checkpoints) -> String {
    match checkpoints {
        Checkpoints::All => String::new(),
        Checkpoints::Every(steps) => format!(", every {steps}"),
        Checkpoints::Snapshots(snapshots) => format!(", snapshots {snapshots}"),
        Checkpoints::Bytes(bytes) => format!(", bytes {bytes}"),
    }
}

impl BodyWriter<'_, '_> {
    /// `sweeps[10]`, the condition if there is one, and then each sweep, indented.
    pub(super) fn sweeps(&mut self, at: usize, sweeps: &Sweeps<Build>) -> NodeText {
        let args = &self.body.nodes[at].args;
        let own = sweeps.captures();
        self.fit(&args[..own], WIDTH / 2);
        let mut heads = Vec::new();
        for (number, sweep) in sweeps.sweeps.iter().enumerate() {
            let (carries, inputs) = sweeps.operands(number);
            let direction = if number.is_multiple_of(2) { "forwards" } else { "backwards" };
            let mut head = format!("{direction} from ({})", self.listed(&args[carries]));
            if sweep.inputs > 0 {
                head.push_str(&format!(" over ({})", self.listed(&args[inputs])));
            }
            if !sweep.reads.is_empty() {
                let reads: Vec<String> = sweep.reads.iter().map(|(from, kept)| format!("{from}.{kept}")).collect();
                head.push_str(&format!(" read ({})", reads.join(", ")));
            }
            if sweep.keeps > 0 {
                head.push_str(&format!(" keep {}", sweep.keeps));
            }
            heads.push(head);
        }
        let captures = self.capture_names(&args[own..]);
        let (binders, outputs) = self.outputs(at);
        let steps = match &sweeps.steps {
            Steps::Count(count) => count.to_string(),
            Steps::While(_) => "while".to_string(),
        };
        let reverse = if sweeps.reverse { ", reverse" } else { "" };
        self.line(format!("{binders} sweeps[{steps}{reverse}{}]", checkpoints(sweeps.checkpoints)));
        self.indent += STEP;
        if let Steps::While(condition) = &sweeps.steps {
            let parameters: Vec<Name> = (0..condition.parameters).map(|_| self.writer.names.carry()).collect();
            self.part("while".to_string(), condition, parameters, &captures);
        }
        for (head, sweep) in heads.into_iter().zip(&sweeps.sweeps) {
            let names = &mut self.writer.names;
            let mut parameters: Vec<Name> = (0..sweep.carries).map(|_| names.carry()).collect();
            parameters.extend((sweep.carries..sweep.body.parameters).map(|_| names.slice()));
            self.part(head, &sweep.body, parameters, &captures);
        }
        self.indent -= STEP;
        NodeText::Outputs(outputs)
    }

    /// A head, the names of a body's parameters, and the body.
    fn part(&mut self, head: String, body: &crate::term::Body<Build>, mut parameters: Vec<Name>, captures: &[Name]) {
        let typed: Vec<String> = parameters
            .iter()
            .enumerate()
            .map(|(position, name)| format!("{name}: {}", body.parameter_type(position)))
            .collect();
        parameters.extend_from_slice(captures);
        let block = self.writer.body(body, parameters, self.indent + STEP);
        self.write_block(format!("{head} λ({}).", typed.join(", ")), block);
    }
}
