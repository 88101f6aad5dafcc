/* A program that knows nothing of mdreel: `opening HOW PATH` opens a file in one way, and acts as that allows.
 *
 * What it reads goes to standard output. To write, it writes two halves; between them it says "half", and goes on when there is
 * something on standard input. At the end of input it ends without closing. An error is said, and is its exit status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed(void) {
    int error = errno;
    fprintf(stderr, "%s\n", strerror(error));
    return error;
}

static int is(const char *how, const char *name) { return strcmp(how, name) == 0; }

/* Fortified programs call these. */
extern int __open_2(const char *, int);
extern int __open64_2(const char *, int);
extern int __openat_2(int, const char *, int);
extern int __openat64_2(int, const char *, int);

/* The first letters are a function; what stands behind a dash is flags. */
static int open_as(const char *how, const char *path) {
    const char *dash = strchr(how, '-');
    char function[32];
    int flags = 0;
    if (dash == NULL) return -2;
    snprintf(function, sizeof function, "%.*s", (int)(dash - how), how);
    dash++;
    if (is(dash, "r")) flags = O_RDONLY;
    else if (is(dash, "r+")) flags = O_RDWR;
    else if (is(dash, "w")) flags = O_WRONLY | O_CREAT | O_TRUNC;
    else if (is(dash, "w+")) flags = O_RDWR | O_CREAT | O_TRUNC;
    else if (is(dash, "a")) flags = O_WRONLY | O_CREAT | O_APPEND;
    else if (is(dash, "x")) flags = O_WRONLY | O_CREAT | O_EXCL;
    else if (is(dash, "t")) flags = O_WRONLY | O_TRUNC;
    else return -2;
    if (is(function, "open")) return open(path, flags, 0640);
    if (is(function, "open64")) return open64(path, flags, 0640);
    if (is(function, "openat")) return openat(AT_FDCWD, path, flags, 0640);
    if (is(function, "openat64")) return openat64(AT_FDCWD, path, flags, 0640);
    if (is(function, "__open_2")) return __open_2(path, flags);
    if (is(function, "__open64_2")) return __open64_2(path, flags);
    if (is(function, "__openat_2")) return __openat_2(AT_FDCWD, path, flags);
    if (is(function, "__openat64_2")) return __openat64_2(AT_FDCWD, path, flags);
    if (is(function, "creat")) return creat(path, 0640);
    if (is(function, "creat64")) return creat64(path, 0640);
    return -2;
}

/* Between the halves: 0 for going on. */
static int pause_here(void) {
    char letter;
    if (printf("half\n") < 0 || fflush(stdout) != 0) return 1;
    return read(0, &letter, 1) != 1;
}

static int read_all(int descriptor) {
    char buffer[4096];
    ssize_t n_bytes;
    lseek(descriptor, 0, SEEK_SET);
    while ((n_bytes = read(descriptor, buffer, sizeof buffer)) > 0)
        if (write(1, buffer, (size_t)n_bytes) != n_bytes) return failed();
    return n_bytes < 0 ? failed() : 0;
}

static int with_stream(const char *how, const char *path) {
    const char *mode = strchr(how, '-') + 1;
    FILE *stream;
    int letter;
    if (how[1] == 'r') stream = freopen(path, mode, fopen("/dev/null", "r"));
    else stream = strstr(how, "64") ? fopen64(path, mode) : fopen(path, mode);
    if (stream == NULL) return failed();
    if (strchr(mode, '+') || mode[0] != 'r') {
        if (mode[0] == 'r') fseek(stream, 0, SEEK_END);
        fputs("one ", stream);
        if (pause_here()) return 0;
        fputs("two", stream);
    }
    if (strchr(mode, '+') || mode[0] == 'r') {
        fseek(stream, 0, SEEK_SET);
        while ((letter = getc(stream)) != EOF) putchar(letter);
    }
    return fclose(stream) == 0 ? 0 : failed();
}

static int with_descriptor(const char *how, const char *path) {
    const char *mode;
    int descriptor = open_as(how, path);
    if (descriptor == -2) return 99;
    if (descriptor == -1) return failed();
    mode = strchr(how, '-') + 1;
    if (mode[0] != 'r' || mode[1] == '+') {
        if (mode[0] == 'r') lseek(descriptor, 0, SEEK_END);
        if (write(descriptor, "one ", 4) != 4) return failed();
        if (pause_here()) return 0;
        if (write(descriptor, "two", 3) != 3) return failed();
    }
    if (strchr(mode, '+') || mode[0] == 'r') {
        int outcome = read_all(descriptor);
        if (outcome != 0) return outcome;
    }
    return close(descriptor) == 0 ? 0 : failed();
}

static int other(const char *how, const char *path) {
    char temporary[4096];
    int copy, descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (descriptor == -1) return failed();
    snprintf(temporary, sizeof temporary, "%s-renamed", path);
    if (write(descriptor, "one ", 4) != 4) return failed();
    if (is(how, "rename")) { /* before it is closed */
        if (rename(path, temporary) != 0) return failed();
        if (pause_here()) return 0;
    } else if (is(how, "dup")) { /* the first one is closed before the rest is written, the copy is replaced */
        copy = fcntl(descriptor, F_DUPFD, 50);
        if (close(descriptor) != 0 || pause_here()) return 1;
        if (write(copy, "two", 3) != 3 || dup2(0, copy) != copy) return failed();
        return pause_here();
    } else if (is(how, "fork")) { /* the child ends with what its parent is writing */
        if (fork() == 0) exit(0);
        wait(NULL);
        if (pause_here()) return 0;
    } else if (is(how, "orphan")) { /* the child has it for longer than its parent */
        if (fork() == 0) {
            pause_here();
            _exit(0);
        }
        if (write(descriptor, "two", 3) != 3 || close(descriptor) != 0) return failed();
        wait(NULL);
        return 0;
    } else if (is(how, "status")) return 3;
    else if (is(how, "abort")) abort();
    else if (is(how, "again")) { /* a program reads what it is writing */
        copy = open(path, O_RDONLY);
        return copy == -1 ? failed() : read_all(copy);
    } else if (is(how, "look")) { /* it is there for the program that is writing it */
        struct stat facts, more;
        if (stat(path, &facts) != 0 || lstat(path, &more) != 0 || access(path, W_OK) != 0) return failed();
        if (fstatat(AT_FDCWD, path, &more, 0) != 0 || chmod(path, 0600) != 0) return failed();
        if (facts.st_size != 4 || facts.st_ino != more.st_ino) return 1;
    } else if (is(how, "unlink")) { /* it did not want it */
        if (unlink(path) != 0) return failed();
    } else if (is(how, "full")) { /* and does not look whether it could write */
        static char zeros[1 << 20];
        for (int i = 0; i < 4; i++)
            if (write(descriptor, zeros, sizeof zeros) < 0) fputs("full\n", stderr);
        return close(descriptor);
    }
    if (write(descriptor, "two", 3) != 3) return failed();
    return close(descriptor) == 0 ? 0 : failed();
}

int main(int n_arguments, char **arguments) {
    if (n_arguments != 3) return 98;
    if (strstr(arguments[1], "open") && arguments[1][0] == 'f') return with_stream(arguments[1], arguments[2]);
    if (strchr(arguments[1], '-')) return with_descriptor(arguments[1], arguments[2]);
    return other(arguments[1], arguments[2]);
}
