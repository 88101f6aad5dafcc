//! Growing files of the formats that can be followed. This module opens a file when its first frame is complete, and
//! classifies the bytes after its last frame.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;
use crate::source::dcd::Dcd;
use crate::source::fault::Fault;
use crate::source::format::Format;
use crate::source::frame_index::Keep;
use crate::source::located::{ChainedHeader, check_header, location};
use crate::source::trr::Trr;
use crate::source::trr::header::Header as TrrHeader;
use crate::source::xtc::Xtc;
use crate::source::xtc::header::Header as XtcHeader;
use crate::source::{FrameLocation, Source};

/// Upper limit for the length of a header in bytes.
const LONGEST_HEADER: usize = 128;

/// The bytes after the last complete frame of a file.
#[derive(Debug)]
pub(super) enum Behind {
    /// A whole frame, and the byte at which it ends.
    Frame(FrameLocation, u64),
    /// No bytes.
    Nothing,
    /// The beginning of a frame.
    Torn(Fault),
    /// Bytes that are neither a frame nor the beginning of one.
    Wrong(Fault),
}

/// A file that is read while it grows.
#[derive(Debug)]
pub(super) enum Growing {
    Xtc(Xtc),
    Trr(Trr),
    Dcd(Dcd),
}

/// The reason why a file cannot be followed, or cannot be followed yet.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The first frame is not complete. The error applies if the file does not grow any more.
    NotYet(Error),
    /// The file is not a trajectory, unless its content changes.
    Wrong(Error),
}

impl Growing {
    /// Opens the file at `path` if its first frame is complete. Only the first `length` bytes of the file count;
    /// `length` is 0 afterwards.
    pub(crate) fn open(
        path: &Path,
        format: Option<Format>,
        length: &Arc<AtomicU64>,
    ) -> std::result::Result<Self, Refusal> {
        let open = || FileBytes::growing(path, Arc::clone(length));
        let file = open().map_err(|error| match &error {
            Error::Io { error: cause, .. } if cause.kind() == std::io::ErrorKind::NotFound => Refusal::NotYet(error),
            _ => Refusal::Wrong(error),
        })?;
        let size = file.size_now().map_err(Refusal::Wrong)?;
        // All existing bytes may be read to detect the format and to check the first frame.
        length.store(size, Ordering::Release);
        let head = file.read_vec(0..size.min(16)).map_err(Refusal::Wrong)?;
        let not_yet = |error: Error| {
            if head.len() < 16 || is_blank(&head) { Refusal::NotYet(error) } else { Refusal::Wrong(error) }
        };
        let format = format.map_or_else(|| Format::detect(&file), Ok).map_err(not_yet)?;
        let opened = match format {
            Format::Xtc => first_frame::<XtcHeader>(&file, size)
                .and_then(|()| Xtc::open(file, Keep::Nowhere).map_err(Refusal::Wrong))
                .map(Growing::Xtc),
            Format::Trr => first_frame::<TrrHeader>(&file, size)
                .and_then(|()| Trr::open(file, Keep::Nowhere).map_err(Refusal::Wrong))
                .map(Growing::Trr),
            Format::Dcd => Dcd::growing(file).map(Growing::Dcd).map_err(|error| torn_header(error, size)),
            Format::Ncdf => Err(Refusal::Wrong(
                Error::unsupported(
                    "a NetCDF file cannot be followed, as it is not written from front to back; XTC, TRR and DCD can",
                )
                .in_file(path),
            )),
        };
        length.store(0, Ordering::Release);
        let opened = opened?;
        match opened.behind(0, opened.start(), size).map_err(Refusal::Wrong)? {
            Behind::Frame(..) => Ok(opened),
            Behind::Wrong(fault) => Err(Refusal::Wrong(fault.error(path, Some(0), opened.start()))),
            Behind::Torn(fault) => Err(Refusal::NotYet(fault.error(path, Some(0), opened.start()))),
            Behind::Nothing => {
                let message = "expected a trajectory, the file has no frame";
                Err(Refusal::NotYet(Error::format(path, Some(0), Some(size), message)))
            }
        }
    }

    /// Returns the file as a source. Its frames are those that count.
    pub(crate) fn source(&self) -> &dyn Source {
        match self {
            Growing::Xtc(xtc) => xtc,
            Growing::Trr(trr) => trr,
            Growing::Dcd(dcd) => dcd,
        }
    }

    /// Returns the file.
    pub(crate) fn file(&self) -> &FileBytes {
        match self {
            Growing::Xtc(xtc) => xtc.bytes(),
            Growing::Trr(trr) => trr.bytes(),
            Growing::Dcd(dcd) => dcd.bytes(),
        }
    }

    /// Returns the format.
    pub(crate) fn format(&self) -> Format {
        match self {
            Growing::Xtc(_) => Format::Xtc,
            Growing::Trr(_) => Format::Trr,
            Growing::Dcd(_) => Format::Dcd,
        }
    }

    /// Returns whether each frame contains the position of the next one. Such frames are located by going through all
    /// of them.
    pub(crate) fn is_chained(&self) -> bool {
        !matches!(self, Growing::Dcd(_))
    }

    /// Returns the byte at which the first frame starts.
    pub(crate) fn start(&self) -> u64 {
        match self {
            Growing::Xtc(_) | Growing::Trr(_) => 0,
            Growing::Dcd(dcd) => dcd.frame_bytes(0).start,
        }
    }

    /// Classifies the bytes at `at`, where frame `number` starts, in a file of `size` bytes.
    pub(crate) fn behind(&self, number: u64, at: u64, size: u64) -> Result<Behind> {
        if at >= size {
            return Ok(Behind::Nothing);
        }
        match self {
            Growing::Xtc(xtc) => behind_chained::<XtcHeader>(self.file(), at, size, xtc.n_atoms()),
            Growing::Trr(trr) => behind_chained::<TrrHeader>(self.file(), at, size, trr.n_atoms()),
            Growing::Dcd(dcd) => behind_dcd(dcd, number, at, size),
        }
    }
}

/// Checks that the first frame of a file of `size` bytes is complete.
fn first_frame<H: ChainedHeader>(file: &FileBytes, size: u64) -> std::result::Result<(), Refusal> {
    let mut bytes = [0; LONGEST_HEADER];
    let bytes = &mut bytes[..size.min(H::MAX_LEN as u64) as usize];
    file.read_exact(bytes, 0).map_err(Refusal::Wrong)?;
    let error = |fault: Fault| fault.error(file.path(), Some(0), 0);
    let n_atoms = match H::parse(bytes) {
        Ok(header) => header.map_or(0, |header| header.n_atoms()),
        Err(fault) if is_blank(bytes) => return Err(Refusal::NotYet(error(fault))),
        Err(fault) => return Err(Refusal::Wrong(error(fault))),
    };
    match check_header::<H>(bytes, 0, size, n_atoms) {
        Ok(_) => Ok(()),
        Err(fault) => Err(Refusal::NotYet(error(fault))),
    }
}

fn behind_chained<H: ChainedHeader>(file: &FileBytes, at: u64, size: u64, n_atoms: usize) -> Result<Behind> {
    let mut bytes = [0; LONGEST_HEADER];
    let bytes = &mut bytes[..(size - at).min(H::MAX_LEN as u64) as usize];
    file.read_exact(bytes, at)?;
    Ok(match check_header::<H>(bytes, at, size, n_atoms) {
        Ok(header) => Behind::Frame(location(&header, at), at + header.frame_len()),
        // The header is valid as far as it goes, or its bytes are still zero. A network file system may report the new
        // size before it shows the content.
        Err(fault) => match H::parse(bytes) {
            Ok(header) if header.is_none_or(|header| header.n_atoms() == n_atoms) => Behind::Torn(fault),
            Err(_) if is_blank(bytes) => Behind::Torn(fault),
            _ => Behind::Wrong(fault),
        },
    })
}

fn behind_dcd(dcd: &Dcd, number: u64, at: u64, size: u64) -> Result<Behind> {
    let bytes = dcd.frame_bytes(number);
    if bytes.end > size {
        let (needed, there) = (bytes.end - at, size - at);
        let message = format!("the last frame is torn: it needs {needed} bytes, but the file ends after {there}");
        return Ok(Behind::Torn(Fault::new(0, message)));
    }
    Ok(match dcd.check_outer_markers(number)? {
        None => {
            let location =
                FrameLocation { offset: at, step: dcd.header().step(number), time: dcd.header().time(number) };
            Behind::Frame(location, bytes.end)
        }
        Some((fault, 0)) => Behind::Torn(fault),
        Some((fault, _)) => Behind::Wrong(fault),
    })
}

/// Classifies an error in the header of a DCD file of `size` bytes. The file may end too early.
fn torn_header(error: Error, size: u64) -> Refusal {
    match &error {
        // A record marker was expected at the end of the file, where bytes are missing or not visible yet.
        Error::Format { place, .. } if place.byte.is_some_and(|byte| byte + 8 > size) => Refusal::NotYet(error),
        _ => Refusal::Wrong(error),
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
