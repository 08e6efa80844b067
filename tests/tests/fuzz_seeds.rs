//! The seeds of the fuzz targets, and inputs that once broke a promise.

use structgen_fuzz::TARGETS;

/// For its test: that of a workspace of its own is run by nobody.
#[path = "../../fuzz/src/clock.rs"]
mod clock;

#[test]
fn seeds_are_taken_and_regressions_stay_mended() {
    for target in &TARGETS {
        let seeds = target.seeds();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        assert!(!target.words().is_empty(), "{} has no words", target.name);
        for seed in seeds {
            let taken = (target.body)(&seed);
            assert!(
                taken,
                "{}: {:?}",
                target.name,
                String::from_utf8_lossy(&seed)
            );
        }
        for input in target.regressions() {
            (target.body)(&input);
        }
    }
}
