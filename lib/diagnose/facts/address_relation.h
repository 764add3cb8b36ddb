// Where an access lies, in relation to the memory that it was meant for.
//
// This is the only place that decides it. The addresses may come from a GPU core dump, or follow from a kernel's code,
// grid and parameters. In a dump, each failing thread has one address; the code gives a range for all threads. If the
// dump comes from a rerun, its addresses are first moved by the difference between the two values of the pointer.
//
// A relation alone does not mean that the access failed: GPUs map memory in pages of 2 MiB, and drivers keep more
// mapped than they hand out. access_by_code.cc decides which accesses are certain to fail.
#pragma once

#include <cstdint>
#include <optional>

#include "analyse/operation_arguments.h"

namespace cudadiag::diagnose {

enum class Relation : std::uint8_t {
  unknown,
  past_end,
  before,
  inside,
  freed,
  null,             // computed from a null pointer
  never_allocated,  // CUDA has no memory there: the pointer is a small number, or all allocations are known
  other_device,
  host,  // the process's own heap or stack
  misaligned
};

inline constexpr std::uint64_t kNullPage = 64 << 10;  // an address below it comes from a null pointer
inline constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 32;  // CUDA hands out no lower address

inline constexpr std::uint64_t kBeyondAddresses = std::uint64_t{1} << 48;  // CUDA's addresses are lower than this

// Returns false for a number that CUDA hands out to nobody as an address.
inline bool may_be_address(std::uint64_t number) { return number >= kLowestAddress && number < kBeyondAddresses; }

// Returns "heap" or "stack" if Linux on x86-64 puts a program's heap or its first thread's stack at `address`. Returns
// null for any other address, because the GPU may have memory there too, and always if the GPU reads host memory.
const char* host_memory_at(std::uint64_t address, bool reads_host);

// Describes which memory the GPU can access. Both facts must be given.
struct GpuMemory {
  GpuMemory(bool all_allocations_known, bool reads_host_memory)
      : all_known(all_allocations_known), reads_host(reads_host_memory) {}
  explicit GpuMemory(const session::ProcessRecord& record);

  bool all_known;   // every allocation of the process was recorded
  bool reads_host;  // also the host's pageable memory, so an address outside all allocations may be valid
};

// The addresses of one access, or of the same access by several threads.
struct AccessAddresses {
  std::int64_t first = 0, last = 0;  // the lowest and the highest address at which an access begins
  std::uint32_t bytes = 0;           // of each access; 0 if unknown
};

// Returns true if a distance belongs to this relation.
inline bool is_measured(Relation relation) {
  return relation == Relation::past_end || relation == Relation::before || relation == Relation::misaligned;
}

struct Placement {
  Relation relation = Relation::unknown;
  // From the end of the memory to the first byte of the last access, or from its beginning down to the first access, or
  // past a multiple of the access's size.
  std::uint64_t distance = 0;
  bool overflow = false;  // 2^32 elements nearer, the access would be inside: a 32-bit index overflowed
};

// `addresses`: nullopt if they are unknown; then only relations that hold for every address are found. `through`: the
// pointer from which the address was computed, as recorded; null if there is none, for example if the kernel read it
// from memory.
Placement where_is(const std::optional<AccessAddresses>& addresses, const analyse::OperationArgument* through,
                   const GpuMemory& memory);

// The same for memory of `size` bytes from `begin` on.
Placement where_in(const AccessAddresses& addresses, std::uint64_t begin, std::uint64_t size);

// The same for an offset in a block's shared memory, which has this many bytes (0 if unknown).
Placement where_in_shared(std::uint64_t offset, std::uint32_t bytes);

// The same for an address computed from a pointer into unknown memory, which has at most `most` bytes. Farther away,
// the address is outside of that memory, whichever it is. The distance is then the shortest possible one. `memory`: all
// allocations must be known.
Placement where_from(std::uint64_t pointer, std::uint64_t address, std::uint64_t most, const GpuMemory& memory);

// Compares an address with a multiple of the access's size. `step`: other threads' addresses differ by its multiples.
Placement misalignment(std::uint64_t address, std::uint32_t alignment, std::int64_t step = 0);

}  // namespace cudadiag::diagnose
