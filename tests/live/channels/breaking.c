/* A disk that breaks: the function that the variable BREAKS names fails with EIO. Loaded before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int breaks(const char *name) {
    const char *wanted = getenv("BREAKS");
    if (wanted == NULL || strcmp(wanted, name) != 0) return 0;
    errno = EIO;
    return 1;
}

#define BREAKS(name, parameters, arguments)                                                        \
    int name parameters {                                                                          \
        int outcome = ((int(*) parameters)dlsym(RTLD_NEXT, #name)) arguments;                      \
        return breaks(#name) ? -1 : outcome;                                                       \
    }
BREAKS(fsync, (int file), (file))
BREAKS(fdatasync, (int file), (file))
BREAKS(syncfs, (int file), (file))
BREAKS(sync_file_range, (int file, off_t at, off_t n, unsigned flags), (file, at, n, flags))
BREAKS(ftruncate, (int file, off_t n), (file, n))
BREAKS(ftruncate64, (int file, off64_t n), (file, n))
BREAKS(truncate, (const char *path, off_t n), (path, n))
BREAKS(truncate64, (const char *path, off64_t n), (path, n))
BREAKS(msync, (void *memory, size_t n, int flags), (memory, n, flags))
BREAKS(close, (int file), (file))

int ioctl(int file, unsigned long request, ...) {
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    int outcome = ((int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl"))(file, request, argument);
    return breaks("ioctl") ? -1 : outcome;
}
