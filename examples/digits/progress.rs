//! A progress bar on standard error; silent where that is not a terminal.

use std::io::{IsTerminal, Write, stderr};

const WIDTH: usize = 30;

/// A bar that fills as steps are done.
pub struct Progress {
    total: usize,
    shown: bool,
    length: usize,
}

impl Progress {
    /// An empty bar for so many steps.
    pub fn new(total: usize) -> Progress {
        Progress { total, shown: stderr().is_terminal(), length: 0 }
    }

    /// Redraws the bar with so many steps done, and a remark after it.
    pub fn show(&mut self, done: usize, remark: &str) {
        if self.shown {
            let text = line(done, self.total, remark);
            // Blanks over the rest of a longer line before. Nobody minds a bar that can not be drawn.
            let blanks = self.length.saturating_sub(text.chars().count());
            let _ = write!(stderr(), "\r{text}{:blanks$}", "");
            self.length = text.chars().count();
        }
    }

    /// Wipes the bar, so that the next line starts on a clean one.
    pub fn clear(&mut self) {
        if self.shown {
            let _ = write!(stderr(), "\r{:length$}\r", "", length = self.length);
            self.length = 0;
        }
    }
}

fn line(done: usize, total: usize, remark: &str) -> String {
    let filled = (WIDTH * done.min(total)).checked_div(total).unwrap_or(WIDTH);
    let bar: String = (0..WIDTH).map(|at| if at < filled { '█' } else { '░' }).collect();
    format!("{bar} {done}/{total} {remark}")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_bar_fills_in_proportion() {
        assert_eq!(line(0, 2, "").matches('█').count(), 0);
        assert_eq!(line(1, 2, "").matches('█').count(), 15);
        assert_eq!(line(2, 2, "").matches('░').count(), 0);
        assert_eq!(line(0, 0, "").matches('█').count(), 30);
        assert!(line(1, 2, "loss 0.5").ends_with(" 1/2 loss 0.5"));
    }
}
