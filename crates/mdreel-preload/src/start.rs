//! Start and end of the program.

use std::ffi::{c_int, c_void};

use crate::c;
use crate::close;
use crate::names::Part;
use crate::parts::Written;
use crate::place::{read_settings, settings, split};
use crate::text::Text;

/// Number of descriptors to check for inherited files. Most launchers close the descriptors above it.
const MOST_INHERITED: c_int = 64;

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    read_settings();
    if settings().is_some() {
        inherit();
        c::at_exit(exit);
    }
}

/// Finds inherited files that the program can write, such as the standard output from a shell.
fn inherit() {
    let Some(settings) = settings() else { return };
    c::keeping_errno(|| {
        for descriptor in 0..MOST_INHERITED {
            let Ok(facts) = c::facts_of_open(descriptor) else { continue };
            if !facts.is_file() || facts.n_links == 0 {
                continue;
            }
            let number = [b'0' + (descriptor / 10) as u8, b'0' + (descriptor % 10) as u8];
            let link = Text::of(&[b"/proc/self/fd/", &number[usize::from(descriptor < 10)..]]);
            let mut room = [0; 4095];
            let length = c::target_of(link.path(), &mut room);
            let (parent, hidden) = split(&room[..length]);
            let Some(part) = Part::read(hidden) else { continue };
            let identity = c::facts_at(c::AT_FDCWD, Text::of(&[parent]).path()).map(|facts| facts.identity);
            let Some(directory) = identity.ok().and_then(|identity| settings.number_of(identity)) else { continue };
            // Other descriptors than the standard ones were usually left open by mistake, unless this process opened them before
            // `exec`.
            if descriptor <= 2 || part.process == c::process() {
                close::inherit(descriptor, Written::of(facts.identity, directory, &part), facts);
            }
        }
    });
}

/// Concludes all files at the end of the program, just before the C library flushes its streams.
extern "C" fn exit(status: c_int, _: *mut c_void) {
    let is_flushed = crate::parts::any() && c::flush_all();
    close::end(status == 0, is_flushed);
}
