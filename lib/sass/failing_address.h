// The address that a failing instruction used, recomputed from what is left of the failed thread's state.
//
// A value is used only if it is certain. A register still holds its value if nothing on any path since may have written
// it. Otherwise the value is recomputed, if only one instruction can have produced it and the inputs of that
// instruction are known. Values are unknown if they come from memory, from other threads or from an instruction that is
// not modelled.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sass/access_kind.h"
#include "sass/sass.h"

namespace cudadiag::sass {

// One thread's state after its failure. Empty members are unknown.
struct LaneState {
  std::uint32_t stands = 0;  // code address of the next instruction
  std::vector<std::uint32_t> registers, uniform_registers;
  std::optional<std::uint32_t> predicates, uniform_predicates;  // one bit per predicate, set if it is true
  std::uint32_t lane = 0;
  std::array<std::uint32_t, 3> thread{}, block{};
};

// State that all threads of a launch share.
struct LaunchState {
  std::string parameters;  // the bytes of the parameters; empty if unknown
  std::optional<std::array<std::uint32_t, 3>> grid, block;
  bool clusters = false;  // the launch groups blocks into clusters
};

// The terms that an address is the sum of, from the code alone. `words` are the byte offsets of the parameter words
// that are added unchanged.
struct Base {
  bool known = false;                  // false: it depends on the path, or on something that is not followed
  std::vector<std::uint32_t> words{};  // sorted
  bool others = false;                 // a value that comes from memory is added too
};

class FailingAddress {
 public:
  // `text` is nvdisasm's output for the whole kernel; `offset` is the instruction's address in it.
  FailingAddress(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch);
  FailingAddress(FailingAddress&&) noexcept;
  ~FailingAddress();

  // Returns false if the instruction's access to memory is not understood; then nothing else is known.
  bool known() const;
  AccessKind kind() const;
  Space space() const;
  std::uint32_t bytes() const;  // 0 if unknown

  // Returns nullopt if the address cannot be computed.
  std::optional<std::uint64_t> of(const LaneState& lane);
  // Returns the base for the given thread, or for any thread if `lane` is null.
  Base base(const LaneState* lane = nullptr);
  // Number of distinct opcodes that contributed values but are not modelled.
  std::uint64_t unknown_opcodes() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> it_;
};

}  // namespace cudadiag::sass
