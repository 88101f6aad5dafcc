//! Conversion of the core's errors to the exceptions of `mdreel.errors`.

use std::any::Any;
use std::io::ErrorKind;

use mdreel_core::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Converts an error of the core to the matching exception.
pub(crate) fn to_python(py: Python<'_>, error: Error) -> PyErr {
    let name = match &error {
        Error::Io { path, error } => return os_error(path.clone(), error),
        Error::Interrupted => return PyKeyboardInterrupt::new_err(()),
        Error::Format { .. } => "FormatError",
        Error::FrameIndex { .. } => "FrameIndexError",
        Error::Mismatch(_) => "MismatchError",
        Error::Unsupported(_) => "UnsupportedError",
        Error::Stream(_) => "StreamError",
        Error::StreamTimeout(_) => "StreamTimeoutError",
        Error::Function(_) => "FunctionError",
        Error::Worker(_) => "WorkerError",
    };
    let exception = exception(py, name, error.to_string());
    match set_place(exception.value(py), &error) {
        Ok(()) => exception,
        Err(error) => error,
    }
}

/// Sets the attributes that `MdreelError` documents, as far as `error` has them.
fn set_place(exception: &Bound<'_, PyAny>, error: &Error) -> PyResult<()> {
    let (path, frame, byte) = match error {
        Error::Io { .. } | Error::Interrupted => (None, None, None),
        Error::Format { place, .. } => (Some(&place.path), place.frame, place.byte),
        Error::FrameIndex { path, frame, .. } => (Some(path), Some(*frame), None),
        Error::Mismatch(problem)
        | Error::Unsupported(problem)
        | Error::Stream(problem)
        | Error::StreamTimeout(problem)
        | Error::Function(problem)
        | Error::Worker(problem) => (problem.path.as_ref(), problem.frame, None),
    };
    if let Some(path) = path {
        exception.setattr("path", path.as_os_str())?;
    }
    if let Some(frame) = frame {
        exception.setattr("frame", frame)?;
    }
    if let Some(byte) = byte {
        exception.setattr("byte", byte)?;
    }
    Ok(())
}

/// Converts a panic, which is a defect of the core, to an exception.
pub(crate) fn from_panic(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    exception(py, "WorkerError", format!("a defect of mdreel, please report it: {text}"))
}

fn exception(py: Python<'_>, name: &str, message: String) -> PyErr {
    let class = ERRORS
        .get_or_try_init(py, || py.import("mdreel.errors").map(Bound::unbind))
        .and_then(|errors| Ok(errors.bind(py).getattr(name)?.cast_into::<PyType>()?));
    class.map_or_else(|error| error, |class| PyErr::from_type(class, message))
}

/// Creates an `OSError`. Python chooses its subclass by the error number.
fn os_error(path: std::path::PathBuf, error: &std::io::Error) -> PyErr {
    // On other systems, the system's error numbers are not those of C.
    let number = error.raw_os_error().filter(|_| cfg!(unix)).unwrap_or(match error.kind() {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::IsADirectory => libc::EISDIR,
        ErrorKind::NotADirectory => libc::ENOTDIR,
        _ => libc::EIO,
    });
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, text, path.into_os_string()))
}
