// Where a run in progress holds its recording, for other processes to read: beside the areas in the session's folder,
// for as long as the launcher lives.
//
//   arena         one line: the launcher's pid, the number of its descriptor, the inode behind that descriptor
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
// Empty if the text has none.
std::optional<LivePlace> parse_live_place(std::string_view text);

// The place of this session's recording; empty if it never had one or is finished.
std::optional<LivePlace> live_place(const std::filesystem::path& session);

// The launcher was killed before it could write anything of the recording that it held.
bool was_lost(const std::filesystem::path& session);

// Whether the process has that recording in its memory, as the processes do that record to it; false also if that may
// not be seen.
bool is_held_by(const LivePlace& place, std::uint32_t pid);
// All such processes.
std::vector<std::uint32_t> holders_of(const LivePlace& place);

// The newest session that is being recorded.
std::optional<std::filesystem::path> newest_live(const std::vector<Root>& roots);

// The newest session that was lost.
std::optional<std::filesystem::path> newest_lost(const std::vector<Root>& roots);

}  // namespace cudadiag::session
