// Reads the parameters of a kernel from the section `.nv.info.KERNEL` of its cubin.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/bytes.h"

namespace cudadiag::evidence {

struct KernelFacts {
  struct Parameter {
    std::uint32_t index = 0, offset = 0, bytes = 0;  // `offset` is relative to the first parameter
  };

  std::uint32_t offset = 0, bytes = 0;  // range of all parameters in constant bank 0; `bytes` is 0 if there are none or
                                        // if unknown
  std::vector<Parameter> parameters;    // sorted by offset

  // Returns the parameter that contains this byte.
  const Parameter* at(std::uint32_t byte) const;
};

// The section consists of entries: format u8, attribute u8, then 2 bytes of value or length. Attribute 0x0a: section
// u32, offset of the parameters in their constant bank u16, size u16. Attribute 0x17, for each parameter: u32, number
// u16, offset u16, and u32 with the size in its upper 14 bits.
KernelFacts read_kernel_facts(Bytes section);

}  // namespace cudadiag::evidence
