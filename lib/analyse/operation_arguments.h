// The arguments of an operation: the addresses of a copy or memset, and the parameters of a kernel that a rerun waited
// for. For refused calls: the addresses of copies, memsets and prefetches.
//
// Every aligned word of eight bytes that points into known memory, or just past its end, is taken for a pointer,
// wherever it is in a parameter: structures are passed by value. The first run keeps the parameters of the latest launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/allocations.h"
#include "analyse/analysis.h"

namespace cudadiag::analyse {

struct OperationArgument {
  std::string name;                      // "parameter 2", "parameter 2 at byte 16", "destination"
  std::string value;                     // as text, if it is not a pointer
  std::optional<std::uint64_t> pointer;  // without memory: a parameter of eight bytes that is 0, or may be an address
  std::optional<std::uint64_t> bytes;    // that a copy or memset touches from the pointer on
  Whereabouts where;
  // It points into live memory of another device to which the operation's context had no access.
  bool out_of_reach = false;
  std::optional<std::uint32_t> word{};  // of a kernel: where it is among all parameters, in bytes
  std::uint32_t parameter = 0;          // of a kernel: its number, from 1; 0: it is none
  std::uint32_t parameter_byte = 0;     // where in that parameter

  // How far past the end of its live allocation it points or reaches; 0: it does not.
  std::uint64_t past_end() const;
  // Whether it can have to do with an illegal access.
  bool matters() const { return where.state == Whereabouts::State::freed || past_end() > 0 || out_of_reach; }
};

struct OperationArguments {
  std::vector<OperationArgument> arguments;
  bool cut = false;                           // there were more
  const session::Process* process = nullptr;  // whose allocations are meant; null: nothing is known
};

// The record of the operation that this failed call was to issue; null: it issues none, or the record is lost.
const session::Operation* refused_operation(const session::ProcessRecord& record, const session::FailedCall& error);

// Whether a copy, a memset or a kernel was given an address in device memory that `map` has as freed. A word of a large
// structure does not count: it may be a leftover of an earlier call.
bool is_given_freed_memory(const session::ProcessRecord& record, const session::Operation& operation,
                           const AllocationMap& map);

// Whether the name of a refused copy says that it is to or from host memory.
bool goes_to_host(const session::FailedCall& copy);
bool comes_from_host(const session::FailedCall& copy);

// The arguments of the failure's only candidate, from the rerun that confirmed it if there was one; otherwise those of
// the refused call.
OperationArguments arguments_of(const Failure& failure);

}  // namespace cudadiag::analyse
