// Tracks the memory of one process from its records or, after records were lost, from its area's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "wire/allocation.h"

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

}  // namespace cudadiag::races
