//! Spans as columns of numbers.

use mdreel_core::span::{Span, SpanKind};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// Kind, block, worker, start and stop (ns since the run began), frames and bytes of each span.
pub(crate) type Columns<'py> = (
    Column<'py, u8>,
    Column<'py, u32>,
    Column<'py, u32>,
    Column<'py, u64>,
    Column<'py, u64>,
    Column<'py, u64>,
    Column<'py, u64>,
);

/// Converts spans to columns.
pub(crate) fn columns<'py>(py: Python<'py>, spans: &[Span]) -> Columns<'py> {
    (
        column(py, spans, |span| span.kind as u8),
        column(py, spans, |span| span.block),
        column(py, spans, |span| span.worker),
        column(py, spans, |span| span.start_ns),
        column(py, spans, |span| span.stop_ns),
        column(py, spans, |span| span.n_frames),
        column(py, spans, |span| span.n_bytes),
    )
}

fn column<'py, T: numpy::Element>(py: Python<'py>, spans: &[Span], value: impl Fn(&Span) -> T) -> Column<'py, T> {
    spans.iter().map(value).collect::<Vec<T>>().into_pyarray(py)
}

/// Return the names of the kinds of spans, in the order of their numbers.
#[pyfunction]
pub(crate) fn span_kinds() -> Vec<&'static str> {
    SpanKind::ALL.iter().map(|kind| kind.name()).collect()
}
