// The exact bytes that a kernel uses through each of its parameters in one launch, from its code.
//
// The code is followed for all threads of the launch at once. A value is a sum of the thread's coordinates, each times
// a constant. Where threads diverge, the launch is cut into boxes of threads that do not. Values are unknown if they
// come from memory, from other threads or from an instruction that is not modelled. If an access may go through a
// parameter and cannot be followed, or depends on an unknown value, the answer for that parameter is partial. A partial
// answer has the bytes that all paths use. A launch that takes too long to follow gets one as well.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sass/access_kind.h"
#include "sass/kernel_accesses.h"
#include "sass/sass.h"

namespace cudadiag::sass {

struct LaunchValues {
  std::array<std::uint32_t, 3> grid{}, block{};
  std::string parameters;                // the bytes of the parameters, as far as they are known
  std::vector<std::uint32_t> addresses;  // sorted offsets of the parameter words that are addresses of memory
  auto operator<=>(const LaunchValues&) const = default;
};

// Rows of bytes; `begin` is relative to the address that the parameter holds.
struct ByteRows {
  std::int64_t begin = 0;
  std::uint64_t width = 0, pitch = 0;
  std::uint32_t rows = 1;
  auto operator<=>(const ByteRows&) const = default;
};

struct ParameterBytes {
  std::uint32_t parameter = 0;  // offset
  Mode mode = Mode::read;       // read, write or atomic: a parameter may have one entry of each; none: no byte is used
  std::vector<ByteRows> rows;
  bool all = true;  // false: it certainly uses these bytes, and perhaps others
  auto operator<=>(const ParameterBytes&) const = default;
};

// An access that some threads make whatever the memory contains.
struct CertainAccess {
  std::uint32_t instruction = 0;  // its address in the code
  AccessKind kind = AccessKind::load;
  Space space = Space::global;
  std::uint32_t bytes = 0;
  std::optional<std::uint32_t>
      parameter;                     // offset of the word that it is counted from; nullopt if it is counted from 0
  std::int64_t least = 0, most = 0;  // positions of the first byte; some thread uses each of them
  std::int64_t step = 0;             // all others are multiples of it away; 0 if there are none
  auto operator<=>(const CertainAccess&) const = default;
};

struct CertainAccesses {
  std::vector<CertainAccess> accesses;  // by instruction
  bool only_these = false;              // the launch uses no other memory
  bool operator==(const CertainAccesses&) const = default;
};

class ByteRanges {
 public:
  ByteRanges(std::string text, ParameterBank bank, Calls calls = Calls::anything);
  ByteRanges(ByteRanges&&) noexcept;
  ~ByteRanges();

  // How the kernel uses its parameters in any launch.
  const KernelAccesses& accesses() const;
  // Number of opcodes in the code that are not modelled. If there are any, no bytes are known.
  std::uint64_t unknown_opcodes() const;
  // One entry per parameter and mode. Any number of threads may call it at once.
  std::vector<ParameterBytes> of(const LaunchValues& launch) const;
  // Returns accesses that threads of the launch make for certain, unless an earlier one fails. The code is followed for
  // all threads at once as far as possible, and again for single threads at the corners of grid and block.
  // An access is counted from an address of the launch, or from the only other word of 8 bytes that it is made of.
  // Any number of threads may call it at once.
  CertainAccesses certain(const LaunchValues& launch) const;

  static constexpr std::size_t kMostRows = 16;  // per parameter and mode; with more rows the answer is unknown

 private:
  class Implementation;
  std::unique_ptr<const Implementation> it_;
};

}  // namespace cudadiag::sass
