//! Frames: the coordinates of the wanted atoms at one time, and batches of them.

use crate::unit_cell::UnitCell;

/// Lanes that every column is padded to, so that kernels may read whole vectors.
pub const LANES: usize = 8;

/// What a frame carries besides coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameHeader {
    /// Number of the frame in the trajectory, from 0.
    pub index: u64,
    /// Integration step, as the file says.
    pub step: i64,
    /// Time in ps.
    pub time: f64,
    /// The periodic cell; `None` where the file has none.
    pub unit_cell: Option<UnitCell>,
}

/// The coordinates of one frame as three columns, in Å.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// x of each atom.
    pub x: &'a [f32],
    /// y of each atom.
    pub y: &'a [f32],
    /// z of each atom.
    pub z: &'a [f32],
}

/// The coordinates of one frame, x, y and z, in Å, eight atoms to an element.
pub type Octets<'a> = [&'a [[f32; LANES]]; 3];

/// The coordinates of one frame, to be written.
#[derive(Debug)]
pub struct ColumnsMut<'a> {
    /// x of each atom.
    pub x: &'a mut [f32],
    /// y of each atom.
    pub y: &'a mut [f32],
    /// z of each atom.
    pub z: &'a mut [f32],
}

/// A few consecutive frames of a block, all with the same atoms. It is the unit in which sources hand over
/// frames: large enough to hide the cost of a call, small enough to stay in the processor's cache.
#[derive(Debug)]
pub struct FrameBatch {
    n_atoms: usize,
    stride: usize,
    capacity: usize,
    headers: Vec<FrameHeader>,
    coordinates: Vec<f32>,
}

impl FrameBatch {
    /// Bytes of coordinates that a batch should hold: well within a core's second-level cache, along with the bytes
    /// that they come from.
    const TARGET_BYTES: usize = 96 << 10;
    /// Frames above which a batch gains nothing more.
    const MAX_FRAMES: usize = 64;
    /// Frames that sources decode side by side, as long as a batch of them stays below 16 MiB.
    const SIDE_BY_SIDE: usize = 16;

    /// An empty batch for frames of `n_atoms` atoms, of a size that suits the cache.
    pub fn for_atoms(n_atoms: usize) -> Self {
        let frame_bytes = 12 * n_atoms.max(1);
        let least = ((16 << 20) / frame_bytes).clamp(1, Self::SIDE_BY_SIDE);
        let suited = Self::TARGET_BYTES / frame_bytes / Self::SIDE_BY_SIDE * Self::SIDE_BY_SIDE;
        Self::with_capacity(n_atoms, suited.clamp(least, Self::MAX_FRAMES))
    }

    /// An empty batch for up to `capacity` frames of `n_atoms` atoms. Memory is taken as frames come.
    pub fn with_capacity(n_atoms: usize, capacity: usize) -> Self {
        let stride = n_atoms.div_ceil(LANES).max(1) * LANES;
        FrameBatch { n_atoms, stride, capacity: capacity.max(1), headers: Vec::new(), coordinates: Vec::new() }
    }

    /// Atoms in each frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Frames that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Frames held.
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Whether no frame is held.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Forgets the frames, keeps the memory.
    pub fn clear(&mut self) {
        self.headers.clear();
    }

    /// Adds a frame and returns its columns, to be filled.
    pub fn push(&mut self, header: FrameHeader) -> ColumnsMut<'_> {
        let start = self.headers.len() * 3 * self.stride;
        self.headers.push(header);
        if self.coordinates.len() < start + 3 * self.stride {
            self.coordinates.resize(start + 3 * self.stride, 0.0);
        }
        self.columns_mut(self.headers.len() - 1)
    }

    /// The columns of the `i`-th frame held, to be filled.
    pub fn columns_mut(&mut self, i: usize) -> ColumnsMut<'_> {
        let start = i * 3 * self.stride;
        split(&mut self.coordinates[start..start + 3 * self.stride], self.stride, self.n_atoms)
    }

    /// The columns of the `first`-th frame held and of all behind it, to be filled side by side.
    pub fn columns_from_mut(&mut self, first: usize) -> impl Iterator<Item = ColumnsMut<'_>> {
        let (stride, n_atoms) = (self.stride, self.n_atoms);
        let held = &mut self.coordinates[first * 3 * stride..self.headers.len() * 3 * stride];
        held.chunks_exact_mut(3 * stride).map(move |frame| split(frame, stride, n_atoms))
    }

    /// The header of the `i`-th frame held.
    pub fn header(&self, i: usize) -> &FrameHeader {
        &self.headers[i]
    }

    /// All headers.
    pub fn headers(&self) -> &[FrameHeader] {
        &self.headers
    }

    /// Adds `first` to the number of every frame held.
    pub fn renumber(&mut self, first: u64) {
        self.headers.iter_mut().for_each(|header| header.index += first);
    }

    /// The coordinates of the `i`-th frame held.
    pub fn columns(&self, i: usize) -> Columns<'_> {
        let start = i * 3 * self.stride;
        let column = |k: usize| &self.coordinates[start + k * self.stride..][..self.n_atoms];
        Columns { x: column(0), y: column(1), z: column(2) }
    }

    /// The coordinates of the `i`-th frame held, x, y and z, in whole octets: the last one is padded with zeros.
    pub fn octets(&self, i: usize) -> Octets<'_> {
        let frame = self.coordinates[i * 3 * self.stride..][..3 * self.stride].as_chunks::<LANES>().0;
        let (x, rest) = frame.split_at(self.stride / LANES);
        let (y, z) = rest.split_at(self.stride / LANES);
        [x, y, z]
    }
}

fn split(frame: &mut [f32], stride: usize, n_atoms: usize) -> ColumnsMut<'_> {
    let (x, rest) = frame.split_at_mut(stride);
    let (y, z) = rest.split_at_mut(stride);
    ColumnsMut { x: &mut x[..n_atoms], y: &mut y[..n_atoms], z: &mut z[..n_atoms] }
}
