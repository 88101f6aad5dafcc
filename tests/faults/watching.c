/* Writes down in which order a program writes, syncs, renames and removes files: loaded before the C library, into the file WATCH_LOG. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

/* By the kernel itself, so that nobody watches it. */
static void say(const char *what, const char *first, const char *second) {
    static int log = -1;
    char line[2 * PATH_MAX + 32];
    const char *path = getenv("WATCH_LOG");
    if (path == NULL) return;
    if (log < 0) log = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    long thread = syscall(SYS_gettid);
    int n = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\n", thread, what, first, second);
    if (syscall(SYS_write, log, line, n) != n) abort();
}

static void say_open(const char *what, int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0 || path[0] != '/') return;
    path[n] = 0;
    say(what, path, "");
}

/* The whole path, from the working directory or from an open one. */
static const char *whole(int base, const char *path, char *room) {
    if (path[0] == '/') return path;
    char link[64], folder[PATH_MAX];
    if (base == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", base);
    ssize_t n = readlink(link, folder, sizeof folder - 1);
    if (n < 0) n = 0;
    folder[n] = 0;
    if (snprintf(room, PATH_MAX, "%.2000s/%.2000s", folder, path) < 0) abort();
    return room;
}

#define WRITES(name, parameters, arguments)                         \
    ssize_t name parameters {                                       \
        ssize_t outcome = NEXT(ssize_t(*) parameters, #name) arguments; \
        if (outcome > 0) say_open("write", to);                     \
        return outcome;                                             \
    }
WRITES(write, (int to, const void *bytes, size_t n), (to, bytes, n))
WRITES(pwrite, (int to, const void *bytes, size_t n, off_t at), (to, bytes, n, at))
WRITES(pwrite64, (int to, const void *bytes, size_t n, off64_t at), (to, bytes, n, at))
WRITES(writev, (int to, const struct iovec *pieces, int n), (to, pieces, n))
WRITES(sendfile64, (int to, int from, off64_t *at, size_t n), (to, from, at, n))
WRITES(sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n))

#define SYNCS(name)                                        \
    int name(int descriptor) {                             \
        int outcome = NEXT(int (*)(int), #name)(descriptor); \
        if (outcome == 0) say_open("sync", descriptor);    \
        return outcome;                                    \
    }
SYNCS(fsync)
SYNCS(fdatasync)

int rename(const char *from, const char *to) {
    char one[PATH_MAX], other[PATH_MAX];
    int outcome = NEXT(int (*)(const char *, const char *), "rename")(from, to);
    if (outcome == 0) say("rename", whole(AT_FDCWD, from, one), whole(AT_FDCWD, to, other));
    return outcome;
}

int renameat(int from_base, const char *from, int to_base, const char *to) {
    char one[PATH_MAX], other[PATH_MAX];
    int outcome = NEXT(int (*)(int, const char *, int, const char *), "renameat")(from_base, from, to_base, to);
    if (outcome == 0) say("rename", whole(from_base, from, one), whole(to_base, to, other));
    return outcome;
}

int unlink(const char *path) {
    char room[PATH_MAX];
    int outcome = NEXT(int (*)(const char *), "unlink")(path);
    if (outcome == 0) say("unlink", whole(AT_FDCWD, path, room), "");
    return outcome;
}

int unlinkat(int base, const char *path, int flags) {
    char room[PATH_MAX];
    int outcome = NEXT(int (*)(int, const char *, int), "unlinkat")(base, path, flags);
    if (outcome == 0) say("unlink", whole(base, path, room), "");
    return outcome;
}
