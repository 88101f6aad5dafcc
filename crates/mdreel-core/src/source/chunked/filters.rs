//! Filters of the bytes of a chunk. The decoder reverses them in the opposite order.
//!
//! Source: HDF5 File Format Specification, "Filter Pipeline message"; description of the stream of LibLZF.

use flate2::{Decompress, FlushDecompress, Status};

/// Number of bytes of a checksum.
const CHECKSUM_BYTES: usize = 4;

/// A filter of HDF5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Deflate in the zlib format, which h5py calls "gzip".
    Deflate,
    /// A permutation that stores the first bytes of all elements, then the second bytes, and so on.
    Shuffle {
        /// Number of bytes of an element.
        element_bytes: usize,
    },
    /// A checksum after the bytes.
    Fletcher32,
    /// LibLZF, which h5py includes.
    Lzf,
}

impl Filter {
    /// Returns the filter with this number in HDF5. `parameter` is its first parameter.
    pub fn from_hdf5(id: u32, parameter: usize) -> Option<Self> {
        match id {
            1 => Some(Filter::Deflate),
            2 => Some(Filter::Shuffle { element_bytes: parameter }),
            3 => Some(Filter::Fletcher32),
            32000 => Some(Filter::Lzf),
            _ => None,
        }
    }

    /// Returns the maximum number of bytes that one stored byte can represent. The limit bounds the memory that a file
    /// of a given size can make the decoder allocate.
    fn most_expansion(self) -> u64 {
        match self {
            // Deflate stores a length of 258 in two bits (RFC 1951).
            Filter::Deflate => 1032,
            // LZF stores a length of 264 in three bytes.
            Filter::Lzf => 88,
            Filter::Shuffle { .. } | Filter::Fletcher32 => 1,
        }
    }
}

/// Returns whether the mask of a chunk marks the `i`-th filter as skipped.
fn is_skipped(mask: u32, i: usize) -> bool {
    mask.checked_shr(i as u32).is_some_and(|rest| rest & 1 == 1)
}

/// Returns whether the bytes of a chunk are stored without filters.
pub(super) fn is_plain(filters: &[Filter], mask: u32) -> bool {
    (0..filters.len()).all(|i| is_skipped(mask, i))
}

/// Returns the maximum number of bytes to which `stored` bytes can expand.
pub(super) fn most_bytes(filters: &[Filter], mask: u32, stored: u64) -> u64 {
    let used = filters.iter().enumerate().filter(|&(i, _)| !is_skipped(mask, i));
    used.fold(stored, |bytes, (_, filter)| bytes.saturating_mul(filter.most_expansion()))
}

/// Decoder that reverses filters and reuses its memory.
pub(super) struct Decoder {
    inflater: Decompress,
    front: Vec<u8>,
    back: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Decoder { inflater: Decompress::new(true), front: Vec::new(), back: Vec::new() }
    }

    /// Reverses the filters of the `stored` bytes, which must yield `expected` bytes.
    pub(crate) fn decode<'a>(
        &'a mut self,
        filters: &[Filter],
        mask: u32,
        stored: &'a [u8],
        expected: usize,
    ) -> Result<&'a [u8], String> {
        let most = expected + CHECKSUM_BYTES * filters.len();
        let mut is_stored = true;
        let mut end = stored.len();
        for (_, filter) in filters.iter().enumerate().rev().filter(|&(i, _)| !is_skipped(mask, i)) {
            let input = if is_stored { &stored[..end] } else { &self.front[..end] };
            match *filter {
                Filter::Fletcher32 => {
                    end = check_fletcher32(input)?;
                    continue;
                }
                Filter::Deflate => inflate(&mut self.inflater, input, &mut self.back, most)?,
                Filter::Shuffle { element_bytes } => unshuffle(input, element_bytes, &mut self.back),
                Filter::Lzf => expand_lzf(input, &mut self.back, most)?,
            }
            std::mem::swap(&mut self.front, &mut self.back);
            is_stored = false;
            end = self.front.len();
        }
        if end != expected {
            return Err(format!("a chunk of {expected} bytes was expected, but {end} are stored"));
        }
        Ok(if is_stored { &stored[..end] } else { &self.front[..end] })
    }
}

fn inflate(inflater: &mut Decompress, input: &[u8], output: &mut Vec<u8>, most: usize) -> Result<(), String> {
    inflater.reset(true);
    output.clear();
    output.reserve(most);
    match inflater.decompress_vec(input, output, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Ok(()),
        Ok(_) if output.len() >= most => Err(format!("the deflated bytes hold more than the {most} of a chunk")),
        Ok(_) => Err(format!("the deflated bytes end early: they hold {} of {most} bytes", output.len())),
        Err(error) => Err(format!("the deflated bytes are corrupt after {} bytes: {error}", output.len())),
    }
}

fn unshuffle(input: &[u8], element_bytes: usize, output: &mut Vec<u8>) {
    let n = input.len() / element_bytes.max(1);
    if element_bytes <= 1 || n <= 1 {
        output.clear();
        output.extend_from_slice(input);
        return;
    }
    output.resize(input.len(), 0);
    match element_bytes {
        4 => interleave::<4>(input, n, output),
        8 => interleave::<8>(input, n, output),
        _ => {
            for (i, element) in output.chunks_exact_mut(element_bytes).enumerate() {
                element.iter_mut().enumerate().for_each(|(byte, out)| *out = input[byte * n + i]);
            }
        }
    }
    // Bytes that do not form a complete element stay after the others.
    let whole = n * element_bytes;
    output[whole..].copy_from_slice(&input[whole..]);
}

fn interleave<const N: usize>(input: &[u8], n: usize, output: &mut [u8]) {
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &input[byte * n..(byte + 1) * n]);
    for (i, element) in output.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *element = std::array::from_fn(|byte| planes[byte][i]);
    }
}

/// Checks the checksum, and returns the position at which the bytes before it end.
fn check_fletcher32(input: &[u8]) -> Result<usize, String> {
    let Some((bytes, stored)) = input.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(format!("a checksum of 4 bytes was expected, but the chunk has {} bytes", input.len()));
    };
    let (found, stored) = (fletcher32(bytes), u32::from_le_bytes(*stored));
    // On little-endian machines, HDF5 before 1.6.3 stored each half with swapped bytes.
    let turned = ((found & 0x00ff_00ff) << 8) | ((found >> 8) & 0x00ff_00ff);
    if stored != found && stored != turned {
        return Err(format!("the checksum is {stored:#010x}, but that of the bytes is {found:#010x}"));
    }
    Ok(bytes.len())
}

/// Returns Fletcher's checksum over big-endian words of 16 bits. The sums are folded and not divided, so a positive
/// multiple of 65535 becomes 65535 and not 0.
fn fletcher32(bytes: &[u8]) -> u32 {
    /// Number of words whose sums cannot overflow 32 bits.
    const WORDS: usize = 360;
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut first, mut second) = (0u32, 0u32);
    for block in bytes.chunks(2 * WORDS) {
        for word in block.chunks(2) {
            first += u32::from(word[0]) << 8 | word.get(1).map_or(0, |&low| u32::from(low));
            second += first;
        }
        (first, second) = (fold(first), fold(second));
    }
    (first, second) = (fold(first), fold(second));
    second << 16 | first
}

fn expand_lzf(input: &[u8], output: &mut Vec<u8>, most: usize) -> Result<(), String> {
    let corrupt = |at: usize| format!("the LZF stream is corrupt at its byte {at}");
    output.clear();
    output.reserve(most);
    let mut at = 0;
    while at < input.len() {
        let start = at;
        let control = usize::from(input[at]);
        at += 1;
        if control < 32 {
            let literals = input.get(at..=at + control).ok_or_else(|| corrupt(start))?;
            output.extend_from_slice(literals);
            at += literals.len();
        } else {
            let mut next = || {
                at += 1;
                input.get(at - 1).map(|&byte| usize::from(byte)).ok_or_else(|| corrupt(start))
            };
            let length = 2 + if control >> 5 == 7 { 7 + next()? } else { control >> 5 };
            let distance = 1 + ((control & 31) << 8) + next()?;
            let from = output.len().checked_sub(distance).ok_or_else(|| corrupt(start))?;
            // The copy may overlap itself. The stream stores a run of the same byte in this way.
            (from..from + length).for_each(|i| output.push(output[i]));
        }
        if output.len() > most {
            return Err(format!("the LZF stream holds more than the {most} bytes of a chunk"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn shuffle(bytes: &[u8], element: usize) -> Vec<u8> {
        let n = bytes.len() / element;
        let planes = (0..element).flat_map(|byte| (0..n).map(move |i| bytes[i * element + byte]));
        planes.chain(bytes[n * element..].iter().copied()).collect()
    }

    fn with_checksum(bytes: &[u8]) -> Vec<u8> {
        [bytes, &fletcher32(bytes).to_le_bytes()].concat()
    }

    proptest! {
        #[test]
        fn filters_are_undone_in_reverse(
            bytes in prop::collection::vec(0u8..4, 0..3000),
            element in prop::sample::select(vec![1usize, 2, 3, 4, 8]),
            mask in 0u32..8,
        ) {
            let filters = [Filter::Shuffle { element_bytes: element }, Filter::Deflate, Filter::Fletcher32];
            let mut stored = bytes.clone();
            for (i, filter) in filters.iter().enumerate().filter(|&(i, _)| mask >> i & 1 == 0) {
                let _ = i;
                stored = match filter {
                    Filter::Shuffle { element_bytes } => shuffle(&stored, *element_bytes),
                    Filter::Deflate => deflate(&stored),
                    _ => with_checksum(&stored),
                };
            }
            prop_assert_eq!(is_plain(&filters, mask), mask == 7);
            let decoded = Decoder::new().decode(&filters, mask, &stored, bytes.len()).map(<[u8]>::to_vec);
            prop_assert_eq!(decoded, Ok(bytes));
        }

        #[test]
        fn any_bytes_decode_or_are_refused(
            stored in prop::collection::vec(any::<u8>(), 0..200),
            filters in prop::collection::vec(prop::sample::select(vec![
                Filter::Deflate, Filter::Lzf, Filter::Fletcher32, Filter::Shuffle { element_bytes: 4 },
            ]), 0..4),
            expected in 0usize..400,
        ) {
            if let Ok(decoded) = Decoder::new().decode(&filters, 0, &stored, expected) {
                prop_assert_eq!(decoded.len(), expected);
            }
        }
    }

    #[test]
    fn checksum_is_that_of_hdf5() {
        // HDF5 2.0 computed this value: a dataset of six bytes with the filter, whose chunk was read without decoding.
        assert_eq!(fletcher32(&[1, 2, 3, 4, 5, 6]), 0x0e14_090c);
        // These are the largest possible sums.
        assert_eq!(fletcher32(&[0xff; 5000]), 0xffff_ffff);
    }

    #[test]
    fn changed_bytes_have_another_checksum() {
        let mut stored = with_checksum(b"coordinates");
        stored[3] ^= 1;
        let error = Decoder::new().decode(&[Filter::Fletcher32], 0, &stored, 11).unwrap_err();
        assert!(error.contains("checksum"), "{error}");
    }

    #[test]
    fn lzf_copies_what_it_has_written() {
        // The stream contains two literals, then nine bytes from two bytes back: (7 << 5, 0, 1).
        let stored = [1, b'a', b'b', 7 << 5, 0, 1];
        let decoded = Decoder::new().decode(&[Filter::Lzf], 0, &stored, 11).map(<[u8]>::to_vec);
        assert_eq!(decoded.unwrap(), b"abababababa");
    }

    #[test]
    fn deflated_bytes_of_another_length_are_refused() {
        let stored = deflate(&[7; 100]);
        for (expected, said) in [(50, "more than"), (200, "200 bytes was expected")] {
            let error = Decoder::new().decode(&[Filter::Deflate], 0, &stored, expected).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
