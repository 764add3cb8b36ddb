// Which old sessions go when a new one is finished.
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

// Marks a session as one that retain() neither removes nor counts. False: errno says why it could not.
bool keep(const std::filesystem::path& session);
bool is_kept(const std::filesystem::path& session);

// Removes the oldest sessions of this user until `keep` holds; the names of those removed. Keeps what somebody else
// owns, what is being written, what keep() has marked, and `newest`. Of what it removes, files that cudadiag did not
// write stay.
std::vector<std::string> retain(const std::filesystem::path& root, const std::filesystem::path& newest,
                                const Retention& keep);

// Removes what `cudadiag env` prepared more than a day ago and no program has used. A program that comes later makes
// the folder again.
void remove_unused(const std::filesystem::path& root);

}  // namespace cudadiag::session
