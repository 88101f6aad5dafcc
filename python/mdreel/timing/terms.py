"""Timing terms and their definitions, which are shown in the report and repeated in the documentation."""

from collections.abc import Mapping
from types import MappingProxyType

KINDS_OF_TIME: Mapping[str, str] = MappingProxyType(
    {
        "open": "Opening the trajectory: file, header, index and buffers.",
        "read": "Bringing bytes from storage into memory.",
        "decompress": "Turning bytes into coordinates: decompression, byte order and units.",
        "compute": "Running the analysis, or encoding frames that are written.",
        "wait": "Waiting for a block, for a frame of a stream, or for the other workers.",
        "reduce": "Merging the partial results of blocks.",
        "write": "Bringing bytes from memory into storage.",
        "communicate": "Sending results to the process that merges them.",
        "topology": "Reading the topology before the run.",
        "end of loop": "Time of a worker from the end of its last frame to the end of its loop.",
        "overheads": "Time of a worker that belongs to no other kind: merging, and gaps between the recorded spans.",
    }
)
"""Kinds of spans, and the other parts of a worker's time."""

OBSERVABLES: Mapping[str, str] = MappingProxyType(
    {
        "t_open": "Opening time, before the first frame and before each task that opens the trajectory again.",
        "t_io": "Reading frames from storage into memory, including t_decompress.",
        "t_decompress": "Decoding bytes to coordinates.",
        "t_comp": "Computation of the analysis.",
        "t_end_loop": "Time from the end of the last frame to the end of the loop.",
        "t_all_frames": (
            "Time from the first frame to the end of the loop, excluding any t_open and t_comm within this time."
        ),
        "t_block": "t_open + t_all_frames + overhead2.",
        "t_comm": "Communication, including waiting, as in the publications: t_transfer + t_comm_wait.",
        "t_transfer": "Transfer of results to the process that merges them, without waiting for other ranks.",
        "t_comm_wait": "Waiting for the other ranks at barriers after the first frame, which is part of t_comm.",
        "t_wait": "Waiting for blocks, which is part of the overheads.",
        "overhead1": "t_all_frames - t_io - t_comp - t_end_loop.",
        "overhead2": "t_block - t_all_frames - t_open.",
        "t_n": (
            "t_block + t_comm: time from the start of the first span to the end of the last span, including waiting."
        ),
        "t_idle": (
            "Waiting for the other ranks at all barriers, recorded as wait spans without a block. Before the first "
            "frame, it is part of overhead2. Afterwards, it is t_comm_wait."
        ),
        "t_own": "t_n - t_idle: the time of a rank without waiting for the other ranks.",
    }
)
"""Observables as defined in the papers, with the same wording as in `Observables`."""

TERMS: Mapping[str, str] = MappingProxyType(
    {
        "worker": "A thread, a process or an MPI rank that reads and analyses blocks. The papers call it a rank.",
        "caller": "The thread that plans the run, hands out blocks and merges their results.",
        "block": "A range of frames: the unit of work that a worker receives.",
        "span": "A recorded interval of a worker: kind, block, start, stop, frames and bytes.",
        "time of the run": "Time from the start of the run to its end, without the loading of the topology before it.",
        "bottleneck": "The kind of time with the largest share of the run.",
        "straggler": "A worker that takes more than 1.5 times the median of all workers.",
        "late block": "A block that takes more than 1.5 times the median of all blocks.",
        "median": "The value in the middle: half of all values are at most as large.",
        "read rate": "Bytes read from storage divided by the time of the run.",
        "memory": "Upper limit of the anonymous memory of all processes together.",
        "task stream": "What each worker did over time.",
        "throughput": "Bytes read and frames analysed per second, over time.",
        "storage": "The device or the server that holds the trajectory; its rate was measured after the run.",
        "page cache": "Memory in which the operating system keeps the contents of files that were read before.",
        "memory rate": "Bytes per second that the machine copies within its memory, measured after the run.",
        "stripes": "The parts into which a parallel file system distributes a file over its servers.",
        **KINDS_OF_TIME,
        **OBSERVABLES,
        "t_total": (
            "Wall time of the parallel part: from the start of the first worker to the end of the run, waiting and "
            "merging included."
        ),
        "R_comp/io": "The sum of t_comp of all workers divided by the sum of their t_io.",
        "R_comp/comm": "The mean of t_comp divided by the mean of t_comm, waiting included, as published.",
        "R_comp/transfer": "The mean of t_comp divided by the mean of t_transfer: R_comp/comm without waiting.",
        "E(N)": "Efficiency on N workers: the time of a serial run divided by N times t_total.",
    }
)
"""All terms that are explained in the report."""
