// The arguments of a kernel launch, and the resulting operation.
#pragma once

#include <string>

#include "objects.h"

namespace sim {

// Passes the message to the registered log callback.
void log(std::string message);

struct Launch {
  CUfunction function = nullptr;
  std::uint64_t grid_x = 1, grid_y = 1, grid_z = 1;
  std::uint64_t block_x = 1, block_y = 1, block_z = 1;
  std::uint64_t shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

// Makes the checks that the driver makes while it handles the call.
CUresult check(const Launch& launch);
int attribute_of(CUfunction function, CUfunction_attribute attribute);  // 0 if it was not set
Op kernel_op(const Launch& launch);

// Returns the meetings of the next kernel that this thread launches (sim_next_kernel_meets).
std::vector<Meeting>& next_meetings();

// Loads the function's module if it is not loaded yet, as with CUDA_MODULE_LOADING=LAZY.
void load_of(CUfunction function);
// Parameter sizes come from the kernel's ".entry" in PTX, or from the end of its name: "fill__8_4" has a parameter of 8
// bytes and one of 4 bytes. Each offset is a multiple of 8 or of the parameter's size.
CUresult parameter_of(const CUfunc_st& function, std::size_t index, std::size_t* offset, std::size_t* size);

// Finds the variable that a line ".global .align 8 .b8 NAME[BYTES];" of the module's text defines. Creates it on the
// first request.
CUresult variable_of(CUmodule module, const std::string& name, std::uint64_t& address, std::size_t& bytes);

}  // namespace sim
