//! Jacobi's rotations, which make pairs of columns orthogonal, of as many pairs at once as there are. The rounds of a tournament
//! have each column meet each other one once a sweep. Sweeps end when one has found nothing to turn, so their number depends on
//! the matrices of a group together.

use super::{ITEMS, MOST, composed};
use crate::engine::opencl::kernels::KernelWriter;
use crate::shape::{DType, Value};
use crate::source::helpers::replaced;
use crate::source::language::Language;
use crate::structural::sweeps;

/// The columns of a pair in a round; one without a partner is paired with itself.
const PAIR: &str = "\
const int one = pair == 0 ? last : (turn + pair - 1) % last, other = (turn + last - pair - 1) % last;
const int low = min(one, other), high = max(one, other) < n ? max(one, other) : low;";

/// The rotation of a pair whose columns have so much in common, each with itself and both.
const ROTATION: &str = "\
const bool is_done = common == 0 || low == high;
const T slope = (upper - lower) / (is_done ? 1 : common + common);
const T tangent = is_done ? 0 : (slope < 0 ? -1 : 1) / (fabs(slope) + sqrt(slope * slope + 1));
const T cosine = 1 / sqrt(tangent * tangent + 1), sine = cosine * tangent;";

/// Repeats rounds over all pairs.
const SWEEPS: &str = "\
__local int is_moving;
for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
    if (get_local_id(0) == 0) is_moving = 0;
    barrier(FENCE);
    for (int turn = 0; turn < last; turn++) {
        ROUND
    }
    const bool is_last = !is_moving;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_last) break;
}";

/// How many values of a matrix come before one, of equal ones those that stand before it.
const RANK: &str = "\
int rank = 0;
for (int other = 0; other < n; other++) {
    const T x = values[other];
    if (BEFORE || (x == value && other < own)) rank++;
}
// NaN has no place.
if (!is_finite) rank = own;";

impl KernelWriter {
    /// A template with all that it is made of: a round of its own, and the order of its values.
    pub(super) fn rotating(&self, template: &str, beginning: &str, round: &str, before: &str) -> String {
        let sweeps = composed(SWEEPS, &[("ROUND", &composed(round, &[("PAIR", PAIR), ("ROTATION", ROTATION)]))]);
        let rank = replaced(RANK, &[("BEFORE", before)]);
        let parts = [("ITEMS", ITEMS), ("BEGINNING", beginning), ("MOST", MOST), ("SWEEPS", &sweeps), ("RANK", &rank)];
        composed(template, &parts)
    }

    /// The words of rotations of so many columns.
    pub(super) fn rotation_words(&self, dtype: DType, columns: usize) -> [(&'static str, String); 2] {
        let precision = self.language.literal(Value::from_f64(dtype, dtype.epsilon()));
        [("PRECISION", precision), ("MOST_SWEEPS", sweeps(columns).to_string())]
    }
}
