// Decides which old sessions are removed when a new one is finished.
#pragma once

#include <cstddef>
#include <cstdint>
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
bool is_kept(const std::filesystem::path& session);

// Removes the oldest sessions of this user until the limits of `keep` are met, and returns the removed names. Spares
// `newest`, and sessions that another user owns, that are being written, or that keep() has marked. Files that cudadiag
// did not write stay, even in a removed session.
std::vector<std::string> retain(const std::filesystem::path& root, const std::filesystem::path& newest,
                                const Retention& keep);

// Removes session folders that `cudadiag env` prepared more than a day ago and no program has used. If a program starts
// later, its recorder creates the folder again.
void remove_unused(const std::filesystem::path& root);

}  // namespace cudadiag::session
