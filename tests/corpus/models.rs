use super::prelude::*;

pub fn rows() -> Vec<Row> {
    vec![]
}
