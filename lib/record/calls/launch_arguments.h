// Records the parameters of the launch that a rerun waits for, if that launch fails. The parameters are read at ENTER.
// The caller holds the gate (exclusive_wait.h), so one buffer is enough.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/calls/calls.h"
#include "record/cupti/driver_api.h"
#include "record/output/interner.h"

namespace cudadiag::record {

class LaunchArguments {
 public:
  static constexpr std::size_t kMostParameters = 64;
  static constexpr std::size_t kMostBytes = 4096;

  void attach(Interner& interner, const DriverApi& driver);

  void read(const Call& launch);
  // Call this if the operation that is about to run alone has no parameters.
  void forget() { has_ = false; }
  // Call this when the operation whose parameters were read has failed.
  void keep(std::uint16_t thread, std::uint64_t serial);

 private:
  bool layout_of(CUfunction function, std::size_t parameter, std::size_t& offset, std::size_t& size) const;
  bool add(std::size_t offset, const void* value, std::size_t size);
  void read_buffer(CUfunction function, void* const* extra);

  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  bool has_ = false, noted_ = false;
  std::uint32_t flags_ = 0;
  std::size_t count_ = 0, bytes_ = 0;
  struct Head {
    std::uint64_t serial;
    std::uint32_t thread, flags;
    struct {
      std::uint32_t offset, size;
    } parameters[kMostParameters];
  } head_{};
  alignas(8) std::array<std::byte, kMostBytes> values_{};
};

}  // namespace cudadiag::record
