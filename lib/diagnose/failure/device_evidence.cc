// Adds what the GPU and NVIDIA's tools tell about a failure (symbolize/tool_results.h) to the findings.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/words.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_file.h"
#include "wire/cuda_codes.h"

namespace cudadiag::diagnose {
namespace {

using evidence::Assertion;
using evidence::DumpedFailure;
using symbolize::ToolResults;
using Dim3 = std::array<std::uint32_t, 3>;

constexpr std::size_t kAssertionsNoted = 3;
constexpr std::size_t kWholeName = 16u << 10;

// Returns "scale" for "void N::scale<int>(const int *) [with T = int]".
std::string own_name(const std::string& function) {
  std::string plain;
  int depth = 0;
  for (const char c : short_kernel_name(function, kWholeName)) {
    if (c == '<') ++depth;
    if (depth == 0) plain += c;
    if (c == '>') --depth;
  }
  const std::size_t scope = plain.rfind("::");
  return scope == std::string::npos ? plain : plain.substr(scope + 2);
}

bool is_named(const Dim3& d) { return d != Dim3{}; }

// How well a dump matches a launch of the same kernel in the first run, as a score and as text.
struct Fit {
  int points = 0;
  std::string words;
};

Fit fit(const DumpedFailure& failure, const Finding& finding, const Launch& launch) {
  Fit fit;
  std::vector<std::string> same = {"kernel"}, other;
  const auto compare = [&](const char* name, const std::optional<Dim3>& there, const Dim3& here) {
    if (!there || !is_named(here)) return;
    const bool equal = *there == here;
    fit.points += equal ? 2 : -2;
    (equal ? same : other).push_back(equal ? name : fmt::format("{} ({})", name, dimensions(*there)));
  };
  compare("grid", failure.grid, launch.grid);
  compare("block", failure.block_dim, launch.block);
  fit.words = "same " + joined(same, " and ");
  if (!other.empty()) fit.words += ", different " + joined(other, " and ");
  if (!failure.grid) fit.words += "; the grid was not recorded";
  // CUDA does not document that grid ids count launches. An equal id supports a match, but a different id does not rule
  // it out.
  if (failure.grid_id && launch.kernel_ordinal == failure.grid_id) {
    ++fit.points;
    fit.words += fmt::format("; kernel {} of its process in the dump too", *failure.grid_id);
  }
  if (!finding.hang && failure.asserted() != (finding.code == wire::cuda::kAssert)) {
    fit.words += fmt::format("; the first run's error was {}", finding.code);
  }
  return fit;
}

// Returns a place such as "cases.cu:16", or function and offset if the line is unknown.
std::string source_or_offset(const DumpedFailure& failure) {
  if (!failure.place.lines.empty())
    return fmt::format("{}:{}", base::file_name(failure.place.lines[0].file), failure.place.lines[0].line);
  if (!failure.place.function.empty())
    return fmt::format("{}+{:#x}", base::demangle(failure.place.function), failure.place.offset);
  return "an unknown place";
}

// Returns whether the assertion is on a line of this kernel's source in a Python file. Triton's message does not name
// the function.
bool is_in_source_of(const Assertion& assertion, const std::string& kernel) {
  constexpr int kWholeFile = 100'000;
  if (!assertion.file.ends_with(".py")) return false;
  const int at = static_cast<int>(assertion.line);
  const auto lines = symbolize::source_excerpt(assertion.file, at, kWholeFile);
  const auto function = std::find_if(lines.rbegin(), lines.rend(), [&](const symbolize::SourceLine& line) {
    return line.number <= at && line.text.starts_with("def ");
  });
  return function != lines.rend() && function->text.starts_with("def " + kernel + "(");
}

std::string described(const Assertion& assertion) {
  const std::string what = assertion.condition.empty() ? "one without text," : '`' + assertion.condition + '`';
  return fmt::format("{} in {}, {}:{}, by {} thread{}, the first of them block {} thread {}", what,
                     assertion.function.empty() ? "an unknown function" : assertion.function, assertion.file,
                     assertion.line, assertion.threads, assertion.threads == 1 ? "" : "s", dimensions(assertion.block),
                     dimensions(assertion.thread));
}

bool is_of_library(const std::string& file) {
  constexpr std::string_view kFolders[] = {"/cuda/include/",
                                           "/cuda/std/",
                                           "/cub/",
                                           "/thrust/",
                                           "/cutlass/",
                                           "/cute/",
                                           "/crt/",
                                           "/cooperative_groups/",
                                           "/cccl/",
                                           "/libcudacxx/",
                                           "/targets/x86_64-linux/include/",
                                           "/targets/sbsa-linux/include/",
                                           "/nvidia/cu13/include/",
                                           "/nvidia/cuda_runtime/include/"};
  constexpr std::string_view kFiles[] = {
      "device_functions", "device_atomic_functions",   "cuda_fp", "cuda_bf16", "cooperative_groups",
      "math_functions",   "texture_indirect_functions"};
  const std::string name = base::file_name(file);
  if (std::ranges::any_of(kFolders, [&](std::string_view folder) { return file.find(folder) != std::string::npos; })) {
    return true;
  }
  const std::size_t toolkit = file.find("/cuda-");
  if (toolkit != std::string::npos && file.find("/include/", toolkit) != std::string::npos) return true;
  const bool header = name.ends_with(".h") || name.ends_with(".hpp") || name.ends_with(".cuh");
  const bool intrinsics = name.starts_with("sm_") && name.find("_functions") != std::string::npos;
  return header &&
         (intrinsics || std::ranges::any_of(kFiles, [&](std::string_view start) { return name.starts_with(start); }));
}

class Matching {
 public:
  Matching(Diagnosis& report, const ToolResults& results, const session::Session& session,
           const analyse::Analysis& analysis, const std::vector<const analyse::Failure*>& failures)
      : report_(report), results_(results), session_(session), failures_(failures) {
    for (const analyse::Rerun& rerun : analysis.reruns) passed_ |= rerun.failed_unwatched == false;
    if (!results.printed.empty()) printed_ = results.printed.front().assertions;
  }

  void run() {
    for (Finding& finding : report_.findings) finding.device_unknown = why_unknown();
    if (!results_.of_first_run.empty()) {
      for (std::size_t i = 0; i < report_.findings.size(); ++i) join_own_dump(report_.findings[i], *failures_[i]);
    } else {
      results_.failure ? join_dump(*results_.failure) : join_text();
    }
    for (std::size_t i = 0; i < report_.findings.size(); ++i) {
      if (report_.findings[i].hang) join_running(report_.findings[i], *failures_[i]);
    }
    note_assertions();
  }

 private:
  static bool async(const Finding& finding) { return analyse::is_asynchronous(finding.kind); }

  std::string why_unknown() const {
    if (session_.manifest.passes.size() < 2 && results_.of_first_run.empty()) return why_no_own_dump();
    if (!results_.device_pass) return "no rerun for a core dump";
    if (!results_.unreadable.empty()) return results_.unreadable;
    if (!results_.cut_short.empty()) return "the rerun was cut short: " + results_.cut_short;
    if (passed_) return "the rerun for a core dump did not fail";
    if (!results_.unfinished) return "the rerun left no core dump";
    return "the driver began a core dump but did not finish it";
  }

  // Without reruns, a dump can only come from a run with --once.
  std::string why_no_own_dump() const {
    if (!results_.unreadable.empty()) return results_.unreadable;
    for (const session::Process& process : session_.processes) {
      for (const session::Note& note : process.record.notes) {
        if (analyse::note_code(note.code) == analyse::NoteCode::core_dump_off) return note.text;
      }
    }
    const bool awaited = std::ranges::any_of(session_.processes, [](const session::Process& process) {
      return session::has(process.record, session::Property::core_dump);
    });
    if (awaited && !results_.device_pass) return "this run left no core dump";
    return "no rerun";
  }

  void join_dump(const DumpedFailure& failure) {
    Finding* best = nullptr;
    Fit best_fit;
    for (Finding& finding : report_.findings) {
      if (!async(finding)) continue;
      finding.device_unknown = "the rerun's core dump shows a different failure";
      const auto found = fit_of(failure, finding);
      if (!found || (best != nullptr && found->points <= best_fit.points)) continue;
      best = &finding;
      best_fit = *found;
    }
    if (best == nullptr && failure.from_kernel) return join_child(failure);
    if (best == nullptr) return disagree(failure);
    best->device = device_of(failure);
    best->device->join = best_fit.words;
    add_assertion(*best->device, failure);
  }

  // A kernel launched the failed kernel on the GPU. If one launch may have failed, its kernel did so.
  void join_child(const DumpedFailure& failure) {
    const auto is_one_kernel = [](const Finding& finding) {
      return async(finding) && finding.candidates.empty() && finding.unlisted == 0 && !finding.candidates_lost &&
             finding.launch && finding.launch->operation == session::Work::kernel && !finding.launch->graph_node;
    };
    if (report_.findings.empty() || failure.kernel.empty() || std::ranges::count_if(report_.findings, async) != 1 ||
        !is_one_kernel(report_.findings.front())) {
      return disagree(failure);
    }
    Device device = device_of(failure);
    device.child = base::demangle(failure.kernel);
    device.join = fmt::format("{}, which this kernel launched on the GPU", short_kernel_name(device.child, kWholeName));
    report_.findings.front().device = std::move(device);
  }

  // Uses the core dump that the finding's process wrote in the first run.
  void join_own_dump(Finding& finding, const analyse::Failure& failure) const {
    const auto own = results_.of_first_run.find(failure.process);
    if (own == results_.of_first_run.end() || !async(finding)) return;
    const auto found = fit_of(own->second, finding);
    finding.device_unknown =
        fmt::format("in the process's core dump, {} came from {}, {}", own->second.exception_name,
                    own->second.kernel.empty() ? "a kernel of unknown name" : base::demangle(own->second.kernel),
                    source_or_offset(own->second));
    if (!found) return;
    finding.device = device_of(own->second);
    finding.device->join = found->words;
    finding.device->of_first_run = true;
  }

  // For a hang: uses the best match among the kernels that were running according to the dump of the finding's process
  // or, without one, of a rerun.
  void join_running(Finding& finding, const analyse::Failure& failure) const {
    const auto own = results_.running_in_first_run.find(failure.process);
    const bool of_first_run = own != results_.running_in_first_run.end();
    Fit best;
    for (const DumpedFailure& kernel : of_first_run ? own->second : results_.running) {
      finding.device_unknown =
          fmt::format("the {}'s core dump shows different kernels running", of_first_run ? "process" : "rerun");
      const auto found = fit_of(kernel, finding);
      if (!found || (finding.device && found->points <= best.points)) continue;
      best = *found;
      finding.device = device_of(kernel);
      finding.device->of_first_run = of_first_run;
      finding.device->join = fmt::format("running in {}, {}", of_first_run ? "this run" : "a rerun", best.words);
    }
  }

  // If the first run shows only that one of several nodes of a graph failed, the dump may name the kernel of any of
  // them.
  static std::optional<Fit> fit_of(const DumpedFailure& failure, const Finding& finding) {
    if (failure.kernel.empty() || failure.from_kernel || !finding.launch) return std::nullopt;
    if (finding.launch->mangled == failure.kernel) return fit(failure, finding, *finding.launch);
    if (!finding.launch->mangled.empty()) return std::nullopt;
    std::optional<Fit> best;
    for (std::size_t i = 0; i < finding.candidates.size(); ++i) {
      const CandidateLine& candidate = finding.candidates[i];
      const bool among = std::ranges::find(candidate.kernels, failure.kernel) != candidate.kernels.end();
      if (candidate.launch.mangled != failure.kernel && !among) continue;
      Fit found = fit(failure, finding, candidate.launch);
      --found.points;  // a finding that names its kernel fits better
      found.words += fmt::format("; that is candidate {}", i + 1);
      if (!best || found.points > best->points) best = std::move(found);
    }
    return best;
  }

  void disagree(const DumpedFailure& failure) {
    const auto first = std::ranges::find_if(report_.findings, async);
    if (first == report_.findings.end()) return;
    std::string text = fmt::format("in the rerun for a core dump, {} came from ", failure.exception_name);
    if (failure.kernel.empty()) {
      text += fmt::format("a kernel that the dump does not name, at {}", source_or_offset(failure));
    } else {
      const bool other = first->launch && !first->launch->mangled.empty();
      const std::string name = short_kernel_name(base::demangle(failure.kernel), kWholeName);
      text += fmt::format("{}{}, {}", other ? "a different kernel: " : "", name, source_or_offset(failure));
      for (std::size_t i = 1; i < first->candidates.size(); ++i) {
        if (first->candidates[i].launch.mangled != failure.kernel) continue;
        text += fmt::format("; that is candidate {}", i + 1);
        break;
      }
    }
    first->device_unknown = text;
    // For an invalid PC, the dump cannot name the code that failed, because the PC itself is wrong.
    const bool foreign =
        failure.kernel.empty() && failure.place.function.empty() && failure.exception_name != "Warp Invalid PC";
    if (foreign) first->foreign_exception = failure.exception_name;
    report_.notes.push_back({analyse::NoteCode::device_disagrees, text + "; the dump is not used for this finding"});
  }

  static Device device_of(const DumpedFailure& failure) {
    Device device;
    device.exception = failure.exception_name;
    device.function = base::demangle(failure.place.function);
    device.offset = failure.place.offset;
    device.message = failure.message;
    device.block = failure.block;
    device.thread = failure.thread;
    device.threads = failure.threads;
    device.blocks = failure.blocks;
    device.asserted = failure.asserted();
    const auto& lines = failure.place.lines;
    if (lines.empty()) return device;
    const std::size_t leads = leading_line(lines);
    device.file = lines[leads].file;
    device.line = static_cast<int>(lines[leads].line);
    if (!lines[leads].function.empty()) device.function = base::demangle(lines[leads].function);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == leads) continue;
      (i < leads ? device.inlined : device.callers)
          .push_back({lines[i].file, base::demangle(lines[i].function), symbolize::Language::cuda, "", "",
                      static_cast<int>(lines[i].line)});
    }
    return device;
  }

  bool is_of(const Assertion& assertion, const DumpedFailure& failure) const {
    // The function's name may differ because the assertion is in inlined code or a lambda. If only one assertion was
    // printed, and by the failing block, it belongs to the kernel.
    if (failure.place.lines.empty()) {
      return printed_.size() == 1 && (own_name(assertion.function) == own_name(base::demangle(failure.kernel)) ||
                                      (failure.block && assertion.block == *failure.block));
    }
    return std::ranges::any_of(failure.place.lines, [&](const evidence::SourceLine& line) {
      return line.line == assertion.line && base::file_name(line.file) == base::file_name(assertion.file);
    });
  }

  void add_assertion(Device& device, const DumpedFailure& failure) {
    if (!failure.asserted()) return;
    for (const Assertion& assertion : printed_) {
      if (!is_of(assertion, failure)) continue;
      device.message = assertion.condition;
      device.assertions = printed_.size();
      told_ = &assertion;
      // The printed message contains the line even if the code was built without line information.
      if (device.line == 0) {
        device.file = assertion.file;
        device.line = static_cast<int>(assertion.line);
      }
      return;
    }
  }

  // Returns the assertions printed by the rerun that proved the failure; null if no rerun proved it, or if that rerun
  // printed nothing.
  const std::vector<Assertion>* printed_in_proof(const analyse::Failure& failure) const {
    const session::Pass* pass = session::rerun_of(session_, failure.again_process);
    if (pass == nullptr || !failure.evidence.proves()) return nullptr;
    const auto found = std::ranges::find(results_.printed, pass->folder, &symbolize::Printed::pass);
    return found == results_.printed.end() ? nullptr : &found->assertions;
  }

  // Without a dump: uses an assertion that a rerun printed, if it can only belong to this kernel.
  void join_text() {
    for (std::size_t i = 0; i < report_.findings.size(); ++i) {
      Finding& finding = report_.findings[i];
      if (!async(finding) || finding.code != wire::cuda::kAssert || !finding.launch || finding.launch->kernel.empty())
        continue;
      const std::vector<Assertion>* proof = printed_in_proof(*failures_[i]);
      const std::span<const Assertion> printed = proof == nullptr ? printed_ : std::span<const Assertion>(*proof);
      for (const Assertion& assertion : printed) {
        const bool named = own_name(assertion.function) == own_name(finding.launch->kernel);
        const bool alone = proof != nullptr && printed.size() == 1;
        const bool inside =
            printed.size() == 1 && finding.candidates.empty() && is_in_source_of(assertion, finding.launch->kernel);
        if (!named && !alone && !inside) continue;
        Device device;
        device.asserted = true;
        device.function = assertion.function;
        device.file = assertion.file;
        device.line = static_cast<int>(assertion.line);
        device.block = assertion.block;
        device.thread = assertion.thread;
        device.threads = assertion.threads;
        device.message = assertion.condition;
        device.assertions = printed.size();
        device.join = named   ? "the assertion was printed in a rerun, in a function with the kernel's name"
                      : alone ? "the only assertion printed in the rerun in which this launch failed"
                              : "the only assertion that a rerun printed, on a line of this kernel";
        finding.device = std::move(device);
        printed_ = printed;
        told_ = &assertion;
        return;
      }
    }
  }

  // Adds notes for assertions that belong to no finding.
  void note_assertions() {
    std::size_t noted = 0, left = 0;
    for (const Assertion& assertion : printed_) {
      if (&assertion == told_) continue;
      if (noted == kAssertionsNoted) {
        ++left;
        continue;
      }
      ++noted;
      report_.notes.push_back(
          {analyse::NoteCode::assertion_printed, "a rerun printed a failed assertion: " + described(assertion)});
    }
    if (left > 0) {
      report_.notes.push_back(
          {analyse::NoteCode::assertion_printed, fmt::format("a rerun printed {} further failed assertions", left)});
    }
  }

  Diagnosis& report_;
  const ToolResults& results_;
  const session::Session& session_;
  const std::vector<const analyse::Failure*>& failures_;  // one for each finding
  bool passed_ = false;                                   // a rerun for a core dump did not fail
  std::span<const Assertion> printed_;                    // printed by the rerun whose evidence is used
  const Assertion* told_ = nullptr;
};

}  // namespace

std::size_t leading_line(const std::vector<evidence::SourceLine>& lines) {
  const auto found = std::ranges::find_if(lines, [](const auto& line) { return !is_of_library(line.file); });
  return found == lines.end() ? 0 : static_cast<std::size_t>(found - lines.begin());
}

void add_device(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures, const ToolResults& results) {
  Matching(report, results, session, analysis, failures).run();
}

}  // namespace cudadiag::diagnose
