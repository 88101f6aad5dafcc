//! Headers of consecutive frames.

use crate::source::fault::Fault;

/// The header of a frame, from which follows where the next frame starts.
pub(crate) trait ChainedHeader: Copy + Send + Sync {
    /// The format's name.
    const FORMAT: &'static str;
    /// The same with its article.
    const NAME: &'static str;
    /// Bytes of the longest header, 128 at most.
    const MAX_LEN: usize;
    /// Position of the number of atoms in the header.
    const ATOMS_AT: u64;
    /// Whether frames are mostly as long as the first, so it pays to look where they would start then.
    const MOSTLY_ALIKE: bool;

    /// Reads the header at the start of `bytes`. `None` when `bytes` is too short to hold it.
    ///
    /// # Errors
    /// The defect, and its byte in the frame.
    fn parse(bytes: &[u8]) -> std::result::Result<Option<Self>, Fault>;

    /// Whether bytes look like the header of a frame of `n_atoms` atoms: quick, and seldom wrong about other bytes.
    fn looks_right(bytes: &[u8], n_atoms: u32) -> bool;

    /// Number of atoms.
    fn n_atoms(&self) -> usize;

    /// Bytes of the whole frame with its header: never 0.
    fn frame_len(&self) -> u64;

    /// Integration step.
    fn step(&self) -> i64;

    /// Time in ps.
    fn time(&self) -> f64;
}
