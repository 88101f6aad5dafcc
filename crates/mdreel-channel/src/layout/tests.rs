//! Tests of the layout: written frames decode to the same content, and damaged frames are refused.

use std::path::Path;

use proptest::prelude::*;

use super::super::section::{DataType, SectionKind};
use super::{ALIGNMENT, Arriving, FrameView, Header, Section, encode, encode_head, frame_len};

fn frame(header: &Header, sections: &[Section<'_>]) -> Vec<u8> {
    let length = frame_len(sections.iter().map(|section| section.bytes.len())).unwrap();
    let mut bytes = vec![0xa5; length];
    assert_eq!(encode(header, sections, &mut bytes).unwrap(), length);
    let (mut parts, checksum) = encode_head(header, sections).unwrap();
    for section in sections {
        parts.extend(section.bytes);
        parts.resize(parts.len().next_multiple_of(ALIGNMENT), 0);
    }
    assert_eq!(FrameView::stored_checksum(&bytes), Some(checksum));
    assert!(parts == bytes, "the parts are those of the whole frame");
    bytes
}

fn header(n_atoms: u64) -> Header {
    Header { stream: 7, epoch: 2, sequence: 5, step: -3, time: 0.5, n_atoms, cell: Some([1.5; 9]) }
}

fn is_whole(bytes: &[u8]) -> bool {
    let path = Path::new("ring");
    let Ok(view) = FrameView::decode(path, bytes) else { return false };
    let (is_whole, length) = (view.verify(path).is_ok(), view.bytes().len());
    let head = super::header_len(view.sections().len());
    for cuts in [vec![], vec![head], vec![head, head + 1, length], vec![length / 2 + head / 2, length - 1]] {
        let (mut pieces, mut from) = (Vec::new(), 0);
        for cut in cuts.into_iter().map(|cut| cut.clamp(head, length)).chain([length]) {
            pieces.push(&view.bytes()[from..cut]);
            from = cut;
        }
        let copied = |target: &mut [u8]| {
            let mut frame = Arriving::begin(path, pieces[0], length).unwrap();
            assert_eq!(frame.header(), view.header);
            let copied = pieces.iter().try_for_each(|piece| frame.copy(path, piece, target));
            assert!(copied.is_err() || (frame.is_whole() && frame.n_there() == length));
            copied
        };
        let mut copy = vec![0xa5; length + 1];
        assert!(copied(&mut copy[..length - 1]).is_err(), "no room");
        assert_eq!(copied(&mut copy).is_ok(), is_whole);
        assert!(!is_whole || (&copy[..length], copy[length]) == (view.bytes(), 0xa5));
    }
    is_whole
}

#[test]
fn first_piece_has_the_header_and_no_more_bytes_come_than_it_says() {
    let path = Path::new("ring");
    let bytes =
        frame(&header(3), &[Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &[7; 36] }]);
    let refused = |first: &[u8], n_bytes| Arriving::begin(path, first, n_bytes).is_err();
    let n_bytes = bytes.len();
    assert!(!refused(&bytes, n_bytes));
    assert!(!refused(&bytes[..192], n_bytes));
    assert!(refused(&[], n_bytes));
    assert!(refused(&bytes[..100], n_bytes));
    assert!(refused(&bytes, n_bytes + 1));
    assert!(refused(&bytes, n_bytes - 1));
    let mut frame = Arriving::begin(path, &bytes, n_bytes).unwrap();
    let mut target = vec![0; 2 * n_bytes];
    frame.copy(path, &bytes[..192], &mut target).unwrap();
    assert!(frame.copy(path, &bytes, &mut target).is_err(), "more than there is of it");
    assert_eq!(Arriving::header_of(path, &bytes[..192], bytes.len()).unwrap(), header(3));
    assert!(Arriving::header_of(path, &bytes[..192], bytes.len() - 1).is_err());
    assert!(Arriving::header_of(path, &bytes[..191], bytes.len()).is_err());
}

proptest! {
    #[test]
    fn frame_comes_back_as_it_was_written(
        numbers in any::<(u64, u64, u64, i64, u64)>(),
        cell in prop::option::of(prop::array::uniform9(-1e6f64..1e6)),
        n_atoms in 0u64..40,
        which in prop::collection::vec(0usize..6, 0..8),
        random in prop::collection::vec(any::<u8>(), 28 * 40),
    ) {
        let (stream, epoch, sequence, step, time) = numbers;
        let time = f64::from_bits(time & !(1 << 62));
        let header = Header { stream, epoch, sequence, step, time, n_atoms, cell };
        let n = n_atoms as usize;
        let kinds = [
            (SectionKind::Positions, DataType::Float32, 12 * n),
            (SectionKind::Velocities, DataType::Float64, 24 * n),
            (SectionKind::Positions, DataType::TypeAndFloat64, 28 * n),
            (SectionKind::Positions, DataType::Xtc, n),
            (SectionKind::Energies, DataType::Float64, 64),
            (SectionKind::Custom(9), DataType::Float32, 20),
        ];
        let sections: Vec<_> = which
            .iter()
            .map(|i| kinds[*i])
            .map(|(kind, data_type, length)| Section { kind, data_type, bytes: &random[..length] })
            .collect();
        let bytes = frame(&header, &sections);
        let view = FrameView::decode(Path::new("ring"), &bytes).unwrap();
        view.verify(Path::new("ring")).unwrap();
        prop_assert_eq!(view.header, header);
        prop_assert_eq!(view.sections().collect::<Vec<_>>(), sections);
    }

    #[test]
    fn any_bytes_are_a_frame_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(!is_whole(&bytes));
        let n = bytes.len().min(8);
        bytes[..n].copy_from_slice(&b"MDREELFR"[..n]);
        prop_assert!(!is_whole(&bytes));
    }
}

#[test]
fn frame_is_refused_when_it_is_cut_or_a_byte_of_it_is_another() {
    let positions: Vec<u8> = (0..60).collect();
    let sections = [
        Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &positions },
        Section { kind: SectionKind::Energies, data_type: DataType::Float64, bytes: &positions[..8] },
    ];
    let bytes = frame(&header(5), &sections);
    assert!(is_whole(&bytes));
    for length in 0..bytes.len() {
        assert!(!is_whole(&bytes[..length]), "cut to {length} bytes");
    }
    let padding = [256 + 60..256 + 64, 320 + 8..bytes.len()];
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let is_harmless = padding.iter().any(|range| range.contains(&at));
            assert_eq!(is_whole(&damaged), is_harmless, "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn frame_that_is_not_one_is_not_written() {
    let section = Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &[0; 12] };
    let mut target = [0; 1024];
    assert!(encode(&header(2), &[section], &mut target).is_err(), "positions of one atom for two");
    assert!(encode_head(&header(2), &[section]).is_err(), "positions of one atom for two");
    assert!(encode(&header(1), &[section], &mut target[..255]).is_err(), "no room");
    assert!(encode(&header(1), &[section; 65], &mut vec![0; 1 << 16]).is_err(), "too many sections");
    let custom = Section { kind: SectionKind::Custom(u16::MAX), ..section };
    assert!(encode(&header(1), &[custom], &mut target).is_err(), "no number");
}
