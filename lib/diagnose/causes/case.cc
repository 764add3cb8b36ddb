#include "diagnose/causes/case.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "symbolize/source_excerpt.h"

namespace cudadiag::causes {
namespace {

const std::string kUnknown;

}  // namespace

const diagnose::RefusedCall& Case::refused() const {
  static const diagnose::RefusedCall none;
  return finding.refused ? *finding.refused : none;
}

const diagnose::Launch& Case::launch() const {
  static const diagnose::Launch none;
  return finding.launch ? *finding.launch : none;
}

const diagnose::Device& Case::device() const {
  static const diagnose::Device none;
  return finding.device ? *finding.device : none;
}

const std::string& Case::kernel() const {
  const auto& candidates = finding.candidates;
  const bool only = std::all_of(candidates.begin(), candidates.end(), [&](const diagnose::CandidateLine& candidate) {
    return candidate.launch.kernel == launch().kernel;
  });
  return only ? launch().kernel : kUnknown;
}

const std::string& Case::assertion() const { return device().assertions > 0 ? device().message : kUnknown; }

std::string Case::source() const {
  // If the file is newer than the code that ran, its text proves nothing.
  if (!finding.source_newer_than.empty()) return "";
  const bool python = finding.location.language == symbolize::Language::python;
  return std::string(symbolize::without_comment(finding.location.source, python ? "#" : "//"));
}

std::uint32_t Case::failed_elsewhere() const {
  if (report.findings.empty()) return 0;
  const diagnose::Finding& first = report.findings.front();
  return first.pid != finding.pid && analyse::is_asynchronous(first.kind) ? first.pid : 0;
}

std::string cuda_library(const symbolize::SourceStack& stack) {
  for (const symbolize::NativeFrame& frame : stack.native) {
    if (frame.user) break;
    const std::string name = std::filesystem::path(frame.module).filename().string();
    for (const std::string_view library :
         {"libcublas", "libcudnn", "libcusolver", "libcusparse", "libcufft", "libcurand", "libnccl"}) {
      if (name.starts_with(library)) return name;
    }
  }
  return "";
}

}  // namespace cudadiag::causes
