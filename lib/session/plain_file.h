// Reads the files of a session's folder, in which anybody may have put anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cudadiag::session {

// The contents of a plain file of at most `most` bytes. Nothing for what is larger, a link, or a pipe or device, which
// could keep whoever opens it waiting or never come to an end.
std::optional<std::string> read_plain_file(const std::filesystem::path& file, std::uint64_t most);

}  // namespace cudadiag::session
