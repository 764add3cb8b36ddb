#include <cstdio>

#include "commands.h"
#include "disassembly.h"
#include "gpucore/core_file.h"
#include "gpucore/json.h"
#include "gpucore/text.h"
#include "report/printable.h"
#include "terminal.h"

namespace cudadiag::command {

int core(const std::string& file, bool json) {
  const auto read = gpucore::read_core(file);
  if (const auto* failure = std::get_if<gpucore::Unreadable>(&read)) {
    return say(session::Failure{failure->what, failure->hint}), kOwnFailure;
  }
  const auto& testimony = std::get<gpucore::Testimony>(read);
  std::string instruction;
  if (testimony.failure && testimony.failure->code) instruction = failing_instruction(*testimony.failure->code);
  if (json) {
    const std::string text = gpucore::write_json(testimony, instruction);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (testimony.damaged > 0) say("parts of the dump could not be read: " + std::to_string(testimony.damaged));
    return 0;
  }
  for (const std::string& line : gpucore::describe(testimony, instruction)) std::puts(report::printable(line).c_str());
  return 0;
}

}  // namespace cudadiag::command
