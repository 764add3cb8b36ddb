// The packets between a launcher and the supervisor of a rerun. Each holds one end of a socket: when one end closes, the
// other side ends the rerun. Both are this very program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::launch::supervision {

// The hidden command of the supervisor, and its arguments before "--": the rest is the path and argv of the target.
inline constexpr const char* kCommand = "__supervise";
inline constexpr const char* kSocketWord = "--socket=";
inline constexpr const char* kArenaWord = "--arena=";
inline constexpr const char* kRemoveWord = "--remove=";
inline constexpr const char* kIsolateWord = "--isolate";

struct Packet {
  enum class Kind : std::uint32_t {
    // From the supervisor.
    started,  // number: the target's pid
    failed,   // to start it; number: errno, text: what failed, empty if it was exec
    kept,     // number: session::Deed, text: its object
    stopped,  // the terminal stopped the target; number: the signal
    ended,    // the target; number: its wait status
    left,     // number: pid of a process that could not be ended
    over,     // nothing of it is left but for those
    // From the launcher.
    end,   // number: milliseconds between asking and killing
    halt,  // stop all of it, as the launcher itself is stopped
    resume,
  };
  Kind kind = Kind::over;
  std::int32_t number = 0;
  std::string text;
};

// False: the other side is gone, or takes nothing more.
bool send(int socket, const Packet& packet);
// Does not wait. Nothing: there is none now; `closed`: there never will be.
std::optional<Packet> receive(int socket, bool& closed);

}  // namespace cudadiag::launch::supervision
