/* A test engine that publishes 20 frames of 5 atoms, and checks that the library refuses invalid calls. */
#include "mdreel_channel.h"

#include <stdio.h>
#include <string.h>

#define N_ATOMS 5

static int n_failures = 0;

static void expect(int expected, int got, const char *what) {
    const char *message = mdreel_last_error();
    if (expected != got || (got == MDREEL_OK) != (message[0] == '\0')) {
        printf("%s: expected %d, got %d: %s\n", what, expected, got, message);
        n_failures++;
    }
}

int main(int n, char **arguments) {
    if (n != 3) {
        return 2;
    }
    const char *channel = arguments[1];
    mdreel_settings settings = MDREEL_SETTINGS;
    settings.n_atoms = N_ATOMS;
    settings.sections = MDREEL_POSITIONS | MDREEL_FORCES;
    settings.data_type = MDREEL_FLOAT64;
    settings.durability = MDREEL_FILE;
    settings.staging = arguments[2];
    settings.n_slots = 4;
    settings.wait = 60.0;
    mdreel_producer *producer = NULL;
    mdreel_settings wrong = settings;
    wrong.size = 8;
    expect(MDREEL_ARGUMENT, mdreel_producer_open(channel, &wrong, &producer), "another header");
    wrong = settings;
    wrong.n_atoms = UINT64_MAX;
    expect(MDREEL_ARGUMENT, mdreel_producer_open(channel, &wrong, &producer), "too many atoms");
    wrong = settings;
    wrong.n_slots = 1;
    expect(MDREEL_FORMAT, mdreel_producer_open(channel, &wrong, &producer), "a ring of one slot");
    expect(MDREEL_ARGUMENT, mdreel_producer_open(NULL, &settings, &producer), "no channel");
    expect(MDREEL_SYSTEM, mdreel_producer_open("/does/not/exist/run", &settings, &producer), "no directory");
    expect(MDREEL_OK, mdreel_producer_open(channel, &settings, &producer), "open");
    mdreel_producer *second = NULL;
    wrong = settings;
    wrong.durability = MDREEL_RING;
    expect(MDREEL_STREAM, mdreel_producer_open(channel, &wrong, &second), "a second producer");
    if (second != NULL || producer == NULL) {
        printf("which producers are there\n");
        return 1;
    }
    expect(MDREEL_OK, mdreel_producer_await(producer, 0, 0.0), "await nobody");
    expect(MDREEL_TIMEOUT, mdreel_producer_await(producer, 1024, 0.1), "await more than there are");
    expect(MDREEL_ARGUMENT, mdreel_producer_await(producer, 1025, 0.1), "await more than there can be");
    expect(MDREEL_ARGUMENT, mdreel_producer_await(producer, 1, -1.0), "await for less than no time");
    expect(MDREEL_ARGUMENT, mdreel_producer_await(NULL, 1, 0.1), "await without a producer");
    expect(MDREEL_OK, mdreel_producer_await(producer, 1, 60.0), "await a consumer");
    double box[9] = {10, 0, 0, 1, 20, 0, 2, 3, 30};
    double positions[3 * N_ATOMS], forces[3 * N_ATOMS];
    mdreel_frame frame = {.box = box, .positions = positions, .forces = forces};
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 3 * N_ATOMS; i++) {
            positions[i] = step + 0.5 * i;
            forces[i] = -positions[i];
        }
        frame.step = 10 * step;
        frame.time = 0.02 * step;
        uint64_t sequence = 0;
        expect(MDREEL_OK, mdreel_producer_publish(producer, &frame, &sequence), "publish");
        if (sequence != (uint64_t)step) {
            printf("frame %d has the number %d\n", step, (int)sequence);
            n_failures++;
        }
    }
    expect(MDREEL_MISMATCH, mdreel_producer_publish(producer, &frame, NULL), "the same step again");
    frame.velocities = positions;
    expect(MDREEL_ARGUMENT, mdreel_producer_publish(producer, &frame, NULL), "velocities, which were not announced");
    if (strstr(mdreel_last_error(), "velocities") == NULL) {
        printf("a message that names no velocities: %s\n", mdreel_last_error());
        n_failures++;
    }
    expect(MDREEL_ARGUMENT, mdreel_producer_publish(producer, NULL, NULL), "no frame");
    expect(MDREEL_OK, mdreel_producer_end(producer, MDREEL_FAILED, "the temperature is not a number"), "end");
    settings.resume_step = 200;
    expect(MDREEL_OK, mdreel_producer_open(channel, &settings, &producer), "open again");
    mdreel_producer_abandon(producer);
    expect(MDREEL_OK, mdreel_producer_open(channel, &settings, &producer), "open for the last time");
    expect(MDREEL_OK, mdreel_producer_end(producer, MDREEL_FINISHED, NULL), "end for the last time");
    return n_failures == 0 ? 0 : 1;
}
