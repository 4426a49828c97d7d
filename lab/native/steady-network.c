// Hides changes of the machine's network from a browser (LD_PRELOAD). Chromium binds a netlink socket to be notified,
// and expects no notification when that fails. See src/chromium.ts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
  int (*next)(int, const struct sockaddr *, socklen_t) =
      (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
  if (address != NULL && length >= sizeof address->sa_family && address->sa_family == AF_NETLINK) {
    errno = EACCES;
    return -1;
  }
  return next(descriptor, address, length);
}
