// The address that a failing instruction used, computed again from what is left of the thread that failed.
//
// A value counts where it must be so: a register holds what it held if nothing on any path since can have written it;
// otherwise its value is computed again, where one instruction alone can have made it, from values that are known in
// their turn. Values that come from memory, from other threads or from an instruction that is not modelled are not known.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sass/sass.h"

namespace cudadiag::sass {

enum class AccessKind : std::uint8_t { load, store, atomic, copy };
enum class Space : std::uint8_t { global, shared, local, generic };

// The state of one thread after its failure. Empty members are not known.
struct LaneState {
  std::uint32_t stands = 0;  // the address in the code of the instruction that is next
  std::vector<std::uint32_t> registers, uniform_registers;
  std::optional<std::uint32_t> predicates, uniform_predicates;  // a bit for each that is true
  std::uint32_t lane = 0;
  std::array<std::uint32_t, 3> thread{}, block{};
};

// State that all threads of a launch share.
struct LaunchState {
  std::string parameters;  // their bytes; empty: not known
  std::optional<std::array<std::uint32_t, 3>> grid, block;
  bool clusters = false;  // several blocks form one
};

// The terms of an address, by the code alone: the words of the parameters, in bytes from their beginning, that are
// added to it unchanged.
struct Base {
  bool known = false;                  // false: it depends on the path, or on what is not followed
  std::vector<std::uint32_t> words{};  // sorted
  bool others = false;                 // a value is added that comes from memory
};

class FailingAddress {
 public:
  // `text` is nvdisasm's, of the whole kernel; `offset` the address of the instruction in it.
  FailingAddress(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch);
  FailingAddress(FailingAddress&&) noexcept;
  ~FailingAddress();

  // False: the instruction is not one whose access to memory is understood, and nothing else is known.
  bool known() const;
  AccessKind kind() const;
  Space space() const;
  std::uint32_t bytes() const;  // 0: not known

  // Nothing: it cannot be computed.
  std::optional<std::uint64_t> of(const LaneState& lane);
  // For a thread, or for whichever.
  Base base(const LaneState* lane = nullptr);
  // Instructions that values came from and that are not modelled.
  std::uint64_t unknown_opcodes() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> it_;
};

}  // namespace cudadiag::sass
