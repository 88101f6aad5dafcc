/* The producer of a channel of mdreel: frames of a running simulation, for analyses on the same node.
 *
 *     mdreel_settings settings = MDREEL_SETTINGS;
 *     settings.n_atoms = n_atoms;
 *     mdreel_producer *producer;
 *     if (mdreel_producer_open("/dev/shm/mdreel-1000/run1", &settings, &producer) != MDREEL_OK)
 *         fprintf(stderr, "%s\n", mdreel_last_error());
 *     ...
 *     mdreel_frame frame = {.step = step, .time = time, .box = box, .positions = positions};
 *     mdreel_producer_publish(producer, &frame, NULL);
 *     ...
 *     mdreel_producer_end(producer, MDREEL_FINISHED, NULL);
 *
 * Units: angstrom, ps, angstrom/ps, kJ/(mol angstrom). Linux, on processors that store the lowest byte of a number first.
 *
 * Each function that returns an int returns MDREEL_OK, or one of the other numbers below and leaves a message for
 * mdreel_last_error. A producer may be used by any thread, but by one at a time. A process that is forked cannot use the producer of
 * its parent.
 */
#ifndef MDREEL_CHANNEL_H
#define MDREEL_CHANNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MDREEL_OK = 0,
    MDREEL_ARGUMENT = 1,    /* a null pointer, or a number that names nothing */
    MDREEL_SYSTEM = 2,      /* the operating system has refused: a full disk, a missing directory, no permission */
    MDREEL_FORMAT = 3,      /* a file is not what it should be */
    MDREEL_MISMATCH = 4,    /* the channel was opened with other settings, or a step is not greater than the one before */
    MDREEL_UNSUPPORTED = 5, /* valid, but not supported */
    MDREEL_STREAM = 6,      /* the channel has a running producer, or belongs to the parent of this process */
    MDREEL_TIMEOUT = 7,     /* the ring stayed full for too long; the frame was not published, and may be tried again */
    MDREEL_OTHER = 8,
    MDREEL_INTERNAL = 9     /* a mistake in mdreel */
};

/* What frames have; settings.sections is a sum of these. */
enum { MDREEL_POSITIONS = 1, MDREEL_VELOCITIES = 2, MDREEL_FORCES = 4 };

/* As which numbers. */
enum { MDREEL_FLOAT32 = 1, MDREEL_FLOAT64 = 2 };

/* What happens when the ring is full. */
enum {
    MDREEL_BLOCK = 0,      /* wait for the slowest consumer */
    MDREEL_DROP_OLDEST = 1 /* never wait: overwrite the oldest frame that no consumer is reading */
};

/* What a published frame survives. */
enum {
    MDREEL_RING = 0, /* the death of any process */
    MDREEL_FILE = 1, /* the death of all processes: it is written to a file before it is published */
    MDREEL_FSYNC = 2 /* the death of the machine: the file is written to the disk */
};

/* How a simulation ended. */
enum { MDREEL_FINISHED = 0, MDREEL_STOPPED = 1, MDREEL_FAILED = 2 };

typedef struct mdreel_producer mdreel_producer;

typedef struct mdreel_settings {
    uint64_t size;             /* sizeof(mdreel_settings), by which the library knows this header */
    uint64_t n_atoms;
    uint64_t stream;           /* a number for the simulation */
    uint8_t topology_hash[32]; /* by which an analysis knows that its topology is the same; or zeros */
    double time_step;          /* ps */
    uint64_t stride;           /* steps from frame to frame */
    uint32_t sections;
    uint32_t data_type;
    uint64_t n_slots;          /* frames that the ring holds; at least 2 */
    uint32_t policy;
    uint32_t durability;
    double wait;               /* seconds, at most, for room in the ring; at most 1e9 */
    int64_t resume_step;       /* the first step that will be published: that of the checkpoint, when a simulation goes on */
    const char *staging;       /* the directory of the files, on a disk of the node; NULL with MDREEL_RING */
    uint64_t retention;        /* bytes that are kept in these files, about; 0 for all */
} mdreel_settings;

/* Positions as float32, a ring of 16 frames, wait for an hour. The number of atoms has to be filled in. */
#ifdef __cplusplus
#define MDREEL_SETTINGS                                                                                                      \
    mdreel_settings { sizeof(mdreel_settings), 0, 0, {}, 0.0, 1, MDREEL_POSITIONS, MDREEL_FLOAT32, 16, 0, 0, 3600.0, 0, 0, 0 }
#else
#define MDREEL_SETTINGS                                                                                                      \
    (mdreel_settings) {                                                                                                      \
        .size = sizeof(mdreel_settings), .stride = 1, .sections = MDREEL_POSITIONS, .data_type = MDREEL_FLOAT32,             \
        .n_slots = 16, .wait = 3600.0                                                                                        \
    }
#endif

/* A frame. Each array has 3 numbers for each atom (x, y, z), as settings.data_type says, and is read during the call only. What is NULL
 * is not in the frame. */
typedef struct mdreel_frame {
    int64_t step;           /* greater than that of the frame before */
    double time;            /* ps */
    const double *box;      /* the 3 row vectors of the cell, 9 numbers; NULL without a cell */
    const void *positions;
    const void *velocities;
    const void *forces;
} mdreel_frame;

/* Opens a channel: a directory, which is made if it is not there, and whose parent is. Best on /dev/shm. Of a channel whose producer has
 * died or has ended it, this begins the next epoch. When it fails, *producer is NULL. */
int mdreel_producer_open(const char *channel, const mdreel_settings *settings, mdreel_producer **producer);

/* Waits until so many consumers have joined, so that they get the first frame; for at most so many seconds, up to 1e9. Returns
 * MDREEL_TIMEOUT if fewer have joined by then. The channel stays open. */
int mdreel_producer_await(mdreel_producer *producer, uint64_t n_consumers, double wait);

/* Publishes a frame. Returns when it has reached its level of durability. The number of the frame is written to *sequence, unless that
 * is NULL. */
int mdreel_producer_publish(mdreel_producer *producer, const mdreel_frame *frame, uint64_t *sequence);

/* Says how the simulation ended, and frees the producer, whatever this returns. The reason of a failure may be NULL. */
int mdreel_producer_end(mdreel_producer *producer, int how, const char *reason);

/* Frees a producer without an end: its consumers are told that it was lost, and another one may go on. */
void mdreel_producer_abandon(mdreel_producer *producer);

/* The message of the last call on this thread, empty if that has succeeded. It stays until the next call. */
const char *mdreel_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
