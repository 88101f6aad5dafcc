//! A frame in the layout of C.

use std::ffi::c_void;

use mdreel_channel::layout::Section;
use mdreel_channel::producer::Moment;
use mdreel_channel::section::DataType;

use crate::error::Failure;
use crate::settings::KINDS;

/// The struct `mdreel_frame`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CFrame {
    step: i64,
    time: f64,
    cell: *const f64,
    positions: *const c_void,
    velocities: *const c_void,
    forces: *const c_void,
}

impl CFrame {
    /// Returns the step, the time and the cell of the frame.
    ///
    /// # Safety
    ///
    /// `cell` is null, or points to 9 numbers.
    pub(crate) unsafe fn moment(&self) -> Moment {
        // SAFETY: the caller guarantees the pointer. The read is unaligned because C may align the numbers arbitrarily.
        let cell = (!self.cell.is_null()).then(|| unsafe { self.cell.cast::<[f64; 9]>().read_unaligned() });
        Moment { step: self.step, time: self.time, cell }
    }

    /// Returns the sections of the frame. A section that the channel was opened without is an error.
    ///
    /// # Safety
    ///
    /// Each pointer is null, or points to `length` bytes that no thread writes to during the lifetime of the result.
    pub(crate) unsafe fn sections(
        &self,
        allowed: u32,
        (data_type, length): (DataType, usize),
    ) -> Result<Vec<Section<'_>>, Failure> {
        let pointers = [self.positions, self.velocities, self.forces];
        let mut sections = Vec::with_capacity(KINDS.len());
        for ((bit, kind, name), pointer) in KINDS.into_iter().zip(pointers) {
            if pointer.is_null() {
                continue;
            }
            if allowed & bit == 0 {
                return Err(Failure::Argument(format!("{name}: the channel was opened without")));
            }
            // SAFETY: the pointer is not null, as checked above, and the length is at most `isize::MAX`. The caller guarantees
            // the rest.
            let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) };
            sections.push(Section { kind, data_type, bytes });
        }
        Ok(sections)
    }
}
