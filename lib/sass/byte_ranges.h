// The bytes that a kernel uses through each of its parameters in one launch, exactly, by its code.
//
// The code is followed for all threads of the launch at once: a value is a sum of the thread's coordinates, each times a
// constant, and where threads part, the launch is cut into boxes of threads that do not. Values that come from memory,
// from other threads or from an instruction that is not modelled are not known. A parameter through which an access may
// go that cannot be followed, or that depends on such a value, is answered in part: by the bytes that all paths use. So
// is a launch that takes too long to follow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sass/kernel_accesses.h"
#include "sass/sass.h"

namespace cudadiag::sass {

struct LaunchValues {
  std::array<std::uint32_t, 3> grid{}, block{};
  std::string parameters;                // their bytes, as far as they are known
  std::vector<std::uint32_t> addresses;  // offsets of the words among them that are addresses of memory, sorted
  auto operator<=>(const LaunchValues&) const = default;
};

// Counted from the address that the parameter holds.
struct ByteRows {
  std::int64_t begin = 0;
  std::uint64_t width = 0, pitch = 0;
  std::uint32_t rows = 1;
  auto operator<=>(const ByteRows&) const = default;
};

struct ParameterBytes {
  std::uint32_t parameter = 0;  // offset
  Mode mode = Mode::read;       // read, write or atomic: a parameter may have one of each; none: no byte is used
  std::vector<ByteRows> rows;
  bool all = true;  // false: it uses these for certain, and perhaps others
  auto operator<=>(const ParameterBytes&) const = default;
};

class ByteRanges {
 public:
  ByteRanges(std::string text, ParameterBank bank, Calls calls = Calls::anything);
  ByteRanges(ByteRanges&&) noexcept;
  ~ByteRanges();

  // How all launches use their parameters.
  const KernelAccesses& accesses() const;
  // Opcodes in the code that this room does not know. With any, no bytes are known.
  std::uint64_t unknown_opcodes() const;
  // By parameter and mode. Threads: any number at once.
  std::vector<ParameterBytes> of(const LaunchValues& launch) const;

  static constexpr std::size_t kMostRows = 16;  // of one parameter and mode; with more it has no answer

 private:
  class Implementation;
  std::unique_ptr<const Implementation> it_;
};

}  // namespace cudadiag::sass
