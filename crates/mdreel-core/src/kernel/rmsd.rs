//! RMSD of each frame from a reference structure.

use super::each_frame::{EachFrame, Measure};
use crate::error::Result;
use crate::frame::Octets;
use crate::simd::{Lanes, Level};
use crate::superpose::{Reference, WeightedPoints};

/// Root mean square distance of every frame from a reference, in Å and in float64.
pub type Rmsd = EachFrame<Distance, 1>;

/// Distance of a frame from the reference.
#[derive(Debug)]
pub enum Distance {
    /// RMSD after optimal superposition.
    Superposed(Reference),
    /// RMSD without superposition, with the coordinates as stored.
    AsIs(WeightedPoints),
}

impl Rmsd {
    /// Creates the computation of the RMSD from `reference` (Å), weighted by `weights` (`None`: equal weights).
    ///
    /// With `superposition`, each frame is first superposed on the reference; otherwise, the coordinates are used as stored.
    /// Returns an error if there are no atoms, lengths differ, coordinates are not finite, or weights are negative, not finite
    /// or all zero.
    pub fn new(reference: &[[f64; 3]], weights: Option<&[f64]>, superposition: bool) -> Result<Self> {
        Rmsd::at_level(reference, weights, superposition, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub fn at_level(
        reference: &[[f64; 3]],
        weights: Option<&[f64]>,
        superposition: bool,
        level: Level,
    ) -> Result<Self> {
        let distance = Distance::new(reference, weights, superposition, level)?;
        Ok(EachFrame::with(distance, level))
    }
}

impl Distance {
    /// Creates the distance from `reference`. See [`Rmsd::new`].
    pub(super) fn new(
        reference: &[[f64; 3]],
        weights: Option<&[f64]>,
        superposition: bool,
        level: Level,
    ) -> Result<Self> {
        Ok(if superposition {
            Distance::Superposed(Reference::new(reference, weights, level)?)
        } else {
            Distance::AsIs(WeightedPoints::new(reference, weights)?)
        })
    }
}

impl Measure<1> for Distance {
    const NAME: &'static str = "RMSD";

    fn n_atoms(&self) -> usize {
        match self {
            Distance::Superposed(reference) => reference.n_atoms(),
            Distance::AsIs(points) => points.n_points(),
        }
    }

    #[inline(always)]
    fn of<L: Lanes>(&self, frame: Octets<'_>) -> [f64; 1] {
        [match self {
            Distance::Superposed(reference) => reference.minimum_rmsd::<L>(frame).unwrap_or(f64::NAN),
            Distance::AsIs(points) => points.rmsd::<L>(frame),
        }]
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    const N_ATOMS: usize = 214;

    fn golden() -> (Vec<Vec<[f32; 3]>>, Vec<[f64; 4]>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let bytes = std::fs::read(folder.join("adk_dims_ca.f32")).unwrap();
        let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let frames = values.as_chunks::<3>().0.chunks_exact(N_ATOMS).map(<[_]>::to_vec).collect();
        let table = std::fs::read_to_string(folder.join("adk_dims_ca_rmsd.csv")).unwrap();
        let row = |line: &str| {
            let row: Vec<f64> = line.split(',').map(|value| value.parse().unwrap()).collect();
            row.try_into().unwrap()
        };
        (frames, table.lines().skip(2).map(row).collect())
    }

    #[test]
    fn test_rmsd_equals_mdanalysis_on_a_real_trajectory() {
        let (frames, expected) = golden();
        assert_eq!((frames.len(), expected.len()), (98, 98));
        let reference: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
        let weights: Vec<f64> = (0..N_ATOMS).map(|i| 1.0 + (i % 7) as f64).collect();
        let batch = batch(0, &frames, None);
        for (column, weights, superposition) in
            [(0, None, true), (1, Some(&weights[..]), true), (2, None, false), (3, Some(&weights[..]), false)]
        {
            let rmsd = Rmsd::new(&reference, weights, superposition).unwrap();
            let values: Vec<f64> = mapped(rmsd, std::slice::from_ref(&batch)).unwrap().rows.column(0).collect();
            assert!(values[0] < 1e-12, "frame 0 to itself: {}", values[0]);
            for (frame, (ours, theirs)) in values.iter().zip(&expected).enumerate() {
                // MDAnalysis itself reports an RMSD of 3.7e-7 Å between frame 0 and frame 0.
                let tolerance = if frame == 0 { 1e-6 } else { 1e-9 };
                assert!(
                    (ours - theirs[column]).abs() < tolerance,
                    "column {column}, frame {frame}: {ours}, {theirs:?}"
                );
            }
        }
    }

    #[test]
    fn test_map_keeps_frame_numbers_and_times() {
        let frames = batch(7, &[vec![[0.0; 3]; 2], vec![[1.0, 0.0, 0.0]; 2]], None);
        let tally = mapped(Rmsd::new(&[[0.0; 3]; 2], None, true).unwrap(), &[frames]).unwrap();
        assert_eq!(tally.rows.into_values(), [7.0, 14.0, 0.0, 8.0, 16.0, 0.0]);
    }

    #[test]
    fn test_map_names_frame_and_atom_when_a_coordinate_is_not_finite() {
        for (value, n_atoms) in [(f32::NAN, 3), (f32::INFINITY, 11), (f32::NEG_INFINITY, 16), (f32::NAN, 1)] {
            let good: Vec<[f32; 3]> = (0..n_atoms).map(|i| [i as f32, 1.0, (i * i) as f32]).collect();
            for atom in 0..n_atoms {
                let mut bad = good.clone();
                bad[atom][atom % 3] = value;
                for (superposition, weight) in [(true, 1.0), (false, 1.0), (true, 0.0), (false, 0.0)] {
                    let mut weights = vec![2.0; n_atoms];
                    weights[0] = if n_atoms > 1 { weight } else { 1.0 };
                    let rmsd = Rmsd::new(&vec![[0.0; 3]; n_atoms], Some(&weights), superposition).unwrap();
                    let error = mapped(rmsd, &[batch(40, &[good.clone(), bad.clone()], None)]).unwrap_err();
                    let message = error.to_string();
                    assert!(message.contains("frame 41") && message.contains(&format!("atom {atom} ")), "{message}");
                }
            }
        }
    }

    #[test]
    fn test_map_refuses_frames_of_another_number_of_atoms() {
        let error = mapped(Rmsd::new(&[[0.0; 3]; 2], None, true).unwrap(), &[batch(0, &[vec![[0.0; 3]; 3]], None)])
            .unwrap_err();
        assert_eq!(error.to_string(), "the pass has 2 atoms, the frames have 3");
    }

    #[test]
    fn test_new_refuses_what_has_no_rmsd() {
        let two = [[0.0; 3], [1.0, 2.0, 3.0]];
        type Case<'a> = (&'a [[f64; 3]], Option<&'a [f64]>, &'a str);
        let cases: [Case<'_>; 7] = [
            (&[], None, "no atoms"),
            (&two, Some(&[1.0]), "expected 2 weights, one for each atom, got 1"),
            (&two, Some(&[1.0, -0.5]), "weight 1 is -0.5"),
            (&two, Some(&[f64::NAN, 1.0]), "weight 0 is NaN"),
            (&two, Some(&[1.0, f64::INFINITY]), "weight 1 is inf"),
            (&two, Some(&[0.0, 0.0]), "all 2 weights are 0"),
            (&[[0.0; 3], [0.0, f64::NAN, 0.0]], None, "atom 1 of 2 is at [0.0, NaN, 0.0]"),
        ];
        for (reference, weights, expected) in cases {
            for superposition in [true, false] {
                let message = Rmsd::new(reference, weights, superposition).unwrap_err().to_string();
                assert!(message.contains(expected), "{message}");
            }
        }
        let message = Rmsd::new(&[[0.0; 3], [1e200; 3]], None, true).unwrap_err().to_string();
        assert!(message.contains("overflow"), "{message}");
    }
}
