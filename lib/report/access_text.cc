#include "report/access_text.h"

#include <fmt/core.h>

#include "diagnose/words.h"
#include "report/memory_text.h"

namespace cudadiag::report {
namespace {

using diagnose::Relation;

std::string threads_of(const diagnose::Access& access) {
  if (access.threads == 0) return "";
  std::string text = fmt::format("; {} thread{}", diagnose::thousands(access.threads), access.threads == 1 ? "" : "s");
  if (access.threads > 1) {
    if (access.relation == Relation::past_end) text += ", all past the end of the same memory";
    if (access.relation == Relation::before) text += ", all before the beginning of the same memory";
    if (access.farthest && access.distance && *access.farthest > *access.distance) {
      text += fmt::format(", the farthest by {}", size_text(*access.farthest));
    }
  }
  return text;
}

// Describes an access that was inferred from the code. Its thread is unknown.
std::string line_by_code(const diagnose::Access& access, const std::string& what) {
  std::string text = what;
  if (access.parameter) text += fmt::format(" through parameter {}", *access.parameter);
  if (access.allocation) text += fmt::format(" ({})", size_text(access.allocation->bytes));
  return text + "; inferred from the kernel's code, its grid and its parameters";
}

}  // namespace

std::vector<std::string> access_lines(const diagnose::Finding& finding, bool verbose) {
  if (!finding.access) return {};
  const diagnose::Access& access = *finding.access;
  constexpr const char* kKinds[] = {"load", "store", "atomic operation", "copy"};
  constexpr const char* kSpaces[] = {"", " of shared memory", " of local memory", ""};
  std::string text = kKinds[static_cast<int>(access.kind)];
  if (access.bytes != 0) text += fmt::format(" of {} byte{}", access.bytes, access.bytes == 1 ? "" : "s");
  if (access.by_code) return {line_by_code(access, text)};
  if (access.address) text += fmt::format(" at {:#x}{}", *access.address, kSpaces[static_cast<int>(access.space)]);
  if (!access.address) {
    text += access.parameter ? fmt::format(" through parameter {}", *access.parameter) : "";
    if (access.allocation) text += fmt::format(" ({})", size_text(access.allocation->bytes));
    text += "; its address is unknown";
  }
  if (access.block && access.thread) {
    text += fmt::format(" by block {} thread {}", diagnose::dimensions(*access.block),
                        diagnose::dimensions(*access.thread));
  }
  std::vector<std::string> lines = {text + threads_of(access)};
  if (!verbose) return lines;
  if (access.others != 0) {
    lines.push_back(
        fmt::format("{} other thread{} in the same warps, with an address that is inside the memory or unknown",
                    diagnose::thousands(access.others), access.others == 1 ? "" : "s"));
  }
  if (access.allocation) {
    lines.push_back(
        fmt::format("the core dump gives the address relative to a parameter; the memory is what that parameter "
                    "pointed to in the recorded launch: {} at {:#x}",
                    size_text(access.allocation->bytes), access.allocation->address));
  }
  return lines;
}

}  // namespace cudadiag::report
