// The packets between a launcher and the supervisor of a rerun. Both run the same program, and each has one end of a
// socket. When one end closes, the process at the other end ends the rerun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::launch::supervision {

// The supervisor's hidden command, and its arguments before "--". The path and argv of the target follow.
inline constexpr const char* kCommand = "__supervise";
inline constexpr const char* kSocketWord = "--socket=";
inline constexpr const char* kArenaWord = "--arena=";
inline constexpr const char* kRemoveWord = "--remove=";
inline constexpr const char* kIsolateWord = "--isolate";

struct Packet {
  enum class Kind : std::uint32_t {
    // Sent by the supervisor.
    started,  // number: the target's pid
    failed,   // the target could not be started; number: errno, text: what failed, empty for exec
    kept,     // number: session::Deed, text: its object
    stopped,  // the terminal stopped the target; number: the signal
    ended,    // the target ended; number: its wait status
    left,     // number: pid of a process that could not be ended
    over,     // all processes are gone except those reported by `left`
    // Sent by the launcher.
    end,   // number: milliseconds from the request to end until the kill
    halt,  // stop all processes, because the launcher itself is stopped
    resume,
  };
  Kind kind = Kind::over;
  std::int32_t number = 0;
  std::string text;
};

// Returns false if the other side is gone or accepts nothing more.
bool send(int socket, const Packet& packet);
// Returns at once: nullopt if no packet has arrived. Sets `closed` if no more will arrive.
std::optional<Packet> receive(int socket, bool& closed);

}  // namespace cudadiag::launch::supervision
