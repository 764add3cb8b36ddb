// Between its launches, the program creates children by vfork, posix_spawn and a raw clone. Some use no CUDA, others
// try to.
// Plan: fault kernel=scale nth=31 code=700
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static pid_t vforked(char* const* command) {
  const pid_t child = vfork();
  if (child == 0) {
    execv(command[0], command);
    _exit(127);
  }
  return child;
}

static pid_t spawned(char* const* command) {
  pid_t child = -1;
  posix_spawn(&child, command[0], nullptr, nullptr, command, environ);
  return child;
}

// Bypasses the C library, so none of its fork handlers runs.
static pid_t cloned(CUfunction kernel) {
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) _exit(LAUNCH(kernel, nullptr) == CUDA_SUCCESS ? 1 : 0);
  return child;
}

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  char shell[] = "/bin/sh", flag[] = "-c", script[] = "exit 0";
  char* const command[] = {shell, flag, script, nullptr};
  for (int i = 0; i < 10; ++i) {
    LAUNCH(scale, nullptr);
    if (status_of(vforked(command)) != 0) std::puts("vforked child failed");
    LAUNCH(scale, nullptr);
    if (status_of(spawned(command)) != 0) std::puts("spawned child failed");
    LAUNCH(scale, nullptr);
    if (status_of(cloned(scale)) != 0) std::puts("cloned child used the GPU");
  }
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
