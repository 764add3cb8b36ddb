#include "report/blame_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/printable.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kBlamedSource = 40;

// Returns true if a call other than the failing call noticed the error. A later call may notice a broken capture, and a
// query of the last error may notice an earlier failed call.
bool noticed_elsewhere(const diagnose::Finding& finding) {
  if (!finding.reported_at) return false;
  const auto key = [](const diagnose::Location& at) {
    return std::tie(at.file, at.line, at.function, at.module, at.nearest().file, at.nearest().line);
  };
  return key(*finding.reported_at) != key(finding.location);
}

// Returns true if the location is in user code. If the line is unknown, returns true if the module is user code.
bool is_users(const diagnose::Location& at, const diagnose::Finding& finding) {
  if (!at.called_from.empty()) return true;
  const auto& native = finding.stack.native;
  return !at.module.empty() && std::any_of(native.begin(), native.end(), [&](const symbolize::NativeFrame& frame) {
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
  std::string api = !finding.issues ? "a call" : "a call that issues " + diagnose::with_article(word(*finding.issues));
  if (!finding.reported_api.empty()) api = base::printable(finding.reported_api);
  if (finding.standstill) {
    if (!finding.reported_at) return "none (no thread waits in a CUDA call)";
    return fmt::format("{} ({}): it only waits", diagnose::place(*finding.reported_at, directory), api);
  }
  if (!analyse::is_asynchronous(finding.kind) && !noticed_elsewhere(finding)) return "";
  if (finding.code == 0) return "none (no call failed)";
  if (finding.found_by_wait) {
    return "none (cudadiag found it while waiting for this operation)";
  }
  if (finding.found_at_exit) {
    return "none (no recorded call returned it; cudadiag found it when the program or its context ended)";
  }
  if (!finding.reported_at) return "unknown: the record of the reporting call was lost";
  if (finding.location.line > 0 && diagnose::same_line(*finding.reported_at, finding.location))
    return fmt::format("the same line ({})", api);
  const std::string call = call_text(*finding.reported_at, is_users(*finding.reported_at, finding), api, directory);
  const bool known = finding.launch || !analyse::is_asynchronous(finding.kind);
  return call + (known ? ": innocent" : ": it returned the error; the operation that raised the error is unknown");
}

}  // namespace cudadiag::report
