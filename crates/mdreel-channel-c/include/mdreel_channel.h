/* The producer of an mdreel channel, which publishes the frames of a running simulation for analyses on the same node.
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
 * Units: angstrom, ps, angstrom/ps, kJ/(mol angstrom). The library supports Linux on little-endian processors.
 *
 * Each function that returns an int returns MDREEL_OK or one of the error codes below. After an error, mdreel_last_error returns
 * the message. Any thread can use a producer, but only one thread at a time. A forked process cannot use the producer of its
 * parent.
 */
#ifndef MDREEL_CHANNEL_H
#define MDREEL_CHANNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MDREEL_OK = 0,
    MDREEL_ARGUMENT = 1,    /* a null pointer or an invalid value */
    MDREEL_SYSTEM = 2,      /* an error of the operating system, such as a full disk, a missing directory or no permission */
    MDREEL_FORMAT = 3,      /* a file does not have the expected format */
    MDREEL_MISMATCH = 4,    /* the channel was opened with other settings, or a step is not greater than the previous one */
    MDREEL_UNSUPPORTED = 5, /* valid, but not supported */
    MDREEL_STREAM = 6,      /* the channel has a running producer, or belongs to the parent of this process */
    MDREEL_TIMEOUT = 7,     /* the ring stayed full and the frame was not published (try again), or too few consumers joined */
    MDREEL_OTHER = 8,       /* any other error */
    MDREEL_INTERNAL = 9     /* a defect of mdreel */
};

/* The sections of a frame; settings.sections is a sum of these values. */
enum { MDREEL_POSITIONS = 1, MDREEL_VELOCITIES = 2, MDREEL_FORCES = 4 };

/* The data type of the sections. */
enum { MDREEL_FLOAT32 = 1, MDREEL_FLOAT64 = 2 };

/* The policy for a full ring. */
enum {
    MDREEL_BLOCK = 0,      /* the producer waits for the slowest consumer */
    MDREEL_DROP_OLDEST = 1 /* the producer never waits; it overwrites the oldest frame that no consumer is reading */
};

/* The durability of a published frame. */
enum {
    MDREEL_RING = 0, /* the frame survives the death of any process */
    MDREEL_FILE = 1, /* the frame survives the death of all processes: it is written to a file before it is published */
    MDREEL_FSYNC = 2 /* the frame survives a crash of the machine: the file is synced to the disk */
};

/* The end of a simulation. */
enum { MDREEL_FINISHED = 0, MDREEL_STOPPED = 1, MDREEL_FAILED = 2 };

typedef struct mdreel_producer mdreel_producer;

typedef struct mdreel_settings {
    uint64_t size;             /* sizeof(mdreel_settings), by which the library recognizes the version of this header */
    uint64_t n_atoms;
    uint64_t stream;           /* a number that identifies the simulation */
    uint8_t topology_hash[32]; /* lets an analysis check that it uses the same topology; or zeros */
    double time_step;          /* ps */
    uint64_t stride;           /* number of steps between two frames */
    uint32_t sections;         /* MDREEL_POSITIONS and others */
    uint32_t data_type;        /* MDREEL_FLOAT32 or MDREEL_FLOAT64 */
    uint64_t n_slots;          /* number of frames in the ring, at least 2 */
    uint32_t policy;           /* MDREEL_BLOCK or MDREEL_DROP_OLDEST */
    uint32_t durability;       /* MDREEL_RING, MDREEL_FILE or MDREEL_FSYNC */
    double wait;               /* longest time in seconds to wait for a free slot in the ring, at most 1e9 */
    int64_t resume_step;       /* first step to publish; if a simulation continues, the step of its checkpoint */
    const char *staging;       /* directory of the files, on a disk of the node; NULL with MDREEL_RING */
    uint64_t retention;        /* approximate number of bytes to keep in these files; 0 for all */
} mdreel_settings;

/* The default settings: positions as float32, a ring of 16 frames, and waits of at most an hour. You must set n_atoms. */
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

/* A frame. Each array contains 3 numbers for each atom (x, y, z), of the type settings.data_type. The library reads the arrays only
 * during the call. An array that is NULL is not in the frame. */
typedef struct mdreel_frame {
    int64_t step;           /* greater than the step of the previous frame */
    double time;            /* ps */
    const double *box;      /* the 3 row vectors of the cell, as 9 numbers; NULL without a cell */
    const void *positions;
    const void *velocities;
    const void *forces;
} mdreel_frame;

/* Opens a channel, which is a directory, preferably in /dev/shm. The function creates the directory if necessary, but its parent
 * must exist. If an earlier producer of the channel has died or has ended it, this begins the next epoch. After an error, *producer
 * is NULL. */
int mdreel_producer_open(const char *channel, const mdreel_settings *settings, mdreel_producer **producer);

/* Waits until n_consumers consumers have joined, so that they receive the first frame. Waits for at most wait seconds (up to 1e9),
 * and returns MDREEL_TIMEOUT if fewer consumers have joined by then. The channel stays open. */
int mdreel_producer_await(mdreel_producer *producer, uint64_t n_consumers, double wait);

/* Publishes a frame, and returns when the frame has reached its durability. Writes the number of the frame to *sequence, unless
 * sequence is NULL. */
int mdreel_producer_publish(mdreel_producer *producer, const mdreel_frame *frame, uint64_t *sequence);

/* Records how the simulation ended, and frees the producer even if an error occurs. The reason of a failure may be NULL. */
int mdreel_producer_end(mdreel_producer *producer, int how, const char *reason);

/* Frees a producer without recording an end. Its consumers learn that it was lost, and another producer can continue. */
void mdreel_producer_abandon(mdreel_producer *producer);

/* Returns the message of the last call on this thread, or an empty text if that call succeeded. It is valid until the next call. */
const char *mdreel_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
