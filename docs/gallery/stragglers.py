"""Stragglers.

Each bar shows the time of one of four workers with a static schedule. The function is
slow in the last quarter of the trajectory, so one worker takes more than 1.5 times the
median, which is shown as a dashed line. With the default schedule, the other workers
would take over part of its work.
"""

import time

import matplotlib.pyplot as plt
import MDAnalysis as mda
import numpy as np
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel


def slow_at_the_end(positions, frame):
    """Return the extent of the protein; take longer for late frames."""
    time.sleep(0.02 if frame > 73 else 0.005)
    return np.ptp(positions)


protein = mda.Universe(PSF, DCD).select_atoms("protein")
executor = mdreel.Threads(4, schedule="static")
run = mdreel.from_function(slow_at_the_end, protein).run(backend=executor)
seconds = run.timing.observables.t_n
limit = 1.5 * np.median(seconds)
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
axes.bar(range(4), seconds, color=np.where(seconds > limit, "tab:red", "tab:blue"))
axes.axhline(limit, color="black", linestyle="--")
axes.set(xlabel="Worker", ylabel="Time (s)", xticks=range(4))
figure.savefig("stragglers.png", dpi=150)
