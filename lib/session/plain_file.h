// Reads the files of a session's folder, which may contain anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::session {

// Returns the contents of a plain file of at most `most` bytes. Returns nullopt for a larger file, a link, and a pipe
// or device, which could block the reader or never end.
std::optional<std::string> read_plain_file(const std::filesystem::path& file, std::uint64_t most);

// Opens one of the reader's files that a session names: a source or a script. Follows links, because paths to sources
// often contain some. Does not follow links of procfs, because these lead to the reader's own open files. The result is
// invalid if the file is not plain or is empty. It is also invalid in procfs and sysfs, where reading has side effects
// and may never end.
base::FileDescriptor open_named_file(const std::filesystem::path& file);
std::optional<std::string> read_named_file(const std::filesystem::path& file, std::uint64_t most);

}  // namespace cudadiag::session
