//! Formatted writes to a descriptor (`dprintf`). The C library makes them without a function that could be replaced, so this module
//! replaces `dprintf` itself.
//!
//! Stable Rust cannot define variadic functions. A few instructions store the arguments in a `va_list`, as the calling convention
//! of the processor defines it, and call the functions that take one.

use std::ffi::{c_char, c_int, c_void};

use crate::failures::noting_success;
use crate::next::next;

/// Records the outcome, which is a number of bytes or negative.
fn noted(to: c_int, outcome: c_int) -> c_int {
    noting_success(to, outcome)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn vdprintf(to: c_int, format: *const c_char, arguments: *mut c_void) -> c_int {
    type Next = unsafe extern "C" fn(c_int, *const c_char, *mut c_void) -> c_int;
    noted(to, next!(c"vdprintf" as Next, (to, format, arguments), -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __vdprintf_chk(to: c_int, flag: c_int, format: *const c_char, arguments: *mut c_void) -> c_int {
    type Next = unsafe extern "C" fn(c_int, c_int, *const c_char, *mut c_void) -> c_int;
    noted(to, next!(c"__vdprintf_chk" as Next, (to, flag, format, arguments), -1))
}

/// Stores the arguments after the first `$named` ones in a `va_list` and calls `$next`.
macro_rules! takes_any {
    ($($name:ident, $named:literal named, to $next:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            // `va_list` at 0: two offsets into the saved registers, then pointers to the arguments on the stack and to the saved
            // registers. The saved registers at 32: six of integers, and eight of vectors if `al` is not 0.
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                "sub rsp, 216",
                "mov [rsp + 32], rdi",
                "mov [rsp + 40], rsi",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "test al, al",
                "je 2f",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                "2:",
                "mov dword ptr [rsp], 8 * {named}",
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                // The `va_list` follows the named arguments.
                ".if {named} == 2",
                "mov rdx, rsp",
                ".else",
                "mov rcx, rsp",
                ".endif",
                "call {next}",
                "add rsp, 216",
                "ret",
                named = const $named,
                next = sym $next,
            );
            // `va_list` at 16: pointers to the arguments on the stack and to the ends of the saved registers, and the offsets of
            // the next arguments from these ends. Integers at 48, vectors at 112.
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-240]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #48]",
                "stp x2, x3, [sp, #64]",
                "stp x4, x5, [sp, #80]",
                "stp x6, x7, [sp, #96]",
                "stp q0, q1, [sp, #112]",
                "stp q2, q3, [sp, #144]",
                "stp q4, q5, [sp, #176]",
                "stp q6, q7, [sp, #208]",
                "add x9, sp, #240",
                "str x9, [sp, #16]",
                "add x9, sp, #112",
                "str x9, [sp, #24]",
                "add x9, sp, #240",
                "str x9, [sp, #32]",
                "mov w9, #-(64 - 8 * {named})",
                "str w9, [sp, #40]",
                "mov w9, #-128",
                "str w9, [sp, #44]",
                ".if {named} == 2",
                "add x2, sp, #16",
                ".else",
                "add x3, sp, #16",
                ".endif",
                "bl {next}",
                "ldp x29, x30, [sp], #240",
                "ret",
                named = const $named,
                next = sym $next,
            );
        }
    )*};
}

takes_any! {
    dprintf, 2 named, to vdprintf;
    __dprintf_chk, 3 named, to __vdprintf_chk;
}
