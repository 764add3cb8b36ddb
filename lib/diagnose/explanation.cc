#include "diagnose/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analyse/first_failure.h"
#include "analyse/hang.h"
#include "analyse/reruns.h"
#include "diagnose/causes/explain.h"
#include "diagnose/causes/rule.h"
#include "diagnose/dialect.h"
#include "diagnose/facts/place.h"
#include "diagnose/groups.h"
#include "diagnose/lines.h"
#include "diagnose/next_steps.h"
#include "diagnose/ranks.h"
#include "diagnose/words.h"
#include "session/process_record.h"
#include "session/processes.h"
#include "wire/names/core_dump.h"

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

bool tells_where(const std::optional<Access>& access) {
  return access && (access->outside || (access->relation != Relation::inside && access->relation != Relation::unknown));
}

// The kind of operation in which a hang is stuck; nullopt if the candidates are of several kinds.
std::optional<session::Work> stuck_in(const analyse::Failure& hang) {
  const auto kind = hang.candidates.front().operation->kind;
  const bool same = std::all_of(hang.candidates.begin(), hang.candidates.end(),
                                [&](const analyse::Candidate& other) { return other.operation->kind == kind; });
  if (!same) return std::nullopt;
  return kind == wire::operation::Kind::host_function ? session::Work::host_function : work_of(kind);
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
  failed.may_be_another_client = analyse::under_mps(process.record) && !finding.device;
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
