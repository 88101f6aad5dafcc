//! Tests of what a producer refuses: steps that do not increase, and a new run that would hide the frames of staging.

use super::{ALL, LONG, open, open_staged, place, publish, settings};
use crate::end::End;
use crate::producer::{Policy, Producer, Settings};
use crate::staging::{Durability, Staging};

#[test]
fn steps_of_a_run_must_increase() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    publish(&mut producer, 5).unwrap();
    for wrong in [5, 4, i64::MIN] {
        let error = publish(&mut producer, wrong).unwrap_err();
        assert!(error.to_string().contains("the steps of a run must increase"), "{error}");
    }
    assert_eq!(publish(&mut producer, 6).unwrap(), 1);
    producer.end(&End::Finished).unwrap();
    publish(&mut open(&place.path, Policy::Block(LONG), i64::MIN), 0).unwrap();
}

#[test]
fn staging_without_its_channel_does_not_begin_a_new_run() {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    (0..3).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    std::fs::remove_dir_all(&place.path).unwrap();
    let staging = || Some(Staging::open(&place.staging(), Durability::File, ALL).unwrap());
    let new_run = Settings { staging: staging(), ..settings(Policy::Block(LONG), i64::MIN) };
    let error = Producer::open(&place.path, new_run).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("has 3 frames of a channel that is gone"), "{error}");
    std::fs::remove_dir_all(&place.path).unwrap();
    open_staged(&place, Policy::Block(LONG), 3, ALL);
}
