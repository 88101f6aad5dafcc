//! The binary layout of a frame: a header, a table of sections, and the sections.
//!
//! All numbers are little endian. A frame begins at a multiple of 64 bytes, and so does each section.
//!
//! | byte | type | what |
//! |---|---|---|
//! | 0 | 8 bytes | `MDREELFR` |
//! | 8 | u16 | version of the layout: 1 |
//! | 10 | u16 | flags: bit 0 is set if there is a cell, all others are 0 |
//! | 12 | u32 | length of the header with its table and the padding after it |
//! | 16 | u64 | length of the frame with its header |
//! | 24 | u64 | stream |
//! | 32 | u64 | epoch: the number of the producer's incarnation |
//! | 40 | u64 | sequence number |
//! | 48 | i64 | step |
//! | 56 | f64 | time, ps |
//! | 64 | u64 | number of atoms |
//! | 72 | 9 f64 | the row vectors of the cell, Å; zeros without a cell |
//! | 144 | u32 | number of sections, at most 64 |
//! | 148 | u32 | 0 |
//! | 152 | u64 | checksum of the header: of its bytes before and after this number |
//! | 160 | 32 bytes each | sections: kind u16, data type u16, 0 as u32, then as u64 offset, length and checksum |
//!
//! Checksums are XXH3 (64 bits). Computing one is as fast as the copy that it accompanies, and 64 bits miss one damage in 10^19.
//! A decoder trusts no input: it compares each offset and length with the bytes that are available before it uses them.

use std::ops::Range;
use std::path::Path;

use super::section::{DataType, SectionKind, fault};
use hasher::Hasher;
use mdreel_core::error::{Error, Result};

pub use hasher::checksum;

const MAGIC: &[u8; 8] = b"MDREELFR";
const VERSION: u16 = 1;
const HAS_CELL: u16 = 1;
/// The alignment of frames and sections in bytes.
pub(crate) const ALIGNMENT: usize = 64;
/// The length of the header without the table of sections.
const FIXED: usize = 160;
const CHECKSUM: Range<usize> = 152..160;
const ENTRY: usize = 32;
/// The largest number of sections in a frame.
pub(crate) const MOST_SECTIONS: usize = 64;

/// A section to be written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section<'a> {
    /// The content of the section.
    pub kind: SectionKind,
    /// The type of its numbers.
    pub data_type: DataType,
    /// The bytes of the section.
    pub bytes: &'a [u8],
}

/// The properties of a frame, without its sections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// The number of the stream that the frame belongs to.
    pub stream: u64,
    /// The number of the producer's incarnation.
    pub epoch: u64,
    /// The number of the frame in its stream.
    pub sequence: u64,
    /// The step of the simulation.
    pub step: i64,
    /// Time, ps.
    pub time: f64,
    /// The number of atoms.
    pub n_atoms: u64,
    /// The row vectors of the cell, Å.
    pub cell: Option<[f64; 9]>,
}

/// The position of a section in the bytes of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    kind: SectionKind,
    data_type: DataType,
    bytes: Range<usize>,
    checksum: u64,
}

/// A view of a frame in borrowed bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameView<'a> {
    /// The properties of the frame.
    pub header: Header,
    entries: Vec<Entry>,
    bytes: &'a [u8],
}

fn aligned(length: usize) -> Option<usize> {
    length.checked_next_multiple_of(ALIGNMENT)
}

fn header_len(n_sections: usize) -> usize {
    (FIXED + n_sections * ENTRY).next_multiple_of(ALIGNMENT)
}

/// Returns the length in bytes of a frame with sections of these lengths.
pub fn frame_len(lengths: impl ExactSizeIterator<Item = usize>) -> Option<usize> {
    let header = header_len(lengths.len());
    lengths.into_iter().try_fold(header, |end, length| aligned(end.checked_add(length)?))
}

fn header_checksum(header: &[u8]) -> u64 {
    let mut checksum = Hasher::of(header.len() - CHECKSUM.len());
    checksum.add(&header[..CHECKSUM.start]);
    checksum.add(&header[CHECKSUM.end..]);
    checksum.value()
}

/// Copies `from` to `to`, which has the same length, and returns the checksum of `from`. Both happen in one pass.
fn copy_and_sum(from: &[u8], to: &mut [u8]) -> u64 {
    let mut sum = Hasher::of(from.len());
    sum.copy(from, to);
    sum.value()
}

/// Writes a frame to the start of `target`, in one pass over its sections. Returns the length of the frame in bytes.
pub fn encode(header: &Header, sections: &[Section<'_>], target: &mut [u8]) -> Result<usize> {
    let room = target.len();
    let Some(length) = frame_len(sections.iter().map(|section| section.bytes.len())).filter(|length| *length <= room)
    else {
        let message = format!("its sections do not fit into {room} bytes");
        return Err(Error::mismatch(message).at_frame(header.sequence));
    };
    let first = header_len(sections.len());
    let (head, rest) = target[..length].split_at_mut(first);
    write_head(header, sections, head, length, |at, bytes| {
        let (body, behind) = rest[at - first..].split_at_mut(bytes.len());
        let sum = copy_and_sum(bytes, body);
        behind[..bytes.len().next_multiple_of(ALIGNMENT) - bytes.len()].fill(0);
        sum
    })?;
    Ok(length)
}

/// Returns the bytes of a frame before its sections, and their checksum. In the frame, the sections follow. Each of them ends with
/// zeros, so that the next one begins at a multiple of `ALIGNMENT`.
pub(crate) fn encode_head(header: &Header, sections: &[Section<'_>]) -> Result<(Vec<u8>, u64)> {
    let Some(length) = frame_len(sections.iter().map(|section| section.bytes.len())) else {
        return Err(Error::mismatch("its sections are too long").at_frame(header.sequence));
    };
    let mut head = vec![0; header_len(sections.len())];
    let sum = write_head(header, sections, &mut head, length, |_, bytes| checksum(bytes))?;
    Ok((head, sum))
}

/// Writes the header of a frame of this length, and returns its checksum. `sum_of` takes the offset and the bytes of each section,
/// and returns their checksum.
fn write_head(
    header: &Header,
    sections: &[Section<'_>],
    head: &mut [u8],
    length: usize,
    mut sum_of: impl FnMut(usize, &[u8]) -> u64,
) -> Result<u64> {
    let refuse = |message: String| Err(Error::mismatch(message).at_frame(header.sequence));
    if sections.len() > MOST_SECTIONS {
        return refuse(format!("expected at most {MOST_SECTIONS} sections, got {}", sections.len()));
    }
    let mut at = head.len();
    head.fill(0);
    for (section, entry) in sections.iter().zip(head[FIXED..].as_chunks_mut::<ENTRY>().0) {
        if let Some(wrong) = fault(section.kind, section.data_type, header.n_atoms, section.bytes.len() as u64) {
            return refuse(wrong);
        }
        let Some(number) = section.kind.number() else {
            return refuse(format!("{}: custom sections end at 65279", section.kind));
        };
        let sum = sum_of(at, section.bytes);
        entry[..2].copy_from_slice(&number.to_le_bytes());
        entry[2..4].copy_from_slice(&section.data_type.number().to_le_bytes());
        entry[8..16].copy_from_slice(&(at as u64).to_le_bytes());
        entry[16..24].copy_from_slice(&(section.bytes.len() as u64).to_le_bytes());
        entry[24..].copy_from_slice(&sum.to_le_bytes());
        at += section.bytes.len().next_multiple_of(ALIGNMENT);
    }
    let n_sections = sections.len() as u32;
    head[..8].copy_from_slice(MAGIC);
    head[8..10].copy_from_slice(&VERSION.to_le_bytes());
    head[10..12].copy_from_slice(&(if header.cell.is_some() { HAS_CELL } else { 0 }).to_le_bytes());
    let n = head.len() as u32;
    head[12..16].copy_from_slice(&n.to_le_bytes());
    let words = [length as u64, header.stream, header.epoch, header.sequence];
    let words = words.into_iter().chain([header.step.cast_unsigned(), header.time.to_bits(), header.n_atoms]);
    let cell = header.cell.unwrap_or_default().map(f64::to_bits);
    for (to, word) in head[16..144].as_chunks_mut::<8>().0.iter_mut().zip(words.chain(cell)) {
        *to = word.to_le_bytes();
    }
    head[144..148].copy_from_slice(&n_sections.to_le_bytes());
    let sum = header_checksum(head);
    head[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
    Ok(sum)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The decoded header of a frame.
#[derive(Debug, Clone, PartialEq)]
struct Head {
    header: Header,
    entries: Vec<Entry>,
    /// The length of the frame in bytes.
    length: usize,
}

impl Head {
    /// Decodes the header of a frame that begins with `bytes` and has a length of at most `room`. Messages name `path`.
    fn decode(path: &Path, bytes: &[u8], room: usize) -> Result<Self> {
        Self::parse(bytes, room).map_err(|(byte, message)| Error::format(path, None, Some(byte), message))
    }

    fn parse(bytes: &[u8], room: usize) -> std::result::Result<Self, (u64, String)> {
        let short = |wanted: usize| (bytes.len() as u64, format!("expected {wanted} bytes, got {}", bytes.len()));
        let word = |at: usize| number(bytes, at).map(u64::from_le_bytes).ok_or_else(|| short(at + 8));
        let half = |at: usize| number(bytes, at).map(u32::from_le_bytes).ok_or_else(|| short(at + 4));
        let quarter = |at: usize| number(bytes, at).map(u16::from_le_bytes).ok_or_else(|| short(at + 2));
        if bytes.len() < FIXED {
            return Err(short(FIXED));
        }
        if &bytes[..8] != MAGIC {
            return Err((0, format!("expected a frame (MDREELFR), got {}", bytes[..8].escape_ascii())));
        }
        let (version, flags) = (quarter(8)?, quarter(10)?);
        if version != VERSION {
            return Err((8, format!("expected version {VERSION} of the layout, got {version}")));
        }
        let n_sections = half(144)? as usize;
        if n_sections > MOST_SECTIONS {
            return Err((144, format!("expected at most {MOST_SECTIONS} sections, got {n_sections}")));
        }
        let expected = header_len(n_sections);
        let length = half(12)? as usize;
        if length != expected {
            return Err((12, format!("expected a header of {expected} bytes, got {length}")));
        }
        let head = bytes.get(..expected).ok_or_else(|| short(expected))?;
        let (sum, stored) = (header_checksum(head), word(CHECKSUM.start)?);
        if sum != stored {
            return Err((152, format!("the header's checksum is {sum:#018x}, expected {stored:#018x}")));
        }
        if flags & !HAS_CELL != 0 {
            return Err((10, format!("expected flags 0 or 1, got {flags}")));
        }
        let total = word(16)?;
        let Some(size) = usize::try_from(total).ok().filter(|total| *total <= room) else {
            return Err((16, format!("expected a frame of at most {room} bytes, got {total}")));
        };
        let mut cell = [0.0; 9];
        for (i, value) in cell.iter_mut().enumerate() {
            *value = f64::from_bits(word(72 + 8 * i)?);
        }
        let header = Header {
            stream: word(24)?,
            epoch: word(32)?,
            sequence: word(40)?,
            step: word(48)?.cast_signed(),
            time: f64::from_bits(word(56)?),
            n_atoms: word(64)?,
            cell: (flags & HAS_CELL != 0).then_some(cell),
        };
        let mut entries = Vec::with_capacity(n_sections);
        let mut end = expected;
        for i in 0..n_sections {
            let at = FIXED + i * ENTRY;
            let wrong = |message: String| (at as u64, format!("section {i}: {message}"));
            let (kind, data_type) = (quarter(at)?, quarter(at + 2)?);
            let (Some(kind), Some(data_type)) = (SectionKind::from_number(kind), DataType::from_number(data_type))
            else {
                return Err(wrong(format!("kind {kind}, data type {data_type} is not known")));
            };
            let (offset, length) = (word(at + 8)?, word(at + 16)?);
            if offset != end as u64 {
                return Err(wrong(format!("expected it at byte {end}, got {offset}")));
            }
            // Compared with the remaining length before any addition, so that no sum overflows.
            if length > (size - end.min(size)) as u64 {
                return Err(wrong(format!("{length} bytes from byte {offset} on do not fit into {size}")));
            }
            if let Some(fault) = fault(kind, data_type, header.n_atoms, length) {
                return Err(wrong(fault));
            }
            let bytes = end..end + length as usize;
            end = bytes.end.next_multiple_of(ALIGNMENT);
            entries.push(Entry { kind, data_type, bytes, checksum: word(at + 24)? });
        }
        if end as u64 != total {
            return Err((16, format!("expected a frame of {end} bytes, as its sections end there, got {total}")));
        }
        Ok(Head { header, entries, length: size })
    }
}

impl<'a> FrameView<'a> {
    /// Decodes the frame at the start of `bytes`. This checks its header, but not its sections (`verify`). `path` is the origin
    /// of the bytes, for messages.
    pub fn decode(path: &Path, bytes: &'a [u8]) -> Result<Self> {
        let Head { header, entries, length } = Head::decode(path, bytes, bytes.len())?;
        Ok(FrameView { header, entries, bytes: &bytes[..length] })
    }

    /// Returns the checksum in the header, if `bytes` have the magic number and the length of a complete frame. It checks nothing
    /// else.
    pub(crate) fn stored_checksum(bytes: &[u8]) -> Option<u64> {
        let is_frame =
            bytes.starts_with(MAGIC) && number(bytes, 16).map(u64::from_le_bytes) == Some(bytes.len() as u64);
        number(bytes, CHECKSUM.start).filter(|_| is_frame).map(u64::from_le_bytes)
    }

    /// Returns the sections, in order.
    pub fn sections(&self) -> impl ExactSizeIterator<Item = Section<'a>> + '_ {
        let bytes = self.bytes;
        self.entries.iter().map(move |entry| Section {
            kind: entry.kind,
            data_type: entry.data_type,
            bytes: &bytes[entry.bytes.clone()],
        })
    }

    /// Returns all bytes of the frame.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Compares each section with its checksum. Messages name `path`.
    pub fn verify(&self, path: &Path) -> Result<()> {
        let sum = |entry: &Entry| checksum(&self.bytes[entry.bytes.clone()]);
        self.entries.iter().try_for_each(|entry| entry.check(sum(entry), self.header.sequence, path))
    }
}

impl Entry {
    fn check(&self, sum: u64, sequence: u64, path: &Path) -> Result<()> {
        if sum == self.checksum {
            return Ok(());
        }
        let message = format!("{}: checksum {sum:#018x}, expected {:#018x}", self.kind, self.checksum);
        Err(Error::format(path, Some(sequence), Some(self.bytes.start as u64), message))
    }
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "relays, which take frames in pieces, are for Linux"))]
mod arriving;
mod hasher;
pub use arriving::Arriving;

#[cfg(test)]
mod tests;
