//! Programs as JSON.

use super::all;
use crate::exported::json;

#[test]
fn programs_come_back_from_json() {
    json::come_back(all().iter());
}
