#include "diagnose/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "analyse/first_failure.h"
#include "analyse/hang.h"
#include "analyse/operation_arguments.h"
#include "analyse/reruns.h"
#include "base/text.h"
#include "diagnose/causes/rule.h"
#include "diagnose/facts/place.h"
#include "diagnose/line_resolver.h"
#include "diagnose/ranks.h"
#include "diagnose/words.h"
#include "session/process_record.h"
#include "session/session.h"
#include "wire/cuda_codes.h"
#include "wire/pass_files.h"

namespace cudadiag::diagnose {
namespace {

std::string file_name(const symbolize::NativeFrame& frame) { return base::file_name(frame.module); }

// Returns true if the frame is in the CUDA runtime. A statically linked runtime is part of the program's own module, so
// only the function's name identifies it. A demangled name with a return type, such as "cudaError_t check(int)", is not
// from the runtime.
bool is_runtime(const symbolize::NativeFrame& frame) {
  const std::string& function = frame.function;
  const bool plain = std::ranges::all_of(function, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return file_name(frame).starts_with("libcudart") ||
         (plain && function.size() > 4 && function.starts_with("cuda") && std::isupper(function[4]) != 0);
}

// Returns whether the user's own code calls the driver, without a library in between.
bool calls_driver(const symbolize::SourceStack& stack) {
  const auto caller = std::ranges::find_if(stack.native, [](const auto& frame) {
    return frame.user || (!frame.module.empty() && !file_name(frame).starts_with("libcuda.so"));
  });
  return caller != stack.native.end() && caller->user && !caller->file.empty();
}

}  // namespace

causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch) {
  const auto& errors = process.record.errors;
  const auto by_runtime = [](const session::FailedCall& error) {
    return !error.outer.empty() || error.domain == wire::error::Domain::runtime;
  };
  const bool runtime = std::ranges::any_of(stack.native, is_runtime) || std::ranges::any_of(errors, by_runtime);
  causes::Dialect dialect;
  dialect.driver = !runtime && (!errors.empty() || calls_driver(stack));
  dialect.python = !stack.python.empty();
  dialect.torch = torch;
  return dialect;
}

namespace {

std::string device_exception(std::uint32_t code) {
  switch (code) {
    case wire::cuda::kIllegalAddress:
    case wire::cuda::kInvalidAddressSpace:
      return "check this operation's pointers, indices and sizes, and that its memory has not been freed";
    case wire::cuda::kAssert:
      return "read the assertion that the program printed, and check the values that it tests";
    case wire::cuda::kMisalignedAddress:
      return "check that this line's pointers are aligned for the types that the kernel reads and writes";
    default:
      return "check the arguments of the operation at this line";
  }
}

bool is_launch(const analyse::Failure& failure) {
  return failure.reported != nullptr && (failure.reported->flags & wire::error::kLaunch) != 0;
}

std::string refused_call(const analyse::Failure& failure) {
  if (failure.code == wire::cuda::kInvalidConfiguration)
    return "compare the grid, block and shared memory with the limits of this GPU";
  return is_launch(failure) ? "check the grid, block, shared memory and stream of this launch"
                            : "check the arguments of this call";
}

// Returns advice for a call whose error the program never checked. The text contains choices for causes::in_dialect().
std::string check_what_it_returns(const analyse::Failure& failure) {
  return std::string("check what this call returns") +
         (is_launch(failure) ? "{cuda: (after <<<>>>: cudaGetLastError())}" : "");
}

// Advice for an error that the program noticed only when it checked a different call.
inline constexpr const char* kClearTheError =
    "clear the error where you handle it (cudaGetLastError): otherwise the next check mistakes it for the error of "
    "another call";

// Returns true if cudadiag reran the program to get a GPU core dump, and the user did not interrupt that rerun. A rerun
// for the dump of a hang must have hung too.
bool asked_for_dump(const session::Manifest& manifest) {
  return std::ranges::any_of(manifest.passes, [&](const session::Pass& pass) {
    return pass.kind == session::PassKind::device && pass.cut_short != session::CutShort::interrupted &&
           !(manifest.hang && analyse::ended_without_hang(pass));
  });
}

}  // namespace

std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest) {
  switch (failure.kind) {
    case analyse::Kind::async_error:
      if (failure.damaged)
        return {std::string("record the program again") +
                (manifest.command.empty() ? "" : ", or let a rerun find the operation")};
      if (failure.candidates.empty() && failure.records_lost && !failure.process->record.log)
        return {"to keep the record of every operation: cudadiag run --full-log -- COMMAND"};
      if (failure.candidates.empty()) return {};
      [[fallthrough]];
    case analyse::Kind::graph_node:
      return {device_exception(failure.code)};
    case analyse::Kind::stream_race:
    case analyse::Kind::kernel_race:
    case analyse::Kind::non_finite:
    case analyse::Kind::out_of_bounds:
      return {};
    case analyse::Kind::graph_stale_pointer:
      return {
          "do not free or move the memory that a graph was captured with while the graph is in use, or update the "
          "graph when its memory changes"};
    case analyse::Kind::out_of_memory:
      return {
          "allocate less at once, free what you no longer use, and check with nvidia-smi which other processes hold "
          "memory"};
    case analyse::Kind::capture_violation:
    case analyse::Kind::sync_error:
      return {refused_call(failure)};
    case analyse::Kind::hang:
      if (asked_for_dump(manifest) || failure.hang->stall != nullptr || manifest.ranks > 1)
        return {"find out what this operation waits for"};
      return {
          "find out what this operation waits for; for a kernel, cudadiag bisect shows what its threads are executing"};
    case analyse::Kind::unchecked_error:
      return {refused_call(failure), check_what_it_returns(failure)};
  }
  return {};
}

namespace {

constexpr std::string_view kVariables = "env.";

// Returns true if the cause may be something other than the pointer to freed memory. The launch may be one of several
// candidates, or the pointer may be a stale field of a structure.
bool is_pointer_in_doubt(const analyse::Failure& failure) {
  return failure.stale->in_structure || !failure.has_one_operation();
}

bool tells_where(const std::optional<Access>& access) {
  return access && (access->outside || (access->relation != Relation::inside && access->relation != Relation::unknown));
}

// The kind of operation in which a hang is stuck; nullopt if the candidates are of several kinds.
std::optional<session::Work> stuck_in(const analyse::Failure& hang) {
  const auto kind = hang.candidates.front().operation->kind;
  const bool same = std::ranges::all_of(hang.candidates,
                                        [&](const analyse::Candidate& other) { return other.operation->kind == kind; });
  if (!same) return std::nullopt;
  return work_of(kind);
}

std::uint32_t forked_from(const session::Process& process, const session::Session& session) {
  if (const auto origin = session::fork_origin(session, process)) return origin->parent->pid;
  // If the fork is not recorded, a parent with the same command line is evidence of the fork. A child that called exec
  // has a different command line.
  for (const session::Process& other : session.processes) {
    if (other.pid == process.parent_pid && other.argv == process.argv) return other.pid;
  }
  return 0;
}

// Returns the message that torch._assert_async passed to the launch that failed; empty if unknown. The message is the
// kernel's second parameter, as characters that end with a zero. The recording has about 160 of them.
std::string message_of_assert(const analyse::Failure& failure, const std::string& kernel) {
  const bool is_assert = failure.code == wire::cuda::kAssert && failure.candidates.size() == 1 &&
                         kernel.find("at::native::_assert_async_cuda_kernel<") != std::string::npos &&
                         kernel.find("at::native::Msg)") != std::string::npos;
  const session::Operation* launch = is_assert ? failure.candidates.front().operation : nullptr;
  const auto* kept = launch == nullptr ? nullptr : analyse::kept_arguments(failure.process->record, *launch);
  if (kept == nullptr || kept->parameters.size() < 2) return "";
  const std::string& bytes = kept->parameters[1].bytes;
  const std::string text = bytes.substr(0, bytes.find('\0'));
  return std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' && c < 0x7f; }) ? text : "";
}

causes::Case case_of(const Finding& finding, const Diagnosis& report, const analyse::Failure& failure,
                     const session::Session& session, const analyse::Analysis& analysis) {
  causes::Case failed{finding, report};
  const session::Process& process = *failure.process;
  failed.dialect = dialect_of(process, finding.stack, !report.torch.empty());
  for (const auto& [name, value] : process.record.properties) {
    if (name.starts_with(kVariables)) failed.environment[name.substr(kVariables.size())] = value;
  }
  failed.forked_from = forked_from(process, session);
  if (failure.hang) {
    failed.stuck_in = stuck_in(failure);
    failed.is_one_rank = session.manifest.ranks > 1;
    failed.asked_for_dump = asked_for_dump(session.manifest);
    const auto own = wire::core_dump::file_name(process.pid, process.record.start_realtime);
    const auto& passes = session.manifest.passes;
    failed.dump_begun =
        session::awaited_core_dump(process.record) && !passes.empty() && passes.front().dump == own.text;
    if (analyse::in_collective(failure)) {
      if (report.groups) failed.job = in_words(*report.groups, report.working_directory);
      if (!report.groups && report.ranks) failed.job = in_words(*report.ranks, report.working_directory);
    }
  }
  failed.pointer_in_doubt = failure.stale != nullptr && is_pointer_in_doubt(failure);
  const bool races = analysis.vanished == analyse::Vanished::race;
  failed.vanished_when_serialised =
      failed.asynchronous() && &report.findings.front() == &finding && races && !analyse::failed_alone(failure);
  failed.reads_host_memory = analyse::reads_host_memory(process.record);
  failed.may_be_another_client = analyse::under_mps(process.record) && !finding.device;
  if (!finding.device && finding.launch) failed.launch_message = message_of_assert(failure, finding.launch->kernel);
  failed.lost_dump = session::has(process.record, session::Property::core_dump) && !finding.device;
  return failed;
}

void note_blocking_launches(Diagnosis& report, const session::Session& session) {
  for (const session::Process& process : session.processes) {
    if (session::has(process.record, session::Property::late_launch_blocking)) {
      report.notes.push_back({analyse::NoteCode::launch_blocking_late,
                              "CUDA_LAUNCH_BLOCKING was set after CUDA had started, so it has no effect; to use it, "
                              "set it before the program starts (cudadiag does not need it)"});
      return;
    }
    const std::string& value = session::value_of(process.record, session::Property::launch_blocking);
    if (value.empty() || value == "0") continue;
    report.notes.push_back({analyse::NoteCode::launch_blocking,
                            "CUDA_LAUNCH_BLOCKING was set: the program waits until each kernel has finished, which "
                            "costs time and hides races; cudadiag does not need it"});
    return;
  }
}

}  // namespace

void add_causes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures) {
  note_blocking_launches(report, session);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    Finding& finding = report.findings[i];
    const causes::Case failed = case_of(finding, report, *failures[i], session, analysis);
    for (std::string& step : finding.fix) step = causes::in_dialect(step, failed.dialect);
    auto cause = causes::explain(failed);
    if (cause && !cause->fix.empty()) finding.fix = std::move(cause->fix);
    const bool may_have_lines =
        finding.no_line.why.empty() || !finding.no_line.module_unknown.empty() || finding.no_line.lacks_information;
    if (finding.location.line == 0 && !finding.location.module.empty() && may_have_lines) {
      const std::string module = base::file_name(finding.location.module);
      finding.fix.push_back(finding.no_line.module_unknown.empty()
                                ? fmt::format("build {} with -g to see its lines", module)
                                : fmt::format("{} {}: record the program again to see its lines", module,
                                              finding.no_line.module_unknown));
    }
    const session::FailedCall* noticed = failures[i]->noticed;
    if (noticed != nullptr && noticed->of_call != 0) finding.fix.push_back(kClearTheError);
    const bool was_all_tried = report.was_repeated && report.asked_for_dump;
    if (i == 0 && report.may_come_back && !was_all_tried && analyse::is_asynchronous(finding.kind)) {
      finding.fix.insert(finding.fix.begin(),
                         report.was_repeated
                             ? "get a GPU core dump in the run that fails: cudadiag run --once -- COMMAND"
                             : "rerun the program until it fails again");
    }
    if (!cause) continue;
    if (finding.access && finding.access->written && !finding.access->written_by.empty()) {
      const std::string& by = finding.access->written_by;
      cause->text += fmt::format("; that memory was last {} {} at {}", by.ends_with(')') ? "passed to" : "written by",
                                 by, place(*finding.access->written, report.working_directory));
    }
    // This access was not observed, only inferred from the kernel's code and the recording.
    if (tells_where(finding.access) && finding.access->by_code) cause->certain = false;
    finding.cause = std::move(*cause);
    if (finding.kind == analyse::Kind::unchecked_error) {
      finding.fix.push_back(causes::in_dialect(check_what_it_returns(*failures[i]), failed.dialect));
    }
  }
}

}  // namespace cudadiag::diagnose
