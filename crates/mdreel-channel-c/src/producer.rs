//! The functions of a producer.

use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use mdreel_channel::end::End;
use mdreel_channel::producer::Producer;
use mdreel_channel::ring_file::N_CURSORS;
use mdreel_core::Error;

use crate::error::{Failure, guarded};
use crate::frame::CFrame;
use crate::settings::{CSettings, path, seconds};

/// The interval at which a producer counts the consumers that it waits for.
const POLL: Duration = Duration::from_millis(20);

/// The struct `mdreel_producer`, which is opaque to C.
pub(crate) struct CProducer {
    producer: Producer,
    settings: CSettings,
    path: PathBuf,
}

/// Opens a channel.
///
/// # Safety
///
/// `channel` is text that ends with a zero, `settings` points to an `mdreel_settings`, and `producer` points to a place for a
/// pointer. Each of them may be null, which is an error.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mdreel_producer_open(
    channel: *const c_char,
    settings: *const CSettings,
    producer: *mut *mut CProducer,
) -> c_int {
    guarded(|| {
        if settings.is_null() || producer.is_null() {
            return Err(Failure::Argument("mdreel_producer_open: a null pointer".to_owned()));
        }
        if cfg!(target_endian = "big") {
            let message = "channels need a processor that stores the lowest byte of a number first";
            return Err(Error::unsupported(message.to_owned()).into());
        }
        // SAFETY: not null. The caller guarantees the rest, here and below.
        unsafe { producer.write(std::ptr::null_mut()) };
        // SAFETY: as above.
        let settings = unsafe { settings.read() };
        // SAFETY: as above.
        let path = unsafe { path(channel, "channel") }?;
        // SAFETY: as above.
        let opened = Producer::open(&path, unsafe { settings.settings() }?)?;
        let boxed = Box::new(CProducer { producer: opened, settings, path });
        // SAFETY: as above.
        unsafe { producer.write(Box::into_raw(boxed)) };
        Ok(())
    })
}

/// Waits until `n_consumers` consumers have joined, for at most `wait` seconds.
///
/// # Safety
///
/// `producer` comes from `mdreel_producer_open` and is used by one thread at a time.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mdreel_producer_await(producer: *mut CProducer, n_consumers: u64, wait: f64) -> c_int {
    guarded(|| {
        // SAFETY: the caller guarantees it.
        let Some(CProducer { producer, path, .. }) = (unsafe { producer.as_ref() }) else {
            return Err(Failure::Argument("mdreel_producer_await: a null pointer".to_owned()));
        };
        let limit = seconds(wait)?;
        if n_consumers > N_CURSORS as u64 {
            let message = format!("n_consumers: a channel has at most {N_CURSORS}, got {n_consumers}");
            return Err(Failure::Argument(message));
        }
        let begin = Instant::now();
        loop {
            let n_there = producer.n_consumers()? as u64;
            if n_there >= n_consumers {
                return Ok(());
            }
            if begin.elapsed() >= limit {
                let message = format!("{n_there} of {n_consumers} consumers joined within {wait} s");
                return Err(Error::stream_timeout(message).in_file(path).into());
            }
            sleep(POLL);
        }
    })
}

/// Publishes a frame.
///
/// # Safety
///
/// `producer` comes from `mdreel_producer_open` and is used by one thread at a time. `frame` points to an `mdreel_frame` whose
/// pointers are null or point to data as the header specifies. `sequence` is null or points to a place for a number.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mdreel_producer_publish(
    producer: *mut CProducer,
    frame: *const CFrame,
    sequence: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller guarantees it.
        let (producer, frame) = match unsafe { (producer.as_mut(), frame.as_ref()) } {
            (Some(producer), Some(frame)) => (producer, frame),
            _ => return Err(Failure::Argument("mdreel_producer_publish: a null pointer".to_owned())),
        };
        let CProducer { producer, settings, .. } = producer;
        // SAFETY: the caller guarantees it.
        let sections = unsafe { frame.sections(settings.sections(), settings.section()?) }?;
        // SAFETY: the caller guarantees it.
        let moment = unsafe { frame.moment() };
        let published = producer.publish(&moment, &sections)?;
        if !sequence.is_null() {
            // SAFETY: not null. The caller guarantees the rest.
            unsafe { sequence.write(published.sequence) };
        }
        Ok(())
    })
}

/// Ends the channel and frees the producer, even if this fails.
///
/// # Safety
///
/// `producer` comes from `mdreel_producer_open` and is not used again. `reason` is null or text that ends with a zero.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mdreel_producer_end(
    producer: *mut CProducer,
    how: c_int,
    reason: *const c_char,
) -> c_int {
    guarded(|| {
        if producer.is_null() {
            return Err(Failure::Argument("mdreel_producer_end: a null pointer".to_owned()));
        }
        // SAFETY: not null. The caller guarantees the rest.
        let producer = unsafe { Box::from_raw(producer) };
        let end = match how {
            0 => End::Finished,
            1 => End::Stopped,
            2 if reason.is_null() => End::Failed(String::new()),
            // SAFETY: not null. The caller guarantees the rest.
            2 => End::Failed(unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned()),
            other => {
                let path = producer.path.display();
                return Err(Failure::Argument(format!("{path}: the end: expected 0, 1 or 2, got {other}")));
            }
        };
        producer.producer.end(&end).map_err(Failure::from)
    })
}

/// Frees the producer without an end. Its consumers report that it was lost.
///
/// # Safety
///
/// `producer` is null, or comes from `mdreel_producer_open` and is not used again.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mdreel_producer_abandon(producer: *mut CProducer) {
    guarded(|| {
        if !producer.is_null() {
            // SAFETY: not null. The caller guarantees the rest.
            drop(unsafe { Box::from_raw(producer) });
        }
        Ok(())
    });
}
