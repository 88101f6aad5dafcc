//! Output formats, selected by the extension of the file name.

use std::path::Path;
use std::sync::Arc;

use super::dcd::DcdEncoder;
use super::netcdf3::NetCdf3Encoder;
use super::trr::{Precision, TrrEncoder};
use super::xtc::{DEFAULT_PRECISION, XtcEncoder};
use super::{Encoder, Outline};
use crate::error::{Error, Result};
use crate::frame::Quantities;

/// Options for writing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settings {
    /// Integers per nm, for formats that round coordinates.
    pub precision: Option<f32>,
}

/// A format that can be written.
pub struct OutputFormat {
    /// Name of the format, the same as for reading.
    pub name: &'static str,
    /// Extension of its files.
    pub ending: &'static str,
    /// Quantities of each atom that the format can store.
    pub quantities: Quantities,
    /// Whether the format rounds coordinates to a configurable precision.
    pub rounds: bool,
    /// Whether the format stores the time of each frame instead of only the first time and the interval.
    pub keeps_times: bool,
    /// Whether all frames must have the same quantities.
    pub alike: bool,
    encoder: fn(&Outline, &Settings) -> Result<Arc<dyn Encoder>>,
}

/// All output formats. A new format needs one more entry.
pub static FORMATS: [OutputFormat; 4] = [
    OutputFormat {
        name: "XTC",
        ending: "xtc",
        quantities: Quantities::POSITIONS,
        rounds: true,
        keeps_times: true,
        alike: true,
        encoder: |outline, settings| {
            Ok(Arc::new(XtcEncoder::new(outline, settings.precision.unwrap_or(DEFAULT_PRECISION))?))
        },
    },
    OutputFormat {
        name: "DCD",
        ending: "dcd",
        quantities: Quantities::POSITIONS,
        rounds: false,
        keeps_times: false,
        alike: true,
        encoder: |outline, _| Ok(Arc::new(DcdEncoder::new(outline)?)),
    },
    OutputFormat {
        name: "TRR",
        ending: "trr",
        quantities: Quantities::ALL,
        rounds: false,
        keeps_times: true,
        alike: false,
        encoder: |outline, _| Ok(Arc::new(TrrEncoder::new(outline, Precision::Single)?)),
    },
    OutputFormat {
        name: "NCDF",
        ending: "nc",
        quantities: Quantities::ALL,
        rounds: false,
        keeps_times: true,
        alike: true,
        encoder: |outline, _| Ok(Arc::new(NetCdf3Encoder::new(outline)?)),
    },
];

impl OutputFormat {
    /// Returns the format for the extension of `path`, in upper or lower case.
    pub fn of(path: &Path) -> Result<&'static OutputFormat> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        FORMATS.iter().find(|format| ending.as_deref() == Some(format.ending)).ok_or_else(|| {
            let known: Vec<String> = FORMATS.iter().map(|format| format!(".{}", format.ending)).collect();
            Error::unsupported(format!("the ending must be one of {}", known.join(", "))).in_file(path)
        })
    }

    /// Creates an encoder of this format.
    pub fn encoder(&self, outline: &Outline, settings: &Settings) -> Result<Arc<dyn Encoder>> {
        if settings.precision.is_some() && !self.rounds {
            return Err(Error::mismatch(format!("{} does not round: it has no precision to be chosen", self.name)));
        }
        (self.encoder)(outline, settings)
    }
}
