// Builds a dump small enough to check by hand: a kernel of 2 blocks, whose second block failed in lane 1 on the second
// SM.
#pragma once

#include <string>

#include "unit/evidence/elf_builder.h"

namespace cudadiag::evidence {

// The row sizes of the dump's tables, which differ between drivers.
struct RowSizes {
  std::size_t device = 88, context = 40, module = 8, grid = 136, sm = 48, cta = 56, warp = 64, lane = 56, frame = 24;
};

inline constexpr RowSizes kOldestRows{.device = 72, .grid = 104, .sm = 8, .cta = 24, .warp = 32, .lane = 48};
inline constexpr RowSizes kFutureRows{
    .device = 128, .context = 64, .module = 24, .grid = 200, .sm = 96, .cta = 80, .warp = 120, .lane = 72, .frame = 40};

// The section indices of sample_dump().
struct SampleSections {
  static constexpr std::uint32_t devices = 1, contexts = 2, modules = 3, code = 4, grids = 5, sms = 6, ctas = 7,
                                 warps = 8, lanes = 9, backtrace = 10, registers = 11, metadata = 12, strings = 13;
};

inline constexpr std::uint64_t kKernelAddress = 0x7f0000001000;  // _Z6kernelPi, 0x100 bytes long
inline constexpr std::uint64_t kDeepAddress = 0x7f0000001080;    // deep(int*), 0x40 bytes long, inside the kernel's
                                                                 // code
inline constexpr std::uint64_t kErrorPc = 0x7f0000001090;        // in leaf(), which is inlined into mid(), which is
                                                                 // inlined into deep()

ElfBuilder sample_dump(const RowSizes& sizes = {});

// The dump's cubin has two kernels, one of which is loaded. The line table is repeated `times` times.
std::string sample_cubin(std::size_t times = 1);
std::string sample_lines();

}  // namespace cudadiag::evidence
