//! Identifiers of other languages.

use std::collections::HashSet;

/// The identifiers that are taken in a source text.
#[derive(Clone, Debug, Default)]
pub(super) struct Identifiers {
    taken: HashSet<String>,
}

impl Identifiers {
    /// None but these words, which mean something else.
    pub(super) fn without<W: ToString>(words: impl IntoIterator<Item = W>) -> Identifiers {
        Identifiers { taken: words.into_iter().map(|word| word.to_string()).collect() }
    }

    /// The nearest identifier to a name that is free: ASCII letters, digits and `_`, beginning with a letter.
    pub(super) fn choose(&mut self, name: &str) -> String {
        let legal = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
        let mut base: String = name.chars().map(legal).collect();
        if !base.starts_with(|first: char| first.is_ascii_alphabetic()) {
            base.insert_str(0, "v_");
        }
        let mut chosen = base.clone();
        let mut copy = 1;
        while !self.taken.insert(chosen.clone()) {
            copy += 1;
            chosen = format!("{base}_{copy}");
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::Identifiers;

    #[test]
    fn identifiers_are_legal_and_distinct() {
        let mut names = Identifiers::without(["for"]);
        let chosen = ["params.w1", "params_w1", "for", "λ", "", "2x", "x", "x_2", "x"].map(|name| names.choose(name));
        assert_eq!(chosen, ["params_w1", "params_w1_2", "for_2", "v__", "v_", "v_2x", "x", "x_2", "x_3"]);
    }
}
