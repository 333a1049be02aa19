//! Programs as text.

use super::all;
use crate::exported::text;

#[test]
fn printed_programs_are_read_back() {
    text::are_read_back(all().iter());
}
