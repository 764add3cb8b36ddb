// Tells other processes where a running launcher keeps its recording. While the launcher runs, the session's folder
// contains these files next to the areas:
//
//   arena         one line: the launcher's pid, the number of its descriptor, the inode that the descriptor refers to
//   running.json  the manifest as far as it is known
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "session/session_folders.h"

namespace cudadiag::session {

inline constexpr const char* kArenaFile = "arena";
inline constexpr const char* kRunningFile = "running.json";

struct LivePlace {
  std::uint32_t pid = 0;
  int descriptor = -1;
  std::uint64_t inode = 0;
};

std::string write_live_place(const LivePlace& place);
std::optional<LivePlace> parse_live_place(std::string_view text);

// Returns the place of this session's recording.
std::optional<LivePlace> live_place(const std::filesystem::path& session);

// Returns whether the recording is lost, because the launcher was killed before it could store any part of it.
bool was_lost(const std::filesystem::path& session);

// Every recorded process maps its recording. Returns whether this process maps the recording at this place; false if
// its mappings cannot be read.
bool is_held_by(const LivePlace& place, std::uint32_t pid);
std::vector<std::uint32_t> holders_of(const LivePlace& place);

std::optional<std::filesystem::path> newest_live(const std::vector<Root>& roots);

std::optional<std::filesystem::path> newest_lost(const std::vector<Root>& roots);

}  // namespace cudadiag::session
