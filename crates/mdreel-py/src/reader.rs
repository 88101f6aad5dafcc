//! A reader for frames that are read one after another. It keeps the plan that was made for its atoms.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use mdreel_core::frame::Quantities;
use mdreel_core::source::AtomSelection;
use mdreel_core::source::Source as CoreSource;
use mdreel_core::source::read::ArrayReader;
use mdreel_core::{Error, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use self_cell::self_cell;

use crate::block::FrameSet;
use crate::error::to_python;
use crate::follow::await_frame;
use crate::frame::{Frames, quantities, selection};
use crate::patience::read;
use crate::source::Source;

/// The source and the atoms of a reader.
struct Wish {
    source: Arc<dyn CoreSource>,
    atoms: AtomSelection,
}

self_cell!(
    struct OwnReader {
        owner: Arc<Wish>,

        #[not_covariant]
        dependent: ArrayReader,
    }
);

/// A reader of the positions of some atoms and of other requested quantities.
///
/// Several threads can use it. They wait for each other.
#[pyclass(frozen, module = "mdreel._core")]
pub struct FrameReader {
    wish: Arc<Wish>,
    wanted: Quantities,
    /// The core's reader, and the thread that created it. A reader must stay on its thread.
    reader: Arc<Mutex<Option<(ThreadId, OwnReader)>>>,
}

impl FrameReader {
    /// Creates a reader of these atoms and these quantities.
    pub fn new(source: &Source, atoms: &PyReadonlyArray1<'_, u32>, wanted: &[String]) -> PyResult<Self> {
        let wish = Arc::new(Wish { source: source.shared(), atoms: selection(atoms)? });
        let wanted = quantities(wanted).map_err(|error| to_python(atoms.py(), error))?;
        Ok(FrameReader { wish, wanted, reader: Arc::default() })
    }
}

#[pymethods]
impl FrameReader {
    /// Read frames. If the source grows, the method waits for them.
    pub fn read(&self, py: Python<'_>, frames: &FrameSet) -> PyResult<Frames> {
        let frames = frames.0.clone();
        if frames.is_endless() {
            let message = "frames without an end that is known cannot be read into memory";
            return Err(to_python(py, Error::unsupported(message)));
        }
        if let Some(last) = frames.last() {
            await_frame(py, &*self.wish.source, last)?;
        }
        let n_atoms = self.wish.atoms.len();
        let size = [frames.len(), n_atoms as u64];
        let (wish, wanted, kept) = (Arc::clone(&self.wish), self.wanted, Arc::clone(&self.reader));
        let array = read(py, &*self.wish.source, size, move || {
            // After a panic, a new reader is created.
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let made = kept.take().filter(|(thread, _)| *thread == thread::current().id());
            let (thread, mut reader) = match made {
                Some(made) => made,
                None => (thread::current().id(), own_reader(wish, wanted)?),
            };
            let array = reader.with_dependent_mut(|_, reader| reader.read(&frames));
            *kept = Some((thread, reader));
            array
        })?;
        Frames::new(py, array, n_atoms, self.wanted)
    }
}

fn own_reader(wish: Arc<Wish>, wanted: Quantities) -> Result<OwnReader> {
    OwnReader::try_new(wish, |wish| ArrayReader::new(&*wish.source, &wish.atoms, wanted))
}
