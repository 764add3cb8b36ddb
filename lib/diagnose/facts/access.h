// The access that failed, and where its address lies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "diagnose/facts/argument.h"
#include "diagnose/facts/where_is.h"
#include "sass/failing_address.h"

namespace cudadiag::diagnose {

// Usually from the GPU core dump of a rerun. The recorded launch of the same kernel shows how
// the address relates to memory. Addresses differ between the two runs, so distances are measured from the parameter.
// Without a dump, the kernel's code may show which access must have failed.
struct Access {
  bool by_code = false;  // inferred from the code; the distance is that of the farthest thread
  sass::AccessKind kind = sass::AccessKind::load;
  sass::Space space = sass::Space::global;
  std::uint32_t bytes = 0;                    // 0 if unknown
  std::optional<std::uint64_t> address{};     // address in the dump of the first failing thread
  std::optional<std::uint32_t> parameter{};   // number (from 1) of the parameter that the address was computed from
  std::uint32_t parameter_byte = 0;           // byte offset of the pointer in the parameter
  std::optional<std::uint64_t> pointer{};     // the parameter's value; in a rerun's dump, that of the rerun
  std::string parameter_name{};               // empty if unknown
  std::optional<PointedMemory> allocation{};  // the memory that the parameter pointed to
  Relation relation = Relation::unknown;
  std::optional<std::uint64_t> distance{};  // past the end, before the beginning, or past a multiple of the access size
  std::optional<std::uint64_t> farthest{};  // the largest distance among the threads with this relation
  std::optional<std::array<std::uint32_t, 3>> block{}, thread{};  // the first thread with this relation
  std::uint64_t threads = 0;                                      // how many threads have this relation; 0 if unknown
  std::uint64_t others = 0;  // threads of the same warps whose addresses are valid or unknown
  bool overflow = false;     // moved by 2^32 elements, the address would be inside the allocation
};

}  // namespace cudadiag::diagnose
