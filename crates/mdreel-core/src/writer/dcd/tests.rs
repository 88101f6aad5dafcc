use super::*;
use crate::frame::Quantities;

fn outline(first_step: i64, steps_per_frame: i64, first_time: f64, interval: f64) -> Outline {
    Outline {
        n_atoms: 2,
        quantities: Quantities::POSITIONS,
        has_unit_cell: false,
        first_step,
        steps_per_frame,
        first_time,
        interval,
    }
}

/// Returns the time of a frame in ps, as readers compute it.
fn time(clock: Clock, frame: u32) -> f64 {
    let steps = f64::from(clock.steps_per_frame);
    (f64::from(frame) + f64::from(clock.first_step) / steps) * f64::from(clock.time_step) * PICOSECOND_PER_AKMA * steps
}

#[test]
fn clock_keeps_steps_that_agree_with_times() {
    let clock = Clock::new(&outline(1500, 500, 3.0, 1.0));
    assert_eq!((clock.first_step, clock.steps_per_frame), (1500, 500));
}

#[test]
fn clock_keeps_times_whatever_the_steps_are() {
    let cases = [
        (0, 0, 0.0, 1.0),
        (-5, -3, 100.0, 2.0),
        (7, i64::MAX, 0.5, 10.0),
        (i64::MIN, 1, 1e6, 0.002),
        (0, 1, 3.25, 10.0),
        (0, 1, -4.0, 2.0),
        (0, 1, 12.0, 0.0),
        (0, 1, 0.0, 0.0),
        (0, 100, 50.0, -1.0),
    ];
    for (first_step, steps, first_time, interval) in cases {
        let clock = Clock::new(&outline(first_step, steps, first_time, interval));
        assert!((time(clock, 0) - first_time).abs() <= 1e-6 * first_time.abs(), "{clock:?} {first_time}");
        if interval != 0.0 {
            let expected = first_time + 10.0 * interval;
            assert!((time(clock, 10) - expected).abs() <= 1e-6 * expected.abs().max(interval.abs()), "{clock:?}");
        }
    }
}

#[test]
fn clock_of_times_that_are_no_numbers_is_a_clock() {
    let clock = Clock::new(&outline(0, 1, f64::NAN, f64::INFINITY));
    assert!(time(clock, 5).is_finite());
}

#[test]
fn frames_beyond_the_count_are_refused() {
    let encoder = DcdEncoder::new(&outline(0, 1, 0.0, 1.0)).unwrap();
    assert_eq!(encoder.end(3).unwrap(), [(8, vec![3, 0, 0, 0])]);
    assert!(encoder.end(1 << 31).is_err());
}

#[test]
fn number_of_atoms_is_checked() {
    for n_atoms in [0, MAX_RECORD / 4 + 1] {
        assert!(DcdEncoder::new(&Outline { n_atoms, ..outline(0, 1, 0.0, 1.0) }).is_err());
    }
}
