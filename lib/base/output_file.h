// Writes text to files whose paths users chose. Such a path can be a pipe that no process reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::base {

enum class Earlier { replaced, kept };  // what happens to the text that a regular file contains

struct WriteFailure {
  int error;  // errno
  std::string why;
};

// Writes all of `text` to a regular file, a pipe or a character device, and creates the file if it is missing. Refuses
// other kinds of files. Never waits for a pipe to be opened for reading, and gives up if its reader takes nothing for
// ten seconds. Returns nullopt on success.
std::optional<WriteFailure> write_output_file(const std::string& path, std::string_view text, Earlier earlier);

}  // namespace cudadiag::base
