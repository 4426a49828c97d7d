// Makes fsync fail, the clock wrong and the boot of the kernel another one in a process (LD_PRELOAD), as files state.
// See src/process-faults.ts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
  // Added to the real-time clock, seconds.
  volatile int64_t clock_seconds;
  // Not 0: fsync and fdatasync fail with EIO.
  volatile int64_t sync_fails;
};

static const struct control none = {0, 0};
static const struct control *control = &none;

__attribute__((constructor)) static void open_control(void) {
  const char *file = getenv("TIDEGAUGE_PROCESS_FAULTS");
  int descriptor = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  void *shared = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, descriptor, 0);
  if (shared != MAP_FAILED) control = shared;
  close(descriptor);
}

// The file that is read in place of the boot of the kernel.
static const char *path_of(const char *path) {
  const char *boot = strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? getenv("TIDEGAUGE_PROCESS_FAULTS_BOOT") : NULL;
  return boot == NULL ? path : boot;
}

static int open_with(const char *name, const char *path, int flags, va_list arguments) {
  int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
  int creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  mode_t mode = creates ? va_arg(arguments, mode_t) : 0;
  return next(path_of(path), flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int descriptor = open_with("open", path, flags, arguments);
  va_end(arguments);
  return descriptor;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int descriptor = open_with("open64", path, flags, arguments);
  va_end(arguments);
  return descriptor;
}

static int fail(void) {
  errno = EIO;
  return -1;
}

int fsync(int descriptor) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return control->sync_fails ? fail() : next(descriptor);
}

int fdatasync(int descriptor) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return control->sync_fails ? fail() : next(descriptor);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*next)(clockid_t, struct timespec *);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = next(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += control->clock_seconds;
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  time->tv_sec = precise.tv_sec;
  time->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  if (out != NULL) *out = precise.tv_sec;
  return precise.tv_sec;
}
