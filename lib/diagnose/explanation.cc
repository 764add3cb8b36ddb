#include "diagnose/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analyse/first_failure.h"
#include "analyse/hangs/hang.h"
#include "analyse/operation_arguments.h"
#include "analyse/reruns/reruns.h"
#include "diagnose/causes/explain.h"
#include "diagnose/causes/rule.h"
#include "diagnose/dialect.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/next_steps.h"
#include "diagnose/ranks/groups.h"
#include "diagnose/ranks/ranks.h"
#include "diagnose/resolved_site.h"
#include "diagnose/words.h"
#include "session/area/call_name.h"
#include "session/notes/forks.h"
#include "session/property.h"
#include "symbolize/source_excerpt.h"

namespace cudadiag::diagnose {
namespace {

constexpr std::string_view kVariables = "env.";

// Returns true if the cause may be something other than the pointer to freed memory. The launch may be one of several
// candidates, or the pointer may be a stale field of a structure.
bool is_pointer_in_doubt(const analyse::Failure& failure) {
  const session::Operation* launch = failure.candidates.front().operation;
  return failure.stale->in_structure ||
         std::any_of(failure.candidates.begin(), failure.candidates.end(),
                     [&](const analyse::Candidate& candidate) { return candidate.operation != launch; });
}

// Returns true if all candidates run the same kernel. If not, the likeliest kernel's name proves nothing.
bool kernel_is_known(const Finding& finding) {
  return std::all_of(finding.candidates.begin(), finding.candidates.end(),
                     [&](const CandidateLine& candidate) { return candidate.launch.kernel == finding.launch->kernel; });
}

bool tells_where(const std::optional<Access>& access) {
  return access && access->relation != Relation::inside && access->relation != Relation::unknown;
}

class Gathering {
 public:
  Gathering(const Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis)
      : report_(report), session_(session), races_(analysis.vanished == analyse::Vanished::race) {}

  causes::Symptoms symptoms(const Finding& finding, const analyse::Failure& failure) const {
    causes::Symptoms symptoms;
    symptoms.code = finding.code;
    symptoms.asynchronous = analyse::is_asynchronous(finding.kind);
    add_operation(finding, symptoms);
    symptoms.pointer_in_doubt = failure.stale != nullptr && is_pointer_in_doubt(failure);
    if (failure.hang) add_hang(finding, failure, symptoms);
    symptoms.dialect = dialect_of(*failure.process, finding.stack, !report_.torch.empty());
    // If the file is newer than the code that ran, its text proves nothing.
    if (finding.source_newer_than.empty()) {
      symptoms.source = symbolize::without_comment(
          finding.location.source, finding.location.language == symbolize::Language::python ? "#" : "//");
    }
    symptoms.python = finding.stack.python;
    symptoms.arguments = finding.arguments;
    symptoms.directory = report_.working_directory;
    if (!symptoms.asynchronous && failure.reported != nullptr) add_call(finding, failure, symptoms);
    if (failure.swallowed != nullptr) symptoms.swallowed = session::visible_call(*failure.swallowed);
    add_process(*failure.process, symptoms);
    const Finding& first = report_.findings.front();
    if (first.pid != finding.pid && analyse::is_asynchronous(first.kind)) symptoms.failed_elsewhere = first.pid;
    const auto fork = std::find_if(finding.related.begin(), finding.related.end(),
                                   [](const Related& line) { return line.role == Role::fork; });
    if (fork != finding.related.end()) symptoms.forked_at = place(fork->location, report_.working_directory);
    symptoms.vanished_when_serialised =
        symptoms.asynchronous && &first == &finding && races_ && !analyse::failed_alone(failure);
    symptoms.may_be_another_client = analyse::under_mps(failure.process->record) && !finding.device;
    symptoms.foreign_exception = finding.foreign_exception;
    symptoms.access = finding.access;
    return symptoms;
  }

 private:
  static void add_operation(const Finding& finding, causes::Symptoms& symptoms) {
    if (finding.launch) {
      const Launch& launch = *finding.launch;
      symptoms.likeliest_kernel = launch.kernel;
      if (kernel_is_known(finding)) symptoms.kernel = launch.kernel;
      symptoms.device = launch.device;
      symptoms.in_graph = launch.operation == session::Work::graph || launch.graph_node;
      symptoms.launch = launch.operation == session::Work::kernel;
      symptoms.grid = launch.grid;
      symptoms.block = launch.block;
      symptoms.shared_bytes = launch.shared_bytes;
    }
    if (!finding.device) return;
    symptoms.device_function = finding.device->function;
    symptoms.device_file = finding.device->file;
    symptoms.exception = finding.device->exception;
    if (finding.device->assertions > 0) symptoms.assertion = finding.device->message;
  }

  // If there are several candidates, one candidate's wait does not explain the hang.
  void add_hang(const Finding& finding, const analyse::Failure& failure, causes::Symptoms& symptoms) const {
    symptoms.hang = true;
    if (report_.groups && analyse::in_collective(failure)) {
      add_groups(symptoms, *report_.groups, report_.working_directory);
    } else if (report_.ranks && analyse::in_collective(failure)) {
      add_ranks(symptoms, *report_.ranks, report_.working_directory);
    }
    symptoms.while_running = finding.stall.has_value();
    symptoms.asked_for_dump = asked_for_dump(session_.manifest);
    symptoms.line_in_dump = finding.device && finding.device->line > 0;
    const auto kind = failure.candidates.front().operation->kind;
    const bool same = std::all_of(failure.candidates.begin(), failure.candidates.end(),
                                  [&](const analyse::Candidate& other) { return other.operation->kind == kind; });
    if (same)
      symptoms.operation = kind == wire::operation::Kind::host_function ? session::Work::host_function : work_of(kind);
    if (failure.candidates.size() > 1) return;
    symptoms.waits_for = finding.waits_for;
    symptoms.wait = finding.wait;
    symptoms.write_queued = finding.write_queued;
  }

  static void add_call(const Finding& finding, const analyse::Failure& failure, causes::Symptoms& symptoms) {
    const session::FailedCall& call = *failure.reported;
    symptoms.call = session::visible_call(call);
    if (analyse::goes_to_host(call)) symptoms.host_side = "destination";
    if (analyse::comes_from_host(call)) symptoms.host_side = "source";
    symptoms.library = cuda_library(finding.stack);
    symptoms.bytes = call.bytes;
    if (call.device_total > 0) symptoms.free = call.device_free;
    const session::Capture& capture = (failure.noticed != nullptr ? *failure.noticed : call).capture;
    symptoms.captured_by_other_thread = capture.began != 0 && capture.tid != call.tid;
  }

  void add_process(const session::Process& process, causes::Symptoms& symptoms) const {
    const std::pair<const char*, const std::string*> versions[] = {
        {"driver", &report_.driver}, {"cuda", &report_.cuda}, {"torch", &report_.torch}};
    for (const auto& [name, version] : versions) {
      if (!version->empty()) symptoms.versions[name] = *version;
    }
    symptoms.gpus = report_.gpus;
    for (const auto& [name, value] : process.record.properties) {
      if (name.starts_with(kVariables)) symptoms.environment[name.substr(kVariables.size())] = value;
    }
    if (const auto origin = session::fork_origin(session_, process)) {
      symptoms.forked_from = origin->parent->pid;
      return;
    }
    // If the fork is not recorded, a parent with the same command line is evidence of the fork. A child that called
    // exec has a different command line.
    for (const session::Process& other : session_.processes) {
      if (other.pid == process.parent_pid && other.argv == process.argv) symptoms.forked_from = other.pid;
    }
  }

  const Diagnosis& report_;
  const session::Session& session_;
  bool races_;
};

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

void add_causes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures) {
  note_blocking_launches(report, session);
  const Gathering gathering(report, session, analysis);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    Finding& finding = report.findings[i];
    const causes::Symptoms symptoms = gathering.symptoms(finding, *failures[i]);
    for (std::string& step : finding.fix) step = causes::in_dialect(step, symptoms.dialect);
    auto cause = causes::explain(symptoms);
    if (cause && !cause->fix.empty()) finding.fix = std::move(cause->fix);
    const bool may_have_lines =
        finding.why_no_line.empty() || !finding.module_unknown.empty() || finding.lacks_line_information;
    if (finding.location.line == 0 && !finding.location.module.empty() && may_have_lines) {
      const std::string module = std::filesystem::path(finding.location.module).filename().string();
      finding.fix.push_back(finding.module_unknown.empty()
                                ? fmt::format("build {} with -g to see its lines", module)
                                : fmt::format("{} {}: record the program again with cudadiag run to see its lines",
                                              module, finding.module_unknown));
    }
    const session::FailedCall* noticed = failures[i]->noticed;
    if (noticed != nullptr && noticed->of_call != 0) finding.fix.push_back(kClearTheError);
    if (i == 0 && report.may_come_back && analyse::is_asynchronous(finding.kind)) {
      finding.fix.insert(finding.fix.begin(),
                         report.was_repeated
                             ? "get a GPU core dump in the run that fails: cudadiag run --once -- COMMAND"
                             : fmt::format("rerun the program until it fails again: cudadiag bisect {}", kRepeat));
    }
    if (!cause) continue;
    // This access was not observed, only inferred from the kernel's code and the recording.
    if (tells_where(finding.access) && finding.access->by_code) cause->certain = false;
    finding.cause = std::move(*cause);
    if (finding.kind == analyse::Kind::unchecked_error) {
      finding.fix.push_back(causes::in_dialect(check_what_it_returns(*failures[i]), symptoms.dialect));
    }
  }
}

}  // namespace cudadiag::diagnose
