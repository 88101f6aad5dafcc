//! Facts about the files of a trajectory.

use std::sync::Arc;

use mdreel_core::frame::Quantity;
use mdreel_core::source::dcd::{ByteOrder, Dcd, Flavor};
use mdreel_core::source::kept_chain::Notes;
use mdreel_core::source::netcdf3::NetCdf3;
use mdreel_core::source::open::Opened;
use mdreel_core::source::trr::Trr;
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{Source, SourceExt};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::patience::patiently;

/// Returns the facts about one file, or about frames in memory.
pub(crate) fn facts<'py>(py: Python<'py>, part: &Opened) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    match part {
        Opened::Xtc(xtc) => xtc_facts(&facts, xtc)?,
        Opened::Trr(trr) => trr_facts(&facts, trr)?,
        Opened::Dcd(dcd) => dcd_facts(&facts, dcd)?,
        Opened::Ncdf(ncdf) => ncdf_facts(&facts, ncdf)?,
        Opened::Deferred(_, file) => {
            let opened = patiently(py, {
                let file = Arc::clone(file);
                move || file.opened()
            })?;
            return self::facts(py, &opened);
        }
        Opened::Chain(..) | Opened::Other(..) => facts.set_item("format", part.format())?,
        Opened::Memory(memory) => {
            facts.set_item("format", "memory")?;
            facts.set_item("size", memory.n_bytes())?;
        }
    }
    Ok(facts)
}

fn xtc_facts(facts: &Bound<'_, PyDict>, xtc: &Xtc) -> PyResult<()> {
    let found = xtc.facts();
    facts.set_item("format", "XTC")?;
    facts.set_item("path", xtc.path().as_os_str())?;
    facts.set_item("size", xtc.n_bytes())?;
    facts.set_item("magic", found.magic)?;
    facts.set_item("precision", found.precision)
}

fn trr_facts(facts: &Bound<'_, PyDict>, trr: &Trr) -> PyResult<()> {
    let found = trr.facts();
    facts.set_item("format", "TRR")?;
    facts.set_item("path", trr.path().as_os_str())?;
    facts.set_item("size", trr.n_bytes())?;
    facts.set_item("precision", if found.is_double { "double" } else { "single" })?;
    let present: Vec<_> = found.present.iter().map(Quantity::name).collect();
    facts.set_item("first frame holds", present.join(", "))
}

fn dcd_facts(facts: &Bound<'_, PyDict>, dcd: &Dcd) -> PyResult<()> {
    let header = dcd.header();
    facts.set_item("format", "DCD")?;
    facts.set_item("path", dcd.path().as_os_str())?;
    facts.set_item("size", header.end + dcd.n_bytes() + dcd.uncounted_bytes())?;
    match header.flavor {
        Flavor::Charmm { version } => {
            facts.set_item("flavor", "CHARMM")?;
            facts.set_item("version", version)?;
        }
        Flavor::Xplor => facts.set_item("flavor", "X-PLOR")?,
    }
    let byte_order = match header.format.order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    };
    facts.set_item("byte order", byte_order)?;
    facts.set_item("record marker bits", 8 * header.format.marker_bytes)?;
    facts.set_item("frames counted by the header", header.n_frames_counted)?;
    facts.set_item("first step", header.first_step)?;
    facts.set_item("steps per frame", header.steps_per_frame)?;
    facts.set_item("frame interval", header.time(1) - header.time(0))?;
    facts.set_item("unit cell", header.has_unit_cell)?;
    facts.set_item("fourth dimension", header.has_fourth_dimension)?;
    let n_fixed = header.free_atoms.as_ref().map_or(0, |free| header.n_atoms - free.len());
    facts.set_item("fixed atoms", n_fixed)?;
    facts.set_item("uncounted bytes", dcd.uncounted_bytes())
}

fn ncdf_facts(facts: &Bound<'_, PyDict>, ncdf: &NetCdf3) -> PyResult<()> {
    facts.set_item("format", "NCDF")?;
    facts.set_item("path", ncdf.path().as_os_str())?;
    facts.set_item("size", ncdf.file_bytes())?;
    facts.set_item("version", ncdf.version().name())?;
    for (name, attribute) in [
        ("conventions", "Conventions"),
        ("convention version", "ConventionVersion"),
        ("title", "title"),
        ("application", "application"),
        ("program", "program"),
        ("program version", "programVersion"),
    ] {
        if let Some(text) = ncdf.attribute(attribute) {
            facts.set_item(name, text)?;
        }
    }
    if let Some(n_counted) = ncdf.n_frames_counted() {
        facts.set_item("frames counted by the header", n_counted)?;
    }
    facts.set_item("times", ncdf.has_times())?;
    facts.set_item("unit cell", ncdf.has_unit_cell())?;
    facts.set_item("velocities", ncdf.quantities().contains(Quantity::Velocities))?;
    facts.set_item("forces", ncdf.quantities().contains(Quantity::Forces))?;
    facts.set_item("uncounted bytes", ncdf.uncounted_bytes())
}

/// Facts about the files of a chain, which are kept with its description as JSON.
#[pyclass(frozen, module = "mdreel._core")]
pub(crate) struct KeptFacts(pub(crate) Notes);

/// Returns known facts about each file. `known` are those of one file, a list, or `KeptFacts`. Returns `None` for `KeptFacts`
/// whose description has been removed or replaced.
pub(crate) fn known_facts<'py>(known: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyDict>>>> {
    if let Ok(kept) = known.cast::<KeptFacts>() {
        let Some(notes) = kept.get().0.read() else { return Ok(None) };
        return known.py().import("json")?.call_method1("loads", (notes,))?.extract();
    }
    known.extract().or_else(|_| Ok(vec![known.cast::<PyDict>()?.copy()?])).map(Some)
}
