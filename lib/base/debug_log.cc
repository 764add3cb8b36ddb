#include "base/debug_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::base {

void debug_log(std::string_view line) {
  const char* path = std::getenv("CUDADIAG_DEBUG_LOG");
  if (path == nullptr) return;
  const FileDescriptor file(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  // Uses a single write, so that lines from several processes do not interleave.
  const std::string whole = std::string(line) + '\n';
  [[maybe_unused]] const ssize_t written = ::write(file.get(), whole.data(), whole.size());
}

}  // namespace cudadiag::base
