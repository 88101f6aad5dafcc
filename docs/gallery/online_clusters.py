"""Clusters of a stream of frames.

Another process publishes the frames of a trajectory one after the other, as a
simulation does. A frame joins the cluster of the nearest first frame if their RMSD is
at most 1.5 Å. Otherwise, it starts a new cluster. Clusters are numbered in the order in
which they appear, and the results so far are known while the simulation runs.
"""

import subprocess
import sys

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.analysis import OnlineClustering

command = f"{sys.executable} -m mdreel.cli produce {DCD} --channel ./adk --consumers 1"
with subprocess.Popen(command.split(), stdout=subprocess.DEVNULL):
    u, stream = mda.Universe(PSF), mdreel.live.channel("./adk", wait=60)
    run = OnlineClustering(u, "protein and name CA", cutoff=1.5, trajectory=stream)
    for _ in mdreel.live.stream_results([run], every=1):
        print(f"{run.n_frames} frames, {run.n_clusters} clusters")
figure = run.plot(title="Clusters of a stream of frames")
figure.savefig("online_clusters.png")
