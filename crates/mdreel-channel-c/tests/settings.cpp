// A test of the header in C++: the settings equal those in C, and the library refuses a call without a channel.
#include "mdreel_channel.h"

#include <cstdio>

int main() {
    mdreel_settings settings = MDREEL_SETTINGS;
    settings.n_atoms = 1;
    mdreel_producer *producer = nullptr;
    const int refused = mdreel_producer_open(nullptr, &settings, &producer);
    std::printf("%s\n", mdreel_last_error());
    const bool is_right = settings.n_slots == 16 && settings.wait == 3600.0 && settings.stride == 1;
    return is_right && refused == MDREEL_ARGUMENT && producer == nullptr ? 0 : 1;
}
