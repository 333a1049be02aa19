//! Random programs agree across all instances and passes.

mod random;

use random::generate::Case;

#[test]
fn programs_are_well_formed() {
    let mut nodes = 0;
    for seed in 0..2000 {
        let case = Case::from_seed(seed);
        assert!(case.body.is_well_formed(), "seed {seed}");
        nodes += case.body.node_count();
    }
    println!("{nodes}");
}
