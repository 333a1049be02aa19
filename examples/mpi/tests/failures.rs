//! A rank that panics ends all of them. The test starts itself again, as two ranks.

use deltaray_example_mpi::failure::end_all_on_panic;
use mpi::traits::*;
use std::process::Command;

/// Set in the processes that are ranks.
const IS_RANK: &str = "DELTARAY_IS_RANK";

fn main() {
    match std::env::var_os(IS_RANK) {
        Some(_) => panic_on_rank_1(),
        None => all_ranks_end(),
    }
}

fn panic_on_rank_1() {
    let universe = mpi::initialize().expect("MPI");
    let world = universe.world();
    end_all_on_panic();
    assert_eq!(world.rank(), 0, "as the test wants it");
    // It would wait here for ever.
    world.barrier();
}

fn all_ranks_end() {
    let mut mpirun = Command::new("timeout");
    mpirun.args(["60", "mpirun", "-n", "2", "--oversubscribe", "-x", IS_RANK]).arg(std::env::current_exe().unwrap());
    mpirun
        .env(IS_RANK, "yes")
        .envs(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|name| (name, "1")));
    let output = mpirun.output().expect("mpirun");
    let errors = String::from_utf8_lossy(&output.stderr);
    let out_of_time = Some(124);
    assert!(!output.status.success() && output.status.code() != out_of_time, "{}", output.status);
    assert!(errors.contains("as the test wants it"), "{errors}");
    assert!(errors.contains("rank 1 of 2: it panicked: all ranks end"), "{errors}");
    println!("a rank that panics ends all ranks");
}
