// The parameters of one kernel, from the section `.nv.info.KERNEL` of its cubin.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/bytes.h"

namespace cudadiag::evidence {

struct KernelFacts {
  struct Parameter {
    std::uint32_t index = 0, offset = 0, bytes = 0;  // the offset is from the beginning of the first one
  };

  std::uint32_t offset = 0, bytes = 0;  // of all parameters, in constant bank 0; 0 bytes: not known, or none
  std::vector<Parameter> parameters;    // by offset

  // The parameter that holds this byte of them; null: not known.
  const Parameter* at(std::uint32_t byte) const;
};

// Entries: format u8, attribute u8, then 2 bytes of value or of length. Attribute 0x0a: u32 section, u16 offset of the
// parameters in their constant bank, u16 bytes. 0x17, of each parameter: u32, u16 its number, u16 where it begins among
// them, u32 with its size above 18 bits of its own kind.
KernelFacts read_kernel_facts(Bytes section);

}  // namespace cudadiag::evidence
