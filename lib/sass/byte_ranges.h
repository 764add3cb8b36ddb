// Computes from a kernel's code exactly which bytes one launch uses through each parameter.
//
// Executes the code symbolically for all threads of the launch at once. A value is a linear function of the thread's
// coordinates. Where threads diverge, the launch is split into boxes of threads that take the same path. A value is
// unknown if it comes from memory, from other threads or from an instruction that is not modelled.
//
// The answer for a parameter is partial if an access that may go through it cannot be followed, or depends on an
// unknown value. It is also partial if the launch takes too long to follow. A partial answer contains only the bytes
// that all paths use.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {

// The memory to which a texture or surface handle refers: layers of rows of bytes.
struct Image {
  std::uint32_t parameter = 0;                    // offset of the handle
  std::uint64_t width = 0, pitch = 0;             // bytes in a row, and from one row to the next
  std::uint64_t rows = 1, layers = 1, slice = 0;  // slice: bytes from one layer to the next
  std::uint64_t element = 0;                      // bytes per element
  auto operator<=>(const Image&) const = default;
};

// The tensor that a CUtensorMap among the parameters describes. A tensor copy uses one box of it.
struct TensorMap {
  struct Dimension {
    std::uint64_t size = 0, step = 0, box = 0;  // `size` and `box` in elements, `step` in bytes
    auto operator<=>(const Dimension&) const = default;
  };
  std::uint32_t parameter = 0;  // offset of the CUtensorMap, which begins with the address of the tensor
  std::vector<Dimension> dimensions;
  auto operator<=>(const TensorMap&) const = default;
};

// Memory whose contents at the launch are known. A kernel may read addresses from it, so its words of 8 bytes have
// numbers (word_in), which are used like the offsets of parameter words.
struct KnownMemory {
  static constexpr std::size_t kMostBytes = 4096;
  std::uint64_t address = 0;  // a multiple of 8
  std::string bytes;          // at most kMostBytes
  auto operator<=>(const KnownMemory&) const = default;
};

constexpr std::uint32_t kInMemory = 1u << 31;  // greater than the offset of any parameter
constexpr std::uint32_t word_in(std::size_t memory, std::size_t offset) {
  return kInMemory | static_cast<std::uint32_t>(memory * KnownMemory::kMostBytes + offset / 8 * 8);
}

struct LaunchValues {
  std::array<std::uint32_t, 3> grid{}, block{};
  std::string parameters;                // bytes of the parameters; incomplete if not all were recorded
  std::vector<std::uint32_t> addresses;  // sorted offsets of the words that are memory addresses
  std::vector<Image> images{};           // sorted
  std::vector<TensorMap> tensors{};      // sorted
  std::vector<KnownMemory> memory{};     // used only for certain accesses
  bool addresses_are_numbers = false;    // code that compares addresses, or takes them apart, gets their values
  std::uint32_t shared_bytes = 0;        // shared memory of a block; 0 if unknown, or if blocks form clusters

  // Returns the value of the word at this offset, in the parameters or in memory.
  std::optional<std::uint64_t> word(std::uint32_t offset) const;
  auto operator<=>(const LaunchValues&) const = default;
};

// Rows of bytes; `begin` is relative to the address that the parameter holds, or to the first byte of its image.
struct ByteRows {
  std::int64_t begin = 0;
  std::uint64_t width = 0, pitch = 0;
  std::uint32_t rows = 1;
  auto operator<=>(const ByteRows&) const = default;
};

struct ParameterBytes {
  std::uint32_t parameter = 0;  // offset
  Mode mode = Mode::read;       // read, write or atomic, with one entry for each; none if no byte is used
  std::vector<ByteRows> rows;
  bool all = true;  // false if the kernel may also use other bytes
  auto operator<=>(const ParameterBytes&) const = default;
};

// An access that some threads make, regardless of the contents of memory other than LaunchValues::memory.
struct CertainAccess {
  std::uint32_t instruction = 0;  // address of the instruction in the code
  AccessKind kind = AccessKind::load;
  Space space = Space::global;
  std::uint32_t bytes = 0;
  std::optional<std::uint32_t>
      parameter;                     // offset of the word that positions are relative to; nullopt if positions are
                                     // absolute
  std::int64_t least = 0, most = 0;  // positions of the first byte; threads use both of them
  std::int64_t step = 0;             // distances between positions are multiples of this; 0 if there is only one
                                     // position
  auto operator<=>(const CertainAccess&) const = default;
};

// An instruction that may access memory at addresses that are not known. `from_memory`: the kernel reads its pointer
// from memory to which the word `table` leads; nullopt if several words do.
struct OpenAccess {
  std::uint32_t instruction = 0;  // address in the code
  AccessKind kind = AccessKind::load;
  Space space = Space::global;
  std::uint32_t bytes = 0;
  std::vector<std::uint32_t> words;  // the parameter words from which its addresses are computed; empty if unknown
  bool from_memory = false;
  std::optional<std::uint32_t> table{};
  auto operator<=>(const OpenAccess&) const = default;
};

struct CertainAccesses {
  std::vector<CertainAccess> accesses;  // sorted by instruction
  // If `all_listed`, all other accesses. The threads that make the `possible` ones are unknown. Their positions, which
  // are relative to a word, lie from `least` to `most`.
  std::vector<CertainAccess> possible{};
  std::vector<OpenAccess> open{};
  bool all_listed = false;

  bool only_these() const { return all_listed && possible.empty() && open.empty(); }
  bool operator==(const CertainAccesses&) const = default;
};

// Two threads of a launch, in different blocks or in different warps of a block, that use a common byte without an
// order. At least one of them writes it by a plain store.
struct ThreadRace {
  struct Use {
    std::uint32_t instruction = 0;  // address in the code
    AccessKind kind = AccessKind::load;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    std::array<std::uint32_t, 3> block{}, thread{};
    auto operator<=>(const Use&) const = default;
  };
  Use first, second;
  bool operator==(const ThreadRace&) const = default;
};

struct ThreadRaces {
  std::optional<ThreadRace> found;
  bool all_checked = false;  // all pairs of accesses were compared, as far as their addresses are known
  bool operator==(const ThreadRaces&) const = default;
};

class ByteRanges {
 public:
  ByteRanges(std::string text, ParameterBank bank, Calls calls = Calls::anything);
  ByteRanges(ByteRanges&&) noexcept;
  ~ByteRanges();

  const KernelAccesses& accesses() const;
  // Returns whether the code has a load, an atomic operation or a fence at system scope, by which it can wait for the
  // host. A volatile load is one.
  bool uses_system_scope() const;
  // Returns how many opcodes in the code are not modelled. If there are any, of() and certain() return nothing.
  std::uint64_t unknown_opcodes() const;
  // Returns an entry for each parameter and mode. Safe to call from several threads.
  std::vector<ParameterBytes> of(const LaunchValues& launch) const;
  // Returns the accesses that threads of the launch certainly make, unless an earlier access fails. Omits accesses to
  // shared memory that are certain to succeed. Follows the code
  // for all threads at once. If that does not cover all accesses, also follows single threads at the corners of grid
  // and block. Ignores the known memory if threads of the launch may change it. Positions are relative to an address
  // parameter or, without one, to the only 8-byte parameter word from which the code computes the address. Safe to call
  // from several threads.
  CertainAccesses certain(const LaunchValues& launch) const;

  // Looks for a race between threads of the launch. The words in `addresses` must have values, which need not be the
  // true ones if they are as far apart. Safe to call from several threads.
  ThreadRaces thread_races(const LaunchValues& launch) const;

  static constexpr std::size_t kMostRows = 16;  // limit for each parameter and mode; with more rows, the answer is
                                                // unknown

 private:
  class Implementation;
  std::unique_ptr<const Implementation> it_;
};

}  // namespace cudadiag::sass
