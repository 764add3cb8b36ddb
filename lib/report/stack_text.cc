// Writes stacks, and the line that is blamed.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/finding_text.h"

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
  const std::string module = base::file_name(frame.module);
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
  return folded == 0 ? text : text + fmt::format(" (+{})", counted(folded, "library frame"));
}

Lines python_stack_lines(const std::vector<symbolize::PythonFrame>& stack, const std::string& directory) {
  Lines lines;
  for (const symbolize::PythonFrame& frame : stack) {
    lines.push_back(fmt::format("{} {}:{} {}", frame.user ? '*' : ' ', diagnose::relative_path(frame.file, directory),
                                frame.line, frame.function));
  }
  return lines;
}

Lines native_stack_lines(const symbolize::SourceStack& stack, const std::string& directory) {
  Lines lines;
  for (const symbolize::NativeFrame& frame : stack.native) {
    const std::string function = frame.function.empty() ? "function unknown" : frame.function;
    const std::string where =
        frame.file.empty() ? frame.module : diagnose::relative_path(frame.file, directory) + line_text(frame.line);
    lines.push_back(fmt::format("{} {} {}", frame.user ? '*' : ' ', where, function));
  }
  return lines;
}

namespace {

constexpr std::size_t kBlamedSource = 40;

// Returns true if a call other than the failing call noticed the error. A later call may notice a broken capture, and a
// query of the last error may notice an earlier failed call.
bool noticed_elsewhere(const diagnose::Finding& finding) {
  if (!finding.noticed.at) return false;
  const auto key = [](const diagnose::Location& at) {
    return std::tie(at.file, at.line, at.function, at.module, at.nearest().file, at.nearest().line);
  };
  return key(*finding.noticed.at) != key(finding.location);
}

// Returns true if the location is in user code. If the line is unknown, returns true if the module is user code.
bool is_users(const diagnose::Location& at, const diagnose::Finding& finding) {
  if (!at.called_from.empty()) return true;
  const auto& native = finding.stack.native;
  return !at.module.empty() && std::ranges::any_of(native, [&](const symbolize::NativeFrame& frame) {
    return frame.user && frame.module == at.module;
  });
}

std::string call_text(const diagnose::Location& at, bool users, const std::string& api, const std::string& directory) {
  if (at.file.empty() && at.module.empty() && at.function.empty()) {
    return fmt::format("{}, at an unknown place (no stack was recorded)", api);
  }
  if (at.line == 0 && !users) return fmt::format("library code, none of your lines ({})", api);
  const bool quoted = !at.source.empty() && base::width(at.source) <= kBlamedSource && !at.file.empty();
  const std::string where =
      quoted ? fmt::format("{}:{} {}", diagnose::relative_path(at.file, directory), at.line, base::printable(at.source))
             : diagnose::place(at, directory);
  return fmt::format("{} ({})", where, api);
}

}  // namespace

std::string blamed_text(const diagnose::Finding& finding, const std::string& directory) {
  std::string api = "a call";
  if (finding.hang && finding.hang->issues)
    api = "a call that issues " + diagnose::with_article(word(*finding.hang->issues));
  if (!finding.noticed.api.empty()) api = base::printable(finding.noticed.api);
  if (finding.hang) {
    if (!finding.noticed.at) return "none (no thread waits in a CUDA call)";
    return fmt::format("{} ({}): it only waits", diagnose::place(*finding.noticed.at, directory), api);
  }
  if (!analyse::is_asynchronous(finding.kind) && !noticed_elsewhere(finding)) return "";
  if (finding.code == 0) return "none (no call failed)";
  if (finding.noticed.by_wait) {
    return "none (cudadiag found it while waiting for this operation)";
  }
  if (finding.noticed.at_exit) {
    return "none (no recorded call returned it; cudadiag found it when the program or its context ended)";
  }
  if (!finding.noticed.at) return "unknown: the record of the reporting call was lost";
  if (finding.location.line > 0 && diagnose::same_line(*finding.noticed.at, finding.location))
    return fmt::format("the same line ({})", api);
  const std::string call = call_text(*finding.noticed.at, is_users(*finding.noticed.at, finding), api, directory);
  const bool known = finding.launch || !analyse::is_asynchronous(finding.kind);
  return call + (known ? ": innocent" : ": it returned the error; the operation that raised the error is unknown");
}

}  // namespace cudadiag::report
