"""The names that the root package exports."""

from types import ModuleType

import mdreel
from mdreel import errors

MOST_NAMES = 40
"""Names of the root beside errors and warnings; a new one moves another into the package that it belongs to."""


def test_root_exports_few_names() -> None:
    assert len(mdreel.__all__) <= MOST_NAMES


def test_root_has_all_errors_and_warnings_that_users_catch() -> None:
    assert {name: getattr(mdreel, name) for name in dir(errors)} == {
        name: getattr(errors, name) for name in dir(errors)
    }


def test_names_of_the_root_have_no_second_home_among_packages() -> None:
    packages = [one for name in mdreel.__all__ if isinstance(one := getattr(mdreel, name), ModuleType)]
    twice = {name for one in packages for name in getattr(one, "__all__", ()) if name in mdreel.__all__}
    assert twice <= {"open", "read"}, "which reading begins with, and which `mdreel.trajectory` lists too"
