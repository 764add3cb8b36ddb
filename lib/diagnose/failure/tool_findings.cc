// Adds what compute-sanitizer and cuda-gdb found to the findings.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/words.h"
#include "wire/cuda_codes.h"

namespace cudadiag::diagnose {
namespace {

using evidence::InvalidAccess;
using symbolize::SanitizerResult;

std::string file_and_line(const InvalidAccess& access) {
  return fmt::format("{}:{}", base::file_name(access.file), access.line);
}

std::string threads_of(const InvalidAccess& access) {
  return fmt::format("block {} thread {}", dimensions(access.block), dimensions(access.thread));
}

bool is_of(const InvalidAccess& access, const std::string& mangled) {
  return access.kernel == mangled || base::demangle(access.kernel) == base::demangle(mangled);
}

Memory memory_of(const InvalidAccess& access, std::size_t accesses) {
  Memory memory;
  memory.space = access.space;
  memory.mode = access.mode;
  memory.problem = access.problem;
  memory.bytes = access.bytes;
  memory.address = access.address;
  if (access.nearest) {
    memory.allocation = access.nearest->address;
    memory.allocation_bytes = access.nearest->bytes;
  }
  memory.text = evidence::sentence(access);
  memory.function = base::demangle(access.function);
  memory.file = access.file;
  memory.line = static_cast<int>(access.line);
  memory.block = access.block;
  memory.thread = access.thread;
  memory.accesses = accesses;
  return memory;
}

class Joining {
 public:
  Joining(Diagnosis& report, const SanitizerResult& results) : report_(report), results_(results) {}

  void run() {
    for (Finding& finding : report_.findings) {
      if (!analyse::is_asynchronous(finding.kind) || !finding.launch) continue;
      const auto accesses = of_kernel(finding);
      if (accesses.empty()) continue;
      join(finding, accesses);
      return;
    }
    if (!results_.log.accesses.empty()) {
      const InvalidAccess& other = results_.log.accesses.front();
      report_.notes.push_back(
          {analyse::NoteCode::sanitizer_elsewhere,
           fmt::format("compute-sanitizer found no invalid access in this kernel, but one in {}: {}",
                       short_kernel_name(base::demangle(other.kernel), 16u << 10), evidence::sentence(other))});
    }
  }

 private:
  // If we do not know which node of a graph failed, the kernel of any candidate matches.
  std::vector<const InvalidAccess*> of_kernel(const Finding& finding) const {
    std::vector<const InvalidAccess*> found;
    for (const InvalidAccess& access : results_.log.accesses) {
      const bool leads = !finding.launch->mangled.empty() && is_of(access, finding.launch->mangled);
      const bool suspected =
          finding.launch->mangled.empty() && std::ranges::any_of(finding.candidates, [&](const auto& other) {
            return !other.launch.mangled.empty() && is_of(access, other.launch.mangled);
          });
      if (leads || suspected) found.push_back(&access);
    }
    return found;
  }

  void join(Finding& finding, const std::vector<const InvalidAccess*>& accesses) const {
    const InvalidAccess& first = *accesses.front();
    finding.tools.memory = memory_of(first, accesses.size());
    std::vector<std::string> same;
    if (finding.device) compare(finding, accesses, same);
    if (!finding.device) {
      finding.device.emplace().join = "found by compute-sanitizer in a separate rerun";
      finding.device->function = finding.tools.memory->function;
      finding.device->offset = first.offset;
    }
    fill(*finding.device, first);
    if (!same.empty()) {
      std::string text = "compute-sanitizer agrees: kernel";
      for (const std::string& field : same) text += ", " + field;
      finding.tools.witnesses.push_back(text);
    }
  }

  // If a whole block fails, each tool may report a different thread first. The dump's thread therefore only has to be
  // among the accesses that compute-sanitizer printed.
  void compare(Finding& finding, const std::vector<const InvalidAccess*>& accesses,
               std::vector<std::string>& same) const {
    const Device& device = *finding.device;
    const InvalidAccess& first = *accesses.front();
    const auto any = [&](const auto& matches) {
      return std::ranges::any_of(accesses, [&](const InvalidAccess* a) { return matches(*a); });
    };
    const auto differs = [&](const std::string& there, const std::string& here) {
      finding.tools.witnesses.push_back(
          fmt::format("compute-sanitizer disagrees: it reports {}, but the GPU core dump shows {}", there, here));
      report_.notes.push_back({analyse::NoteCode::sanitizer_differs, finding.tools.witnesses.back()});
    };
    if (device.line > 0 && first.line > 0) {
      const bool line = any([&](const InvalidAccess& access) {
        return static_cast<int>(access.line) == device.line &&
               base::file_name(access.file) == base::file_name(device.file);
      });
      line ? void(same.emplace_back("line"))
           : differs("line " + file_and_line(first), fmt::format("{}:{}", base::file_name(device.file), device.line));
    }
    if (device.block && device.thread) {
      const bool threads = any([&](const InvalidAccess& access) {
        return access.block == *device.block && access.thread == *device.thread;
      });
      if (threads) {
        same.emplace_back("block");
        same.emplace_back("thread");
      } else {
        differs(threads_of(first) + " first",
                fmt::format("block {} thread {}", dimensions(*device.block), dimensions(*device.thread)));
      }
    }
  }

  static void fill(Device& device, const InvalidAccess& access) {
    if (device.line == 0 && access.line > 0) {
      device.file = access.file;
      device.line = static_cast<int>(access.line);
      device.function = base::demangle(access.function);
      device.line_by_sanitizer = true;
    }
    if (!device.block || !device.thread) {
      device.block = access.block;
      device.thread = access.thread;
      device.threads_by_sanitizer = true;
    }
  }

  Diagnosis& report_;
  const SanitizerResult& results_;
};

void add_debugger(Diagnosis& report, const symbolize::ToolWords& words) {
  for (const std::string& sentence : words.sentences) {
    if (words.in_doubt) report.notes.push_back({analyse::NoteCode::cuda_gdb, sentence});
  }
  for (Finding& finding : report.findings) {
    if (!finding.device) continue;
    finding.tools.witnesses.insert(finding.tools.witnesses.end(), words.sentences.begin(), words.sentences.end());
    return;
  }
}

// Adds commands that the user can paste on a machine that has the tool.
void add_wanted(Diagnosis& report, const symbolize::ToolResults& results) {
  const auto first = std::ranges::find_if(
      report.findings, [](const Finding& f) { return analyse::is_asynchronous(f.kind) && f.launch; });
  if (first == report.findings.end()) return;
  const std::string& kernel = first->launch->mangled;
  if (!results.sanitizer && !kernel.empty() && wire::cuda::has(first->code, wire::cuda::memcheck_helps) &&
      !report.command.empty()) {
    std::string text = report.torch.empty() ? "" : "PYTORCH_NO_CUDA_MEMORY_CACHING=1 ";
    text += "compute-sanitizer --tool memcheck";
    // If several kernels are possible, filtering for the likeliest one could leave the failing one unchecked.
    if (!possible_kernels(*first).several()) text += " --kernel-name " + shell_word("kne=" + kernel);
    first->tools.not_run.push_back({text, true});
  }
  if (!results.debugger && !results.dump.empty() && results.unreadable.empty()) {
    first->tools.not_run.push_back(
        {"cuda-gdb --batch -ex " + shell_word("target cudacore " + results.dump) + " -ex bt"});
  }
}

}  // namespace

void add_tool_findings(Diagnosis& report, const symbolize::ToolResults& results) {
  if (results.debugger) add_debugger(report, *results.debugger);
  if (results.sanitizer) Joining(report, *results.sanitizer).run();
  add_wanted(report, results);
}

bool memcheck_may_help(const Finding& finding) {
  const bool kernel = (finding.launch && !finding.launch->mangled.empty()) || possible_kernels(finding).known > 0;
  return kernel && wire::cuda::has(finding.code, wire::cuda::memcheck_helps);
}

std::string outcome_of(const SanitizerResult& results) {
  const evidence::SanitizerLog& log = results.log;
  if (!log.accesses.empty()) {
    const std::uint64_t count = std::max<std::uint64_t>(log.errors.value_or(0), log.accesses.size());
    return fmt::format("{} invalid access{}", thousands(count), count == 1 ? "" : "es");
  }
  if (!log.complaint.empty()) return "failed: " + log.complaint;
  if (!results.failed.empty()) return "compute-sanitizer failed (" + results.failed + ")";
  return log.errors == 0u ? "no invalid access" : "errors, but no invalid access that cudadiag could parse";
}

}  // namespace cudadiag::diagnose
