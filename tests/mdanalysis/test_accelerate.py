"""Turning it on and off."""

import logging
import subprocess
import sys
from typing import Any

import MDAnalysis as mda
import pytest
from MDAnalysis.coordinates.base import ProtoReader
from MDAnalysis.coordinates.XTC import XTCReader
from MDAnalysisTests import datafiles

import mdreel
from mdanalysis.recorded_frames import FILES, make_reader
from mdreel.errors import UnsupportedError
from mdreel.mdanalysis.reader import CoreReader

pytestmark = pytest.mark.filterwarnings(
    "ignore:DCDReader currently makes independent timesteps:DeprecationWarning",
    "ignore:Reader has no dt information:UserWarning",
    "ignore:Element information is missing:UserWarning",
)


def is_ours(reader: Any) -> bool:
    return isinstance(reader, CoreReader)


def test_accelerate_changes_readers_and_unaccelerate_changes_them_back() -> None:
    before, registered = dict(vars(type(ProtoReader))), dict(mda._READERS)
    mdreel.mdanalysis.accelerate()
    try:
        inside = {name: make_reader(path) for name, path in FILES.items()}
        by_name = XTCReader(datafiles.XTC)
    finally:
        mdreel.mdanalysis.unaccelerate()
    assert all(is_ours(reader) for reader in (*inside.values(), by_name))
    assert dict(vars(type(ProtoReader))) == before
    assert dict(mda._READERS) == registered
    outside = {name: make_reader(path) for name, path in FILES.items()}
    assert not any(is_ours(reader) for reader in outside.values())
    for name, reader in inside.items():
        assert isinstance(reader, type(outside[name]))
        assert sum(1 for _ in reader) == outside[name].n_frames, "it stays usable"


def test_accelerate_and_unaccelerate_may_be_called_twice() -> None:
    mdreel.mdanalysis.unaccelerate()
    assert not is_ours(make_reader(datafiles.XTC))
    mdreel.mdanalysis.accelerate()
    mdreel.mdanalysis.accelerate()
    assert is_ours(make_reader(datafiles.XTC))
    mdreel.mdanalysis.unaccelerate()
    assert not is_ours(make_reader(datafiles.XTC))
    mdreel.mdanalysis.unaccelerate()
    assert not is_ours(make_reader(datafiles.XTC))


def test_context_ends_with_what_was_before() -> None:
    with mdreel.mdanalysis.accelerate():
        with mdreel.mdanalysis.accelerate():
            assert is_ours(make_reader(datafiles.XTC))
        assert is_ours(make_reader(datafiles.XTC))
    assert not is_ours(make_reader(datafiles.XTC))


def test_accelerate_leaves_alone_what_others_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def theirs(cls: type, *args: Any, **kwargs: Any) -> Any:
        return type.__call__(cls, *args, **kwargs)

    monkeypatch.setattr(type(ProtoReader), "__call__", theirs, raising=False)
    with pytest.raises(UnsupportedError, match="another function already creates"):
        mdreel.mdanalysis.accelerate()
    mdreel.mdanalysis.unaccelerate()
    assert vars(type(ProtoReader))["__call__"] is theirs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {"convert_units": False}) for name in FILES),
        ("H5MD", {"driver": "core"}),
    ],
    ids=str,
)
def test_reader_of_mdanalysis_takes_what_the_core_does_not(
    accelerated: None, name: str, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mdreel.mdanalysis"):
        reader = make_reader(FILES[name], **options)
    assert type(reader).__module__.startswith("MDAnalysis.coordinates.")
    assert "MDAnalysis reads this file itself" in caplog.text
    assert sum(1 for _ in reader) == reader.n_frames
    copy = reader.copy()
    assert type(copy) is type(reader)


def test_readers_of_other_formats_stay_as_they_are(accelerated: None) -> None:
    assert not is_ours(make_reader(datafiles.PDB))
    lammps = mda.Universe(datafiles.LAMMPSdata2, datafiles.LAMMPSdcd2, format="LAMMPS", topology_format="DATA")
    assert not is_ours(lammps.trajectory), "its units are not those of DCD"


def test_import_of_mdreel_does_not_import_mdanalysis() -> None:
    code = "import sys, mdreel; assert callable(mdreel.mdanalysis.accelerate); print('MDAnalysis' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
