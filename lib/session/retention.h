// Decides which old sessions are removed when a new one is finished.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace cudadiag::session {

struct Retention {
  std::size_t sessions = 20;
  std::uintmax_t bytes = 2'000'000'000;
};

// Marks a session so that retain() neither removes nor counts it. Returns false with errno set if that failed.
bool keep(const std::filesystem::path& session);
// Removes that mark. Returns false with errno set if that failed.
bool unkeep(const std::filesystem::path& session);
bool is_kept(const std::filesystem::path& session);

// Removes the oldest sessions until the limits of `keep` are met, and returns the names of the removed sessions. Never
// removes `newest`, a session of another user, a session that is being written, or one that keep() has marked. Files
// that cudadiag did not write stay, even in a removed session. Also removes session folders that `cudadiag env` prepared
// more than a day ago and that no program has used. If a program uses one later, the recorder creates the folder again.
std::vector<std::string> retain(const std::filesystem::path& root, const std::filesystem::path& newest,
                                const Retention& keep);

}  // namespace cudadiag::session
