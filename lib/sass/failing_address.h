// Uses the state of a failed thread to recompute the address that the failing instruction accessed.
//
// Uses only values that are certain. The state was read some time after the failure. A register still holds its earlier
// value if no instruction on any path since the failure can have written to it. Otherwise, the value is recomputed if
// only one instruction can have produced it and the inputs of that instruction are known. A value is unknown if it
// comes from memory, from other threads or from an instruction that is not modelled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sass/kernel_accesses.h"
#include "sass/launch_values.h"

namespace cudadiag::sass {

class FailingAddress {
 public:
  // `text` is nvdisasm's output for the whole kernel; `offset` is the instruction's address in it.
  FailingAddress(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch);
  FailingAddress(FailingAddress&&) noexcept;
  ~FailingAddress();

  // Returns false if the instruction's memory access is not understood. In this case, do not call kind() or space().
  bool known() const;
  AccessKind kind() const;
  Space space() const;
  std::uint32_t bytes() const;  // 0 if unknown

  std::optional<std::uint64_t> of(const LaneState& lane);
  // Returns true if the address is less than 2^32, or up to 16 MiB greater. Often only the upper half of an address is
  // known: a load of 4 bytes may have overwritten the lower one.
  bool is_low(const LaneState& lane);
  // Returns the terms of the address for this thread or, if `lane` is null, for any thread.
  Base base(const LaneState* lane = nullptr);
  // Returns the number of distinct opcodes that produced needed values but are not modelled.
  std::uint64_t unknown_opcodes() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> it_;
};

}  // namespace cudadiag::sass
