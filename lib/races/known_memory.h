// Tracks the memory, arrays, textures and surfaces of one process from its records or, after records were lost, from
// its area's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "races/access.h"
#include "sass/byte_ranges.h"
#include "wire/tables.h"

namespace cudadiag::races {

struct Memory {
  std::uint64_t begin = 0, bytes = 0;
  std::uint32_t site = 0;
  wire::allocation::Kind kind = wire::allocation::Kind::none;
  std::uint32_t context = 0;  // uid of the device memory's context
};

class KnownMemory {
 public:
  // `area` must stay mapped for the life of this object.
  explicit KnownMemory(std::span<const std::byte> area);

  // The pointer is valid until memory is added or removed.
  const Memory* at(std::uint64_t address) const;
  // Returns an empty Memory if none is known there.
  Memory known_at(std::uint64_t address) const {
    const Memory* memory = at(address);
    return memory == nullptr ? Memory() : *memory;
  }
  // Adds memory, and removes all known memory that it overlaps. `context` is the index of the context's entry in the
  // area.
  void made(Memory memory, std::uint32_t context);
  const Memory* that_begins_at(std::uint64_t address) const;
  void freed(std::uint64_t begin) { by_address_.erase(begin); }
  // Replaces all known memory with the contents of the area's table.
  void read_table();

  // Returns the uid of the context with this index in the area; 0 if it has none.
  std::uint32_t context_uid(std::uint32_t index) const;

 private:
  std::uint32_t home_of(wire::allocation::Kind kind, std::uint32_t context) const;

  std::span<const std::byte> area_, contexts_;
  std::map<std::uint64_t, Memory> by_address_;  // entries do not overlap
};

// Tracks the arrays, textures and surfaces of one process from its records.
class KnownImages {
 public:
  struct Array {
    std::uint64_t begin = 0;  // see kArrays
    std::uint64_t row = 0, rows = 1, layers = 1, element = 1;

    std::uint64_t bytes() const { return row * rows * layers; }
  };
  struct Image {
    std::uint64_t array = 0;  // CUarray; 0 if the image is in ordinary memory
    std::uint64_t begin = 0;
    sass::Image shape;  // `shape.parameter` is not set
  };
  // The part of an array that a copy uses.
  struct Side {
    std::uint64_t array = 0;
    std::uint64_t x = 0, y = 0, z = 0, width = 0, height = 0, depth = 0;
    bool is_source = false;
    bool in_elements = false;  // `x` and `width` are in elements rather than bytes
  };
  struct Name {
    std::uint64_t handle = 0;
    std::uint32_t context = 0;  // uid of the context
    bool surface = false;
    auto operator<=>(const Name&) const = default;
  };

  static Side side_of(const std::byte* record);

  // Reads a record of kind array_made. Returns the array that had the same handle before.
  std::optional<Array> array_made(const std::byte* record);
  void image_made(const std::byte* record, std::uint32_t context);
  const Image* find(const Name& name) const;
  // Adds to `out` the accesses of a copy to its part of an array. `copy` provides everything except the place and the
  // mode.
  void add_accesses(const Access& copy, const Side& side, std::vector<Access>& out) const;
  void tensor_map_made(const std::byte* record);
  // The map's `parameter` is not set.
  const sass::TensorMap* tensor_map(std::uint64_t hash) const;
  // Call this after records were lost.
  void forget();

 private:
  static constexpr std::size_t kMostImages = 1u << 16, kMostArrays = 1u << 16;
  static constexpr std::uint64_t kMostPieces = 4096;  // limit for one side of a copy

  std::unordered_map<std::uint64_t, Array> arrays_;  // keyed by CUarray
  std::map<Name, Image> images_;
  std::unordered_map<std::uint64_t, sass::TensorMap> tensor_maps_;  // keyed by hash
  std::uint64_t made_ = 0;                                          // number of arrays so far
};

}  // namespace cudadiag::races
