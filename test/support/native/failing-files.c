// Loaded before a process's libraries: calls about files fail or take longer as the file FAILING_FILES says, which is 4096
// bytes long and is looked at before each call. Its first byte: '-' nothing, 'f' no room, 'e' input/output errors, 's' each
// call takes longer. Behind it, each ended by a zero: milliseconds, an extended regular expression that paths match, and by
// how many seconds the wall clock is wrong.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STATE_BYTES 4096
#define MILLISECONDS_AT 1
#define PATTERN_AT 32
#define CLOCK_AT 3072

static volatile char* state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char compiled_from[CLOCK_AT - PATTERN_AT];
static regex_t compiled;

__attribute__((constructor)) static void begin(void) {
  const char* const path = getenv("FAILING_FILES");
  if (path == NULL) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = mmap(NULL, STATE_BYTES, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) state = mapped;
}

// How calls about a path go: one of the first bytes above.
static char manner_of(const char* path) {
  const char manner = state == NULL ? '-' : state[0];
  if (manner == '-') return manner;
  pthread_mutex_lock(&lock);
  const char* const pattern = (const char*)state + PATTERN_AT;
  if (strncmp(compiled_from, pattern, sizeof compiled_from - 1) != 0) {
    if (compiled_from[0] != 0) regfree(&compiled);
    strncpy(compiled_from, pattern, sizeof compiled_from - 1);
    if (regcomp(&compiled, compiled_from, REG_EXTENDED | REG_NOSUB) != 0) abort();
  }
  const int matches = compiled_from[0] != 0 && regexec(&compiled, path, 0, NULL, 0) == 0;
  pthread_mutex_unlock(&lock);
  return matches ? manner : '-';
}

static char manner_of_file(int file) {
  if (state == NULL || state[0] == '-') return '-';
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0 || path[0] != '/') return '-';
  path[length] = 0;
  return manner_of(path);
}

// Whether a call fails; errno says with what.
static int fails(char manner, int takes_room) {
  if (manner == 's') {
    const long milliseconds = atol((const char*)state + MILLISECONDS_AT);
    const struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&span, NULL);
  }
  if (manner == 'e' || (manner == 'f' && takes_room)) {
    errno = manner == 'e' ? EIO : ENOSPC;
    return 1;
  }
  return 0;
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void* real(const char* name) { return dlsym(RTLD_NEXT, name); }

#define ON_FILE(result, name, parameters, arguments, takes_room) \
  result name parameters {                                       \
    static __typeof__(&name) next;                               \
    if (next == NULL) next = REAL(name);                         \
    if (fails(manner_of_file(file), takes_room)) return -1;      \
    return next arguments;                                       \
  }

ON_FILE(ssize_t, write, (int file, const void* bytes, size_t count), (file, bytes, count), 1)
ON_FILE(ssize_t, pwrite, (int file, const void* bytes, size_t count, off_t at), (file, bytes, count, at), 1)
ON_FILE(ssize_t, pwrite64, (int file, const void* bytes, size_t count, off64_t at), (file, bytes, count, at), 1)
ON_FILE(ssize_t, writev, (int file, const struct iovec* parts, int count), (file, parts, count), 1)
ON_FILE(ssize_t, pwritev, (int file, const struct iovec* parts, int count, off_t at), (file, parts, count, at), 1)
ON_FILE(ssize_t, pwritev64, (int file, const struct iovec* parts, int count, off64_t at), (file, parts, count, at), 1)
ON_FILE(ssize_t, read, (int file, void* bytes, size_t count), (file, bytes, count), 0)
ON_FILE(ssize_t, pread, (int file, void* bytes, size_t count, off_t at), (file, bytes, count, at), 0)
ON_FILE(ssize_t, pread64, (int file, void* bytes, size_t count, off64_t at), (file, bytes, count, at), 0)
ON_FILE(int, fallocate, (int file, int mode, off_t at, off_t count), (file, mode, at, count), 1)
ON_FILE(int, fallocate64, (int file, int mode, off64_t at, off64_t count), (file, mode, at, count), 1)
ON_FILE(int, fsync, (int file), (file), 0)
ON_FILE(int, fdatasync, (int file), (file), 0)

#define OPENS(name)                                                              \
  int name(const char* path, int flags, ...) {                                   \
    static int (*next)(const char*, int, ...);                                   \
    if (next == NULL) next = (int (*)(const char*, int, ...))real(#name);        \
    va_list rest;                                                                \
    va_start(rest, flags);                                                       \
    const mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(rest, int) : 0;  \
    va_end(rest);                                                                \
    if (fails(manner_of(path), 0)) return -1;                                    \
    return next(path, flags, mode);                                              \
  }

OPENS(open)
OPENS(open64)

static long clock_error(void) { return state == NULL ? 0 : atol((const char*)state + CLOCK_AT); }

int clock_gettime(clockid_t clock, struct timespec* now) {
  static __typeof__(&clock_gettime) next;
  if (next == NULL) next = REAL(clock_gettime);
  const int result = next(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += clock_error();
  return result;
}

int gettimeofday(struct timeval* now, void* zone) {
  static int (*next)(struct timeval*, void*);
  if (next == NULL) next = (int (*)(struct timeval*, void*))real("gettimeofday");
  const int result = next(now, zone);
  if (result == 0) now->tv_sec += clock_error();
  return result;
}

time_t time(time_t* now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != NULL) *now = precise.tv_sec;
  return precise.tv_sec;
}
