// Opens and reads regular files whose folder others can write to. They may have replaced a file by a link or a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::base {

// Opens a regular file for reading. Does not follow a link at the end of the path, and does not wait for the writer of
// a pipe. If the result is invalid, errno says why; errno is 0 if the path is something else than a regular file.
FileDescriptor open_plain(const std::filesystem::path& path);

// Returns the size of an open file; 0 if it is unknown.
std::uint64_t size_of(const FileDescriptor& file);

// Returns at most the first `most` bytes of a regular file; "" if it cannot be opened.
std::string read_start(const std::filesystem::path& path, std::uint64_t most);

}  // namespace cudadiag::base
