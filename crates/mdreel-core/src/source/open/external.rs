//! Trajectories with files that another library reads, such as MPI-IO.

use std::path::PathBuf;
use std::sync::Arc;

use super::{KnownFile, Location, Opened, Options, Part, Parts};
use crate::error::{Error, Result};
use crate::source::bytes::{Access, ExternalReads, OpenFiles};
use crate::source::chain::Overlaps;
use crate::source::deferred::{Deferred, Outline};
use crate::source::format::Format;
use crate::source::frame_index::Keep;

impl Opened {
    /// Returns the path of a file that the core reads from a file system. Returns `None` for all other trajectories,
    /// such as URLs and arrays in memory.
    pub fn file_path(&self) -> Option<PathBuf> {
        match self {
            Opened::Deferred(_, file) => match &file.location {
                Location::Path(path) => Some(path.to_path_buf()),
                Location::External(..) | Location::Remote(_) => None,
            },
            Opened::Xtc(_) | Opened::Trr(_) | Opened::Dcd(_) | Opened::Ncdf(_) => {
                let source = self.source();
                let file = source.capabilities().file?;
                file.n_fetched().is_none().then(|| file.path().to_owned())
            }
            Opened::Memory(_) | Opened::Other(..) | Opened::Chain(..) => None,
        }
    }

    /// Returns the same trajectory, read by other libraries.
    ///
    /// For the number of a file, `reads` returns the library that reads its bytes. Each file is opened at the first
    /// read. Frames that are already located stay located.
    pub fn read_by(&self, reads: impl Fn(usize) -> Arc<dyn ExternalReads>) -> Result<Opened> {
        let open_files = Arc::new(OpenFiles::default());
        let parts: Vec<Opened> =
            self.parts().enumerate().map(|(i, part)| part.one_read_by(reads(i), &open_files)).collect::<Result<_>>()?;
        let read = match self {
            Opened::Chain(chain, all) => {
                let read = all.iter().zip(parts).map(|(part, opened)| Part { opened, path: Arc::clone(&part.path) });
                let parts = Arc::new(Parts::from(read.collect::<Vec<_>>()));
                let same = Arc::clone(&parts);
                Opened::Chain(Arc::new(chain.map(move |i| same.get(i).opened.source())), parts)
            }
            _ => parts.into_iter().next().ok_or_else(|| Error::mismatch("a trajectory needs at least one file"))?,
        };
        Ok(read)
    }

    fn one_read_by(&self, reads: Arc<dyn ExternalReads>, open_files: &Arc<OpenFiles>) -> Result<Opened> {
        let outline = match self {
            Opened::Deferred(_, file) => Some(file.outline.clone()),
            _ => Outline::of(&*self.source(), self.format())?,
        };
        let (Some(path), Some(outline)) = (self.file_path(), outline) else {
            let format = self.format();
            return Err(Error::unsupported(format!("another library reads files alone, this trajectory is {format}")));
        };
        let options = Options {
            format: Some(Format::from_name(self.format())?),
            access: Access::Read,
            keep: Keep::Nowhere,
            overlaps: Overlaps::Keep,
        };
        let file = KnownFile::new(Location::External(path, reads), outline, options, Arc::clone(open_files));
        let file = Arc::new(file);
        Ok(Opened::Deferred(Arc::new(Deferred::new(Arc::clone(&file) as _, false)), file))
    }
}
