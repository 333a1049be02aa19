//! Data-parallel training over MPI: what does not depend on what is trained.

pub mod agreement;
pub mod checkpoint;
pub mod failure;
pub mod plan;
pub mod shard;
pub mod sum;
