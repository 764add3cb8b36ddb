#include "supervise/reruns/rerun_table.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "analyse/first_failure.h"
#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "analyse/reruns.h"
#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/hook_values.h"
#include "session/process_record.h"
#include "supervise/hook_config.h"
#include "supervise/reruns/gpu_dumps.h"
#include "supervise/reruns/replays.h"
#include "supervise/toolkit_programs.h"
#include "wire/cuda_codes.h"
#include "wire/environment.h"

namespace cudadiag::supervise {
namespace {

using analyse::Analysis;
using session::PassKind;
using Problem = RerunProblem::Kind;

template <typename Predicate>
bool any_failure(const Analysis& analysis, const Predicate& predicate) {
  return std::any_of(analysis.failures.begin(), analysis.failures.end(), predicate);
}

bool is_async(const analyse::Failure& failure) { return analyse::is_asynchronous(failure.kind) && failure.code != 0; }

bool is_python(const analyse::Failure& failure) {
  return failure.process != nullptr && session::has(failure.process->record, session::Property::python);
}

// Returns whether the process uses PyTorch on a GPU from Python.
bool uses_pytorch(const session::ProcessRecord& record) {
  return session::has(record, session::Property::python) &&
         std::any_of(record.modules.begin(), record.modules.end(), [](const session::Module& module) {
           return module.path.find("libc10_cuda") != std::string::npos ||
                  module.path.find("libtorch_cuda") != std::string::npos;
         });
}

template <typename Passes>
auto* find_unchecked(Passes& passes) {
  const auto found = std::find_if(passes.rbegin(), passes.rend(), [](const auto& pass) { return !pass.dump.empty(); });
  return found == passes.rend() || found->debugger ? nullptr : &*found;
}

void add_kernel(const session::ProcessRecord& record, const analyse::Candidate& candidate, SanitizerKernels& kernels) {
  const std::string* name = candidate.node != nullptr ? session::by_id(record.functions, candidate.node->function)
                                                      : session::kernel_at(record, candidate.operation->site);
  const bool of_graph = candidate.operation->kind == wire::operation::Kind::graph;
  kernels.all &= !of_graph || (candidate.node != nullptr && candidate.alike && name != nullptr);
  if (name == nullptr || name->empty()) return;
  const bool known = std::find(kernels.names.begin(), kernels.names.end(), *name) != kernels.names.end();
  if (!known) kernels.names.push_back(*name);
}

// Returns whether compute-sanitizer can detect this kind of failure.
bool memcheck_detects(const analyse::Failure& failure) {
  return is_async(failure) && wire::cuda::has(failure.code, wire::cuda::memcheck_helps);
}

// Only calls from Python can be saved.
bool adds_saved_call(const Known& known) {
  return any_failure(known.analysis,
                     [](const analyse::Failure& failure) { return is_async(failure) && is_python(failure); });
}

// Also true for everything that the user asks to wait for: this can change how the program behaves.
bool adds_proof(const Known& known) {
  const RerunPlan& plan = known.plan;
  return plan.window || plan.reach == analyse::WindowReach::everything || wants_proof(known.analysis) ||
         (plan.options.save_inputs && adds_saved_call(known));
}

// Only a kernel can be saved. If several operations may have failed, one kernel among them is enough.
bool adds_launch(const Known& known) {
  return any_failure(known.analysis, is_async) && !analyse::launch_window(known.analysis).text.empty();
}

std::optional<Problem> why_no_launch(const Known& /*known*/) { return Problem::no_launch_saved; }

std::optional<Problem> why_no_saved_call(const Known& /*known*/) { return Problem::nothing_saved; }

bool adds_holders(const Known& known) {
  return !was_made(known.session.manifest, PassKind::memory) &&
         any_failure(known.analysis, [](const analyse::Failure& failure) {
           if (failure.kind != analyse::Kind::out_of_memory || failure.reported == nullptr) return false;
           return !analyse::wanted_host_memory(*failure.reported) && uses_pytorch(failure.process->record);
         });
}

// Returns whether a rerun has traced a bad value, or tried to in a pass of its own.
bool was_traced(const session::Session& session) {
  const auto traces = [](const session::Delivery& delivery) { return delivery.origin.has_value(); };
  return was_made(session.manifest, PassKind::origin) ||
         std::ranges::any_of(session.reruns, [&](const std::vector<session::Process>& rerun) {
           return std::ranges::any_of(
               rerun, [&](const session::Process& process) { return std::ranges::any_of(process.deliveries, traces); });
         });
}

// A bad value may be the reason for a failed assertion in a Python process, because operators assert that values are
// within bounds. If the user asked for the search, for any failure of a Python process.
bool adds_origin(const Known& known) {
  const bool asked = known.plan.options.origin;
  const auto& analysis = known.analysis;
  const bool may_have = any_failure(analysis, [&](const analyse::Failure& failure) {
    return is_async(failure) && is_python(failure) && (asked || failure.code == wire::cuda::kAssert);
  });
  if (!may_have || was_traced(known.session)) return false;
  if (asked) return true;
  if (known.names_bad_value) return known.names_bad_value();
  return any_failure(analysis, [](const auto& failure) { return uses_pytorch(failure.process->record); });
}

std::optional<Problem> why_no_origin(const Known& known) {
  if (!known.plan.options.origin) return std::nullopt;
  return was_traced(known.session) ? Problem::traced_already : Problem::nothing_to_trace;
}

bool adds_tensors(const Known& known) { return !known.plan.window && wants_races(known.session); }

bool adds_line_inside(const Known& known) {
  return !known.plan.window && !was_made(known.session.manifest, PassKind::eager) &&
         any_failure(known.analysis, [](const analyse::Failure& failure) {
           return is_async(failure) && analyse::is_compiled(failure);
         });
}

bool has_dump_of_rerun(const session::Manifest& manifest) {
  return std::ranges::any_of(
      manifest.passes, [](const session::Pass& pass) { return pass.kind != PassKind::record && !pass.dump.empty(); });
}

// The text of a failed assertion contains everything that its dump could add.
bool adds_dump(const Known& known) {
  const session::Manifest& manifest = known.session.manifest;
  if (has_dump_of_rerun(manifest) || was_made(manifest, PassKind::device)) return false;
  const bool has_assertions = known.has_assertions ? known.has_assertions() : adds_proof(known);
  return any_failure(known.analysis, [&](const analyse::Failure& failure) {
    return is_async(failure) && !failure.dumped && wire::cuda::has(failure.code, wire::cuda::leaves_dump) &&
           !(failure.code == wire::cuda::kAssert && has_assertions);
  });
}

bool adds_hang_dump(const Known& known) {
  const session::Manifest& manifest = known.session.manifest;
  // If the rerun hangs too, cudadiag can terminate it only if the hang of the first run was recorded.
  const bool has_dump =
      std::ranges::any_of(manifest.passes, [](const session::Pass& pass) { return !pass.dump.empty(); });
  return manifest.hang && !has_dump && any_failure(known.analysis, [](const analyse::Failure& failure) {
           return failure.kind == analyse::Kind::hang;
         });
}

bool adds_second_reading(const Known& known) { return find_unchecked(known.session.manifest.passes) != nullptr; }

std::optional<Problem> why_no_second_reading(const Known& known) {
  const bool asked = std::ranges::any_of(known.session.manifest.passes,
                                         [](const session::Pass& pass) { return pass.debugger.has_value(); });
  return asked ? Problem::debugger_asked_already : Problem::no_dump_to_check;
}

bool adds_sanitizer(const Known& known) {
  return known.has_sanitizer && !was_made(known.session.manifest, PassKind::sanitize) &&
         !sanitizer_kernels(known.analysis).names.empty();
}

std::optional<Problem> why_no_sanitizer(const Known& known) {
  if (!any_failure(known.analysis, memcheck_detects)) return Problem::not_for_sanitizer;
  if (was_made(known.session.manifest, PassKind::sanitize)) return Problem::sanitized_already;
  return known.has_sanitizer ? Problem::no_suspected_kernel : Problem::no_sanitizer;
}

bool is_access(const analyse::Failure& failure) {
  return is_async(failure) &&
         (failure.code == wire::cuda::kIllegalAddress || failure.code == wire::cuda::kMisalignedAddress);
}

// Returns whether saving, rerun and replay probably take less than kSecondsForAddress.
bool finds_address_soon(const Known& known) {
  const auto bytes = bytes_to_save(known.analysis);
  if (!bytes || *bytes > std::uint64_t{kSavedForAddress} << 20) return false;
  const double seconds = kSecondsToReplay + 2 * static_cast<double>(*bytes) / kSavedPerSecond;
  const double rerun = has_saved_launch(known.session) ? 0 : expected_seconds(known.session);
  return seconds + rerun < kSecondsForAddress;
}

// If the user asked to save the launch, its replay may take longer.
bool adds_address(const Known& known) {
  const bool wanted = known.has_sanitizer && any_failure(known.analysis, is_access) &&
                      std::ranges::none_of(known.session.manifest.passes,
                                           [](const session::Pass& pass) { return pass.access.has_value(); });
  if (!wanted || !known.lacks_address || !known.lacks_address()) return false;
  if (known.plan.options.save_launch) return has_saved_launch(known.session);
  return finds_address_soon(known) && !wants_proof(known.analysis);
}

unsigned once_unless_saved(const Known& known) { return has_saved_launch(known.session) ? 0 : 1; }

unsigned once(const Known& /*known*/) { return 1; }

unsigned once_unless_traced(const Known& known) { return confirms_with_origin(known) ? 0 : 1; }

unsigned once_unless_dumped(const Known& known) { return confirms_with_dump(known) ? 0 : 1; }

// One rerun without torch.compile finds the failing line, and a second one reads the values of that line.
unsigned once_and_for_values(const Known& known) { return known.plan.options.values ? 2 : 1; }

constexpr PassRow kPasses[] = {
    {Task::confirm, nullptr, adds_proof, once, nullptr, false, "confirm", "always",
     "Waits for each candidate while nothing else runs on the GPU, as in cudadiag-bisect(1). Proves the line, "
     "and reads values at the candidates' lines. After a failed assertion of PyTorch, also traces its bad value, "
     "unless the program uses torch.compile. If the recorder can use hooks, also gets a GPU core dump, after which the "
     "driver "
     "ends the program."},
    {Task::save_launch, &RerunOptions::save_launch, adds_launch, once, why_no_launch, false, "launch", "--save-launch",
     "Saves the failing launch just before it is issued; see cudadiag-replay(1)."},
    {Task::ask_allocator, &RerunOptions::values, adds_holders, once, nullptr, false, "memory",
     "PyTorch's allocator ran out of memory",
     "Asks the allocator, at the moment when memory runs out, which memory it holds."},
    {Task::trace_origin, &RerunOptions::values, adds_origin, once_unless_traced, why_no_origin, false, "origin",
     "a PyTorch assertion failed, and the report names a bad value that the confirming rerun did not trace",
     "Runs without the recorder, and with TORCHDYNAMO_DISABLE=1. Python code that starts when PyTorch is imported "
     "traces "
     "the value back to its origin; see cudadiag-report(1)."},
    {Task::replay_saved_call, &RerunOptions::save_inputs, adds_saved_call, nullptr, why_no_saved_call},
    {Task::find_racing_tensors, nullptr, adds_tensors, once, nullptr, false, "races", "races at Python lines",
     "Names the tensors involved in the races; see cudadiag-races(1)."},
    {Task::run_eagerly, nullptr, adds_line_inside, once_and_for_values, nullptr, false, "eager",
     "torch.compile generated the kernel",
     "Runs with TORCH_COMPILE_DISABLE=1 and TORCHDYNAMO_DISABLE=1, waits for no operation, and shows which line of the "
     "function fails. A further rerun reads values at that line. Both results are inferred."},
    {Task::get_dump, &RerunOptions::device, adds_dump, once_unless_dumped, nullptr, false, "device",
     "after a device exception, unless a rerun left a dump",
     "Runs without the recorder, and gets a GPU core dump, which shows the device line, block and thread."},
    {Task::get_hang_dump, &RerunOptions::hang_dump, adds_hang_dump, once},
    {Task::find_address, &RerunOptions::device, adds_address, once_unless_saved, nullptr, false, "launch",
     "the address of a failed access is unknown, and finding it probably takes less than ten seconds",
     "Saves the launch in the same way, unless the confirming rerun did. Repeats it once under compute-sanitizer, "
     "which shows the address, and then removes it."},
    {Task::cross_check, &RerunOptions::cross_check, adds_second_reading, nullptr, why_no_second_reading, true},
    {Task::sanitize, &RerunOptions::sanitize, adds_sanitizer, once, why_no_sanitizer, false, "sanitize", "--sanitize",
     "Runs under compute-sanitizer."},
    {Task::replay_launch, &RerunOptions::save_launch, adds_launch, nullptr},
};

}  // namespace

// The driver ends the program after the dump: then an assertion is not printed, and no call can be saved. The recorder
// watches by hooks, so the rerun must find the candidates of a first run by CUPTI again.
bool confirms_with_dump(const Known& known) {
  const RerunOptions& options = known.plan.options;
  const bool prevented = any_failure(known.analysis, [](const analyse::Failure& failure) {
    const session::ProcessRecord& record = failure.process->record;
    const bool by_cupti = session::has(record, session::Property::cupti_path);
    return is_async(failure) &&
           (failure.code == wire::cuda::kAssert || (by_cupti && !analyse::are_identified_by_kernels(failure)) ||
            analyse::hooks_saw_nothing(record));
  });
  return options.device && !options.save_inputs && !prevented && adds_proof(known) && adds_dump(known) &&
         wire::watch_by(known.session.manifest.watch_by) != wire::WatchBy::cupti && can_dump_while_recorded();
}

unsigned further_reruns(const Known& known) {
  if (confirms_with_dump(known)) return 2;
  const bool asserts = any_failure(known.analysis, [](const analyse::Failure& failure) {
    return is_async(failure) && failure.code == wire::cuda::kAssert && !failure.dumped;
  });
  return asserts && known.plan.options.device && !known.has_assertions && adds_proof(known) ? 1 : 0;
}

std::optional<std::uint64_t> bytes_to_save(const Analysis& analysis) {
  const auto failure = std::ranges::find_if(analysis.failures, is_access);
  if (failure == analysis.failures.end() || failure->candidates.empty()) return std::nullopt;
  // The node of a graph is saved only on request, because the graph is then launched in two parts.
  if (failure->candidates.front().operation->kind != wire::operation::Kind::kernel) return std::nullopt;
  const analyse::OperationArguments given = analyse::arguments_of(*failure);
  if (given.process == nullptr || given.cut) return std::nullopt;
  std::set<const session::Allocation*> blocks;
  std::uint64_t bytes = 0;
  for (const analyse::OperationArgument& argument : given.arguments) {
    const session::Allocation* block = argument.where.allocation;
    if (block != nullptr && block->freed == 0 && blocks.insert(block).second) bytes += block->bytes;
  }
  return bytes;
}

// If the dump shows the address, the saved launch was not needed. Therefore only little memory is saved.
bool confirms_with_launch(const Known& known) {
  const auto bytes = bytes_to_save(known.analysis);
  return known.has_sanitizer && bytes && *bytes <= std::uint64_t{kSavedWhileConfirming} << 20 &&
         !known.plan.options.save_launch && !known.plan.window && !known.plan.reach && confirms_with_dump(known);
}

// The assertion reports its own device line, so no dump is needed beside the traced value.
bool confirms_with_origin(const Known& known) {
  const auto other = [](const analyse::Failure& failure) {
    return is_async(failure) && failure.code != wire::cuda::kAssert;
  };
  const auto compiled = [](const session::Process& process) { return analyse::ran_compiled(process.record); };
  return known.plan.options.values && !known.plan.window && !known.plan.reach && wants_proof(known.analysis) &&
         known.session.manifest.python_stacks && !any_failure(known.analysis, other) && adds_origin(known) &&
         std::ranges::none_of(known.session.processes, compiled);
}

bool wants_proof(const Analysis& analysis) {
  return any_failure(analysis,
                     [](const analyse::Failure& failure) { return is_async(failure) && !failure.evidence.proves(); });
}

bool was_made(const session::Manifest& manifest, PassKind kind) {
  return std::any_of(manifest.passes.begin(), manifest.passes.end(), [&](const session::Pass& each) {
    return each.kind == kind && (!each.cut_short || !each.dump.empty());
  });
}

bool wants_races(const session::Session& session) {
  return !was_made(session.manifest, PassKind::races) && !racing_lines(session, 0).empty();
}

SanitizerKernels sanitizer_kernels(const Analysis& analysis) {
  constexpr std::size_t kMost = 8;
  SanitizerKernels kernels;
  for (const analyse::Failure& failure : analysis.failures) {
    if (!memcheck_detects(failure) || failure.process == nullptr || !kernels.names.empty()) continue;
    for (const analyse::Candidate& candidate : failure.candidates) {
      add_kernel(failure.process->record, candidate, kernels);
    }
    kernels.all &= failure.lists_all() && kernels.names.size() <= kMost;
  }
  return kernels;
}

session::Pass* unchecked_dump(session::Manifest& manifest) { return find_unchecked(manifest.passes); }

std::span<const PassRow> passes() { return kPasses; }

Known known(const session::Session& session, diagnose::SessionState& state, const RerunPlan& plan) {
  Known known{session, state.analysis(), plan};
  const auto& made = session.manifest.passes;
  if (std::any_of(made.begin(), made.end(), [](const session::Pass& pass) { return pass.values; })) {
    known.names_bad_value = [&state] {
      const auto& findings = state.diagnosis().findings;
      return std::any_of(findings.begin(), findings.end(), diagnose::names_bad_value);
    };
  }
  known.has_sanitizer = !find_sanitizer().empty();
  const bool dumped = std::ranges::any_of(known.analysis.failures, &analyse::Failure::dumped);
  if (made.size() > 1 || dumped) {
    known.lacks_address = [&state] { return std::ranges::any_of(state.diagnosis().findings, diagnose::lacks_address); };
  }
  if (made.size() > 1) {
    known.has_assertions = [&state] {
      return std::ranges::all_of(state.diagnosis().findings, [](const diagnose::Finding& finding) {
        return finding.code != wire::cuda::kAssert || (finding.device && finding.device->line != 0);
      });
    };
  }
  return known;
}

bool is_wanted(const PassRow& row, const Known& known) {
  return (row.option == nullptr || known.plan.options.*row.option) && row.adds(known);
}

std::optional<Problem> why_unwanted(const PassRow& row, const Known& known) {
  const bool requested = row.option == nullptr || known.plan.options.*row.option;
  return row.why_not == nullptr || !requested || row.adds(known) ? std::nullopt : row.why_not(known);
}

std::vector<Problem> reasons_against(const Known& known) {
  std::vector<Problem> reasons;
  for (const PassRow& row : kPasses) {
    const auto reason = why_unwanted(row, known);
    if (reason && std::ranges::find(reasons, *reason) == reasons.end()) reasons.push_back(*reason);
  }
  return reasons;
}

bool wants_reruns(const Known& known) {
  return std::any_of(std::begin(kPasses), std::end(kPasses), [&](const PassRow& row) { return is_wanted(row, known); });
}

unsigned planned_reruns(const Known& known) {
  return std::accumulate(std::begin(kPasses), std::end(kPasses), 0u, [&](unsigned sum, const PassRow& row) {
    return row.runs != nullptr && is_wanted(row, known) ? sum + row.runs(known) : sum;
  });
}

}  // namespace cudadiag::supervise
