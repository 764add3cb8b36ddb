// The system calls that an isolated rerun may issue, and those that must be checked before the kernel executes them.
// The first table contains every call that can change something outside the rerun, even if Landlock covers the call.
// The second one contains the calls that need no check. The seccomp filter is built from these constant tables, and
// refuses all other calls.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

struct SyscallRule {
  enum class Kind : std::uint8_t {
    open,        // opens `path`; the flags are in argument `flags`
    open_how,    // openat2; the flags are in memory
    change,      // changes the file at `path` or, if `path` is null, the file of descriptor `folder`
    make,        // creates an entry at `path`
    remove,      // removes the entry at `path`
    move,        // moves an entry; argument pairs (folder, path) for source and target start at `folder` and `path`
    link,        // creates a link; same arguments as `move`
    descriptor,  // changes the file of the descriptor in argument 0
    control,     // ioctl
    address,     // connect or bind: `path` points to the address, the next argument is its length
    datagram,    // sendto: `path` points to the address, the next argument is its length
    message,     // sendmsg
    messages,    // sendmmsg
    listen,
    signal,     // sends a signal to the process in argument `path`
    processes,  // kill: argument 0 may refer to several processes
    process,    // acts on the process in argument `path`, or if `path` is -1, on the process of the pidfd in argument 0
    events,     // perf_event_open: watches the process in argument `path`; -1: all
    group,      // setpgid: joins the group in argument 1
    priority,   // setpriority: argument 0 says whether the target is a process, a group or a user
    refuse,
  };
  // The test on the low 32 bits of argument `tested`. `unlisted`: not one of harmless_requests().
  enum class When : std::uint8_t { always, nonzero, any_bit, equal, unlisted };

  long number = 0;
  Kind kind = Kind::refuse;
  session::Deed deed = session::Deed::administer;
  std::int8_t folder = -1;  // the argument with the folder that `path` is relative to; -1: the working folder
  std::int8_t path = 0;
  std::int8_t flags = -1;    // the argument that may contain a no-follow flag; -1: none
  bool follows = true;       // the call follows a link at the end of the path
  When when = When::always;  // when to check the call; otherwise it is allowed
  std::int8_t tested = 0;
  std::uint32_t bits = 0;  // for any_bit and equal
  int error = 0;           // for refuse: the errno that the call returns
  const char* what = "";   // for refuse: the thing that was refused, for the message
};

// Returns the rules for the system calls of this architecture.
std::span<const SyscallRule> call_rules();

// Returns the numbers of the system calls that the filter allows without a check.
std::span<const long> unchecked_calls();

// Calls with a higher number were unknown when the tables were written. Programs take ENOSYS for an older kernel.
inline constexpr long kNewestCall = 470;

// The ioctl requests that the filter allows on every descriptor: those with request & mask == value. All others are
// checked, because a list of dangerous requests would never be complete: each driver and file system has its own.
struct HarmlessRequest {
  std::uint32_t mask = 0, value = 0;
};
std::span<const HarmlessRequest> harmless_requests();

std::vector<sock_filter> filter_program();

// Installs the filter for this thread, which must have no_new_privs set. Returns the descriptor on which the caller
// receives and answers the system calls. Returns -1 with errno set on failure; EBUSY means that another listener
// exists. Safe between fork and exec.
int install_filter(const std::vector<sock_filter>& program);

// Returns true if neither the kernel nor a container forbids the filter. The first call tests this in a child process.
// Later calls return the same result.
bool can_filter();

}  // namespace cudadiag::launch
