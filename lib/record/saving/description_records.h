// Writes the records of a saved launch's description (wire/rerun/saved_launch.h) to its file. Ignores failed writes,
// because readers reject a truncated description.
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/saving/saved_memory.h"
#include "wire/rerun/saved_launch.h"

namespace cudadiag::record {

bool write_all(int file, const void* data, std::size_t size);

// The payload is `first`, followed by `after`.
void put(int file, wire::saved_launch::Record kind, std::span<const std::byte> first,
         std::span<const std::byte> after = {});

template <typename First, typename Second>
void put_pair(int file, wire::saved_launch::Record kind, First first, Second second) {
  std::array<std::byte, sizeof(Second) == 8 ? 16 : 8> payload{};
  memcpy(payload.data(), &first, sizeof first);
  memcpy(payload.data() + payload.size() - sizeof second, &second, sizeof second);
  put(file, kind, payload);
}

std::span<const std::byte> bytes_of(const char* text);
std::array<std::byte, wire::saved_launch::kBlockSize> encoded(const SavedMemory::Block& block, std::uint32_t number);

}  // namespace cudadiag::record
