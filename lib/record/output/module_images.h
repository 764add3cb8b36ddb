// Saves loaded device code in the session. From the saved files, the analysis finds out which memory the kernels
// access. If cudadiag looks for races, nearly all images are kept. Otherwise, only small ones are kept, in case one of
// their kernels fails. Each image is written only once, to a file named after the hash of its bytes. The total size is
// limited. An image is a cubin, or a compressed entry of a fat binary (wire/fat_binary.h).
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
  enum class Keep { all, small };

  // `folder` is the folder of the pass. If it is null or empty, nothing is written.
  void attach(Interner& interner, const char* folder, Keep keep);
  void save(std::span<const std::byte> image);

 private:
  void give_up(const char* why);
  bool write(std::span<const std::byte> image, std::uint64_t hash, const char* path) const;

  Interner* interner_ = nullptr;
  Keep keep_ = Keep::all;
  char folder_[PATH_MAX] = {};
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> noted_ = false;
};

}  // namespace cudadiag::record
