//! Conversion factors to the internal units: Å, ps and degrees. Each source converts its units while reading.

/// Number of Å in a nanometre, as the float32 factor that GROMACS readers apply to float32 coordinates.
pub(crate) const ANGSTROM_PER_NANOMETRE: f32 = 10.0;

/// Picoseconds in one AKMA time unit (the DCD time step of CHARMM and NAMD), with the value that MDAnalysis uses.
pub(crate) const PICOSECOND_PER_AKMA: f64 = 4.888821e-2;

/// Number of kJ in a kcal, as the float32 factor that MDAnalysis applies to float32 forces.
pub(crate) const KILOJOULE_PER_KILOCALORIE: f32 = 4.184;
