// One value that went into the failing operation, and the memory that it points to. Unknown parts are empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "diagnose/facts/location.h"
#include "session/notes/deliveries.h"

namespace cudadiag::diagnose {

// A number as the program had it: integers stay exact.
using Number = std::variant<std::int64_t, double>;

// Where a pointer pointed when the operation was issued.
struct PointedMemory {
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t offset = 0;  // of the pointer, from address; not less than bytes: past it
  std::optional<std::uint32_t> device;
  bool out_of_reach = false;                 // of another device, to which the operation's device had no access
  bool is_freed = false;                     // then `freed` says where
  std::string owner;                         // "PyTorch's caching allocator", where it hands out parts; else empty
  std::optional<Location> allocated, freed;  // nothing: not recorded
};

// Taken in a rerun before the operation was issued, or from the record of a launch.
struct Argument {
  std::string name;  // of the operator's or kernel's parameter, or of the user's variable
  session::ValueOrigin origin = session::ValueOrigin::schema;
  std::uint32_t parameter = 0;       // of a kernel: its number, from 1; 0: it is none
  std::uint32_t parameter_byte = 0;  // where in that parameter
  std::string dtype, device;
  std::string value;  // as text, of a scalar or of a kernel's parameter that is not a pointer
  std::vector<std::int64_t> shape, strides;
  std::optional<Number> min, max;
  std::optional<std::uint64_t> nan, inf;
  // For indices into something with `bound` entries: how many are outside 0..bound-1, and the first of them.
  std::optional<std::int64_t> bound;
  std::optional<std::uint64_t> outside;
  std::vector<std::int64_t> first_outside;  // its index
  std::optional<Number> first_value;
  std::optional<std::uint64_t> pointer;
  std::optional<std::uint64_t> bytes;  // that a copy or memset touches from there on
  std::optional<PointedMemory> allocation;

  // How far past the end of its live memory it points or reaches; 0: it does not.
  std::uint64_t past_end() const;
  // A parameter that leads to freed memory, or past the end.
  bool points_amiss() const {
    return origin == session::ValueOrigin::kernel && allocation && (allocation->is_freed || past_end() > 0);
  }
};

inline std::uint64_t Argument::past_end() const {
  if (!allocation || allocation->is_freed) return 0;
  if (allocation->offset > allocation->bytes) return allocation->offset - allocation->bytes;
  const std::uint64_t room = allocation->bytes - allocation->offset;
  return bytes && *bytes > room ? *bytes - room : 0;
}

}  // namespace cudadiag::diagnose
