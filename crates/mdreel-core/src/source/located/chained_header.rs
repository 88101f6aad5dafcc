//! Headers of consecutive frames.

use crate::source::fault::Fault;

/// Header of a frame, which determines the start of the next frame.
pub(crate) trait ChainedHeader: Copy + Send + Sync {
    /// Name of the format.
    const FORMAT: &'static str;
    /// Name of the format with its article.
    const NAME: &'static str;
    /// Number of bytes of the longest header, at most 128.
    const MAX_LEN: usize;
    /// Position of the number of atoms in the header.
    const ATOMS_AT: u64;
    /// Whether most frames are as long as the first one, so that it pays to test the positions where they would then
    /// start.
    const MOSTLY_ALIKE: bool;

    /// Parses the header at the start of `bytes`. Returns `None` if `bytes` is too short for the header.
    ///
    /// # Errors
    /// Returns the defect and its byte in the frame.
    fn parse(bytes: &[u8]) -> std::result::Result<Option<Self>, Fault>;

    /// Returns whether `bytes` look like the header of a frame of `n_atoms` atoms. The test is quick and rarely accepts
    /// other bytes.
    fn looks_right(bytes: &[u8], n_atoms: u32) -> bool;

    /// Returns the number of atoms.
    fn n_atoms(&self) -> usize;

    /// Returns the number of bytes of the complete frame including its header, which is never 0.
    fn frame_len(&self) -> u64;

    /// Returns the integration step.
    fn step(&self) -> i64;

    /// Returns the time in ps.
    fn time(&self) -> f64;
}
