//! Writer of bit fields, most significant bit first.

/// Number of bytes after the last one that may be overwritten, because fields are stored as whole words.
pub(super) const MARGIN: usize = 8;

/// A writer of bit fields.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    /// Number of whole bytes written.
    at: usize,
    /// The bits after the whole bytes, in the lowest bits. The bits above them are undefined.
    pending: u64,
    n_pending: u32,
}

impl<'a> BitWriter<'a> {
    /// Creates a writer to the beginning of `out`, which must have [`MARGIN`] more bytes than will be written.
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        BitWriter { out, at: 0, pending: 0, n_pending: 0 }
    }

    /// Appends a field of 1 to 57 bits.
    #[inline(always)]
    pub(crate) fn field(&mut self, value: u64, n_bits: u32) {
        debug_assert!((1..=57).contains(&n_bits) && value >> n_bits == 0);
        self.pending = self.pending << n_bits | value;
        let n = self.n_pending + n_bits;
        let word = self.pending << (64 - n);
        self.out[self.at..self.at + 8].copy_from_slice(&word.to_be_bytes());
        self.at += (n >> 3) as usize;
        self.n_pending = n & 7;
    }

    /// Appends a number of 1 to 64 bits, byte by byte, lowest byte first. Only the significant bits of the highest byte
    /// are written.
    #[inline(always)]
    pub(crate) fn number(&mut self, value: u64, n_bits: u32) {
        if n_bits <= 57 {
            self.short_number(value, n_bits);
        } else {
            self.short_number(value & 0xffff_ffff, 32);
            self.short_number(value >> 32, n_bits - 32);
        }
    }

    /// Appends a number of 65 to 72 bits, like [`Self::number`].
    pub(crate) fn wide_number(&mut self, value: u128, n_bits: u32) {
        self.short_number(value as u64 & 0xffff_ffff, 32);
        self.short_number((value >> 32) as u64, n_bits - 32);
    }

    #[inline(always)]
    fn short_number(&mut self, value: u64, n_bits: u32) {
        let (n_whole, n_rest) = (n_bits & !7, n_bits & 7);
        let whole = (value << 1 << (63 - n_whole)).swap_bytes();
        self.field(whole << n_rest | value >> n_whole, n_bits);
    }

    /// Returns the number of bytes written. The last byte may be padded with zeros.
    pub(crate) fn finish(self) -> usize {
        self.at + usize::from(self.n_pending > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A writer of the same fields, bit by bit.
    #[derive(Default)]
    struct Slow(Vec<bool>);

    impl Slow {
        fn field(&mut self, value: u128, n_bits: u32) {
            self.0.extend((0..n_bits).rev().map(|k| value >> k & 1 == 1));
        }

        fn number(&mut self, value: u128, n_bits: u32) {
            for low in (0..n_bits).step_by(8) {
                let width = (n_bits - low).min(8);
                self.field(value >> low & ((1 << width) - 1), width);
            }
        }

        fn bytes(&self) -> Vec<u8> {
            let byte =
                |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (k, &bit)| byte | u8::from(bit) << (7 - k));
            self.0.chunks(8).map(byte).collect()
        }
    }

    proptest! {
        #[test]
        fn bits_are_those_written_one_by_one(fields in proptest::collection::vec((any::<u128>(), 1u32..=72, any::<bool>()), 0..60)) {
            let mut out = vec![0; 10 * fields.len() + MARGIN];
            let (mut fast, mut slow) = (BitWriter::new(&mut out), Slow::default());
            for (value, n_bits, is_number) in fields {
                let value = value & ((1 << n_bits) - 1);
                match n_bits {
                    1..=57 if !is_number => {
                        fast.field(value as u64, n_bits);
                        slow.field(value, n_bits);
                        continue;
                    }
                    ..=64 => fast.number(value as u64, n_bits),
                    _ => fast.wide_number(value, n_bits),
                }
                slow.number(value, n_bits);
            }
            let n = fast.finish();
            prop_assert_eq!(&out[..n], slow.bytes());
        }
    }
}
