#include "launch/isolation/memory_of.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>

namespace cudadiag::launch {

bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t bytes) {
  iovec here{into, bytes};
  iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(thread, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// Reads one page at a time, because the page after the text may be unmapped.
std::optional<std::string> read_text(pid_t thread, std::uint64_t address) {
  std::string text;
  constexpr std::size_t kPage = 4096;
  std::array<char, kPage> piece{};
  while (text.size() < kPage) {
    const std::size_t bytes = kPage - (address + text.size()) % kPage;
    if (!read_memory(thread, address + text.size(), piece.data(), bytes)) return std::nullopt;
    const auto end = std::find(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(bytes), '\0');
    text.append(piece.begin(), end);
    if (end != piece.begin() + static_cast<std::ptrdiff_t>(bytes)) return text;
  }
  return std::nullopt;
}

}  // namespace cudadiag::launch
