/* A program that knows nothing of mdreel, and does not care for errors: `writing HOW PATH SOURCE` writes 64 KiB to a file in one way,
 * ignores whatever it is told, closes the file and ends with 0. A way that the system does not have is 77.
 *
 * SOURCE is a file of as many bytes, for ways that copy.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 4096, PIECES = 16, WHOLE = PIECE * PIECES };

static char bytes[WHOLE + 1];
static const char *how;

extern ssize_t __write(int, const void *, size_t);
extern ssize_t __pwrite64(int, const void *, size_t, off64_t);
extern int __dprintf_chk(int, int, const char *, ...);
extern int __vdprintf_chk(int, int, const char *, va_list);
extern int __close(int);

static int is(const char *name) { return strcmp(how, name) == 0; }

static void ignore(long outcome) { (void)outcome; }

static int formatted(int file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int outcome = is("vdprintf") ? vdprintf(file, format, arguments) : __vdprintf_chk(file, 1, format, arguments);
    va_end(arguments);
    return outcome;
}

/* Ways that have a descriptor and a source: 0, or 1 where it is none of these. */
static int descriptor_way(int file, int source) {
    for (int i = 0; i < PIECES; i++) {
        char *at = bytes + i * PIECE;
        off_t where = (off_t)i * PIECE;
        struct iovec pieces[2] = {{at, 96}, {at + 96, PIECE - 96}};
        ssize_t outcome = 0;
        if (is("write")) outcome = write(file, at, PIECE);
        else if (is("__write")) outcome = __write(file, at, PIECE);
        else if (is("__close")) outcome = write(file, at, PIECE);
        else if (is("writev")) outcome = writev(file, pieces, 2);
        else if (is("pwrite")) outcome = pwrite(file, at, PIECE, where);
        else if (is("pwrite64")) outcome = pwrite64(file, at, PIECE, where);
        else if (is("__pwrite64")) outcome = __pwrite64(file, at, PIECE, where);
        else if (is("pwritev")) outcome = pwritev(file, pieces, 2, where);
        else if (is("pwritev64")) outcome = pwritev64(file, pieces, 2, where);
        else if (is("pwritev2")) outcome = pwritev2(file, pieces, 2, where, 0);
        else if (is("pwritev64v2")) outcome = pwritev64v2(file, pieces, 2, where, 0);
        else if (is("sendfile")) outcome = sendfile(file, source, NULL, PIECE);
        else if (is("sendfile64")) outcome = sendfile64(file, source, NULL, PIECE);
        else if (is("copy_file_range")) outcome = copy_file_range(source, NULL, file, NULL, PIECE, 0);
        else if (is("dprintf")) outcome = dprintf(file, "%.*s%s%g %d %d %d", PIECE - 12, at, "", 1.5, 1, 22, 333);
        else if (is("__dprintf_chk")) outcome = __dprintf_chk(file, 1, "%.*s%s%g %d %d %d", PIECE - 12, at, "", 1.5, 1, 22, 333);
        else if (is("vdprintf") || is("__vdprintf_chk")) outcome = formatted(file, "%.*s%g %d", PIECE - 5, at, 1.5, 1);
        else if (is("syscall-write")) outcome = syscall(SYS_write, file, at, (long)PIECE);
        else if (is("syscall-pwrite64")) outcome = syscall(SYS_pwrite64, file, at, (long)PIECE, (long)where);
        else if (is("syscall-sendfile")) outcome = syscall(SYS_sendfile, file, source, NULL, (long)PIECE);
        else if (is("splice")) {
            int ends[2];
            ignore(pipe(ends));
            ignore(splice(source, NULL, ends[1], NULL, PIECE, 0));
            outcome = splice(ends[0], NULL, file, NULL, PIECE, 0);
            int error = errno;
            close(ends[0]);
            close(ends[1]);
            errno = error;
        } else if (is("aio_write") || is("aio_write64")) {
            struct aiocb request = {.aio_fildes = file, .aio_buf = at, .aio_nbytes = PIECE, .aio_offset = where};
            const struct aiocb *all[] = {&request};
            ignore(is("aio_write") ? aio_write(&request) : aio_write64((struct aiocb64 *)&request));
            ignore(aio_suspend(all, 1, NULL));
            ignore(is("aio_write") ? aio_return(&request) : aio_return64((struct aiocb64 *)&request));
        } else if (is("lio_listio") || is("lio_listio64")) {
            struct aiocb request = {
                .aio_fildes = file, .aio_buf = at, .aio_nbytes = PIECE, .aio_offset = where, .aio_lio_opcode = LIO_WRITE};
            struct aiocb *all[] = {NULL, &request};
            if (is("lio_listio")) ignore(lio_listio(LIO_WAIT, all, 2, NULL));
            else ignore(lio_listio64(LIO_WAIT, (struct aiocb64 **)all, 2, NULL));
        } else return 1;
        if (outcome < 0 && (errno == ENOSYS || errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP)) exit(77);
    }
    return 0;
}

/* Ways that take the file in one go. */
static int whole_way(int file, const char *path, int source) {
    int error = 0;
    if (is("fallocate")) error = fallocate(file, 0, 0, WHOLE) ? errno : 0;
    else if (is("fallocate64")) error = fallocate64(file, 0, 0, WHOLE) ? errno : 0;
    else if (is("posix_fallocate")) error = posix_fallocate(file, 0, WHOLE);
    else if (is("posix_fallocate64")) error = posix_fallocate64(file, 0, WHOLE);
    else if (is("backtrace_symbols_fd")) {
        void *addresses[8];
        int n = backtrace(addresses, 8);
        while (lseek(file, 0, SEEK_END) < WHOLE) {
            off_t before = lseek(file, 0, SEEK_END);
            backtrace_symbols_fd(addresses, n, file);
            if (lseek(file, 0, SEEK_END) == before) break;
        }
        if (lseek(file, 0, SEEK_END) > WHOLE) ignore(ftruncate(file, WHOLE));
    } else if (is("fsync") || is("fdatasync") || is("syncfs") || is("sync_file_range") || is("ftruncate") || is("ftruncate64") ||
               is("truncate") || is("truncate64") || is("msync") || is("ioctl") || is("close")) {
        /* All of it, and then what may fail on a disk that breaks. */
        ignore(write(file, bytes, WHOLE));
        if (is("fsync")) ignore(fsync(file));
        else if (is("fdatasync")) ignore(fdatasync(file));
        else if (is("syncfs")) ignore(syncfs(file));
        else if (is("sync_file_range")) ignore(sync_file_range(file, 0, WHOLE, SYNC_FILE_RANGE_WRITE));
        else if (is("ftruncate")) ignore(ftruncate(file, WHOLE));
        else if (is("ftruncate64")) ignore(ftruncate64(file, WHOLE));
        else if (is("truncate")) ignore(truncate(path, WHOLE));
        else if (is("truncate64")) ignore(truncate64(path, WHOLE));
        else if (is("ioctl")) ignore(ioctl(file, FICLONE, source));
        else if (is("msync")) {
            char *memory = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            ignore(msync(memory, WHOLE, MS_SYNC));
            munmap(memory, WHOLE);
        }
    } else if (is("short")) ignore(write(file, bytes, WHOLE));
    else if (is("short-writev")) {
        struct iovec pieces[2] = {{bytes, PIECE}, {bytes + PIECE, WHOLE - PIECE}};
        ignore(writev(file, pieces, 2));
    } else if (is("retried")) {
        /* As programs do that care: the rest of what was taken in part. */
        ssize_t outcome;
        for (size_t done = 0; done < WHOLE && (outcome = write(file, bytes + done, WHOLE - done)) > 0;) done += (size_t)outcome;
    } else if (is("mmap")) {
        ignore(ftruncate(file, WHOLE));
        char *memory = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        memcpy(memory, bytes, WHOLE);
        ignore(msync(memory, WHOLE, MS_SYNC));
        munmap(memory, WHOLE);
    } else if (is("fork")) {
        pid_t child = fork();
        if (child == 0) {
            ignore(write(file, bytes, WHOLE) + write(file, bytes, 1));
            _exit(0);
        }
        waitpid(child, NULL, 0);
        if (lseek(file, 0, SEEK_END) == WHOLE + 1) ignore(ftruncate(file, WHOLE));
    } else if (is("unasked")) {
        /* Its outcome is never asked for. */
        static struct aiocb request;
        request = (struct aiocb){.aio_fildes = file, .aio_buf = bytes, .aio_nbytes = WHOLE};
        const struct aiocb *all[] = {&request};
        ignore(aio_write(&request));
        ignore(aio_suspend(all, 1, NULL));
    } else return 1;
    if (error == ENOSYS || error == EOPNOTSUPP || error == EINVAL) exit(77);
    return 0;
}

static int stream_way(const char *path) {
    FILE *file = is("fdopen-clearerr") || is("fdopen") || is("fdopen-exit")
                     ? fdopen(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640), "w")
                     : is("stdout") ? stdout : fopen(path, "w");
    if (file == NULL) return 1;
    for (int i = 0; i < PIECES; i++) {
        char *at = bytes + i * PIECE;
        char after = at[PIECE];
        if (is("fprintf")) fprintf(file, "%.*s", PIECE, at);
        else if (is("fputs")) {
            at[PIECE] = 0;
            fputs(at, file);
            at[PIECE] = after;
        } else if (is("putc"))
            for (int k = 0; k < PIECE; k++) putc(at[k], file);
        else fwrite(at, 1, PIECE, file);
    }
    if (is("clearerr") || is("fdopen-clearerr")) {
        fflush(file);
        clearerr(file);
    }
    if (is("clearerr_unlocked")) {
        fflush(file);
        clearerr_unlocked(file);
    }
    if (is("rewind")) rewind(file);
    if (is("freopen")) file = freopen("/dev/null", "w", file);
    if (is("exit") || is("fdopen-exit") || is("stdout")) exit(0);
    fclose(file);
    return 0;
}

int main(int n, char **words) {
    static const char *streams[] = {"fwrite",  "fprintf", "fputs", "putc", "clearerr", "clearerr_unlocked", "rewind", "freopen",
                                    "fdopen", "fdopen-clearerr", "fdopen-exit", "exit", "stdout"};
    if (n < 4) return 2;
    how = words[1];
    for (int i = 0; i < WHOLE; i++) bytes[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (is(streams[i])) return stream_way(words[2]);
    int source = open(words[3], O_RDONLY), file = open(words[2], O_RDWR | O_CREAT | O_TRUNC, 0640);
    if (source < 0 || file < 0) return 3;
    if (whole_way(file, words[2], source) && descriptor_way(file, source)) return 4;
    return is("__close") ? __close(file) : close(file);
}
