// Loaded before a process's libraries: what it syncs waits as the file DISK_STATE says. `hang`: until that changes. A
// number: so many milliseconds. No file: not at all.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void rest(long milliseconds) {
  const struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&span, NULL);
}

static void wait_for_disk(void) {
  const char* const path = getenv("DISK_STATE");
  while (path != NULL) {
    char state[16] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t length = read(file, state, sizeof state - 1);
    close(file);
    if (length <= 0) return;
    if (strncmp(state, "hang", 4) != 0) {
      rest(atol(state));
      return;
    }
    rest(20);
  }
}

int fsync(int file) {
  static int (*sync_file)(int);
  if (sync_file == NULL) sync_file = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_for_disk();
  return sync_file(file);
}

int fdatasync(int file) {
  static int (*sync_data)(int);
  if (sync_data == NULL) sync_data = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_for_disk();
  return sync_data(file);
}
