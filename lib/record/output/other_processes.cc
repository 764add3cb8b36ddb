#include "record/output/other_processes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "record/output/arena_file.h"
#include "wire/area.h"
#include "wire/arena.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace arena = wire::arena;

namespace {

template <std::size_t kSize>
bool read_at(int file, std::size_t offset, std::byte (&to)[kSize]) {
  return pread(file, to, kSize, static_cast<off_t>(offset)) == static_cast<ssize_t>(kSize);
}

}  // namespace

// Also checks the state of the process, because a process that has ended keeps its pid until its parent has waited for
// it.
bool is_alive(std::uint32_t pid) {
  char path[32], line[128];
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, line, sizeof line);
  close(file);
  const auto* end = size > 0 ? static_cast<const char*>(memrchr(line, ')', static_cast<std::size_t>(size))) : nullptr;
  return end != nullptr && end + 2 < line + size && end[2] != 'Z' && end[2] != 'X';
}

std::string_view others_at_work(std::span<char> text) {
  const int file = open_arena(O_RDONLY);
  if (file < 0) return {};
  std::byte header[arena::kClaimed.end];
  const std::size_t claimed = read_at(file, 0, header) ? wire::load(header, arena::kClaimed) : 0;
  const auto self = static_cast<std::uint32_t>(getpid());
  std::size_t used = 0;
  for (std::size_t i = 0; i < std::min(claimed, arena::kAreaCount); ++i) {
    std::byte other[area::kPid.end];
    if (!read_at(file, arena::kHeaderSize + i * area::kAreaSize, other)) break;
    const std::uint32_t pid = wire::load(other, area::kPid);
    const bool recording = wire::load(other, area::kState) == static_cast<std::uint32_t>(area::State::recording);
    if (wire::load(other, area::kMagic) != area::kMagicValue || !recording || pid == self || !is_alive(pid)) continue;
    const int length = snprintf(text.data() + used, text.size() - used, used == 0 ? "%u" : " %u", pid);
    if (length < 0 || used + static_cast<std::size_t>(length) >= text.size()) break;
    used += static_cast<std::size_t>(length);
  }
  close(file);
  return {text.data(), used};
}

}  // namespace cudadiag::record
