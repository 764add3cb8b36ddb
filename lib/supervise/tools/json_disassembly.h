// Converts nvdisasm's JSON (--emit-json, from CUDA 12.8 on) to the lines that nvdisasm prints as text.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::supervise {

// Returns "/*0070*/ @P0 LDG.E R5,desc[UR4][R4.64] ;" for each instruction. Empty unless this is the JSON of one
// function.
std::string lines_of_json(std::string_view json);

}  // namespace cudadiag::supervise
