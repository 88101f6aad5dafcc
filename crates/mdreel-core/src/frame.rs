//! Frames: the coordinates of the selected atoms at one time, and batches of frames.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::unit_cell::UnitCell;

/// Every column is padded to a multiple of this number of lanes, so that kernels may read complete vectors.
pub(crate) const LANES: usize = 8;

/// A quantity that a frame can contain for each atom, as three columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Positions in Å.
    Positions,
    /// Velocities in Å/ps.
    Velocities,
    /// Forces in kJ/(mol Å).
    Forces,
}

impl Quantity {
    /// Returns the name of the quantity.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Positions => "positions",
            Quantity::Velocities => "velocities",
            Quantity::Forces => "forces",
        }
    }
}

/// A set of quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantities(u8);

impl Quantities {
    /// The empty set.
    pub const NONE: Self = Quantities(0);
    /// Only positions. Most formats contain nothing else, and most kernels need nothing else.
    pub const POSITIONS: Self = Quantities(1);
    /// All quantities.
    pub const ALL: Self = Quantities(7);

    /// Returns the set with `quantity` added if `is_in` is true, otherwise the unchanged set.
    #[must_use]
    pub fn with(self, quantity: Quantity, is_in: bool) -> Self {
        Quantities(self.0 | (u8::from(is_in) << quantity as u8))
    }

    /// Returns the union of two sets.
    #[must_use]
    pub(crate) fn either(self, other: Self) -> Self {
        Quantities(self.0 | other.0)
    }

    /// Returns the intersection of two sets.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Quantities(self.0 & other.0)
    }

    /// Returns whether `quantity` is in the set.
    pub fn contains(self, quantity: Quantity) -> bool {
        self.0 & (1 << quantity as u8) != 0
    }

    /// Returns whether all quantities of `other` are in the set.
    pub(crate) fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the quantities in the set, in the order of their columns.
    pub fn iter(self) -> impl Iterator<Item = Quantity> {
        [Quantity::Positions, Quantity::Velocities, Quantity::Forces].into_iter().filter(move |&q| self.contains(q))
    }

    /// Returns the number of quantities in the set.
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

/// The data of a frame other than coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameHeader {
    /// Number of the frame in the trajectory, counted from 0.
    pub index: u64,
    /// Integration step as stored in the file.
    pub step: i64,
    /// Time in ps.
    pub time: f64,
    /// The periodic cell, or `None` if the file has none.
    pub unit_cell: Option<UnitCell>,
    /// Free-energy coupling parameter, or `None` if the format has none.
    pub lambda: Option<f32>,
    /// The requested quantities that the frame contains. The columns of all other quantities are undefined.
    pub present: Quantities,
}

/// The coordinates of one frame as three columns, in Å.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// x coordinates of the atoms.
    pub x: &'a [f32],
    /// y coordinates of the atoms.
    pub y: &'a [f32],
    /// z coordinates of the atoms.
    pub z: &'a [f32],
}

/// The x, y and z coordinates of one frame in Å, with eight atoms per element.
pub(crate) type Octets<'a> = [&'a [[f32; LANES]]; 3];

/// The coordinates of one frame as three mutable columns, in Å.
#[derive(Debug)]
pub struct ColumnsMut<'a> {
    /// x coordinates of the atoms.
    pub x: &'a mut [f32],
    /// y coordinates of the atoms.
    pub y: &'a mut [f32],
    /// z coordinates of the atoms.
    pub z: &'a mut [f32],
}

/// A few consecutive frames of a block, all with the same atoms. Sources return frames in batches. A batch is large
/// enough to hide the cost of a call and small enough to stay in the processor's cache.
#[derive(Debug)]
pub struct FrameBatch {
    n_atoms: usize,
    wanted: Quantities,
    stride: usize,
    capacity: usize,
    headers: Vec<FrameHeader>,
    coordinates: Vec<f32>,
}

impl FrameBatch {
    /// Target size of the coordinates in a batch, in bytes. It fits well within a core's second-level cache, together
    /// with the encoded bytes of the frames.
    const TARGET_BYTES: usize = 96 << 10;
    /// Maximum number of frames in a batch. Larger batches are not faster.
    const MAX_FRAMES: usize = 64;
    /// Number of frames that sources decode side by side, as long as a batch of them stays below 16 MiB.
    const SIDE_BY_SIDE: usize = 16;

    /// Creates an empty batch for the positions of `n_atoms` atoms, with a size that suits the cache.
    pub fn for_atoms(n_atoms: usize) -> Self {
        Self::for_quantities(n_atoms, Quantities::POSITIONS)
    }

    /// Creates an empty batch for the `wanted` quantities of `n_atoms` atoms, with a size that suits the cache. The
    /// batch always has columns for positions.
    pub fn for_quantities(n_atoms: usize, wanted: Quantities) -> Self {
        let wanted = wanted.with(Quantity::Positions, true);
        let frame_bytes = 12 * n_atoms.max(1) * wanted.count();
        let least = ((16 << 20) / frame_bytes).clamp(1, Self::SIDE_BY_SIDE);
        let suited = Self::TARGET_BYTES / frame_bytes / Self::SIDE_BY_SIDE * Self::SIDE_BY_SIDE;
        FrameBatch { wanted, ..Self::with_capacity(n_atoms, suited.clamp(least, Self::MAX_FRAMES)) }
    }

    /// Creates an empty batch for the positions of `n_atoms` atoms in up to `capacity` frames. The batch allocates
    /// memory as frames are added.
    pub fn with_capacity(n_atoms: usize, capacity: usize) -> Self {
        let stride = n_atoms.div_ceil(LANES).max(1) * LANES;
        let wanted = Quantities::POSITIONS;
        FrameBatch { n_atoms, wanted, stride, capacity: capacity.max(1), headers: Vec::new(), coordinates: Vec::new() }
    }

    /// Returns the number of atoms in each frame.
    pub(crate) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Checks that the batch is for `n_atoms` atoms.
    pub(crate) fn check(&self, n_atoms: usize) -> Result<()> {
        if self.n_atoms == n_atoms {
            return Ok(());
        }
        let message = format!("a batch for {} atoms was given, but {n_atoms} atoms are read", self.n_atoms);
        Err(Error::mismatch(message))
    }

    /// Returns the quantities for which the batch has columns.
    pub fn wanted(&self) -> Quantities {
        self.wanted
    }

    /// Returns the maximum number of frames.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of frames in the batch.
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Returns whether the batch contains no frames.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Removes all frames and keeps the memory.
    pub fn clear(&mut self) {
        self.headers.clear();
    }

    /// Adds a frame and returns the columns of its positions, which the caller must fill.
    pub fn push(&mut self, header: FrameHeader) -> ColumnsMut<'_> {
        let frame = self.frame_len();
        let start = self.headers.len() * frame;
        self.headers.push(header);
        if self.coordinates.len() < start + frame {
            self.coordinates.resize(start + frame, 0.0);
        }
        self.columns_mut(self.headers.len() - 1)
    }

    /// Returns the number of float32 values per frame.
    fn frame_len(&self) -> usize {
        3 * self.stride * self.wanted.count()
    }

    /// Returns the offset of the columns of a quantity within a frame.
    fn place(&self, quantity: Quantity) -> Option<usize> {
        self.wanted.iter().position(|wanted| wanted == quantity).map(|i| 3 * self.stride * i)
    }

    /// Returns mutable columns of the positions of the `i`-th frame.
    pub(crate) fn columns_mut(&mut self, i: usize) -> ColumnsMut<'_> {
        let start = i * self.frame_len();
        split(&mut self.coordinates[start..start + 3 * self.stride], self.stride, self.n_atoms)
    }

    /// Returns mutable columns of a quantity of the `i`-th frame, or `None` if the quantity is not requested.
    pub fn columns_of_mut(&mut self, i: usize, quantity: Quantity) -> Option<ColumnsMut<'_>> {
        let start = i * self.frame_len() + self.place(quantity)?;
        Some(split(&mut self.coordinates[start..start + 3 * self.stride], self.stride, self.n_atoms))
    }

    /// Returns mutable columns of the positions of the `first`-th frame and of all later ones, so that they can be
    /// filled side by side.
    pub(crate) fn columns_from_mut(&mut self, first: usize) -> impl Iterator<Item = ColumnsMut<'_>> {
        let (stride, n_atoms, frame) = (self.stride, self.n_atoms, self.frame_len());
        let held = &mut self.coordinates[first * frame..self.headers.len() * frame];
        held.chunks_exact_mut(frame).map(move |frame| split(&mut frame[..3 * stride], stride, n_atoms))
    }

    /// Replaces the content with the given atoms of all frames of another batch. The method copies only quantities that
    /// both batches have.
    pub(crate) fn copy_atoms(&mut self, from: &FrameBatch, atoms: &[u32]) {
        debug_assert_eq!(self.n_atoms, atoms.len());
        self.clear();
        for i in 0..from.len() {
            self.push(from.headers[i]);
            for quantity in self.wanted.iter() {
                let (Some(source), Some(target)) = (from.columns_of(i, quantity), self.columns_of_mut(i, quantity))
                else {
                    continue;
                };
                for (source, target) in [(source.x, target.x), (source.y, target.y), (source.z, target.z)] {
                    target.iter_mut().zip(atoms).for_each(|(value, &atom)| *value = source[atom as usize]);
                }
            }
        }
    }

    /// Returns an empty batch of the same shape.
    #[must_use]
    pub(crate) fn empty_copy(&self) -> Self {
        FrameBatch { headers: Vec::new(), coordinates: Vec::new(), ..*self }
    }

    /// Returns an empty batch for the same quantities of `n_atoms` atoms. Its size suits the cache, and its capacity
    /// does not exceed the capacity of this batch.
    #[must_use]
    pub(crate) fn for_more_atoms(&self, n_atoms: usize) -> Self {
        let suited = Self::for_quantities(n_atoms, self.wanted);
        FrameBatch { capacity: suited.capacity.min(self.capacity), ..suited }
    }

    /// Returns the header of the `i`-th frame.
    pub fn header(&self, i: usize) -> &FrameHeader {
        &self.headers[i]
    }

    /// Returns a mutable reference to the header of the `i`-th frame, for formats that store parts of it after the
    /// coordinates.
    pub fn header_mut(&mut self, i: usize) -> &mut FrameHeader {
        &mut self.headers[i]
    }

    /// Returns the headers of all frames.
    pub fn headers(&self) -> &[FrameHeader] {
        &self.headers
    }

    /// Adds `first` to the number of every frame in the batch.
    pub(crate) fn renumber(&mut self, first: u64) {
        self.headers.iter_mut().for_each(|header| header.index += first);
    }

    /// Returns the positions of the `i`-th frame.
    pub fn columns(&self, i: usize) -> Columns<'_> {
        self.columns_at(i * self.frame_len())
    }

    /// Returns a quantity of the `i`-th frame, or `None` if it is not requested or the frame does not contain it.
    pub fn columns_of(&self, i: usize, quantity: Quantity) -> Option<Columns<'_>> {
        let place = self.place(quantity).filter(|_| self.headers[i].present.contains(quantity))?;
        Some(self.columns_at(i * self.frame_len() + place))
    }

    fn columns_at(&self, start: usize) -> Columns<'_> {
        let column = |k: usize| &self.coordinates[start + k * self.stride..][..self.n_atoms];
        Columns { x: column(0), y: column(1), z: column(2) }
    }

    /// Returns the x, y and z positions of the `i`-th frame in complete octets. The last octet is padded with zeros.
    pub(crate) fn octets(&self, i: usize) -> Octets<'_> {
        let frame = self.coordinates[i * self.frame_len()..][..3 * self.stride].as_chunks::<LANES>().0;
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
