//! Frames: the coordinates of the selected atoms at one time, and batches of frames.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::unit_cell::UnitCell;

/// Lanes that every column is padded to, so that kernels may read whole vectors.
pub(crate) const LANES: usize = 8;

/// What a frame can hold of each atom, as three columns.
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
    /// Its name.
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
    /// None.
    pub const NONE: Self = Quantities(0);
    /// Positions alone, which is all that most formats have and most kernels want.
    pub const POSITIONS: Self = Quantities(1);
    /// All there are.
    pub const ALL: Self = Quantities(7);

    /// The set with `quantity` in it if `is_in`, else as it is.
    #[must_use]
    pub fn with(self, quantity: Quantity, is_in: bool) -> Self {
        Quantities(self.0 | (u8::from(is_in) << quantity as u8))
    }

    /// What is in one set or the other.
    #[must_use]
    pub(crate) fn either(self, other: Self) -> Self {
        Quantities(self.0 | other.0)
    }

    /// What is in both sets.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Quantities(self.0 & other.0)
    }

    /// Whether `quantity` is in the set.
    pub fn contains(self, quantity: Quantity) -> bool {
        self.0 & (1 << quantity as u8) != 0
    }

    /// Whether all of `other` is in the set.
    pub(crate) fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The quantities in the set, in the order of their columns.
    pub fn iter(self) -> impl Iterator<Item = Quantity> {
        [Quantity::Positions, Quantity::Velocities, Quantity::Forces].into_iter().filter(move |&q| self.contains(q))
    }

    /// How many are in the set.
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

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
    /// Free-energy coupling parameter; `None` in formats that have none.
    pub lambda: Option<f32>,
    /// Which of the wanted quantities the frame has. The columns of the others mean nothing.
    pub present: Quantities,
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
pub(crate) type Octets<'a> = [&'a [[f32; LANES]]; 3];

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
    wanted: Quantities,
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

    /// An empty batch for the positions of `n_atoms` atoms, of a size that suits the cache.
    pub fn for_atoms(n_atoms: usize) -> Self {
        Self::for_quantities(n_atoms, Quantities::POSITIONS)
    }

    /// An empty batch for `wanted` quantities of `n_atoms` atoms, of a size that suits the cache. There is always
    /// room for positions.
    pub fn for_quantities(n_atoms: usize, wanted: Quantities) -> Self {
        let wanted = wanted.with(Quantity::Positions, true);
        let frame_bytes = 12 * n_atoms.max(1) * wanted.count();
        let least = ((16 << 20) / frame_bytes).clamp(1, Self::SIDE_BY_SIDE);
        let suited = Self::TARGET_BYTES / frame_bytes / Self::SIDE_BY_SIDE * Self::SIDE_BY_SIDE;
        FrameBatch { wanted, ..Self::with_capacity(n_atoms, suited.clamp(least, Self::MAX_FRAMES)) }
    }

    /// An empty batch for the positions of `n_atoms` atoms in up to `capacity` frames. Memory is taken as frames come.
    pub fn with_capacity(n_atoms: usize, capacity: usize) -> Self {
        let stride = n_atoms.div_ceil(LANES).max(1) * LANES;
        let wanted = Quantities::POSITIONS;
        FrameBatch { n_atoms, wanted, stride, capacity: capacity.max(1), headers: Vec::new(), coordinates: Vec::new() }
    }

    /// Atoms in each frame.
    pub(crate) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Checks that it is for `n_atoms` atoms.
    pub(crate) fn check(&self, n_atoms: usize) -> Result<()> {
        if self.n_atoms == n_atoms {
            return Ok(());
        }
        let message = format!("a batch for {} atoms was given, but {n_atoms} atoms are read", self.n_atoms);
        Err(Error::mismatch(message))
    }

    /// What there are columns for.
    pub fn wanted(&self) -> Quantities {
        self.wanted
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

    /// Adds a frame and returns the columns of its positions, to be filled.
    pub fn push(&mut self, header: FrameHeader) -> ColumnsMut<'_> {
        let frame = self.frame_len();
        let start = self.headers.len() * frame;
        self.headers.push(header);
        if self.coordinates.len() < start + frame {
            self.coordinates.resize(start + frame, 0.0);
        }
        self.columns_mut(self.headers.len() - 1)
    }

    /// Numbers that a frame takes.
    fn frame_len(&self) -> usize {
        3 * self.stride * self.wanted.count()
    }

    /// Where the columns of a quantity begin within a frame.
    fn place(&self, quantity: Quantity) -> Option<usize> {
        self.wanted.iter().position(|wanted| wanted == quantity).map(|i| 3 * self.stride * i)
    }

    /// The columns of the positions of the `i`-th frame held, to be filled.
    pub(crate) fn columns_mut(&mut self, i: usize) -> ColumnsMut<'_> {
        let start = i * self.frame_len();
        split(&mut self.coordinates[start..start + 3 * self.stride], self.stride, self.n_atoms)
    }

    /// The columns of a quantity of the `i`-th frame held, to be filled; `None` if it is not selected.
    pub fn columns_of_mut(&mut self, i: usize, quantity: Quantity) -> Option<ColumnsMut<'_>> {
        let start = i * self.frame_len() + self.place(quantity)?;
        Some(split(&mut self.coordinates[start..start + 3 * self.stride], self.stride, self.n_atoms))
    }

    /// The columns of the positions of the `first`-th frame held and of all behind it, to be filled side by side.
    pub(crate) fn columns_from_mut(&mut self, first: usize) -> impl Iterator<Item = ColumnsMut<'_>> {
        let (stride, n_atoms, frame) = (self.stride, self.n_atoms, self.frame_len());
        let held = &mut self.coordinates[first * frame..self.headers.len() * frame];
        held.chunks_exact_mut(frame).map(move |frame| split(&mut frame[..3 * stride], stride, n_atoms))
    }

    /// Replaces what it holds with these atoms of all frames of another batch, as far as it is for their quantities.
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

    /// An empty batch for the same.
    #[must_use]
    pub(crate) fn empty_copy(&self) -> Self {
        FrameBatch { headers: Vec::new(), coordinates: Vec::new(), ..*self }
    }

    /// An empty batch for the same quantities of `n_atoms` atoms, of a size that suits the cache, and for no more
    /// frames.
    #[must_use]
    pub(crate) fn for_more_atoms(&self, n_atoms: usize) -> Self {
        let suited = Self::for_quantities(n_atoms, self.wanted);
        FrameBatch { capacity: suited.capacity.min(self.capacity), ..suited }
    }

    /// The header of the `i`-th frame held.
    pub fn header(&self, i: usize) -> &FrameHeader {
        &self.headers[i]
    }

    /// The header of the `i`-th frame held, for formats that have parts of it behind the coordinates.
    pub fn header_mut(&mut self, i: usize) -> &mut FrameHeader {
        &mut self.headers[i]
    }

    /// All headers.
    pub fn headers(&self) -> &[FrameHeader] {
        &self.headers
    }

    /// Adds `first` to the number of every frame held.
    pub(crate) fn renumber(&mut self, first: u64) {
        self.headers.iter_mut().for_each(|header| header.index += first);
    }

    /// The positions of the `i`-th frame held.
    pub fn columns(&self, i: usize) -> Columns<'_> {
        self.columns_at(i * self.frame_len())
    }

    /// A quantity of the `i`-th frame held; `None` if it is not selected, or the frame does not have it.
    pub fn columns_of(&self, i: usize, quantity: Quantity) -> Option<Columns<'_>> {
        let place = self.place(quantity).filter(|_| self.headers[i].present.contains(quantity))?;
        Some(self.columns_at(i * self.frame_len() + place))
    }

    fn columns_at(&self, start: usize) -> Columns<'_> {
        let column = |k: usize| &self.coordinates[start + k * self.stride..][..self.n_atoms];
        Columns { x: column(0), y: column(1), z: column(2) }
    }

    /// The positions of the `i`-th frame held, x, y and z, in whole octets: the last one is padded with zeros.
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
