// The supervisor process between a launcher and a rerun. All processes of the rerun descend from the supervisor or are
// adopted by it, so no unrelated process is mistaken for one of them. When the launcher dies or requests it, the
// supervisor kills these processes and removes the private folder. The supervisor also starts the target. If isolation
// is requested, it confines the target and checks its system calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::launch {

// Runs the hidden command (supervision::kCommand). Returns the exit status of this process.
int supervise(int argc, char** argv);

// The packets between a launcher and the supervisor of a rerun. Both processes run the same program, and are connected
// by a pair of sockets. If one process closes its socket, the other kills the rerun's processes.
namespace supervision {

// The supervisor's hidden command, and its arguments before "--". The target's path and argv follow after "--".
inline constexpr const char* kCommand = "__supervise";
inline constexpr const char* kSocketWord = "--socket=";
inline constexpr const char* kArenaWord = "--arena=";
inline constexpr const char* kRemoveWord = "--remove=";  // the descriptor of a folder
inline constexpr const char* kIsolateWord = "--isolate";

struct Packet {
  enum class Kind : std::uint32_t {
    // Sent by the supervisor.
    started,  // number: the target's pid
    failed,   // the target could not be started; number: errno, text: the step that failed, empty for exec
    kept,     // an action was refused; number: session::Deed, text: its object
    seen,     // a name could not be hidden; text: its path
    made,     // the rerun created a file in shared memory; text: the bytes of its FileIdentity
    stopped,  // the terminal stopped the target; number: the signal
    ended,    // the target ended; number: its wait status
    left,     // number: the pid of a process that could not be killed
    over,     // all processes are gone, except those reported by `left`
    // Sent by the launcher.
    end,      // number: milliseconds between asking the processes to exit and killing them
    give_up,  // stop waiting for processes that do not die, clean up and exit
    halt,     // stop all processes, because the launcher itself is being stopped
    resume,
  };
  Kind kind = Kind::over;
  std::int32_t number = 0;
  std::string text;
};

// Returns false if the packet cannot be sent, for example because the other end is closed.
bool send(int socket, const Packet& packet);
// Like send(), but fails instead of waiting for the other end to take packets.
bool send_at_once(int socket, const Packet& packet);
// Never blocks. Returns nullopt if no packet has arrived. Sets `closed` if no more packets will arrive.
std::optional<Packet> receive(int socket, bool& closed);

}  // namespace supervision

}  // namespace cudadiag::launch
