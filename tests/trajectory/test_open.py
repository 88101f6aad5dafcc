"""Opening files: by content, and with errors that say what was found."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mdreel.errors import FormatError, MismatchError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory
from privilege import without_privilege


def test_open_goes_by_content_not_by_ending(tmp_path: Path, adk_dcd: Path, adk_xtc: Path) -> None:
    for path, format_ in ((adk_dcd, "DCD"), (adk_xtc, "XTC")):
        disguised = tmp_path / f"{format_}.pdb"
        disguised.symlink_to(path)
        assert open_trajectory(disguised).format == format_


def test_open_describes_every_file(adk_dcd: Path, adk_xtc: Path) -> None:
    xtc, dcd = open_trajectory([adk_xtc, str(adk_dcd)]).describe()
    assert (xtc["format"], xtc["magic"], xtc["precision"], xtc["path"]) == ("XTC", 1995, 1000.0, str(adk_xtc))
    assert (dcd["format"], dcd["byte order"], dcd["fixed atoms"]) == ("DCD", "little-endian", 0)
    assert dcd["size"] == adk_dcd.stat().st_size


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "the file is empty"),
        (b"ATOM      1  N   MET", 'text that begins with "ATOM'),
        (b"\x89HDF\r\n\x1a\n", "HDF5 cannot read the file"),
        (b"CDF\x03\0\0\0\0", "a NetCDF file of an unknown version"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "a file compressed with gzip"),
        (b"\0\0\x07\xc9\0\0\0\x0d", "run.xtc, frame 0, byte 8: the first frame is torn"),
        (b"\x01\x02", "bytes 01 02"),
    ],
)
def test_open_says_what_it_found_when_it_is_no_trajectory(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "run.xtc"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        open_trajectory(path)
    assert found in str(caught.value)
    assert str(path) in str(caught.value)


def test_open_obeys_the_format_that_is_asked_for(adk_dcd: Path) -> None:
    with pytest.raises(FormatError, match="adk_dims"):
        open_trajectory(adk_dcd, format="XTC")


@pytest.mark.parametrize("options", [{"format": "PDBX"}, {"access": "http"}, {"index": "there"}])
def test_open_names_what_is_known_when_an_option_is_not(adk_dcd: Path, options: dict[str, str]) -> None:
    with pytest.raises(UnsupportedError, match="known: "):
        open_trajectory(adk_dcd, **options)


def test_open_refuses_no_files() -> None:
    with pytest.raises(MismatchError, match="at least one"):
        open_trajectory([])


def test_open_refuses_files_of_different_atoms(adk_dcd: Path) -> None:
    from MDAnalysisTests.datafiles import XTC

    with pytest.raises(MismatchError, match=r"3341 atoms.*47681"):
        open_trajectory([adk_dcd, XTC])


def test_open_keeps_the_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        open_trajectory(tmp_path / "missing.xtc")
    assert missing.value.filename == str(tmp_path / "missing.xtc")
    with pytest.raises(IsADirectoryError):
        open_trajectory(tmp_path)


def test_open_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xtc")
    with pytest.raises(UnsupportedError, match=r"pipe\.xtc: .*not a regular file"):
        open_trajectory(tmp_path / "pipe.xtc")


def test_open_says_that_a_file_may_not_be_read() -> None:
    with TemporaryDirectory() as folder:  # pytest's own directories are closed to others
        Path(folder).chmod(0o755)
        path = Path(folder, "secret.xtc")
        path.touch(mode=0)
        with without_privilege(), pytest.raises(PermissionError) as caught:
            open_trajectory(path)
        assert caught.value.filename == str(path)
