// The system calls of an isolated rerun that are checked before the kernel carries them out: all calls that can change
// something outside the rerun, even those that Landlock covers. The seccomp filter is built from this constant table.
#pragma once

#include <cstdint>
#include <span>

#include "session/session.h"

namespace cudadiag::launch {

struct CallRule {
  enum class Kind : std::uint8_t {
    open,        // opens `path`, with flags in argument `flags`
    open_how,    // openat2; the flags are in memory
    change,      // changes the file at `path`; if that argument is null, the file of descriptor `folder`
    make,        // creates an entry at `path`
    remove,      // removes the entry at `path`
    move,        // moves between two folders and paths, which start at arguments `folder` and `path`
    link,        // creates a link, with the same arguments as for `move`
    descriptor,  // changes the file of the descriptor in argument 0
    address,     // connect, bind: `path` is the address, and its length follows
    datagram,    // sendto: `path` is the address, and its length follows
    message,     // sendmsg
    messages,    // sendmmsg
    listen,
    signal,     // sends a signal to process `path`
    processes,  // kill: argument 0 may refer to several processes
    process,    // acts on process `path`
    priority,   // setpriority: argument 0 is the kind of target
    refuse,
  };
  enum class When : std::uint8_t { always, nonzero, any_bit, equal };  // compares the low 32 bits of argument `tested`

  long number = 0;
  Kind kind = Kind::refuse;
  session::Deed deed = session::Deed::administer;
  std::int8_t folder = -1;  // the argument with the folder that the path is relative to; -1 for the working folder
  std::int8_t path = 0;
  std::int8_t flags = -1;    // the argument that may forbid following a link
  bool follows = true;       // whether a link at the end of the path is followed
  When when = When::always;  // when to check the call; in other cases it is allowed
  std::int8_t tested = 0;
  std::uint32_t bits = 0;  // for any_bit and equal
  int error = 0;           // for refuse: the error that the call returns
  const char* what = "";   // for refuse: a description of what is refused
};

// Returns the rules for the calls that exist on this architecture.
std::span<const CallRule> call_rules();

// Installs the filter for this thread, which must have no_new_privs set. Returns the listener's descriptor, from which
// to read and answer the calls. Returns -1 with errno set on failure; EBUSY means that another listener exists. Safe
// between fork and exec.
int install_filter();

// Whether this kernel, and the container if there is one, allow such a filter. A child process tests it once; later
// calls return the same result.
bool can_filter();

}  // namespace cudadiag::launch
