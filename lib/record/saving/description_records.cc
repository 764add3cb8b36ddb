#include "record/saving/description_records.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

namespace cudadiag::record {

namespace format = wire::saved_launch;

bool write_all(int file, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

void put(int file, format::Record kind, std::span<const std::byte> first, std::span<const std::byte> after) {
  const std::size_t length = first.size() + after.size();
  std::array<std::byte, format::kRecordHead> head{};
  wire::store(head.data(), format::kKind, static_cast<std::uint32_t>(kind));
  wire::store(head.data(), format::kLength, static_cast<std::uint32_t>(length));
  const std::array<std::byte, 8> padding{};
  const iovec parts[] = {{head.data(), head.size()},
                         {const_cast<std::byte*>(first.data()), first.size()},
                         {const_cast<std::byte*>(after.data()), after.size()},
                         {const_cast<std::byte*>(padding.data()), (8 - length % 8) % 8}};
  // Ignores failed writes (see the header).
  if (writev(file, parts, 4) < 0) return;
}

std::span<const std::byte> bytes_of(const char* text) {
  return {reinterpret_cast<const std::byte*>(text), strnlen(text, PATH_MAX)};
}

std::array<std::byte, format::kBlockSize> encoded(const SavedMemory::Block& block, std::uint32_t number) {
  std::array<std::byte, format::kBlockSize> to{};
  wire::store(to.data(), format::kAddress, block.address);
  wire::store(to.data(), format::kBytes, block.bytes);
  wire::store(to.data(), format::kSavedFrom, block.from);
  wire::store(to.data(), format::kSavedBytes, block.saved);
  wire::store(to.data(), format::kNumber, number);
  wire::store(to.data(), format::kMemoryKind, static_cast<std::uint32_t>(block.kind));
  wire::store(to.data(), format::kReach, static_cast<std::uint32_t>(block.reach));
  wire::store(to.data(), format::kUnsaved, static_cast<std::uint32_t>(block.unsaved));
  return to;
}

}  // namespace cudadiag::record
