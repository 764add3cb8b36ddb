// Writes the device code that the driver loads to files of the session, for reading the kernels' memory accesses. Used
// only if cudadiag looks for races. Writes each image once, by the hash of its bytes, within a budget.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/output/interner.h"

namespace cudadiag::record {

class ModuleImages {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  // `folder` is that of the pass. If it is null or empty, nothing is written.
  void attach(Interner& interner, const char* folder);
  void save(std::span<const std::byte> image);

 private:
  bool keep(std::span<const std::byte> image, std::uint64_t hash, const char* path) const;
  void give_up(const char* why);

  Interner* interner_ = nullptr;
  char folder_[PATH_MAX] = {};
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> noted_ = false;
};

}  // namespace cudadiag::record
