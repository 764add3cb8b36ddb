// The arguments of a kernel launch, and the operation it becomes.
#pragma once

#include <string>

#include "objects.h"

namespace sim {

// To whoever asked for the driver's log.
void log(std::string message);

struct Launch {
  CUfunction function = nullptr;
  std::uint64_t grid_x = 1, grid_y = 1, grid_z = 1;
  std::uint64_t block_x = 1, block_y = 1, block_z = 1;
  std::uint64_t shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

// The checks that the driver makes at the call itself.
CUresult check(const Launch& launch);
Op kernel_op(const Launch& launch);

// The meetings of the next kernel that this thread launches (sim_next_kernel_meets).
std::vector<Meeting>& next_meetings();

// Modules are loaded late, as by CUDA_MODULE_LOADING=LAZY.
void load_of(CUfunction function);
// Those of its ".entry" in PTX, or what its name ends in: "fill__8_4" has one of 8 bytes and one of 4. Each lies at a
// multiple of 8 or of its size.
CUresult parameter_of(const CUfunc_st& function, std::size_t index, std::size_t* offset, std::size_t* size);

// The variable of a module that a line ".global .align 8 .b8 NAME[BYTES];" of its text defines, made when it is asked for.
CUresult variable_of(CUmodule module, const std::string& name, std::uint64_t& address, std::size_t& bytes);

}  // namespace sim
