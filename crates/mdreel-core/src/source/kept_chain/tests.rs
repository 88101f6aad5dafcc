use std::fs;

use super::*;
use crate::block::FrameSet;
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::source::AtomSelection;
use crate::source::chain::ChainSource;
use crate::source::damage::OnError;
use crate::source::open::open;
use crate::source::read::ArrayReader;
use crate::writer::dcd::DcdEncoder;
use crate::writer::xtc::XtcEncoder;
use crate::writer::{Encoder, FileWriter, Outline as WrittenOutline};

const N_ATOMS: usize = 12;
/// Numbers of frames of the files. The even ones are XTC files, the others DCD files.
const LENGTHS: [usize; 5] = [3, 1, 4, 2, 5];

fn write<E: Encoder>(path: &Path, encoder: E, n_frames: usize) {
    let mut writer = FileWriter::create(path, encoder).unwrap();
    for i in 0..n_frames {
        let mut batch = FrameBatch::with_capacity(N_ATOMS, 1);
        let (index, present) = (i as u64, Quantities::POSITIONS);
        let header = FrameHeader { index, step: i as i64, time: i as f64, unit_cell: None, lambda: None, present };
        let columns = batch.push(header);
        columns.x.iter_mut().enumerate().for_each(|(atom, x)| *x = (100 * n_frames + 10 * i + atom) as f32);
        columns.y.fill(0.0);
        columns.z.fill(0.0);
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
}

/// Writes the files into a folder, and returns their paths, separated by NUL.
fn files(folder: &Path) -> String {
    let outline = WrittenOutline {
        n_atoms: N_ATOMS,
        quantities: Quantities::POSITIONS,
        has_unit_cell: false,
        first_step: 0,
        steps_per_frame: 1,
        first_time: 0.0,
        interval: 1.0,
    };
    let write_one = |(i, &n_frames): (usize, &usize)| {
        let path = folder.join(i.to_string());
        match i % 2 {
            0 => write(&path, XtcEncoder::new(&outline, 1000.0).unwrap(), n_frames),
            _ => write(&path, DcdEncoder::new(&outline).unwrap(), n_frames),
        }
        path.to_str().unwrap().to_owned()
    };
    LENGTHS.iter().enumerate().map(write_one).collect::<Vec<_>>().join("\0")
}

fn open_all(paths: &str) -> Opened {
    let options = Options { keep: Keep::Nowhere, ..Options::default() };
    let locations = each_of(paths).into_iter().map(|path| Location::Path(path.into())).collect();
    let all = open(locations, options, &Arc::default()).unwrap();
    all.source().n_frames().unwrap(); // only located frames can be described
    all
}

fn described(paths: &str) -> Opened {
    let chain = KeptChain::of(&open_all(paths), paths).unwrap().unwrap();
    let sent = postcard::to_allocvec(&chain).unwrap();
    KeptChain::from_bytes(&sent).unwrap().open(Options::default(), &Arc::default()).unwrap()
}

fn parts(opened: &Opened) -> (&ChainSource, &Parts) {
    match opened {
        Opened::Chain(chain, parts) => (chain, parts),
        _ => panic!("a {} trajectory is no chain", opened.format()),
    }
}

fn positions_of(source: &dyn Source, frames: FrameSet) -> Vec<f32> {
    let atoms = AtomSelection::all(N_ATOMS);
    ArrayReader::new(source, &atoms, Quantities::POSITIONS).unwrap().read(&frames).unwrap().positions
}

#[test]
fn source_of_a_described_file_is_created_when_its_frames_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    let (all, described) = (open_all(&paths), described(&paths));
    let (chain, parts) = parts(&described);
    let n_frames: usize = LENGTHS.iter().sum();
    chain.take_places(&mut std::iter::empty()).unwrap();
    chain.check_end().unwrap();
    assert_eq!((chain.n_frames().unwrap(), chain.n_bytes()), (n_frames as u64, all.source().n_bytes()));
    assert_eq!((chain.n_atoms(), described.n_parts(), parts.n_created()), (N_ATOMS, LENGTHS.len(), 0));
    for (n_created, first) in [(1, LENGTHS[0]), (2, n_frames - 1)] {
        let frames = || FrameSet::Range { start: first as u64, step: 1, count: 1 };
        assert_eq!(positions_of(chain, frames()), positions_of(&*all.source(), frames()));
        assert_eq!(parts.n_created(), n_created);
    }
    assert_eq!(
        positions_of(chain, FrameSet::all(n_frames as u64)),
        positions_of(&*all.source(), FrameSet::all(n_frames as u64))
    );
    assert_eq!(parts.n_created(), LENGTHS.len());
}

#[test]
fn chain_of_described_files_has_the_properties_of_the_open_files() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    let (all, described) = (open_all(&paths).source(), described(&paths).source());
    let (all, described) = (all.capabilities(), described.capabilities());
    assert_eq!(all.precision, Some(1000.0));
    assert_eq!(
        (described.precision, described.preferred_step, described.quantities, described.n_fetched),
        (all.precision, all.preferred_step, all.quantities, all.n_fetched)
    );
}

#[test]
fn described_chain_has_the_same_frames_if_damage_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    let of = |opened: &Opened| {
        let source = opened.source_on_error(OnError::Skip).unwrap();
        positions_of(&*source, FrameSet::all(source.n_frames().unwrap()))
    };
    assert_eq!(of(&described(&paths)), of(&open_all(&paths)));
}

#[test]
fn missing_file_is_an_error_when_its_frames_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    let described = described(&paths);
    fs::remove_file(folder.path().join("1")).unwrap();
    let (chain, _) = parts(&described);
    positions_of(chain, FrameSet::Range { start: 0, step: 1, count: LENGTHS[0] as u64 });
    let atoms = AtomSelection::all(N_ATOMS);
    let frames = FrameSet::Range { start: LENGTHS[0] as u64, step: 1, count: 1 };
    let read = ArrayReader::new(chain, &atoms, Quantities::POSITIONS).unwrap().read(&frames);
    let message = read.unwrap_err().to_string();
    assert!(message.starts_with(folder.path().join("1").to_str().unwrap()), "{message}");
}
