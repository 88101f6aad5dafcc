//! The replaced functions in the next library, which is the C library or another preloaded library.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::c::Stream;

/// A function that is looked up at its first use.
pub(crate) struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT`: the libraries after this one.
const BEHIND: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Next { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the address of the function, or null.
    pub(crate) fn get(&self) -> *mut c_void {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name ends with a zero byte.
            found = unsafe { dlsym(BEHIND, self.name.as_ptr()) };
            self.found.store(found, Ordering::Relaxed);
        }
        found
    }
}

pub(crate) type Open = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
pub(crate) type OpenAt = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
pub(crate) type Create = unsafe extern "C" fn(*const c_char, c_uint) -> c_int;
pub(crate) type OpenStream = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut Stream;
pub(crate) type OpenStreamAgain = unsafe extern "C" fn(*const c_char, *const c_char, *mut Stream) -> *mut Stream;
pub(crate) type Close = unsafe extern "C" fn(c_int) -> c_int;
pub(crate) type CloseStream = unsafe extern "C" fn(*mut Stream) -> c_int;
pub(crate) type Duplicate = unsafe extern "C" fn(c_int, c_int) -> c_int;
pub(crate) type DuplicateWith = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
pub(crate) type Rename = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
pub(crate) type RenameAt = unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char) -> c_int;
pub(crate) type RenameAtWith = unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, c_uint) -> c_int;
pub(crate) type OpenDescriptor = unsafe extern "C" fn(c_int, *const c_char) -> *mut Stream;
pub(crate) type Forgive = unsafe extern "C" fn(*mut Stream);
pub(crate) type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
pub(crate) type Exit = unsafe extern "C" fn(c_int) -> !;

/// Calls the next function with the given name and type. Evaluates to `$otherwise` if it does not exist.
macro_rules! next {
    ($name:literal as $kind:ty, ($($argument:expr),*), $otherwise:expr) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::new($name);
        let found = NEXT.get();
        if found.is_null() {
            $crate::c::set_errno($crate::c::ENOSYS);
            $otherwise
        } else {
            // SAFETY: the function has this type, and the arguments come from the program or from this library.
            unsafe {
                let function: $kind = std::mem::transmute::<*mut std::ffi::c_void, $kind>(found);
                function($($argument),*)
            }
        }
    }};
}
pub(crate) use next;

/// Opens a file for this library.
pub(crate) fn open(path: &CStr, flags: c_int, mode: u32) -> c_int {
    next!(c"open" as Open, (path.as_ptr(), flags, mode), -1)
}

/// Closes a descriptor without any further action.
pub(crate) fn close(descriptor: c_int) -> c_int {
    next!(c"close" as Close, (descriptor), -1)
}

/// Renames a file.
pub(crate) fn rename(from: &CStr, to: &CStr, flags: c_uint) -> c_int {
    let here = crate::c::AT_FDCWD;
    if flags == 0 {
        next!(c"rename" as Rename, (from.as_ptr(), to.as_ptr()), -1)
    } else {
        next!(c"renameat2" as RenameAtWith, (here, from.as_ptr(), here, to.as_ptr(), flags), -1)
    }
}

/// Writes to a descriptor.
pub(crate) fn write(descriptor: c_int, bytes: &[u8]) {
    next!(c"write" as Write, (descriptor, bytes.as_ptr().cast(), bytes.len()), -1);
}
