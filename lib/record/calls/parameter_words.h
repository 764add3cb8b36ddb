// Finds the words of a kernel's parameters that may be addresses of allocations. Structures passed by value may contain
// pointers, so every aligned word is checked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "record/calls/parameter_layouts.h"
#include "wire/race_record.h"

namespace cudadiag::record {

class ParameterWords {
 public:
  void attach(ParameterLayouts& layouts) { layouts_ = &layouts; }
  void memory_made(std::uint64_t address, std::uint64_t bytes);

  struct Word {
    std::uint64_t value;
    std::uint16_t offset;
  };
  struct Found {
    std::array<Word, wire::race::kMostWords> words;
    std::size_t count = 0;
    std::uint32_t zeros = 0;  // see wire::race::kZeros
  };
  void find(CUfunction function, void* const* parameters, void* const* extra, Found& found);
  // Calls visit(bytes, size, offset) for each parameter.
  template <typename Visit>
  void each(CUfunction function, void* const* parameters, const Visit& visit) const {
    if (parameters == nullptr) return;
    const ParameterLayout layout = layouts_->of(function);
    for (std::size_t i = 0; i < layout.count; ++i) {
      if (parameters[i] != nullptr) visit(static_cast<const char*>(parameters[i]), layout.size(i), layout.offset(i));
    }
  }

 private:
  void scan(const void* bytes, std::size_t size, std::size_t offset, Found& found) const;
  static void scan_zeros(const void* bytes, std::size_t size, std::size_t offset, Found& found);

  ParameterLayouts* layouts_ = nullptr;
  std::atomic<std::uint64_t> lowest_ = ~std::uint64_t{0}, highest_ = 0;
};

}  // namespace cudadiag::record
