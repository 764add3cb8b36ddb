#include "record/calls/parameter_words.h"

namespace cudadiag::record {

void ParameterWords::memory_made(std::uint64_t address, std::uint64_t bytes) {
  std::uint64_t known = lowest_.load(std::memory_order_relaxed);
  while (address < known && !lowest_.compare_exchange_weak(known, address, std::memory_order_relaxed)) {
  }
  known = highest_.load(std::memory_order_relaxed);
  while (address + bytes > known &&
         !highest_.compare_exchange_weak(known, address + bytes, std::memory_order_relaxed)) {
  }
}

void ParameterWords::scan(const void* bytes, std::size_t size, std::size_t offset, Found& found) const {
  const std::uint64_t lowest = lowest_.load(std::memory_order_relaxed),
                      highest = highest_.load(std::memory_order_relaxed);
  scan_zeros(bytes, size, offset, found);
  for (std::size_t at = (8 - offset % 8) % 8; at + 8 <= size && found.count < wire::race::kMostWords; at += 8) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(bytes) + at, sizeof value);
    if (value < lowest || value >= highest) continue;
    found.words[found.count++] = {value, static_cast<std::uint16_t>(offset + at)};
  }
}

// Notes which 4-byte words are 0. A word that may be the lower half of an 8-byte number is noted only if the whole
// number is 0. Without this, a multiple of 4 GiB would be noted as 0.
void ParameterWords::scan_zeros(const void* bytes, std::size_t size, std::size_t offset, Found& found) {
  for (std::size_t at = (4 - offset % 4) % 4; at + 4 <= size && (offset + at) / 4 < 32; at += 4) {
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(bytes) + at, (offset + at) % 8 == 0 && at + 8 <= size ? 8 : 4);
    if (value == 0) found.zeros |= 1u << (offset + at) / 4;
  }
}

void ParameterWords::find(CUfunction function, void* const* parameters, void* const* extra, Found& found) {
  found.count = 0;
  found.zeros = 0;
  if (parameters != nullptr) {
    const ParameterLayout layout = layouts_->of(function);
    for (std::size_t i = 0; i < layout.count; ++i) {
      if (parameters[i] != nullptr) scan(parameters[i], layout.size(i), layout.offset(i), found);
    }
  } else if (const ParameterBuffer buffer = parameter_buffer(extra); buffer.bytes != nullptr) {
    scan(buffer.bytes, buffer.size, 0, found);
  }
}

}  // namespace cudadiag::record
