// PLUMED action MDREEL_CHANNEL, which publishes the frames of a simulation on an mdreel channel.
// SPDX-License-Identifier: Apache-2.0 OR MIT
//
//     LOAD FILE=MdreelChannel.so
//     MDREEL_CHANNEL CHANNEL=run1 STRIDE=500
//
// Compile this file against your PLUMED (2.8 or newer); docs/how-to/engines.md shows the commands.

#include "core/ActionAtomistic.h"
#include "core/ActionPilot.h"
#include "core/ActionRegister.h"
#include "core/PlumedMain.h"
#include "tools/Communicator.h"
#include "tools/Tensor.h"
#include "tools/Units.h"

#include "mdreel_channel.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double ANGSTROM_PER_NM = 10.0;
constexpr double LONGEST_WAIT = 1e9;   // s
constexpr double WAIT_OF_A_TRY = 1.0;  // s
constexpr double WARN_AFTER = 5.0;     // s
constexpr std::uint64_t RING_BYTES = 16 << 20;
constexpr std::uint64_t FEWEST_SLOTS = 4, MOST_SLOTS = 64;  // unless SLOTS is given

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// PLUMED 2.10 moved the units from the atoms to the main object.
template <class Main>
auto units_of(Main &main, int) -> decltype(main.getUnits()) {
    return main.getUnits();
}
template <class Main>
auto units_of(Main &main, long) -> decltype(main.getAtoms().getUnits()) {
    return main.getAtoms().getUnits();
}
template <class Main>
auto has_natural_units(Main &main, int) -> decltype(main.getUnits(), main.usingNaturalUnits()) {
    return main.usingNaturalUnits();
}
template <class Main>
auto has_natural_units(Main &main, long) -> decltype(main.getAtoms().usingNaturalUnits()) {
    return main.getAtoms().usingNaturalUnits();
}

// Returns a time step as the user wrote it. GROMACS passes 0.002 as a float, whose rounding error would grow with the steps.
double as_written(double time_step) {
    const float narrow = static_cast<float>(time_step);
    for (int digits = 1; narrow == time_step && digits < 9; digits++) {
        char text[32];
        std::snprintf(text, sizeof text, "%.*g", digits, time_step);
        if (std::strtof(text, nullptr) == narrow) {
            return std::strtod(text, nullptr);
        }
    }
    return time_step;
}

// Returns whether an exception is unwinding the stack of this thread.
bool is_unwinding() {
#ifdef __cpp_lib_uncaught_exceptions
    return std::uncaught_exceptions() > 0;
#else
    return std::uncaught_exception();
#endif
}

// Returns the number of a stream, a hash (FNV-1a) of the path of its channel.
std::uint64_t stream_of(const std::string &path) {
    std::uint64_t number = 14695981039346656037u;
    for (const unsigned char byte : path) {
        number = (number ^ byte) * 1099511628211u;
    }
    return number;
}

bool is_name(const std::string &text) {
    const auto is_allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
    return !text.empty() && text.size() <= 64 && std::isalnum(static_cast<unsigned char>(text[0])) &&
           std::all_of(text.begin(), text.end(), is_allowed);
}

}  // namespace

namespace PLMD {

class MdreelChannel : public ActionAtomistic, public ActionPilot {
public:
    static void registerKeywords(Keywords &keys);
    explicit MdreelChannel(const ActionOptions &options);
    ~MdreelChannel();
    void calculate() override {}
    void apply() override {}
    void update() override;
    void runFinalJobs() override;
    bool actionHasForces() { return false; }  // PLUMED 2.10 and newer call this

private:
    void read_channel();
    std::string checked_folder();
    void read_settings();
    void open(std::int64_t resume_step);
    void await_consumers();
    template <class Number>
    void publish(std::vector<Number> &buffer);
    void end(int how, const char *reason);
    void fail(const std::string &message);

    std::string path_;
    mdreel_settings settings_ = MDREEL_SETTINGS;
    mdreel_producer *producer_ = nullptr;
    double timeout_ = LONGEST_WAIT;
    unsigned n_consumers_ = 0;
    double angstrom_ = 0;  // PLUMED's unit of length
    std::vector<float> floats_;
    std::vector<double> doubles_;
    bool has_published_ = false, has_ended_ = false;
    std::int64_t last_step_ = 0;
};

PLUMED_REGISTER_ACTION(MdreelChannel, "MDREEL_CHANNEL")

void MdreelChannel::registerKeywords(Keywords &keys) {
    Action::registerKeywords(keys);
    ActionPilot::registerKeywords(keys);
    ActionAtomistic::registerKeywords(keys);
    keys.add("compulsory", "CHANNEL", "name of the channel, or its directory as a path that contains a slash");
    keys.add("compulsory", "STRIDE", "1", "number of steps between two frames");
    keys.add("atoms", "ATOMS", "the atoms that are published, in this order; by default all atoms of the MD code");
    keys.add("compulsory", "CONSUMERS", "0", "number of consumers to wait for before the first frame");
    keys.add("compulsory", "FULL", "block",
             "what happens if the ring is full: block (wait for the slowest consumer) or drop-oldest (never wait)");
    keys.add("optional", "TIMEOUT",
             "longest time in seconds to wait for a free slot, and for CONSUMERS; by default there is no limit");
    keys.add("optional", "SLOTS", "number of frames in the ring; by default 4 to 64, about 16 MiB");
    keys.add("compulsory", "DTYPE", "float32", "data type of the positions: float32 or float64");
    keys.use("RESTART");
    keys.use("UPDATE_FROM");
    keys.use("UPDATE_UNTIL");
}

MdreelChannel::MdreelChannel(const ActionOptions &options)
    : Action(options), ActionAtomistic(options), ActionPilot(options) {
    read_channel();
    std::vector<AtomNumber> atoms;
    parseAtomList("ATOMS", atoms);
    if (atoms.empty()) {
        std::vector<std::string> all{"@mdatoms"};
        interpretAtomList(all, atoms);
    }
    if (atoms.empty()) {
        error("there are no atoms to publish; name some with ATOMS=, for example ATOMS=1-100");
    }
    settings_.n_atoms = atoms.size();
    read_settings();
    checkRead();
    if (has_natural_units(plumed, 0)) {
        error("a channel has lengths in angstrom and times in ps, but the units are natural; use an MD code, or UNITS, "
              "with physical units");
    }
    angstrom_ = ANGSTROM_PER_NM * units_of(plumed, 0).getLength();
    settings_.time_step = as_written(getTimeStep() * units_of(plumed, 0).getTime());
    settings_.stream = stream_of(path_);
    requestAtoms(atoms);
    log.printf("  channel %s with %lu atoms\n", path_.c_str(), static_cast<unsigned long>(atoms.size()));
    if (comm.Get_rank() == 0 && !getRestart()) {
        open(INT64_MIN);  // a new run; a restart opens the channel with the step of its first frame
    }
}

MdreelChannel::~MdreelChannel() {
    if (is_unwinding()) {
        end(MDREEL_FAILED, "PLUMED or the MD code raised an error");
    } else {
        end(MDREEL_FINISHED, nullptr);
    }
}

// Sets the directory of the channel from CHANNEL and the suffix of this replica.
void MdreelChannel::read_channel() {
    std::string channel;
    parse("CHANNEL", channel);
    channel += plumed.getSuffix();
    if (channel.find('/') != std::string::npos) {
        path_ = channel;
        return;
    }
    if (!is_name(channel)) {
        error("CHANNEL must be 1 to 64 letters, digits, '.', '_' and '-', starting with a letter or a digit, or a path "
              "with a slash, not '" + channel + "'");
    }
    path_ = checked_folder() + "/" + channel;
}

// Returns the folder of named channels. Reports an error if another user owns it or has access to it.
std::string MdreelChannel::checked_folder() {
    const char *chosen = std::getenv("MDREEL_CHANNELS");
    const unsigned user = geteuid();
    const std::string folder = chosen && *chosen ? chosen : "/dev/shm/mdreel-" + std::to_string(user);
    struct stat facts;
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        error(folder + ": the folder of channels cannot be created: " + std::strerror(errno) +
              "; set MDREEL_CHANNELS to a folder of your own");
    } else if (lstat(folder.c_str(), &facts) != 0) {
        error(folder + ": " + std::strerror(errno) + "; set MDREEL_CHANNELS to a folder of your own");
    } else if (facts.st_uid != user || (facts.st_mode & 077) != 0) {
        error(folder + ": another user owns this folder or has access to it; set MDREEL_CHANNELS to a folder of your "
              "own, or remove the access (chmod 700)");
    }
    return folder;
}

void MdreelChannel::read_settings() {
    if (getStride() < 1) {
        error("STRIDE must be 1 or more, not 0");
    }
    settings_.stride = getStride();
    std::string full, type;
    parse("FULL", full);
    if (full != "block" && full != "drop-oldest") {
        error("FULL must be block or drop-oldest, not " + full);
    }
    settings_.policy = full == "block" ? MDREEL_BLOCK : MDREEL_DROP_OLDEST;
    parse("DTYPE", type);
    if (type != "float32" && type != "float64") {
        error("DTYPE must be float32 or float64, not " + type);
    }
    settings_.data_type = type == "float32" ? MDREEL_FLOAT32 : MDREEL_FLOAT64;
    parse("CONSUMERS", n_consumers_);
    parse("TIMEOUT", timeout_);
    if (!(timeout_ >= 0 && timeout_ <= LONGEST_WAIT)) {
        error("TIMEOUT must be 0 to 1e9 seconds");
    }
    settings_.wait = std::min(WAIT_OF_A_TRY, timeout_);
    const std::uint64_t frame_bytes = 3 * settings_.n_atoms * (type == "float32" ? 4 : 8);
    unsigned slots = std::max(FEWEST_SLOTS, std::min(MOST_SLOTS, RING_BYTES / frame_bytes));
    parse("SLOTS", slots);
    if (slots < 2) {
        error("SLOTS must be 2 or more");
    }
    settings_.n_slots = slots;
}

void MdreelChannel::open(std::int64_t resume_step) {
    settings_.resume_step = resume_step;
    const int code = mdreel_producer_open(path_.c_str(), &settings_, &producer_);
    if (code == MDREEL_OK) {
        return;
    }
    std::string message = mdreel_last_error();
    const std::string parent = path_.substr(0, path_.find_last_of('/') + 1);
    if (code == MDREEL_SYSTEM && access(parent.c_str(), F_OK) != 0) {
        message += "; create the folder " + parent + ", or give CHANNEL a name without a slash";
    }
    error(message);
}

void MdreelChannel::update() {
    if (comm.Get_rank() != 0) {
        return;  // PLUMED passes all atoms to each rank, and only rank 0 publishes
    }
    if (has_ended_) {
        error("the channel " + path_ + " has ended, but the MD code computes another step");
    }
    const std::int64_t step = getStep();
    if (has_published_ && step == last_step_) {
        return;  // MD codes compute the forces of the same step again when a run begins
    }
    if (!producer_) {
        open(step);
    }
    if (!has_published_ && n_consumers_ > 0) {
        await_consumers();
    }
    if (settings_.data_type == MDREEL_FLOAT32) {
        publish(floats_);
    } else {
        publish(doubles_);
    }
    has_published_ = true;
    last_step_ = step;
}

void MdreelChannel::await_consumers() {
    log.printf("MDREEL_CHANNEL: waiting for %u consumers of the channel %s\n", n_consumers_, path_.c_str());
    log.flush();
    if (mdreel_producer_await(producer_, n_consumers_, timeout_) != MDREEL_OK) {
        fail(mdreel_last_error());
    }
}

template <class Number>
void MdreelChannel::publish(std::vector<Number> &buffer) {
    const std::vector<Vector> &positions = getPositions();
    buffer.resize(3 * positions.size());
    for (std::size_t i = 0; i < positions.size(); i++) {
        for (unsigned k = 0; k < 3; k++) {
            buffer[3 * i + k] = static_cast<Number>(angstrom_ * positions[i][k]);
        }
    }
    double box[9];
    bool has_box = false;
    for (unsigned k = 0; k < 9; k++) {
        box[k] = angstrom_ * getBox()[k / 3][k % 3];
        has_box = has_box || box[k] != 0.0;
    }
    const double time = settings_.time_step * getStep();
    mdreel_frame frame = {getStep(), time, has_box ? box : nullptr, buffer.data(), nullptr, nullptr};
    const auto begin = Clock::now();
    bool has_warned = false;
    int code;
    while ((code = mdreel_producer_publish(producer_, &frame, nullptr)) == MDREEL_TIMEOUT &&
           seconds_since(begin) < timeout_) {
        if (!has_warned && seconds_since(begin) >= WARN_AFTER) {
            warning(std::string(mdreel_last_error()) + "; the simulation waits for it; with FULL=drop-oldest it would not");
            log.flush();
            has_warned = true;
        }
    }
    if (code != MDREEL_OK) {
        fail(mdreel_last_error());
    }
}

void MdreelChannel::runFinalJobs() {
    end(MDREEL_FINISHED, nullptr);
}

// Ends the channel, if it is open. It is also called by the destructor, which must not throw.
void MdreelChannel::end(int how, const char *reason) {
    if (producer_ && mdreel_producer_end(producer_, how, reason) != MDREEL_OK) {
        log.printf("MDREEL_CHANNEL: the end of the channel was not written: %s\n", mdreel_last_error());
    }
    has_ended_ = has_ended_ || producer_;
    producer_ = nullptr;
}

// Tells the consumers the reason, and stops the simulation.
void MdreelChannel::fail(const std::string &message) {
    end(MDREEL_FAILED, message.c_str());
    error(message);
}

}  // namespace PLMD
