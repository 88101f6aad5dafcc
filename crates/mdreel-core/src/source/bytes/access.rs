//! Ways to access the bytes of a file.

use std::fs::File;

/// The way in which bytes come from a file into the memory of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// A memory map if that is worthwhile and safe (on a local file system), otherwise positioned reads.
    #[default]
    Auto,
    /// A memory map. If the operating system refuses it, positioned reads are used.
    Map,
    /// Positioned reads (`pread`) into a buffer that is reused.
    Read,
}

/// Returns whether `file` lies on a file system whose pages are cached only in the page cache of this machine.
///
/// The list contains file systems known to be local instead of those known to be remote, because an unknown parallel
/// file system must not be mapped. Network and FUSE file systems are excluded: a map reads them page by page and turns
/// every lost connection into a signal. ZFS is excluded because it copies mapped pages into a second cache. The numbers
/// are from `include/uapi/linux/magic.h` of Linux, and from the headers of file systems maintained outside Linux.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(in crate::source) fn is_local(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    const LOCAL: [u32; 17] = [
        0x0000_ef53, // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0xca45_1a4e, // bcachefs
        0xf2f5_2010, // F2FS
        0x3153_464a, // JFS
        0x5265_4973, // ReiserFS
        0x0000_3434, // NILFS
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
        0x794c_7630, // overlayfs: containers
        0x7371_7368, // SquashFS: container images
        0xe0f5_e1e2, // EROFS
        0x0000_9660, // ISO 9660
        0x0000_4d44, // FAT
        0x2011_bab0, // exFAT
        0x7366_746e, // NTFS (ntfs3)
    ];
    // SAFETY: an all-zero statfs is a valid value of that plain C structure.
    let mut facts: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and `facts` is writable.
    let answer = unsafe { libc::fstatfs(file.as_raw_fd(), &mut facts) };
    // The type of the field differs between architectures; the numbers are 32 bits wide on all of them.
    answer == 0 && LOCAL.contains(&(facts.f_type as u32))
}

/// Returns whether `file` lies on a file system that the operating system calls local.
#[cfg(target_vendor = "apple")]
pub(in crate::source) fn is_local(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    // SAFETY: an all-zero statfs is a valid value of that plain C structure.
    let mut facts: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and `facts` is writable.
    let answer = unsafe { libc::fstatfs(file.as_raw_fd(), &mut facts) };
    answer == 0 && facts.f_flags & libc::MNT_LOCAL as u32 != 0
}

/// Returns `false`: other systems have no common interface for their mounts.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(in crate::source) fn is_local(_file: &File) -> bool {
    false
}
