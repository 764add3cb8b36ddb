#include "supervise/reruns/dump_progress.h"

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace cudadiag::supervise {

bool DumpProgress::moves() {
  constexpr std::uint64_t kTail = 512;  // more than any line that the driver prints
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(output_, error);
  if (error || size <= size_) return false;
  size_ = size;
  std::ifstream file(output_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size > kTail ? size - kTail : 0));
  std::string tail(kTail, '\0');
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  std::string_view last(tail.data(), static_cast<std::size_t>(file.gcount()));
  while (last.ends_with('\n')) last.remove_suffix(1);
  last.remove_prefix(last.rfind('\n') + 1);
  return last.find("] coredump: ") != std::string_view::npos;
}

}  // namespace cudadiag::supervise
