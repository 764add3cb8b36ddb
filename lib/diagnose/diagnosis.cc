#include "diagnose/diagnosis.h"

#include <algorithm>

#include "analyse/first_failure.h"
#include "diagnose/changed_sources.h"
#include "diagnose/explanation.h"
#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/failure/parameter_names.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/hook_values.h"
#include "diagnose/ranks.h"
#include "diagnose/run_description.h"
#include "diagnose/unreported/findings.h"
#include "diagnose/words.h"
#include "session/session_trust.h"

namespace cudadiag::diagnose {
namespace {

// Sets the members that the head of a report and its suggested commands need, such as the verdict, the command and the
// session.
void describe_session(Diagnosis& report, const DiagnosisInput& input) {
  const session::Manifest& manifest = input.session.manifest;
  report.verdict = input.analysis.verdict;
  report.may_come_back = input.analysis.vanished == analyse::Vanished::comes_and_goes ||
                         input.analysis.vanished == analyse::Vanished::open;
  const auto& reruns = input.analysis.reruns;
  report.was_repeated =
      std::ranges::count(reruns, analyse::Rerun::Outcome::did_not_fail, &analyse::Rerun::outcome) >= kRepeats;
  report.session = input.session.folder.string();
  report.command = manifest.command;
  report.options = manifest.options;
  report.rerun_options = manifest.rerun_options;
  report.started = manifest.started;
  if (report.started.empty() && !input.session.processes.empty()) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const auto begun = input.session.processes.front().record.start_realtime / kSecond;
    if (begun != 0) report.started = session::iso_time(static_cast<std::time_t>(begun));
  }
  report.working_directory = manifest.working_directory;
  report.is_one_rank = manifest.ranks > 1;
  report.input_read = manifest.input_read;
  report.asked_for_dump = std::ranges::any_of(input.session.processes, [](const session::Process& process) {
    return session::has(process.record, session::Property::core_dump);
  });
  if (const auto exposed = session::exposed_folder(input.session)) report.exposed = exposed->string();
}

void add_ranks(Diagnosis& report, const DiagnosisInput& input) {
  report.groups = input.groups;
  if (!report.groups && input.analysis.groups) {
    const analyse::JobGroups& job = *input.analysis.groups;
    report.groups = groups_part(job.answer, job.states, [&](std::size_t state) {
      return RecordedRank{input.session, *job.processes[state], input.symbolizer};
    });
  }
  if (report.groups) return add_groups_note(report.notes, *report.groups, report.working_directory);
  report.ranks = input.job;
  if (!report.ranks && input.analysis.ranks) {
    report.ranks = ranks_part(*input.analysis.ranks, [&](std::size_t process) {
      return RecordedRank{input.session, input.session.processes[process], input.symbolizer};
    });
  }
  if (report.ranks) add_ranks_note(report.notes, *report.ranks, report.working_directory);
}

// Phase 1, what failed: each failure becomes a finding. Reads the recording, and the evidence from the GPU and other
// tools.
void add_failures(Diagnosis& report, const DiagnosisInput& input,
                  const std::vector<const analyse::Failure*>& failures) {
  const session::Session& session = input.session;
  const ResolveSite resolve_site = located_by(input.symbolizer);
  for (const analyse::Failure* failure : failures) {
    report.findings.push_back(finding_of(*failure, session, input.symbolizer));
  }
  // Adds the GPU core dump, or the assertion that a rerun printed, to the finding whose kernel it names.
  add_device(report, session, input.analysis, failures, input.results);
  // The dump's registers and the kernel's code give the address that failed. The parameters show which memory was
  // meant.
  add_access(report, failures, input.results, resolve_site);
  // Without a dump, the code of the kernel may show which of its accesses must have failed.
  add_access_by_code(report, session, failures, resolve_site);
  // If the address is still unknown, a replay of the saved launch may have measured it.
  add_replayed_access(report, session, failures, resolve_site);
  for (Finding& finding : report.findings) keep_related(finding);
  // The kernel's source gives the names of its parameters.
  name_parameters(report, failures);
  // compute-sanitizer and cuda-gdb add what the dump does not contain.
  add_tool_findings(report, input.results);
}

// Phase 2, the run: its environment, processes, ranks, and notes about what cudadiag could not see. Reads the findings
// too, because the symbolizer's notes are complete only when all lines are resolved.
void add_run(Diagnosis& report, const DiagnosisInput& input) {
  const auto& [session, analysis, results, symbolizer, eager, job, groups] = input;
  add_environment(report, session);
  add_processes(report, session);
  add_notes(report, session, analysis, symbolizer);
  // For a job of several ranks, adds the collective at which they diverge.
  add_ranks(report, input);
  // For a report without findings, adds the work that was unfinished when the program was killed.
  add_unfinished(report, session, analysis, symbolizer);
  // In a forked process, PyTorch raises an error before it calls CUDA, so no failure is recorded. Notes the line that
  // forked.
  note_forks(report, session, analysis, symbolizer);
}

// Phase 3, why: causes and what to do. The rules read everything that the first two phases found.
void add_reasons(Diagnosis& report, const DiagnosisInput& input, const std::vector<const analyse::Failure*>& failures) {
  // Traces bad values among the arguments back to their origin.
  add_origins(report, input.session, failures, input.symbolizer);
  add_causes(report, input.session, input.analysis, failures);
  // Reruns without torch.compile give the line and the cause inside compiled code, if the first run gave neither.
  if (input.eager) add_eager(report, failures, *input.eager);
  // If torch.compile was never turned off, Inductor's generated code may show the line inside compiled code. The line
  // inside leads the finding, or the call of the compiled function.
  add_compiled_lines(report, failures);
}

// Phase 4, what no call reported: races, memory that is used wrongly, and values that are not finite. These findings
// bring their causes along.
void add_unreported(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer) {
  const ResolveSite resolve_site = located_by(symbolizer);
  add_races(report, session, resolve_site);
  add_host_writes(report, session, resolve_site);
  add_tensor_races(report, session, symbolizer);
  add_ended_memory(report, session, resolve_site, symbolizer);
  add_recycled_blocks(report, session, symbolizer);
  add_kernel_races(report, session, resolve_site);
  add_overruns(report, session, resolve_site);
  add_non_finite(report, session, symbolizer);
}

}  // namespace

std::vector<const analyse::Failure*> failures_in_order(const analyse::Analysis& analysis) {
  std::vector<const analyse::Failure*> ordered;
  for (const analyse::Failure& failure : analysis.failures) ordered.push_back(&failure);
  std::stable_partition(ordered.begin(), ordered.end(), [&](const analyse::Failure* failure) {
    return failure->process->pid == analysis.failures.front().process->pid;
  });
  return ordered;
}

Diagnosis diagnose(const DiagnosisInput& input) {
  const std::vector<const analyse::Failure*> failures = failures_in_order(input.analysis);
  Diagnosis report;
  describe_session(report, input);
  add_failures(report, input, failures);
  add_run(report, input);
  add_reasons(report, input, failures);
  add_unreported(report, input.session, input.symbolizer);
  // The outcome of a pass depends on the findings.
  add_passes(report, input.session, input.analysis, input.results);
  // Omits the text of source files that have changed since the run.
  note_changed_sources(report);
  return report;
}

void keep_findings(Diagnosis& report, const std::function<bool(const Finding&)>& wanted) {
  std::erase_if(report.findings, [&](const Finding& finding) { return !wanted(finding); });
  if (report.findings.empty()) return;
  const std::uint32_t first = report.findings.front().pid;
  std::stable_partition(report.findings.begin(), report.findings.end(),
                        [&](const Finding& finding) { return finding.pid == first; });
}

}  // namespace cudadiag::diagnose
