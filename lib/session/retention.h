// Which old sessions go when a new one is finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace cudadiag::session {

struct Retention {
  std::size_t sessions = 20;
  std::uintmax_t bytes = 2'000'000'000;
};

// Removes the oldest sessions of this user until `keep` holds; the number of those removed. Keeps what somebody else
// owns, what is being written, and `newest`. Of what it removes, files that cudadiag did not write stay.
std::size_t retain(const std::filesystem::path& root, const std::filesystem::path& newest, const Retention& keep);

// Removes what `cudadiag env` prepared more than a day ago and no program has used. A program that comes later makes
// the folder again.
void remove_unused(const std::filesystem::path& root);

}  // namespace cudadiag::session
