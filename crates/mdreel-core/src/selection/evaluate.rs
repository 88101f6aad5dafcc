//! Evaluation of a selection in a frame.

use std::sync::Arc;

use super::set::Set;
use super::{Comparison, Distance, Node, Selection};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch};
use crate::neighbours::{Neighbours, Run, Visit};
use crate::periodic::Periodic;
use crate::simd::{Lanes, Level, Operation};

/// Number of distances that are computed together.
const MOST: usize = 256;
/// The position of an atom that is not read.
const ABSENT: u32 = u32::MAX;

/// An evaluator of a selection, for frames that contain only some of the atoms. Each worker has its own evaluator.
#[derive(Debug)]
pub struct Selecting {
    selection: Arc<Selection>,
    /// The position of each atom of the system within a frame, or `ABSENT`.
    places: Arc<Vec<u32>>,
    scratch: Scratch,
    found: Vec<u32>,
}

impl Clone for Selecting {
    fn clone(&self) -> Self {
        Selecting {
            selection: Arc::clone(&self.selection),
            places: Arc::clone(&self.places),
            scratch: Scratch::default(),
            found: Vec::new(),
        }
    }
}

/// Buffers that are reused from frame to frame.
#[derive(Debug, Default)]
struct Scratch {
    neighbours: Neighbours,
    columns: [Vec<f64>; 3],
}

impl Selecting {
    /// Creates an evaluator for frames that contain `atoms`, in ascending order. Returns an error if an atom that the
    /// selection needs is missing.
    pub fn new(selection: Arc<Selection>, atoms: &[u32]) -> Result<Self> {
        let mut places = vec![ABSENT; selection.n_atoms];
        for (place, &atom) in (0..).zip(atoms) {
            let Some(slot) = places.get_mut(atom as usize) else {
                let message = format!("atom {atom} is read: the selection is of {} atoms", selection.n_atoms);
                return Err(Error::mismatch(message));
            };
            *slot = place;
        }
        if let Some(atom) = selection.needed.iter().find(|&atom| places[atom as usize] == ABSENT) {
            return Err(Error::mismatch(format!("a selection needs atom {atom}, which is not read")));
        }
        Ok(Selecting { selection, places: Arc::new(places), scratch: Scratch::default(), found: Vec::new() })
    }

    /// Returns the atoms that are selected in the i-th frame of a batch, by their numbers in the complete system, in
    /// ascending order.
    pub fn find(&mut self, batch: &FrameBatch, i: usize) -> Result<&[u32]> {
        let found = self.select(batch, i)?;
        self.found.clear();
        self.found.extend(found.iter());
        Ok(&self.found)
    }

    /// Returns the number of atoms in the complete system.
    pub(crate) fn n_atoms(&self) -> usize {
        self.selection.n_atoms
    }

    /// Returns the set of atoms that are selected in the i-th frame of a batch.
    pub(crate) fn select(&mut self, batch: &FrameBatch, i: usize) -> Result<Set> {
        let all = Set::all(self.selection.n_atoms);
        let images = if self.selection.node.is_periodic() { Periodic::of_frame(batch.header(i))? } else { None };
        let mut frame = Frame { columns: batch.columns(i), places: &self.places, images, scratch: &mut self.scratch };
        let found = frame.find(&self.selection.node, &all, &all);
        found.map_err(|error| error.at_frame(batch.header(i).index))
    }
}

/// The frame in which the selection is evaluated.
struct Frame<'a> {
    columns: Columns<'a>,
    places: &'a [u32],
    images: Option<Periodic>,
    scratch: &'a mut Scratch,
}

impl Frame<'_> {
    /// Returns the atoms of `wanted` that an expression selects for a group. [`Node::plan`] follows the same steps.
    fn find(&mut self, node: &Node, group: &Set, wanted: &Set) -> Result<Set> {
        let candidates = || group.both(wanted);
        let all = || Set::all(wanted.n_atoms());
        Ok(match node {
            Node::Fixed(atoms) => atoms.both(wanted),
            Node::Group => candidates(),
            Node::Not(of) => {
                let candidates = candidates();
                candidates.without(&self.find(of, group, &candidates)?)
            }
            Node::And(nodes) => {
                let mut found = wanted.clone();
                for node in nodes {
                    found = self.find(node, group, &found)?;
                }
                found
            }
            Node::Or(nodes) => {
                let mut found = Set::none(wanted.n_atoms());
                for node in nodes {
                    found = found.either(&self.find(node, group, wanted)?);
                }
                found
            }
            Node::Everywhere(of) => self.find(of, &all(), wanted)?,
            Node::Within { group, of } => {
                let group = self.find(group, &all(), &all())?;
                self.find(of, &group, wanted)?
            }
            Node::Same { classes, of } => classes.alike(&self.find(of, group, &all())?).both(&candidates()),
            Node::Bonded { bonds, of } => bonds.of(&self.find(of, group, &all())?, group).both(wanted),
            Node::SameCoordinate { axis, of } => {
                let of = self.find(of, group, &all())?;
                self.close_to(&of, *axis, &candidates())?
            }
            Node::Around { distance, of } => {
                let of = self.find(of, group, &all())?;
                self.around(&of, *distance, &candidates().without(&of))?
            }
            Node::Sphere { distance, point } => self.sphere(point.map(f64::from), *distance, &candidates())?,
            Node::SphereAround { distance, of } => match self.centre(of, group)? {
                Some(centre) => self.sphere(centre.map(|value| f64::from(value as f32)), *distance, &candidates())?,
                None => Set::none(wanted.n_atoms()),
            },
            Node::Cylinder { distance, heights, of } => match self.centre(of, group)? {
                Some(centre) => self.cylinder(centre, *distance, *heights, &candidates())?,
                None => Set::none(wanted.n_atoms()),
            },
            Node::Coordinate { axis, is_absolute, comparison, value } => self.filter(&candidates(), |position| {
                let at = position[*axis] as f32;
                comparison.holds(if *is_absolute { at.abs() } else { at }, *value)
            })?,
        })
    }

    fn position(&self, atom: u32) -> Result<[f64; 3]> {
        let place = self.places[atom as usize] as usize;
        let position = [self.columns.x[place], self.columns.y[place], self.columns.z[place]];
        if position.iter().all(|value| value.is_finite()) {
            Ok(position.map(f64::from))
        } else {
            Err(Error::mismatch(format!("atom {atom} is at {position:?}: a selection needs finite coordinates")))
        }
    }

    /// Returns the candidates whose position satisfies a condition.
    fn filter(&self, candidates: &Set, mut is_wanted: impl FnMut([f64; 3]) -> bool) -> Result<Set> {
        let mut found = Set::none(candidates.n_atoms());
        for atom in candidates.iter() {
            if is_wanted(self.position(atom)?) {
                found.insert(atom);
            }
        }
        Ok(found)
    }

    /// Returns the mean position of the selected atoms, or `None` if no atom is selected.
    fn centre(&mut self, of: &Node, group: &Set) -> Result<Option<[f64; 3]>> {
        let of = self.find(of, group, &Set::all(group.n_atoms()))?;
        let (n, mut sum) = (of.len(), [0.0; 3]);
        for atom in of.iter() {
            let position = self.position(atom)?;
            sum = std::array::from_fn(|axis| sum[axis] + position[axis]);
        }
        Ok((n > 0).then(|| sum.map(|value| value / n as f64)))
    }

    fn images_for(&self, distance: Distance) -> Option<Periodic> {
        self.images.filter(|_| distance.is_periodic)
    }

    fn sphere(&self, centre: [f64; 3], distance: Distance, candidates: &Set) -> Result<Set> {
        let images = self.images_for(distance);
        self.filter(candidates, |position| {
            let d = std::array::from_fn(|axis| position[axis] - centre[axis]);
            let [x, y, z] = images.as_ref().map_or(d, |cell| cell.shortest(d));
            let length = (x * x + y * y + z * z).sqrt();
            length <= distance.outer && distance.inner.is_none_or(|inner| length > inner)
        })
    }

    fn cylinder(&self, centre: [f64; 3], distance: Distance, [low, high]: [f64; 2], candidates: &Set) -> Result<Set> {
        let vectors = self.images_for(distance).map(|cell| cell.vectors());
        if let Some([[a, ..], [_, b, _], [.., c]]) = vectors {
            let (width, height) = (2.0 * distance.outer, high - low);
            for (size, length, axis) in [(width, a, 'x'), (width, b, 'y'), (height, c, 'z')] {
                if size > length {
                    return Err(Error::mismatch(format!(
                        "the cylinder of a selection is {size:.3} Å along {axis}, the cell {length:.3} Å: expected a \
                         smaller cylinder, or a selection without periodic images (periodic=False)"
                    )));
                }
            }
        }
        self.filter(candidates, |position| {
            let mut d: [f64; 3] = std::array::from_fn(|axis| position[axis] - centre[axis]);
            for (axis, row) in vectors.iter().flat_map(|vectors| vectors.iter().enumerate().rev()) {
                let n = (d[axis] / row[axis]).round_ties_even();
                d = std::array::from_fn(|k| d[k] - n * row[k]);
            }
            let square = d[0] * d[0] + d[1] * d[1];
            low < d[2]
                && d[2] < high
                && square < distance.outer * distance.outer
                && distance.inner.is_none_or(|inner| square > inner * inner)
        })
    }

    fn close_to(&self, of: &Set, axis: usize, candidates: &Set) -> Result<Set> {
        let mut values = Vec::with_capacity(of.len());
        for atom in of.iter() {
            values.push(self.position(atom)?[axis] as f32);
        }
        values.sort_unstable_by(f32::total_cmp);
        values.dedup();
        let reach = |value: f32| 1e-8 + 1e-5 * value.abs();
        self.filter(candidates, |position| {
            let at = position[axis] as f32;
            // First value that is not too far below `at`. Only this value and its neighbours can be close.
            let first = values.partition_point(|&value| at - value > reach(value));
            let near = &values[first.saturating_sub(1)..values.len().min(first + 2)];
            near.iter().any(|&value| (at - value).abs() <= reach(value))
        })
    }

    /// Returns the candidates near an atom of `of`. The method sorts the larger set into cells and looks up the
    /// neighbours of each atom of the smaller set.
    fn around(&mut self, of: &Set, distance: Distance, candidates: &Set) -> Result<Set> {
        let nothing = Set::none(candidates.n_atoms());
        let [of, asked]: [Vec<u32>; 2] = [of.iter().collect(), candidates.iter().collect()];
        if of.is_empty() || asked.is_empty() || distance.outer < 0.0 {
            return Ok(nothing);
        }
        let is_asked_placed = asked.len() > of.len();
        let (placed, looking) = if is_asked_placed { (&asked, &of) } else { (&of, &asked) };
        let mut columns = std::mem::take(&mut self.scratch.columns);
        columns.iter_mut().for_each(Vec::clear);
        for &atom in placed {
            let position = self.position(atom)?;
            columns.iter_mut().zip(position).for_each(|(column, value)| column.push(value));
        }
        let images = self.images_for(distance);
        let are_finite =
            self.scratch.neighbours.place(columns.each_ref().map(|column| &column[..]), images, distance.outer);
        debug_assert!(are_finite, "positions have been looked at");
        self.scratch.columns = columns;
        let points = looking.iter().map(|&atom| self.position(atom)).collect::<Result<Vec<_>>>()?;
        let mut near = Near {
            distance,
            placed,
            looking,
            is_asked_placed,
            squares: [0.0; MOST],
            found: nothing.clone(),
            too_near: nothing,
        };
        Level::detect().run(Look { neighbours: &mut self.scratch.neighbours, points: &points, near: &mut near });
        Ok(near.found.without(&near.too_near))
    }
}

impl Comparison {
    fn holds(self, at: f32, value: f64) -> bool {
        // The comparison uses the float32 nearest to the value, as NumPy does.
        let other = value as f32;
        match self {
            Comparison::Less => at < other,
            Comparison::LessEqual => at <= other,
            Comparison::Greater => at > other,
            Comparison::GreaterEqual => at >= other,
            Comparison::NotEqual => at != other,
            Comparison::Close { absolute, relative } => {
                (f64::from(at) - value).abs() <= absolute + relative * value.abs()
            }
        }
    }
}

/// A search for the neighbours of points.
struct Look<'a, 'b> {
    neighbours: &'a mut Neighbours,
    points: &'a [[f64; 3]],
    near: &'a mut Near<'b>,
}

impl Operation for Look<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (from, &point) in (0..).zip(self.points) {
            self.neighbours.near(from, point, self.near);
        }
    }
}

/// A visitor that marks the atoms near other atoms.
struct Near<'a> {
    distance: Distance,
    placed: &'a [u32],
    looking: &'a [u32],
    is_asked_placed: bool,
    squares: [f64; MOST],
    found: Set,
    too_near: Set,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            for (&to, square) in run.places.iter().zip(self.squares) {
                let length = square.sqrt();
                if length > self.distance.outer {
                    continue;
                }
                let atom = if self.is_asked_placed { self.placed[to as usize] } else { self.looking[from as usize] };
                self.found.insert(atom);
                if self.distance.inner.is_some_and(|inner| length <= inner) {
                    self.too_near.insert(atom);
                }
            }
        }
    }
}
