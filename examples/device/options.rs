//! Options on the command line of examples.

/// The next word, which an option needs.
pub fn value(option: &str, words: &mut impl Iterator<Item = String>) -> Result<String, String> {
    words.next().ok_or_else(|| format!("{option} needs a value after it"))
}

/// A count that is an option's value.
pub fn at_least_one(option: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number >= 1 => Ok(number),
        _ => Err(format!("{option} needs a whole number of at least 1, but `{value}` was given")),
    }
}

/// An option that no example knows.
pub fn unknown(option: &str) -> String {
    format!("unknown argument `{option}`; --help lists those there are")
}
