// These types describe what is known of a launch, and which bytes its kernel accesses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

// The state of a thread after its failure. Empty members are unknown.
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
  bool clusters = false;    // the launch groups blocks into clusters
  std::string variables{};  // the addresses of the module's variables: constant bank 4; empty if unknown
};

// Marks the offset of a word in constant bank 4, which holds the address of a variable. Used like the offset of a
// parameter word.
constexpr std::uint32_t kOfVariable = 1u << 30;

// The terms whose sum is an address, according to the code alone. `words` are the offsets in bytes of the parameter
// words that are added unchanged, and of the addresses of variables.
struct Base {
  bool known = false;                    // false if the terms differ between paths, or cannot be followed
  std::vector<std::uint32_t> words{};    // sorted
  bool others = false;                   // a value from memory is also added
  bool loaded = false;                   // all such values were loaded from global memory
  std::vector<std::uint32_t> through{};  // such words that lead to the memory from which they were loaded
};

}  // namespace cudadiag::sass
