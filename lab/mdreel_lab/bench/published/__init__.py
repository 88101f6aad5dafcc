"""RMSD with MDAnalysis on MPI ranks and Dask workers, as Khoshlessan et al. (2017, 2018, 2019) describe it.

The programs are written from the algorithms of the papers. They record the same spans as mdreel, so that the same
tables and figures show both.
"""
