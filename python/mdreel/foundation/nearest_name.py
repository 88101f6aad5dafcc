"""The name that a user probably meant when the given name is unknown."""

from collections.abc import Collection, Sequence

_ATOMS = ("atomgroup", "universe", "mobile", "atoms", "u", "g1", "atomgroups", "ags", "chains", "segments", "ag")
_GROUP = ("atomgroup", "atoms", "g1", "chains")
_SELECTION = ("select", "selection", "selections", "sel", "select_atoms", "selection_string", "mask")

_SYNONYMS: tuple[tuple[str, ...], ...] = (
    (
        *("superposition", "align", "superpose", "superimpose", "superimposition", "alignment", "aligned", "fit"),
        *("fitting", "fitted", "superposed", "rotation"),
    ),
    _SELECTION,
    ("groupselections", "group_selections", "groups", "group"),
    (*_ATOMS, "group", "system", "molecule"),
    ("other", "g2", "atomgroup2", "group2"),
    ("reference", "ref", "reference_structure", "ref_structure", "native", "refgroup"),
    ("ref_frame", "reference_frame", "frame"),
    ("weights", "mass_weighted", "massweighted", "masses", "mass"),
    ("n_components", "components", "ncomponents", "n_pcs", "n_modes", "n_eigenvectors"),
    ("cutoff", "radius", "d_a_cutoff", "rmax", "r_max", "max_distance", "distance", "probe_radius"),
    ("range", "rmax", "r_max", "r_range"),
    ("d_h_a_angle_cutoff", "angle", "angle_cutoff"),
    ("nbins", "bins", "n_bins"),
    ("delta", "binsize", "bin_size", "bin_width", "binwidth", "spacing", "grid_spacing", "resolution"),
    ("n_sphere_points", "points", "n_points"),
    ("max_lag", "tau_max", "lag", "lags", "max_tau"),
    ("pbc", "periodic", "minimum_image", "box"),
    ("filename", "path", "output", "outfile", "output_file", "file"),
    ("force", "overwrite", "replace"),
    ("verbose", "progress", "progressbar", "show_progress"),
    ("trajectory", "traj", "trajectories", "trajectory_file"),
    ("transformations", "transforms", "transform"),
    ("start", "begin", "first", "first_frame"),
    ("stop", "end", "last", "last_frame"),
    ("step", "stride", "every", "skip"),
    ("n_workers", "workers", "n_jobs", "n_threads", "threads", "nt", "n_cores", "cores", "n_processes", "num_workers"),
    ("backend", "executor", "engine"),
)
"""Words that programs of the field use for the same setting."""


def nearest_name(given: str, names: Collection[str]) -> str | None:
    """Return the known name that an unknown name probably stands for, or None if there is no such name.

    Synonyms are preferred to a similar spelling, so that ``align`` suggests ``superposition``.

    Parameters
    ----------
    given : str
        The unknown name.
    names : collection of str
        The known names. Hyphens and underscores are the same.

    Examples
    --------
    >>> from mdreel.foundation.nearest_name import nearest_name
    >>> nearest_name("align", ["select", "superposition"])
    'superposition'
    >>> nearest_name("selct", ["select", "superposition"])
    'select'
    """
    return synonym(given, names) or similar_name(given, names) or _synonym_of_a_word(given, names)


def did_you_mean(given: str, names: Collection[str]) -> str:
    """Return the end of a message that suggests the nearest name. It is empty if there is no such name."""
    found = nearest_name(given, names)
    return "" if found is None else f"; did you mean {found!r}?"


def unknown_name(given: str, names: Collection[str], what: str = "name") -> str:
    """Return the message about an unknown name in a file, with the known names and the nearest one.

    Examples
    --------
    >>> from mdreel.foundation.nearest_name import unknown_name
    >>> unknown_name("steps", ["start", "step"])
    "unknown name 'steps'; known: start, step; did you mean 'step'?"
    """
    return f"unknown {what} {given!r}; known: {', '.join(names)}{did_you_mean(given, names)}"


def synonym(given: str, names: Collection[str]) -> str | None:
    """Return the known name that is spelt differently or that means the same as an unknown name, or None."""
    plain = {_plain(name): name for name in names}
    word = _plain(given)
    if word in plain:
        return plain[word]
    for words in _SYNONYMS:
        known = [_plain(one) for one in words]
        if word in known:
            found = next((plain[one] for one in known if one in plain), None)
            if found is not None:
                return found
    return None


def similar_name(given: str, names: Collection[str]) -> str | None:
    """Return the known name with the most similar spelling, or None if no name is similar."""
    from difflib import get_close_matches  # rarely needed

    lower = {name.lower(): name for name in names}
    close = get_close_matches(given.lower(), lower, 1)
    return lower[close[0]] if close else None


def is_selection(given: str) -> bool:
    """Return whether a name stands for a selection string."""
    return given.lower() in _SELECTION


def group_name(names: Sequence[str]) -> str | None:
    """Return the parameter that receives a group of atoms, or None if there is no such parameter."""
    return next((name for name in names if name in _GROUP), None)


def _synonym_of_a_word(given: str, names: Collection[str]) -> str | None:
    """Return the synonym of one of the words of a name, such as ``superposition`` for ``do_align``."""
    words = given.lower().replace("-", "_").split("_")
    return next((found for one in words if len(one) > 2 and (found := synonym(one, names))), None)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
