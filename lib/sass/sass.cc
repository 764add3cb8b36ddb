#include "sass/sass.h"

#include "sass/code/flow.h"
#include "sass/origins/instructions.h"
#include "sass/origins/walk.h"

namespace cudadiag::sass {

KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls, ZeroWords zeros) {
  const Program program(text);
  OriginSets sets;
  Instructions instructions(program, bank, calls, zeros, sets);
  if (program.empty() || !walk(program, instructions, sets)) return {};
  return {true, instructions.accesses(), {}};
}

}  // namespace cudadiag::sass
