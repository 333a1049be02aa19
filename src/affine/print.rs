//! Maps as text.

use super::AffineMap;
use std::fmt;

impl fmt::Display for AffineMap {
    /// `[i, j] -> [j, 3 - i]`, result position to source position.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];
        let name = |column: usize| match NAMES.get(column) {
            Some(name) => (*name).to_string(),
            // Not the names of element types.
            None if matches!(column, 32 | 64) => format!("i_{column}"),
            None => format!("i{column}"),
        };
        let variables: Vec<String> = (0..self.0.result.len()).map(name).collect();
        write!(f, "[{}] -> [", variables.join(", "))?;
        for row in 0..self.0.source.len() {
            if row > 0 {
                write!(f, ", ")?;
            }
            let o = self.0.offset[row];
            let first = self.row(row).iter().copied().find(|&c| c != 0);
            // `3 - i` rather than `-i + 3`.
            let leading = o > 0 && first.is_none_or(|c| c < 0);
            let mut text = if leading { o.to_string() } else { String::new() };
            for (variable, &c) in variables.iter().zip(self.row(row)) {
                if c == 0 {
                    continue;
                }
                let sign = match (text.is_empty(), c < 0) {
                    (true, false) => "",
                    (true, true) => "-",
                    (false, false) => " + ",
                    (false, true) => " - ",
                };
                let magnitude = c.unsigned_abs();
                text.push_str(sign);
                if magnitude != 1 {
                    text.push_str(&format!("{magnitude}*"));
                }
                text.push_str(variable);
            }
            if text.is_empty() {
                text = o.to_string();
            } else if o > 0 && !leading {
                text.push_str(&format!(" + {o}"));
            } else if o < 0 {
                text.push_str(&format!(" - {}", o.unsigned_abs()));
            }
            f.write_str(&text)?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for AffineMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} <- {:?} {self}", self.0.result.as_slice(), self.0.source.as_slice())
    }
}
