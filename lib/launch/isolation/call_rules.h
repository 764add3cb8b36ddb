// The system calls of an isolated rerun that are checked before the kernel carries them out: those that can change
// something outside, whether Landlock covers them or not. Constant data, and the filter (seccomp) made of it.
#pragma once

#include <cstdint>
#include <span>

#include "session/session.h"

namespace cudadiag::launch {

struct CallRule {
  enum class Kind : std::uint8_t {
    open,        // `path`, with flags in argument `flags`
    open_how,    // openat2: flags in memory
    change,      // of what is at `path`; where that argument is null, of the descriptor in `folder`
    make,        // a new entry at `path`
    remove,      // the entry at `path`
    move,        // two folders and paths, from `folder` and `path` on
    link,        // likewise
    descriptor,  // changes what argument 0 is a descriptor of
    address,     // connect, bind: `path` is the address, its length follows
    datagram,    // sendto: likewise
    message,     // sendmsg
    messages,    // sendmmsg
    listen,
    signal,     // to process `path`
    processes,  // kill: argument 0 may mean several
    process,    // something done to process `path`
    priority,   // setpriority: what argument 0 says
    refuse,
  };
  enum class When : std::uint8_t { always, nonzero, any_bit, equal };  // of argument `tested`, its low half

  long number = 0;
  Kind kind = Kind::refuse;
  session::Deed deed = session::Deed::administer;
  std::int8_t folder = -1;  // the argument with the folder that a path starts from; -1: the working folder
  std::int8_t path = 0;
  std::int8_t flags = -1;    // the argument that may say not to follow a link
  bool follows = true;       // a link at the end of the path
  When when = When::always;  // else the call is let through unseen
  std::int8_t tested = 0;
  std::uint32_t bits = 0;  // of any_bit, equal
  int error = 0;           // of refuse: what the call returns
  const char* what = "";   // of refuse: the thing, in words
};

// Those that this architecture has.
std::span<const CallRule> call_rules();

// Installs the filter for this thread, which must not gain rights by exec any more. Returns the descriptor at which the
// calls wait for an answer, or -1 with errno: EBUSY, where another one listens already. Safe between fork and exec.
int install_filter();

// Whether this kernel, and the container if there is one, allow it at all. Tried once, in a child process.
bool can_filter();

}  // namespace cudadiag::launch
