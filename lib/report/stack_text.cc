#include "report/stack_text.h"

#include <fmt/format.h>

#include "report/kernel_name.h"
#include "report/place.h"
#include "report/printable.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kFramesNamed = 4;

struct Step {
  std::string file, function;
  int line;
};

}  // namespace

std::string stack_text(const symbolize::SourceStack& stack, const std::string& directory) {
  std::vector<Step> steps;
  std::size_t folded = 0;
  for (auto frame = stack.python.rbegin(); frame != stack.python.rend(); ++frame) {
    frame->user ? steps.push_back({frame->file, frame->function, frame->line}) : void(++folded);
  }
  for (auto frame = stack.native.rbegin(); frame != stack.native.rend(); ++frame) {
    frame->user && !frame->file.empty() ? steps.push_back({frame->file, frame->function, frame->line}) : void(++folded);
  }
  if (steps.empty()) return "";
  const std::size_t skipped = steps.size() > kFramesNamed ? steps.size() - kFramesNamed : 0;
  std::string text = skipped > 0 ? fmt::format("({} outer) > ", skipped) : "";
  for (std::size_t i = skipped; i < steps.size(); ++i) {
    const bool repeated = i > skipped && steps[i].file == steps[i - 1].file;
    text += fmt::format("{}{}:{} {}", i > skipped ? " > " : "", repeated ? "" : relative_path(steps[i].file, directory),
                        steps[i].line, printable(without_parameters(steps[i].function)));
  }
  return folded == 0 ? text : text + fmt::format(" (+{} library frame{})", folded, folded == 1 ? "" : "s");
}

std::vector<std::string> python_stack_lines(const symbolize::SourceStack& stack, const std::string& directory) {
  std::vector<std::string> lines;
  for (const symbolize::PythonFrame& frame : stack.python) {
    lines.push_back(fmt::format("{} {}:{} {}", frame.user ? '*' : ' ', relative_path(frame.file, directory), frame.line,
                                printable(frame.function)));
  }
  return lines;
}

std::vector<std::string> native_stack_lines(const symbolize::SourceStack& stack, const std::string& directory) {
  std::vector<std::string> lines;
  for (const symbolize::NativeFrame& frame : stack.native) {
    const std::string function = frame.function.empty() ? "function not known" : printable(frame.function);
    const std::string where = frame.file.empty()
                                  ? printable(frame.module)
                                  : fmt::format("{}:{}", relative_path(frame.file, directory), frame.line);
    lines.push_back(fmt::format("{} {} {}", frame.user ? '*' : ' ', where, function));
  }
  return lines;
}

}  // namespace cudadiag::report
