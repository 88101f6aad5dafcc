//! The Python bindings of mdreel-core, with one file for each file of the core that they expose. The bindings compute nothing
//! themselves, and release the interpreter around every call of the core.

mod allocator;
mod block;
mod centers;
mod chain;
#[cfg(target_os = "linux")]
mod channel;
mod check;
mod chunked;
mod chunks;
mod clustering;
mod computation;
mod convert;
mod damage;
mod encoder;
mod error;
mod external_reads;
mod facts;
mod fold;
mod follow;
mod foreign;
mod frame;
mod function;
mod given;
mod kernels;
mod lent_file;
#[cfg(target_os = "linux")]
mod managed;
mod origin;
mod pairs;
mod part;
mod pass;
mod patience;
mod plan;
mod pool;
mod read_into;
mod reader;
mod remote;
mod run;
mod selection;
mod source;
mod span;
mod transform;

use pyo3::prelude::*;

/// The Python module of the core.
#[pymodule]
mod _core {
    use numpy::{PyArray1, PyArrayMethods};
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::allocator::keep_freed_memory;
    #[pymodule_export]
    use crate::block::{Blocks, FrameSet};
    #[pymodule_export]
    use crate::centers::{frame_distances, nearest_centers, superposed_rows};
    #[pymodule_export]
    use crate::chain::{FileCheck, chain_sources, described_chain, keep_chain, kept_chain};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::compressed::channel_xtc_positions;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::consumer::ChannelConsumer;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::frame::ChannelFrame;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::producer::ChannelProducer;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::relay::{ChannelRelay, channel_frame_identity};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::source::channel_source;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::channel::{channel_declare_group, channel_most_consumers, channel_status};
    #[pymodule_export]
    use crate::check::check;
    #[pymodule_export]
    use crate::chunked::{OpenFiles, chunked_source, is_hdf5};
    #[pymodule_export]
    use crate::chunks::{chunk_outline, convert_to_chunks};
    #[pymodule_export]
    use crate::clustering::{density_clusters, frame_linkage, gromos_clusters, medoids};
    #[pymodule_export]
    use crate::computation::Computation;
    #[pymodule_export]
    use crate::convert::{convert, output_formats, split};
    #[pymodule_export]
    use crate::encoder::FrameEncoder;
    #[pymodule_export]
    use crate::fold::fold;
    #[pymodule_export]
    use crate::follow::{await_arrival, follow_file};
    #[pymodule_export]
    use crate::foreign::foreign_source;
    #[pymodule_export]
    use crate::frame::Frames;
    #[pymodule_export]
    use crate::function::function;
    #[pymodule_export]
    use crate::kernels::comparison::{local_distances, symmetric_rmsd, template_scores};
    #[pymodule_export]
    use crate::kernels::fingerprint::interaction_fingerprint;
    #[pymodule_export]
    use crate::kernels::geometry::{dihedrals, distances, helix_eigenvalues, secondary_structure};
    #[pymodule_export]
    use crate::kernels::motion::{
        changing_linear_density, density, end_to_end, kept_positions, linear_density, mean_square_displacements, paths,
        selected_vectors,
    };
    #[pymodule_export]
    use crate::kernels::neighbours::{
        changing_surface_area, contact_count, contacts_of, hydrogen_bonds, native_contacts, radial_distribution,
        site_distribution, surface_area,
    };
    #[pymodule_export]
    use crate::kernels::online_clusters::online_clusters;
    #[pymodule_export]
    use crate::kernels::positions::{changing_gyration, fluctuation, gyration, rmsd};
    #[pymodule_export]
    use crate::kernels::repeated::repeated;
    #[pymodule_export]
    use crate::kernels::residue_contacts::residue_contacts;
    #[pymodule_export]
    use crate::kernels::superposed::{covariance, cross_correlation, group_rmsd, projection, superposed_fluctuation};
    #[pymodule_export]
    use crate::kernels::water_bridges::water_bridges;
    #[pymodule_export]
    use crate::lent_file::LentFile;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::managed::{DirectoryArrivals, DirectoryProducer, DirectoryReader, DirectoryWriter, preload_library};
    #[pymodule_export]
    use crate::pairs::distance_matrix;
    #[pymodule_export]
    use crate::part::Part;
    #[pymodule_export]
    use crate::pass::Pass;
    #[pymodule_export]
    use crate::plan::plan;
    #[pymodule_export]
    use crate::read_into::read_into;
    #[pymodule_export]
    use crate::reader::FrameReader;
    #[pymodule_export]
    use crate::run::{map_blocks, run};
    #[pymodule_export]
    use crate::selection::{FrameSelection, SelectedAtoms, selected};
    #[pymodule_export]
    use crate::source::Source;
    #[pymodule_export]
    use crate::span::span_kinds;
    #[pymodule_export]
    use crate::transform::{Transformation, centered, spanning_forest, superposed, whole, without_jumps, wrapped};

    /// Looks up NumPy's functions when the module is loaded. Otherwise, rust-numpy looks them up when it first makes or borrows
    /// an array. That executes Python code, and rust-numpy panics if Ctrl-C interrupts it.
    #[pymodule_init]
    fn find_numpy(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.py().import("numpy")?;
        drop(PyArray1::<f64>::zeros(module.py(), 0, false).readonly());
        Ok(())
    }

    /// Return the version of mdreel, which output files record.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Return the Git commit that this module was built from, or None if it was not built from a checkout.
    #[pyfunction]
    fn commit() -> Option<&'static str> {
        Some(env!("MDREEL_COMMIT")).filter(|commit| !commit.is_empty())
    }
}

/// The functions of channels that need no arrays. A process that imports this module instead of the core does not load NumPy,
/// which would take more memory than the rest of the process.
#[cfg(target_os = "linux")]
#[pymodule]
mod _without_arrays {
    #[pymodule_export]
    use crate::allocator::return_freed_memory;
    #[pymodule_export]
    use crate::channel::channel_status;
    #[pymodule_export]
    use crate::channel::compressed::channel_xtc_frame_bytes;
    #[pymodule_export]
    use crate::channel::producer::channel_frame_bytes;
}
