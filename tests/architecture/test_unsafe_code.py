"""Safe functions with unsafe code: each has been judged sound for any input that safe code can give it.

A function whose soundness rests on what its caller does must check that, or be `unsafe`. A new safe function with an
`unsafe` block belongs into `SOUND`, with the reason why no input makes it unsound.
"""

import re
from collections.abc import Iterator

import pytest

from architecture.checkout import ROOT, tracked_files
from architecture.rust_imports import rust_code

SIMD = "the type is private, and only the entry of its instruction set, behind a level that was detected, is given it"
MAPPED = "the memory is the value's own, and is unmapped when the value goes, which nothing borrows then"
DESCRIPTOR = "a system call with an open descriptor and numbers, which touches no memory of ours"
CALL = "a system call with numbers, or with room as large as it is told"
PROGRAM = (
    "internal to a library that no Rust code calls: pointers are those that a program has given to the C function of "
    "that name, whose contract it must keep with the C library anyway"
)

XXH3 = {
    "keep load load_bytes store": "arrays are as long as the vectors",
    "secret": "private; its places are constants within the secret",
}
# For each file: names of functions, and why they are sound.
SOUND: dict[str, dict[str, str]] = {
    "mdreel-channel/src/consumer.rs": {
        "bytes": "the position is borrowed by this consumer, and given back by `&mut self` only"
    },
    "mdreel-channel/src/fork.rs": {
        "register in_child": "handlers are functions that stay, and descriptors are the process's own",
        "is_to_be_tried_again": "the address of this thread's own error number",
    },
    "mdreel-channel/src/futex.rs": {"wake wait": "the word is borrowed for the call, which only reads it"},
    "mdreel-channel/src/held.rs": {
        "bytes": "the position is held until the value is dropped, which the slice cannot outlive"
    },
    "mdreel-channel/src/layout/hasher/avx2.rs": XXH3,
    "mdreel-channel/src/layout/hasher/avx512.rs": XXH3,
    "mdreel-channel/src/layout/hasher/long.rs": {
        "take": "a kernel is chosen only where its instructions were detected"
    },
    "mdreel-channel/src/lock.rs": {"control": "the kernel writes to a structure of the right size at most"},
    "mdreel-channel/src/mapping.rs": {
        "new": "the kernel chooses the address, and the length is checked against the file",
        "populate drop": MAPPED,
        "is_resident make_writable pages": "the range is asserted to lie in the mapping, and no byte changes",
        "page_size": "the call reads a constant of the system",
        "values": "bounds and alignment are asserted, and only types that may hold any bytes are `Shared`",
    },
    "mdreel-channel/src/producer.rs": {
        "count_on publish_late": "slots are claimed before they are written; there is one producer, by a lock"
    },
    "mdreel-channel/src/producer/relay.rs": {
        "last relay": "as of the producer: the claim is looked at again before each piece"
    },
    "mdreel-channel/src/producer/staged.rs": {"write": "called by `put` alone, which has claimed the slot"},
    "mdreel-channel/src/ring_file.rs": {
        "create": "the file has no name yet: nobody else maps it",
        "restore": "no process reads the bytes in a slot whose head refers to a segment",
    },
    "mdreel-channel/src/staging/in_place.rs": {
        "write_in_place": "no slot refers to the bytes after the last record of the newest segment"
    },
    "mdreel-core/src/large_pages.rs": {"ask_for": "advice to the kernel, which changes no byte"},
    "mdreel-core/src/simd.rs": {"run": "a level can only be detected"},
    "mdreel-core/src/simd/aarch64.rs": {
        "splat load widen add sub mul mul_add above sum": SIMD,
        "zero steps add_products store": SIMD,
    },
    "mdreel-core/src/simd/x86_64.rs": {
        "splat load widen add sub mul mul_add above sum sum_of_four": SIMD,
        "zero steps add_products store": SIMD,
    },
    "mdreel-core/src/source/bytes/access.rs": {"is_local": "the kernel writes to a structure of the right size"},
    "mdreel-core/src/source/bytes/bus_error.rs": {
        "is_handled install replace": "structures of the C library, filled by it",
        "on_bus_error pass_on errno_place": "called by the kernel with valid pointers; does what a handler may do",
    },
    "mdreel-core/src/source/bytes/map.rs": {
        "new": "the kernel chooses the address; the guard is there before anything is read",
        "bytes drop expect_order": MAPPED,
        "populate release": "the range is cut to the map",
    },
    "mdreel-core/src/source/bytes/open_files.rs": {"for_files": CALL},
    "mdreel-core/src/source/bytes/prefetch.rs": {"prefetch": "a hint, which reads nothing, wherever the address is"},
    "mdreel-core/src/source/bytes/read_ahead.rs": {"expect_order ask in_memory": DESCRIPTOR},
    "mdreel-core/src/source/interleaved.rs": {"copy_run": "a level can only be detected; what it calls is safe code"},
    "mdreel-core/src/source/read.rs": {
        "append": "lengths are asserted, and all numbers are written before the length is set"
    },
    "mdreel-core/src/source/xtc/control.rs": {
        "distance of_group": "private; called with atoms before the limit, up to which there are bits by `Wanted::new`",
    },
    "mdreel-core/src/source/xtc/control/walk.rs": {
        "walk": "a level can only be detected; frames were checked by `Walks::begin`, atoms by `Wanted::new`",
        "walk_four": "private; bits stay within the frame that `Walks::begin` has checked, counts within CHUNK",
    },
    "mdreel-core/src/source/xtc/control/skip.rs": {
        "walk_past": "private; `strides_ahead` has made sure of the bytes, and states are those of the table"
    },
    "mdreel-core/src/source/xtc/control/avx512.rs": {"walk_vectors": "private; as `walk_four`"},
    "mdreel-core/src/source/xtc/decode.rs": {
        "decode": "groups are those that the walk over the same frame has found just now"
    },
    "mdreel-core/src/source/xtc/gather/avx2.rs": {
        "unpack place words": "private; called by the unsafe `gather` alone, which has cut the groups to a chunk"
    },
    "mdreel-core/src/source/xtc/gather/avx2/packed.rs": {
        "fields broadcast": "loads from arrays as long as the vectors"
    },
    "mdreel-core/src/source/xtc/gather/avx512.rs": {
        "list sum_smalls unpack_bigs finish": "private; called by the unsafe `gather` alone"
    },
    "mdreel-core/src/source/xtc/gather/avx512/rows.rs": {
        "to_columns": "called by the unsafe `gather` alone, which has checked the columns"
    },
    "mdreel-core/src/source/xtc/gather/avx512/whole.rs": {
        "finish_whole": "called by the unsafe `gather` alone, which has checked the columns"
    },
    "mdreel-core/src/writer/xtc/integers.rs": {
        "round": "numbers are looked at by the same expression before they are cast"
    },
    "mdreel-preload/src/c.rs": {
        "errno set_errno": "the address of this thread's own error number",
        "facts lock_as_writer lock_as_last unlock is_locked set_mode read_start target_of notices_of sleep": CALL,
        "is_interruptible process flush_all at_exit": CALL,
        "has_failed_standard": "the standard streams of the C library, which stay",
        "variable": "called once, before the program begins; the environment must not change meanwhile",
        "descriptor_of has_failed flush": PROGRAM,
    },
    "mdreel-preload/src/intercept.rs": {"rename_unseen": PROGRAM},
    "mdreel-preload/src/next.rs": {"get": "the name ends with a zero, by its type"},
    "mdreel-preload/src/open.rs": {"opened": PROGRAM},
    "mdreel-preload/src/parts.rs": {"add with": "a slot is touched only by who has taken it"},
    "mdreel-preload/src/path_calls.rs": {"written": PROGRAM},
    "mdreel-preload/src/streams.rs": {"open open_again": PROGRAM},
    "mdreel-preload/src/writes.rs": {"total": PROGRAM},
    "mdreel-py/src/allocator.rs": {"keep_freed_memory return_freed_memory": "numbers for the C library's allocator"},
}

FUNCTION = re.compile(
    r"(?P<qualifiers>(?:pub(?:\([^)]*\))?\s+)?(?:const\s+)?(?:unsafe\s+)?(?:extern\s+\"C\"\s+)?)\bfn\s+(?P<name>\w+)"
)


def opening(text: str, start: int) -> int | None:
    """Where the body of a function begins whose head goes on from `start`; None for one that has none."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[i], 0)
        if depth == 0 and text[i] in "{;":
            return i if text[i] == "{" else None
    return None


def safe_with_unsafe(text: str) -> Iterator[str]:
    """Names of the safe functions in Rust code that have an `unsafe` block."""
    text = rust_code(text)
    for match in FUNCTION.finditer(text):
        start = opening(text, match.end())
        if start is None or "unsafe" in match["qualifiers"]:
            continue
        depth, end = 1, start + 1
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if re.search(r"\bunsafe\s*\{", text[start:end]):
            yield match["name"]


def found() -> dict[str, set[str]]:
    """For each file of the crates the safe functions with unsafe code."""
    crates = ROOT / "crates"
    files = [path for path in tracked_files() if path.suffix == ".rs" and path.is_relative_to(crates)]
    sources = [
        path
        for path in files
        if path.relative_to(crates).parts[1] == "src" and "tests" not in path.stem and "tests" not in path.parts
    ]
    named = {
        path.relative_to(crates).as_posix(): set(safe_with_unsafe(path.read_text(encoding="utf-8"))) for path in sources
    }
    return {path: names for path, names in named.items() if names}


def test_safe_functions_with_unsafe_code_are_judged() -> None:
    judged = {path: {name for names in reasons for name in names.split()} for path, reasons in SOUND.items()}
    assert found() == judged
    assert all(reason for reasons in SOUND.values() for reason in reasons.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pub fn one(at: usize) { x(); unsafe { y(at) } }", ["one"]),
        ("fn one() -> [u8; 2] {\n    if z { unsafe {\n y() } }\n}\nfn two() {}", ["one"]),
        ("pub unsafe fn one() { unsafe { y() } }", []),
        ('extern "C" fn one() { unsafe { y() } }', ["one"]),
        ("pub(crate) const fn one() {} // unsafe { y() }\nunsafe impl A for B {}", []),
        ("trait A { fn one(); }\nimpl A for B { fn one() { let f = || unsafe { y() }; } }", ["one"]),
        ("fn one() {}\n#[cfg(test)]\nmod tests {\nfn two() { unsafe { y() } }\n}", []),
    ],
)
def test_search_finds_safe_functions_with_unsafe_code(text: str, expected: list[str]) -> None:
    assert list(safe_with_unsafe(text)) == expected
