//! Tests of arriving files: each is handed out once, none is left out, and the end comes after the last one.

use std::os::unix::fs::MetadataExt;

use super::super::arrivals::{Arrivals, Next};
use super::*;

/// Returns the name and the content of the next file; `None` at the end.
fn next(arrivals: &mut Arrivals, at_most: Duration) -> Result<Option<(String, String)>> {
    let mut patience = Patience { at_most: Some(at_most), keep_waiting: &mut || true };
    Ok(match arrivals.next(&mut patience)? {
        Next::File(name, file) => Some((name.into_string().unwrap(), text(file))),
        Next::End(_) => None,
    })
}

/// Returns the names of arriving files until no more come.
fn names(arrivals: &mut Arrivals) -> Vec<String> {
    std::iter::from_fn(|| next(arrivals, SHORT).ok().flatten().map(|(name, _)| name)).collect()
}

/// Waits until the clock of the file system has advanced.
fn tick(place: &Place) {
    let probe = place.path.with_file_name("probe");
    let time = || {
        std::fs::write(&probe, "").unwrap();
        let facts = probe.metadata().unwrap();
        (facts.ctime(), facts.ctime_nsec())
    };
    let begin = time();
    while time() == begin {
        thread::yield_now();
    }
}

#[test]
fn files_come_once_in_the_order_that_was_asked_for() {
    let place = place();
    let directory = create(&place);
    for name in ["frame-10", "frame-9", "frame-11"] {
        publish(&directory, name, name);
        tick(&place);
    }
    let follow = |order, after: Option<&str>| directory.arrivals(order, after.map(OsStr::new)).unwrap();
    assert_eq!(names(&mut follow(Order::Published, None)), ["frame-10", "frame-9", "frame-11"]);
    assert_eq!(names(&mut follow(Order::Published, Some("frame-10"))), ["frame-9", "frame-11"]);
    assert_eq!(names(&mut follow(Order::Name, None)), ["frame-9", "frame-10", "frame-11"]);
    assert_eq!(names(&mut follow(Order::Name, Some("frame-9"))), ["frame-10", "frame-11"]);
    assert_eq!(names(&mut follow(Order::Name, Some("frame-9b"))), ["frame-10", "frame-11"]);
    let gone = directory.arrivals(Order::Published, Some(OsStr::new("frame-8")));
    assert!(matches!(gone, Err(Error::Mismatch(_))));
}

#[test]
fn files_that_come_late_and_new_versions_are_not_left_out() {
    let place = place();
    let directory = create(&place);
    let mut arrivals = directory.arrivals(Order::Name, None).unwrap();
    publish(&directory, "2", "");
    assert_eq!(names(&mut arrivals), ["2"]);
    publish(&directory, "1", "");
    publish(&directory, "3", "");
    assert_eq!(names(&mut arrivals), ["1", "3"]);
    publish(&directory, "2", "new");
    assert_eq!(next(&mut arrivals, LONG).unwrap(), Some(("2".to_owned(), "new".to_owned())));
    publish(&directory, "4", "");
    directory.remove(OsStr::new("4")).unwrap();
    std::fs::create_dir(place.path.join("folder")).unwrap();
    assert!(names(&mut arrivals).is_empty());
    publish(&directory, "4", "once more");
    assert_eq!(names(&mut arrivals), ["4"]);
}

#[test]
fn end_comes_behind_the_last_file_and_so_does_a_death() {
    let place = place();
    let directory = create(&place);
    let mut arrivals = ManagedDirectory::open(&place.path).unwrap().arrivals(Order::Published, None).unwrap();
    assert!(matches!(next(&mut arrivals, SHORT), Err(Error::StreamTimeout(_))));
    publish(&directory, "1", "");
    directory.end(&End::Finished).unwrap();
    assert_eq!(names(&mut arrivals), ["1"]);
    assert_eq!(next(&mut arrivals, LONG).unwrap(), None);
    drop(directory);
    let directory = create(&place);
    publish(&directory, "2", "");
    drop(directory);
    assert_eq!(next(&mut arrivals, LONG).unwrap().map(|(name, _)| name), Some("2".to_owned()));
    assert!(matches!(next(&mut arrivals, LONG), Err(Error::Stream(_))));
    // The next producer continues.
    let directory = create(&place);
    publish(&directory, "3", "");
    assert_eq!(names(&mut arrivals), ["3"]);
}

#[test]
fn each_of_many_files_of_several_producers_comes_once_to_who_follows_meanwhile() {
    const N_EACH: usize = 200;
    let place = place();
    let producers: Vec<_> = (0..3).map(|_| shared(&place).unwrap()).collect();
    let reader = ManagedDirectory::open(&place.path).unwrap();
    let follower = thread::spawn(move || {
        let mut arrivals = reader.arrivals(Order::Published, None).unwrap();
        let mut seen = Vec::new();
        while let Some((name, text)) = next(&mut arrivals, LONG).unwrap() {
            assert_eq!(text, name.repeat(1000));
            seen.push(name);
        }
        seen
    });
    thread::scope(|scope| {
        for (rank, producer) in producers.iter().enumerate() {
            scope.spawn(move || {
                for i in 0..N_EACH {
                    let name = format!("rank-{rank}-frame-{i}");
                    publish(producer, &name, &name.repeat(1000));
                }
                producer.end(&End::Finished).unwrap();
            });
        }
    });
    let mut seen = follower.join().unwrap();
    assert_eq!(seen.len(), 3 * N_EACH);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3 * N_EACH);
}
