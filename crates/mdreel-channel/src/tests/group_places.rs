//! Tests of the place where groups keep their commits.

use super::groups::{join, membership, published, take_step};
use super::*;
use crate::group::file::Mode;
use crate::group::{Member, remove};

/// Returns whether a directory has the file with the commits of member `one`.
fn has_commits(directory: &Path) -> bool {
    directory.join("group.analysis.member.one").exists()
}

#[test]
fn members_that_join_while_the_channel_is_created_commit_to_its_staging() {
    for _ in 0..100 {
        let place = place();
        let joining = thread::spawn({
            let path = place.path.clone();
            move || {
                let begin = Instant::now();
                loop {
                    match Member::join(&path, membership("one", Mode::Broadcast)) {
                        Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                            assert!(begin.elapsed() < LONG);
                        }
                        joined => break joined.unwrap(),
                    }
                }
            }
        });
        let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
        publish(&mut producer, 0).unwrap();
        let mut one = joining.join().unwrap();
        assert_eq!(take_step(&mut one), Some(0));
        one.commit(b"").unwrap();
        assert!(has_commits(&place.staging()) && !has_commits(&place.path));
    }
}

#[test]
fn no_group_begins_in_a_channel_without_a_ring() {
    let place = place();
    Directory::create(&place.path).unwrap();
    let refused = Member::join(&place.path, membership("one", Mode::Broadcast)).unwrap_err();
    assert!(matches!(refused, Error::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound));
    assert_eq!(std::fs::read_dir(&place.path).unwrap().count(), 0);
}

#[test]
fn staging_cannot_be_exchanged_while_groups_have_commits_in_it() {
    let place = place();
    drop(published(&place, 4));
    let mut one = join(&place, "one", Mode::Broadcast);
    assert_eq!(take_step(&mut one), Some(0));
    one.commit(b"").unwrap();
    drop(one);
    let elsewhere = place.path.with_file_name("elsewhere");
    let other = || Staging::open(&elsewhere, Durability::File, ALL).unwrap();
    for staging in [None, Some(other())] {
        let mut changed = settings(Policy::DropOldest, 4);
        changed.staging = staging;
        let said = Producer::open(&place.path, changed).err().unwrap().to_string();
        assert!(said.contains("the commits of its groups (analysis) are in") && said.contains("staging"), "{said}");
    }
    drop(open_staged(&place, Policy::DropOldest, 4, ALL));
    drop(Producer::open(&place.path, settings(Policy::DropOldest, i64::MIN)).unwrap()); // a new run
    drop(open_staged(&place, Policy::DropOldest, 4, ALL));
    // Without the group, another staging is possible.
    remove(&place.path, "analysis").unwrap();
    let mut changed = settings(Policy::DropOldest, 4);
    changed.staging = Some(other());
    drop(Producer::open(&place.path, changed).unwrap());
    join(&place, "one", Mode::Broadcast).commit(b"").unwrap();
    assert!(has_commits(&elsewhere));
    // The same holds for a staging that has been deleted.
    std::fs::remove_dir_all(&elsewhere).unwrap();
    drop(Producer::open(&place.path, settings(Policy::DropOldest, 4)).unwrap());
}
