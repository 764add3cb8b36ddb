// Reads the files in a session's folder and those that a session names. The contents of a session are not trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::session {

// Returns the contents of a regular file of at most `most` bytes. Returns nullopt for a larger file, for a link, and
// for a pipe or device, which could block the reader or never end.
std::optional<std::string> read_plain_file(const std::filesystem::path& file, std::uint64_t most);

// Opens a source or a script that a session names, with the rights of the reader. Follows links, because paths to
// sources often contain some. Does not follow the links of procfs, because these lead to the reader's own open files.
// The result is invalid if the file is empty or not a regular file. It is also invalid in procfs and sysfs, where
// reading has side effects and may never end.
base::FileDescriptor open_named_file(const std::filesystem::path& file);
std::optional<std::string> read_named_file(const std::filesystem::path& file, std::uint64_t most);

}  // namespace cudadiag::session
