//! Decoding of a single XTC frame in memory, with the same bytes as in a file. A section of a channel's frame has this
//! form.

use super::coded::Coded;
use super::control::Wanted;
use super::decode::{Decoded, Decoder};
use super::extremes;
use super::header::{Header, Storage};
use super::plain::decode_plain;
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::simd::Level;
use crate::source::AtomSelection;
use crate::source::bytes::MARGIN;
use crate::source::fault::Fault;
use crate::source::located::ChainedHeader;

/// Returns the positions, in Å, of a frame of `n_atoms` atoms, with three numbers per atom. The frame must take up all
/// of `bytes`. The result is bit for bit the same as that of reading the file.
pub fn positions(bytes: &[u8], n_atoms: usize) -> Result<Vec<f32>, Fault> {
    let (_, batch) = decode(bytes, n_atoms)?;
    let columns = batch.columns(0);
    let rows = columns.x.iter().zip(columns.y).zip(columns.z);
    Ok(rows.flat_map(|((&x, &y), &z)| [x, y, z]).collect())
}

/// Decodes the header and all positions of such a frame. If the coordinates are compressed, their extremes must be
/// those of the header.
pub(super) fn decode(bytes: &[u8], n_atoms: usize) -> Result<(Header, FrameBatch), Fault> {
    let cut = || Fault::new(bytes.len() as u64, "the frame ends in the middle of its header");
    let header = Header::parse(bytes)?.ok_or_else(cut)?;
    if header.n_atoms != n_atoms {
        return Err(Fault::new(4, format!("expected {n_atoms} atoms, got {}", header.n_atoms)));
    }
    if header.frame_len() != bytes.len() as u64 {
        let message = format!("expected a frame of {} bytes, got {}", header.frame_len(), bytes.len());
        return Err(Fault::new(header.header_len as u64, message));
    }
    let atoms = AtomSelection::all(n_atoms);
    let mut batch = FrameBatch::with_capacity(n_atoms, 1);
    let (step, time) = (header.step(), header.time());
    let head = FrameHeader { index: 0, step, time, unit_cell: None, lambda: None, present: Quantities::POSITIONS };
    let mut columns = batch.push(head);
    let coded = &bytes[header.header_len..];
    match &header.storage {
        Storage::Plain => decode_plain(coded, &atoms, &mut columns),
        Storage::Compressed(compression) => {
            // The decoder loads complete words.
            let mut padded = Vec::with_capacity(coded.len() + MARGIN);
            padded.extend_from_slice(coded);
            padded.resize(coded.len() + MARGIN, 0);
            let coded = Coded::new(compression, n_atoms, &padded);
            let mut ends = Vec::new();
            let lane = std::slice::from_mut(&mut columns);
            Decoder::new(Level::detect()).decode(&Wanted::new(atoms.indices()), &[coded], lane, &mut ends);
            if let Some(Decoded::Corrupt(fault)) = ends.pop() {
                return Err(Fault::new(header.header_len as u64 + fault.byte, fault.message));
            }
            extremes::check(compression, &batch.columns(0))?;
        }
    }
    Ok((header, batch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::xtc::{XtcEncoder, most_frame_bytes};
    use crate::writer::{Encoder, Outline};

    fn encoded(values: &[f32], precision: f32) -> Vec<u8> {
        let n_atoms = values.len() / 3;
        let mut batch = FrameBatch::with_capacity(n_atoms, 1);
        let present = Quantities::POSITIONS;
        let columns = batch.push(FrameHeader { index: 0, step: 7, time: 0.5, unit_cell: None, lambda: None, present });
        for (i, row) in values.as_chunks::<3>().0.iter().enumerate() {
            (columns.x[i], columns.y[i], columns.z[i]) = (row[0], row[1], row[2]);
        }
        let mut bytes = Vec::new();
        let outline = Outline {
            n_atoms,
            quantities: present,
            has_unit_cell: false,
            first_step: 7,
            steps_per_frame: 1,
            first_time: 0.5,
            interval: 1.0,
        };
        XtcEncoder::new(&outline, precision).unwrap().encode(&batch, &mut bytes).unwrap();
        assert!(bytes.len() <= most_frame_bytes(n_atoms));
        bytes
    }

    fn given(n_atoms: usize) -> Vec<f32> {
        (0..3 * n_atoms).map(|i| ((i * 7919) % 5003) as f32 * 0.013 - 20.0).collect()
    }

    #[test]
    fn positions_come_back_as_precisely_as_was_said() {
        for n_atoms in [1, 9, 10, 1000] {
            let given = given(n_atoms);
            let found = positions(&encoded(&given, 1000.0), n_atoms).unwrap();
            assert_eq!(found.len(), given.len());
            assert!(found.iter().zip(&given).all(|(a, b)| (a - b).abs() <= 0.00502), "{n_atoms} atoms");
        }
    }

    #[test]
    fn what_is_cut_or_of_others_is_a_fault() {
        let bytes = encoded(&given(50), 1000.0);
        for n_bytes in 0..bytes.len() {
            positions(&bytes[..n_bytes], 50).expect_err("it is cut");
        }
        positions(&[bytes.as_slice(), &[0]].concat(), 50).expect_err("there is a byte too many");
        positions(&bytes, 49).expect_err("they are 50");
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let bytes = encoded(&given(200), 1000.0);
        for at in 0..bytes.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                // Damage causes a fault or changes positions. The checksum of the section detects both.
                let _ = positions(&damaged, 200).map(|found| assert_eq!(found.len(), 600));
            }
        }
    }
}
