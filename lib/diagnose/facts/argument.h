// An argument of the failing operation, the memory that it points to, and where its bad value came from. Unknown
// members are empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/recorded_memory.h"
#include "diagnose/facts/place.h"
#include "session/hook_output.h"

namespace cudadiag::diagnose {

using session::Number;

// The memory that a pointer pointed to when the operation was issued.
struct PointedMemory {
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t offset = 0;  // distance of the pointer from `address`; may be `bytes` or more
  std::optional<std::uint32_t> device;
  bool out_of_reach = false;                 // on another device, to which the operation's device has no access
  bool is_freed = false;                     // freed before the operation was issued; `freed` is the line
  std::string owner;                         // the memory pool, such as "PyTorch's caching allocator"; empty if none
  std::optional<Location> allocated, freed;  // nullopt if not recorded
  std::optional<Location> freed_later;       // freed after the operation was issued, in the order of another stream
};

// An argument, as captured in a rerun before the operation was issued, or as recorded at the launch.
struct Argument : session::DeliveredValue {
  std::uint32_t parameter = 0;           // number of the kernel parameter, from 1; 0 if it is not one
  std::uint32_t parameter_byte = 0;      // byte offset in that parameter
  std::vector<std::uint64_t> loaded{};   // see analyse::OperationArgument; empty if the parameter is the argument
  std::optional<std::uint64_t> bytes{};  // size of a copy or memset that begins at `pointer`
  std::optional<PointedMemory> allocation{};

  // Returns how far past the end of its live memory the argument points or extends, in bytes; 0 if it stays inside.
  std::uint64_t past_end() const;
  // Returns whether this is a kernel parameter that points to freed memory, or past the end of live memory.
  bool points_amiss() const {
    return origin == session::NameSource::kernel && allocation && (allocation->is_freed || past_end() > 0);
  }
};

inline std::uint64_t Argument::past_end() const {
  if (!allocation || allocation->is_freed) return 0;
  return analyse::past_end(allocation->offset, bytes, allocation->bytes);
}

// A line that the value passed through on its way to the failing operator.
struct OriginStep {
  session::DeliveredOrigin::Role role = session::DeliveredOrigin::Role::made;
  std::string op;                                 // "aten::remainder.Scalar", "DataLoader"
  std::optional<Number> value{};                  // nullopt if the value was different at this line, or is unknown
  std::optional<std::int64_t> batch{}, sample{};  // index of the batch, and of the sample in the data set
  Location location{};
};

struct ValueOrigin {
  std::vector<OriginStep> steps;    // the origin first, then the lines that passed the value on; never empty
  std::vector<std::int64_t> index;  // index of the bad element in the argument
  analyse::Fact known_by = analyse::Fact::matched;  // measured if the rerun saw the value appear or enter the program
};

}  // namespace cudadiag::diagnose
