//! Facts that all ranks have to agree on before the first step.

use mpi::datatype::PartitionMut;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// Facts by name, which must be the same on all ranks, or the problem that a rank has with its shard.
pub type Facts = Result<Vec<(&'static str, String)>, String>;

/// Compares the facts of all ranks, which all call it. An error is the same on all ranks, and names the rank that has the problem.
pub fn agree(world: &SimpleCommunicator, facts: &Facts) -> Result<(), String> {
    let text = match facts {
        Ok(facts) => facts.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect(),
        Err(problem) => format!("\t{problem}"),
    };
    let mut lengths = vec![0i32; world.size() as usize];
    world.all_gather_into(&(text.len() as i32), &mut lengths[..]);
    let starts: Vec<i32> = lengths.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
    let mut bytes = vec![0u8; lengths.iter().sum::<i32>() as usize];
    world.all_gather_varcount_into(text.as_bytes(), &mut PartitionMut::new(&mut bytes[..], &lengths[..], &starts[..]));
    let part = |(&start, &length): (&i32, &i32)| String::from_utf8_lossy(&bytes[start as usize..][..length as usize]);
    let texts: Vec<_> = starts.iter().zip(&lengths).map(part).collect();
    disagreement(&texts).map_or(Ok(()), Err)
}

/// The first problem of a rank, or else the first fact that differs from that of rank 0.
fn disagreement(texts: &[impl AsRef<str>]) -> Option<String> {
    let texts = || texts.iter().map(AsRef::as_ref).enumerate();
    if let Some((rank, problem)) = texts().find_map(|(rank, text)| Some((rank, text.strip_prefix('\t')?))) {
        return Some(format!("rank {rank}: {problem}"));
    }
    let (_, first) = texts().next()?;
    texts().find_map(|(rank, text)| {
        let (found, expected) = text.lines().zip(first.lines()).find(|(found, expected)| found != expected)?;
        let ((name, found), (_, expected)) = (found.split_once('\t')?, expected.split_once('\t')?);
        Some(format!("rank {rank}: {name} is {found}, but {expected} on rank 0"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rank_that_differs_is_named() {
        let same = "rows\t10\nfeatures\t3\n";
        assert_eq!(disagreement(&[same, same]), None);
        let found = disagreement(&[same, same, "rows\t10\nfeatures\t4\n"]);
        assert_eq!(found.as_deref(), Some("rank 2: features is 4, but 3 on rank 0"));
        let found = disagreement(&[same, "rows\t9\nfeatures\t3\n", "\tno such file"]);
        assert_eq!(found.as_deref(), Some("rank 2: no such file"));
    }
}
