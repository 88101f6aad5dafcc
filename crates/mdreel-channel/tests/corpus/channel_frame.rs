//! A check that decodes any bytes as a frame of a channel. The outcome is an error, or a frame that is encoded as it was decoded.

use std::path::Path;

use mdreel_channel::layout::{FrameView, checksum, encode};

/// The position of the header's checksum.
const CHECKSUM: std::ops::Range<usize> = 152..160;

/// Decodes `bytes` unchanged, and again with the correct checksum of the header, which a fuzzer cannot find.
pub(crate) fn check(bytes: &[u8]) {
    look(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    look(&sealed);
}

fn seal(bytes: &mut [u8]) {
    let Some(length) = bytes.get(12..).and_then(|bytes| bytes.first_chunk()).map(|length| u32::from_le_bytes(*length))
    else {
        return;
    };
    let Some(head) = bytes.get(..length as usize).filter(|head| head.len() >= CHECKSUM.end) else { return };
    let sum = checksum(&[&head[..CHECKSUM.start], &head[CHECKSUM.end..]].concat());
    bytes[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
}

fn look(bytes: &[u8]) {
    let path = Path::new("frame");
    let Ok(view) = FrameView::decode(path, bytes) else { return };
    // The check may fail or not. In both cases, the sections have the lengths that the table gives.
    let _ = view.verify(path);
    let sections: Vec<_> = view.sections().collect();
    let mut again = vec![0; view.bytes().len()];
    let length = encode(&view.header, &sections, &mut again).expect("what was decoded can be encoded");
    assert_eq!(length, again.len());
    let again = FrameView::decode(path, &again).expect("what was encoded can be decoded");
    again.verify(path).expect("what was encoded has its checksums");
    assert_eq!(again.sections().collect::<Vec<_>>(), sections);
    assert_eq!(again.header.time.to_bits(), view.header.time.to_bits());
    assert_eq!((again.header.step, again.header.sequence), (view.header.step, view.header.sequence));
}
