//! Data-parallel training over MPI: the parts that do not depend on the model.

pub mod agreement;
pub mod checkpoint;
pub mod failure;
pub mod plan;
pub mod shard;
pub mod sum;
