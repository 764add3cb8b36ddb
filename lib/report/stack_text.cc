#include "report/stack_text.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/printable.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"

namespace cudadiag::report {
namespace {

struct Step {
  std::string place, function;
  int line;
};

std::string line_text(int line) { return line > 0 ? fmt::format(":{}", line) : ""; }

// Returns whether this is a frame of user code with a known file or function.
bool is_step(const symbolize::NativeFrame& frame) {
  return frame.user && (!frame.file.empty() || !frame.function.empty());
}

// If the file is unknown, gives the module.
Step step_of(const symbolize::NativeFrame& frame, const std::string& directory) {
  const std::string module = std::filesystem::path(frame.module).filename().string();
  return {frame.file.empty() ? base::printable(module) : diagnose::relative_path(frame.file, directory), frame.function,
          frame.line};
}

}  // namespace

std::string stack_text(const symbolize::SourceStack& stack, const std::string& directory, std::size_t named) {
  std::vector<Step> steps;
  std::size_t folded = 0;
  for (auto frame = stack.python.rbegin(); frame != stack.python.rend(); ++frame) {
    frame->user ? steps.push_back({diagnose::relative_path(frame->file, directory), frame->function, frame->line})
                : void(++folded);
  }
  for (auto frame = stack.native.rbegin(); frame != stack.native.rend(); ++frame) {
    is_step(*frame) ? steps.push_back(step_of(*frame, directory)) : void(++folded);
  }
  if (steps.empty()) return "";
  const std::size_t skipped = steps.size() > named ? steps.size() - named : 0;
  std::string text = skipped > 0 ? fmt::format("({} outer) > ", skipped) : "";
  for (std::size_t i = skipped; i < steps.size(); ++i) {
    const bool repeated = i > skipped && steps[i].line > 0 && steps[i].place == steps[i - 1].place;
    text += fmt::format("{}{}{} {}", i > skipped ? " > " : "", repeated ? "" : steps[i].place, line_text(steps[i].line),
                        base::printable(diagnose::without_parameters(steps[i].function)));
  }
  return folded == 0 ? text : text + fmt::format(" (+{} library frame{})", folded, folded == 1 ? "" : "s");
}

std::vector<std::string> python_stack_lines(const std::vector<symbolize::PythonFrame>& stack,
                                            const std::string& directory) {
  std::vector<std::string> lines;
  for (const symbolize::PythonFrame& frame : stack) {
    lines.push_back(fmt::format("{} {}:{} {}", frame.user ? '*' : ' ', diagnose::relative_path(frame.file, directory),
                                frame.line, base::printable(frame.function)));
  }
  return lines;
}

std::vector<std::string> native_stack_lines(const symbolize::SourceStack& stack, const std::string& directory) {
  std::vector<std::string> lines;
  for (const symbolize::NativeFrame& frame : stack.native) {
    const std::string function = frame.function.empty() ? "function unknown" : base::printable(frame.function);
    const std::string where = frame.file.empty()
                                  ? base::printable(frame.module)
                                  : diagnose::relative_path(frame.file, directory) + line_text(frame.line);
    lines.push_back(fmt::format("{} {} {}", frame.user ? '*' : ' ', where, function));
  }
  return lines;
}

}  // namespace cudadiag::report
