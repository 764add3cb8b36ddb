// The memory that one process has, as its records show it, and its area's table after records were lost.
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
  std::uint32_t context = 0;  // uid, of memory of a device
};

class KnownMemory {
 public:
  // `area` stays mapped as long as this lives.
  explicit KnownMemory(std::span<const std::byte> area);

  // Null: not known. It stays valid until memory is made or freed.
  const Memory* at(std::uint64_t address) const;
  // Takes the place of all that it overlaps. `context`: the number of its entry in the area.
  void made(Memory memory, std::uint32_t context);
  const Memory* that_begins_at(std::uint64_t address) const;
  void freed(std::uint64_t begin) { by_address_.erase(begin); }
  // Takes over what the area's table has now.
  void read_table();

  // The uid of the context with this number in the area; 0: it has none.
  std::uint32_t context_uid(std::uint32_t index) const;

 private:
  std::uint32_t home_of(wire::allocation::Kind kind, std::uint32_t context) const;

  std::span<const std::byte> area_, contexts_;
  std::map<std::uint64_t, Memory> by_address_;  // not overlapping
};

}  // namespace cudadiag::races
