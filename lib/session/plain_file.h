// Reads the files of a session's folder, in which anybody may have put anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::session {

// The contents of a plain file of at most `most` bytes. Nothing for what is larger, a link, or a pipe or device, which
// could block the reader or never end.
std::optional<std::string> read_plain_file(const std::filesystem::path& file, std::uint64_t most);

// Opens a file of the reader's that a session names: a source or a script. Follows links, for sources often lie behind
// some, but none of procfs, which lead to what the reader itself has open. Invalid for what is not a plain file, is
// empty, or lies in procfs or sysfs, where reading has effects and may never end.
base::FileDescriptor open_named_file(const std::filesystem::path& file);
std::optional<std::string> read_named_file(const std::filesystem::path& file, std::uint64_t most);

}  // namespace cudadiag::session
