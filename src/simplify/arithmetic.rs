//! (in work)

use super::Rules;

pub(super) const RULES: Rules = &[];
