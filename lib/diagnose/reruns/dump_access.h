// The access that failed, as far as a GPU core dump and its code show it: no recording is needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/testimony.h"
#include "sass/failing_address.h"

namespace cudadiag::diagnose {

struct LaneAddress {
  std::array<std::uint32_t, 3> block{}, thread{};
  std::uint64_t address = 0;  // in shared and local memory: from its beginning
};

// A word of the parameters that is added to the address as it is.
struct BaseParameter {
  std::uint32_t word = 0;                // its offset, in bytes from the beginning of the first
  std::optional<std::uint32_t> number;   // of the parameter, from 1
  std::uint32_t byte = 0;                // of the word in it
  std::optional<std::uint64_t> value{};  // nothing: the dump does not have it
};

struct DumpAccess {
  sass::AccessKind kind = sass::AccessKind::load;
  sass::Space space = sass::Space::global;
  std::uint32_t bytes = 0;  // 0: not known
  bool misaligned = false;  // the exception is that the address is
  // In the order of blocks and threads. The hardware names whole warps: not all of these need to be wrong.
  std::vector<LaneAddress> lanes{};
  std::uint64_t unknown = 0;                // further threads, whose addresses cannot be computed
  std::vector<BaseParameter> parameters{};  // several: of a pointer and of offsets in bytes
  std::uint32_t shared_bytes = 0;           // of a block, those of the system included; 0: not known
};

// `code`: nvdisasm's text of the kernel. Nothing if the instruction is not known, or its access is not understood.
std::optional<DumpAccess> dump_access(const evidence::DumpedFailure& failure, const std::string& code);

// The parameter that must be the pointer; null: there is none, or several can be.
const BaseParameter* only_parameter(const DumpAccess& access);

// "load of 4 bytes"
std::string access_words(const DumpAccess& access);
// "parameter 1", "parameter 2 at byte 16"
std::string parameter_words(const BaseParameter& parameter);
// For `cudadiag core`: "load of 4 bytes at 0x8021…, 1.0 TiB after parameter 1 (0x7f21…), block 0,0,0 thread 0,0,0".
std::vector<std::string> describe(const DumpAccess& access);

}  // namespace cudadiag::diagnose
