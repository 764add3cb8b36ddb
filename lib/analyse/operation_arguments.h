// The arguments of an operation: the addresses of a copy or memset, or the parameters of a kernel. A rerun keeps the
// parameters of the kernels that it waits for; the first run keeps only those of the latest launches. For a refused
// copy, memset or prefetch, the arguments are its addresses.
//
// A parameter may be a structure. Any aligned 8-byte word in a parameter therefore counts as a pointer if it points
// into known memory, or just past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/failure.h"
#include "analyse/recorded_memory.h"

namespace cudadiag::analyse {

struct OperationArgument {
  std::string name;                      // "parameter 2", "parameter 2 at byte 16", "destination"
  std::string value;                     // as text if it is not a pointer
  std::optional<std::uint64_t> pointer;  // may point to unknown memory: 8 bytes that are 0 or look like an address
  std::optional<std::uint64_t> bytes;    // how many bytes a copy or memset accesses at `pointer`
  Whereabouts where;
  // Points to live memory of another device, to which the operation's context had no access.
  bool out_of_reach = false;
  // Points to live memory of another context or device, and it is not recorded whether the operation had access.
  bool may_be_out_of_reach = false;
  std::optional<std::uint32_t> word{};  // for a kernel: its byte offset in the parameter buffer
  std::uint32_t parameter = 0;          // for a kernel: its number, from 1; otherwise 0
  std::uint32_t parameter_byte = 0;     // its byte offset in that parameter
  // Not empty if a kernel reads the pointer from memory: the byte offset of the pointer in the parameter's memory, then
  // its offset in the memory to which that pointer points, and so on.
  std::vector<std::uint64_t> loaded{};

  // Returns how far past the end of its live allocation the argument points or extends, in bytes; 0 if it stays inside.
  std::uint64_t past_end() const;
  // Returns whether this argument may have caused an illegal access.
  bool matters() const { return where.state == Whereabouts::State::freed || past_end() > 0 || out_of_reach; }
};

struct OperationArguments {
  std::vector<OperationArgument> arguments;
  bool cut = false;                           // some arguments are missing from the list
  const session::Process* process = nullptr;  // the process that owns the allocations; null if nothing is known
};

// Returns whether the process has had several CUDA contexts, for example of several devices.
bool has_several_contexts(const session::ProcessRecord& record);

// Returns whether `arguments[which]`, of all arguments that point into its memory, is the one from which a kernel
// probably reaches the address: the nearest below it.
bool is_nearest(std::size_t which, std::uint64_t address, const std::vector<OperationArgument>& arguments);

// Returns the record of the operation that this failed call should have issued; null if it issues none or the record is
// lost.
const session::Operation* refused_operation(const session::ProcessRecord& record, const session::FailedCall& error);

// Returns the parameters of a kernel's launch; null if they were not kept.
const session::Arguments* kept_arguments(const session::ProcessRecord& record, const session::Operation& operation);
// Returns the parameters of the only kernel node that the candidate stands for; null if they were not kept, or if they
// have been changed since the graph was instantiated. `launch` is the launch of its graph.
const session::Arguments* kept_arguments(const session::ProcessRecord& record, const session::Operation& launch,
                                         const Candidate& of_node);

// Returns whether a copy, memset or kernel received an address in device memory that is freed according to `map`.
// Ignores the words of a large structure, because they may be left over from an earlier call.
bool is_given_freed_memory(const session::ProcessRecord& record, const session::Operation& operation,
                           const AllocationMap& map);

// Return whether the name of a refused copy function says that it copies to (or from) host memory.
bool goes_to_host(const session::FailedCall& copy);
bool comes_from_host(const session::FailedCall& copy);

// Returns the arguments of the failure's only candidate. Takes them from the rerun that confirmed the failure, if any.
// For a refused call, returns the arguments of that call.
OperationArguments arguments_of(const Failure& failure);

}  // namespace cudadiag::analyse
