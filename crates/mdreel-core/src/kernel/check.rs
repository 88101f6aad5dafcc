//! Check for defects in frames that can be read.

use super::Kernel;
use crate::error::Result;
use crate::frame::{Columns, FrameBatch, Quantities, Quantity};
use crate::reduce::Partial;
use crate::source::{AtomSelection, Source};

/// Relative error of a time in single precision, with a margin for sums.
const TIME_ERROR: f64 = 4.0 * f32::EPSILON as f64;
/// Largest relative deviation of an interval from the usual interval.
const INTERVAL_ERROR: f64 = 1e-3;

/// A kernel that checks every number of every frame.
#[derive(Debug, Clone)]
pub struct Check {
    n_atoms: usize,
}

/// Kind of a defect in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A coordinate, velocity or force is not a finite number.
    NotFinite,
    /// The cell is invalid or has no volume.
    Cell,
    /// The frame has no cell although other frames have one.
    NoCell,
    /// The time is not later than the time of the previous frame, or is not a finite number.
    Time,
    /// The interval differs from the usual interval. This is not a defect but worth a note.
    Interval,
}

impl Kind {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NotFinite => "not finite",
            Kind::Cell => "cell",
            Kind::NoCell => "no cell",
            Kind::Time => "time",
            Kind::Interval => "interval",
        }
    }
}

/// A defect or note about a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Number of the frame.
    pub frame: u64,
    /// Kind of the finding.
    pub kind: Kind,
    /// The expected value and the value found.
    pub message: String,
}

/// Findings in frames.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    findings: Vec<Finding>,
    /// Number and time (ps) of each frame.
    times: Vec<(u64, f64)>,
    without_cell: Vec<u64>,
}

impl Check {
    /// Creates a check of `n_atoms` atoms.
    pub fn new(n_atoms: usize) -> Self {
        Check { n_atoms }
    }

    /// Returns the atoms to check in `source`: all atoms, or none if the file declares more atoms than its bytes can hold.
    pub fn atoms(source: &dyn Source) -> AtomSelection {
        AtomSelection::stored(source).unwrap_or_else(|| AtomSelection::all(0))
    }
}

impl Kernel for Check {
    type Partial = Checked;

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn quantities(&self) -> Quantities {
        Quantities::ALL
    }

    fn needs(&self) -> Quantities {
        Quantities::NONE
    }

    fn empty(&self) -> Checked {
        Checked::default()
    }

    fn map(&mut self, batch: &FrameBatch, partial: &mut Checked) -> Result<()> {
        for (i, header) in batch.headers().iter().enumerate() {
            let mut find = |kind, message| partial.findings.push(Finding { frame: header.index, kind, message });
            for quantity in Quantities::ALL.iter() {
                let columns = batch.columns_of(i, quantity);
                if let Some(message) = columns.and_then(|columns| not_finite(&columns, quantity)) {
                    find(Kind::NotFinite, message);
                }
            }
            match header.unit_cell {
                None => partial.without_cell.push(header.index),
                Some(cell) => {
                    if let Some(message) = cell.problem() {
                        find(Kind::Cell, message);
                    }
                }
            }
            partial.times.push((header.index, header.time));
        }
        Ok(())
    }
}

impl Partial for Checked {
    fn n_frames(&self) -> u64 {
        self.times.len() as u64
    }

    fn reserve(&mut self, n_frames: u64) {
        self.times.reserve(n_frames as usize);
    }

    fn merge(&mut self, next: Self) {
        self.findings.extend(next.findings);
        self.times.extend(next.times);
        self.without_cell.extend(next.without_cell);
    }

    fn renumber(&mut self, first: u64) {
        self.findings.iter_mut().for_each(|finding| finding.frame += first);
        self.times.iter_mut().for_each(|(frame, _)| *frame += first);
        self.without_cell.iter_mut().for_each(|frame| *frame += first);
    }
}

impl Checked {
    /// Returns all findings in the order of frames: defects of single frames, and defects that show when frames are compared.
    pub fn into_findings(mut self) -> Vec<Finding> {
        let n_cells = self.times.len() - self.without_cell.len();
        if n_cells > 0 {
            let message = format!("there is no cell, but {n_cells} other frames have one");
            let missing = self.without_cell.iter();
            self.findings.extend(missing.map(|&frame| Finding { frame, kind: Kind::NoCell, message: message.clone() }));
        }
        let usual = usual_interval(&self.times);
        let not_a_time = |&&(_, time): &&(u64, f64)| !time.is_finite();
        self.findings.extend(self.times.iter().filter(not_a_time).map(|&(frame, time)| Finding {
            frame,
            kind: Kind::Time,
            message: format!("the time is {time}: expected a finite number"),
        }));
        self.findings.extend(self.times.windows(2).filter_map(|pair| wrong_time(pair[0], pair[1], usual)));
        self.findings.sort_by_key(|finding| finding.frame);
        self.findings
    }
}

fn not_finite(columns: &Columns<'_>, quantity: Quantity) -> Option<String> {
    // Each column is checked separately, so that the compiler can use vector instructions.
    let all_finite = |column: &[f32]| column.iter().fold(true, |all, value| all & value.is_finite());
    if all_finite(columns.x) && all_finite(columns.y) && all_finite(columns.z) {
        return None;
    }
    let rows = columns.x.iter().zip(columns.y).zip(columns.z).map(|((&x, &y), &z)| [x, y, z]);
    let mut wrong = rows.enumerate().filter(|(_, row)| row.iter().any(|value| !value.is_finite()));
    let (atom, row) = wrong.next()?;
    let (n_wrong, n_atoms, name) = (1 + wrong.count(), columns.x.len(), quantity.name());
    Some(format!("{name} of {n_wrong} of {n_atoms} atoms are not finite, the first is atom {atom}: {row:?}"))
}

/// Returns the median interval between consecutive frames with increasing times.
fn usual_interval(times: &[(u64, f64)]) -> Option<f64> {
    let next = |pair: &[(u64, f64)]| (pair[1].0 == pair[0].0 + 1).then_some(pair[1].1 - pair[0].1);
    let mut intervals: Vec<f64> = times.windows(2).filter_map(next).filter(|interval| *interval > 0.0).collect();
    let middle = intervals.len() / 2;
    (!intervals.is_empty()).then(|| *intervals.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Checks the time of a frame against the time of an earlier frame. `usual` is the usual interval in ps.
fn wrong_time((before, earlier): (u64, f64), (frame, time): (u64, f64), usual: Option<f64>) -> Option<Finding> {
    let interval = time - earlier;
    let compared = |what: &str| format!("{what}: {time} ps after {earlier} ps in frame {before}");
    if interval < 0.0 {
        return Some(Finding { frame, kind: Kind::Time, message: compared("the time goes back") });
    }
    if interval == 0.0 {
        return Some(Finding { frame, kind: Kind::Time, message: compared("the time repeats") });
    }
    let usual = usual.filter(|_| frame == before + 1)?;
    let tolerance = INTERVAL_ERROR * usual + TIME_ERROR * (earlier.abs() + time.abs());
    ((interval - usual).abs() > tolerance).then(|| Finding {
        frame,
        kind: Kind::Interval,
        message: compared(&format!("{interval} ps since the frame before, most often {usual} ps")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameHeader;
    use crate::unit_cell::UnitCell;

    fn batch(times: &[f64], cells: &[Option<UnitCell>]) -> FrameBatch {
        let mut batch = FrameBatch::with_capacity(2, times.len());
        for (index, (&time, &unit_cell)) in (0..).zip(times.iter().zip(cells)) {
            let present = Quantities::POSITIONS;
            let columns = batch.push(FrameHeader { index, step: 0, time, unit_cell, lambda: None, present });
            [columns.x, columns.y, columns.z].into_iter().for_each(|column| column.fill(1.0));
        }
        batch
    }

    fn findings(batch: &FrameBatch) -> Vec<(u64, Kind)> {
        let mut check = Check::new(2);
        let mut checked = check.empty();
        check.map(batch, &mut checked).unwrap();
        checked.into_findings().into_iter().map(|finding| (finding.frame, finding.kind)).collect()
    }

    const CUBE: Option<UnitCell> = Some(UnitCell::Dimensions([9.0, 9.0, 9.0, 90.0, 90.0, 90.0]));

    #[test]
    fn check_finds_nothing_in_sound_frames() {
        assert_eq!(findings(&batch(&[0.0, 2.0, 4.0], &[CUBE; 3])), []);
        assert_eq!(findings(&batch(&[0.0, 2.0, 4.0], &[None; 3])), []);
        assert_eq!(findings(&batch(&[], &[])), []);
    }

    #[test]
    fn check_counts_atoms_that_are_not_finite_and_names_the_first() {
        let mut batch = batch(&[0.0, 1.0], &[None; 2]);
        batch.columns_mut(1).z[1] = f32::NAN;
        assert_eq!(findings(&batch), [(1, Kind::NotFinite)]);
        batch.columns_mut(1).x[0] = f32::INFINITY;
        let mut check = Check::new(2);
        let mut checked = check.empty();
        check.map(&batch, &mut checked).unwrap();
        let message = checked.into_findings()[0].message.clone();
        assert_eq!(message, "positions of 2 of 2 atoms are not finite, the first is atom 0: [inf, 1.0, 1.0]");
    }

    #[test]
    fn check_finds_cells_that_are_none_and_frames_without() {
        let flat = Some(UnitCell::Vectors([[9.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 9.0]]));
        let negative = Some(UnitCell::Dimensions([9.0, -9.0, 9.0, 90.0, 90.0, 90.0]));
        let found = findings(&batch(&[0.0, 1.0, 2.0, 3.0], &[CUBE, flat, None, negative]));
        assert_eq!(found, [(1, Kind::Cell), (2, Kind::NoCell), (3, Kind::Cell)]);
    }

    #[test]
    fn check_tells_times_that_do_not_go_on_from_intervals_that_differ() {
        let found = findings(&batch(&[0.0, 1.0, 1.0, 2.0, 1.5, 2.5, 3.5, 9.0, 10.0, f64::NAN], &[None; 10]));
        assert_eq!(found, [(2, Kind::Time), (4, Kind::Time), (7, Kind::Interval), (9, Kind::Time)]);
    }

    #[test]
    fn check_merges_blocks_as_if_they_were_one() {
        let mut check = Check::new(2);
        let mut parts = [check.empty(), check.empty()];
        check.map(&batch(&[0.0, 1.0], &[CUBE; 2]), &mut parts[0]).unwrap();
        check.map(&batch(&[1.0, 2.0], &[CUBE, None]), &mut parts[1]).unwrap();
        let [mut whole, mut next] = parts;
        next.renumber(2);
        whole.merge(next);
        let found: Vec<_> = whole.into_findings().iter().map(|finding| (finding.frame, finding.kind)).collect();
        assert_eq!(found, [(2, Kind::Time), (3, Kind::NoCell)]);
    }
}
