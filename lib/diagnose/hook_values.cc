#include "diagnose/hook_values.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analyse/reruns.h"
#include "base/text.h"
#include "diagnose/line_resolver.h"
#include "session/saved_results.h"
#include "session/session.h"

namespace cudadiag::diagnose {
namespace {

using session::by_id;
using session::Delivery;

// Returns whether the delivery is about a line of the finding.
bool is_of_line(const Delivery& delivery, const Finding& finding) {
  const auto same = [&](const Location& location) {
    return location.line == delivery.line && base::file_name(location.file) == base::file_name(delivery.file);
  };
  return same(finding.location) || (finding.caller && same(*finding.caller)) ||
         (finding.thread_start && same(finding.thread_start->issued));
}

// Returns the last delivery about the operation, sent by its thread before it was issued; null if there is none.
const Delivery* delivery_for(const Finding& finding, const analyse::Failure& failure) {
  const session::ProcessRecord& record = failure.again_process->record;
  const session::Operation& operation = *failure.again;
  if (operation.thread >= record.threads.size()) return nullptr;
  const session::Site* site = by_id(record.sites, operation.site);
  // A site without a native stack was recorded by the Python hook. If the hook did not report the operator, the
  // thread's last report names none.
  const bool of_operator = site != nullptr && site->native == 0;
  const std::uint32_t tid = record.threads[operation.thread].tid;
  const Delivery *call = nullptr, *line = nullptr;
  for (const Delivery& delivery : failure.again_process->deliveries) {
    if (delivery.tid != tid || delivery.ticks > operation.ticks) continue;
    // The hook also reports lines of libraries, which are deeper in the stack.
    if (delivery.kind == session::DeliveryKind::line && is_of_line(delivery, finding)) line = &delivery;
    if (of_operator && delivery.kind == session::DeliveryKind::call) call = &delivery;
  }
  return call != nullptr && !call->op.empty() ? call : line;
}

}  // namespace

void add_hook_values(Finding& finding, const analyse::Failure& failure) {
  if (failure.again == nullptr || failure.again_process == nullptr) return;
  const Delivery* delivery = delivery_for(finding, failure);
  if (delivery == nullptr) return;
  for (const session::DeliveredValue& value : delivery->values) finding.arguments.push_back({value});
}

void add_watched(Finding& finding, const analyse::Failure& failure) {
  constexpr std::size_t kMost = 16;
  const session::ProcessRecord& record = failure.process->record;
  const std::uint64_t until = failure.reported != nullptr ? failure.reported->ticks : record.frozen_ticks;
  for (const Delivery& delivery : failure.process->deliveries) {
    if (delivery.kind != session::DeliveryKind::watched || (until != 0 && delivery.ticks > until)) continue;
    finding.watched_milliseconds = delivery.milliseconds;
    if (delivery.values.empty()) continue;
    Watched watched{
        {delivery.file, "", symbolize::Language::python, "", "", delivery.line}, delivery.visit, delivery.tid, {}};
    for (const session::DeliveredValue& value : delivery.values) watched.arguments.push_back({value});
    finding.watched.push_back(std::move(watched));
  }
  if (finding.watched.size() > kMost) finding.watched.erase(finding.watched.begin(), finding.watched.end() - kMost);
}

Location line_of_user(const symbolize::SourceStack& stack) {
  const auto user = std::ranges::find_if(stack.python, [](const auto& frame) { return frame.user; });
  if (user == stack.python.end()) return {};
  return {user->file, user->function, symbolize::Language::python, "", "", user->line};
}

namespace {

TensorMemory tensor_memory(const session::Process& process, const session::DeliveredMemory& from,
                           const symbolize::Symbolizer& symbolizer) {
  TensorMemory memory;
  memory.reserved = from.reserved;
  memory.allocated = from.allocated;
  memory.largest_free = from.largest_free;
  for (const auto& holder : from.holders) {
    const Location location = line_of_user(symbolizer.stack(process, holder.frames));
    const auto same = std::ranges::find_if(memory.holders, [&](const MemoryHolder& other) {
      return other.location.file == location.file && other.location.line == location.line;
    });
    if (same == memory.holders.end()) {
      memory.holders.push_back({holder.bytes, static_cast<std::size_t>(holder.count), location, ""});
    } else {
      same->bytes += holder.bytes;
      same->count += static_cast<std::size_t>(holder.count);
    }
  }
  std::ranges::stable_sort(memory.holders, std::greater<>(), &MemoryHolder::bytes);
  for (const auto& exception : from.exceptions) {
    memory.exceptions.push_back(
        {exception.type, {exception.file, "", symbolize::Language::python, "", "", exception.line}, exception.bytes});
  }
  return memory;
}

}  // namespace

void add_tensor_memory(Finding& finding, const session::Session& session, const symbolize::Symbolizer& symbolizer) {
  if (!finding.memory_use || finding.memory_use->of_host) return;
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    if (session.manifest.passes[i + 1].kind != session::PassKind::memory) continue;
    for (const session::Process& process : session.reruns[i]) {
      std::size_t times = 0;
      for (const Delivery& delivery : process.deliveries) {
        if (!delivery.memory) continue;
        finding.memory_use->tensors = tensor_memory(process, *delivery.memory, symbolizer);
        finding.memory_use->tensors->times = ++times;
      }
    }
  }
}

void add_inputs(Finding& finding, const analyse::Failure& failure, const session::Session& session) {
  const session::Pass* pass = session::rerun_of(session, failure.again_process);
  if (pass == nullptr) return;
  const auto folder = session::saved_call_folder(session.folder / pass->folder, failure.again_process->pid);
  const auto call = session::read_saved_call(folder);
  if (!call) return;
  static constexpr const char* kOutcomes[] = {"not run", "reproduces", "does not reproduce", "could not be run"};
  finding.inputs = Inputs{folder.string(), call->op,
                          call->bytes,     call->tensors,
                          call->missing,   kOutcomes[static_cast<std::size_t>(session::replay_outcome(pass->replay))]};
}

// Uses the latest rerun that saved a launch.
void add_saved_launch(Finding& finding, const analyse::Failure& failure, const session::Session& session) {
  if (!analyse::is_asynchronous(failure.kind) || failure.code == 0) return;
  const auto& passes = session.manifest.passes;
  for (std::size_t i = session.reruns.size(); i-- > 0 && !finding.saved_launch;) {
    for (const session::Process& process : session.reruns[i]) {
      if (i + 1 >= passes.size() || passes[i + 1].folder.empty()) continue;
      const auto folder = session::saved_launch_folder(session.folder / passes[i + 1].folder, process.pid);
      if (const auto tally = session::read_replay_tally(folder))
        finding.saved_launch = SavedLaunch{folder.string(), *tally, analyse::failed_alone(failure)};
    }
  }
}

namespace {

using session::DeliveredOrigin;
using session::Process;

struct Traced {
  const Process* process = nullptr;
  const DeliveredOrigin* origin = nullptr;
  bool proven = false;
};

// Returns true if `line` is a line of the finding. For an operator of a backward pass, this may be the line that called
// backward().
bool is_line_of(const Finding& finding, const Location& line) {
  if (line.line == 0) return false;
  if (same_line(line, finding.location) || (finding.caller && same_line(line, *finding.caller))) return true;
  return std::ranges::any_of(finding.related, [&](const Related& related) {
    return related.role == Role::backward && same_line(line, related.location);
  });
}

// `failed`: the process that failed, if it is one of these. Another one may have used another value at the same line.
// If there are several origins, we do not know which operator failed. A rerun that only traces has no recorder, so its
// origin must at least have the value that the report names: the program may behave differently from run to run.
std::optional<Traced> traced_of(const Finding& finding, const std::vector<Process>& processes, const Process* failed,
                                const symbolize::Symbolizer& symbolizer) {
  const auto bad = std::ranges::find_if(finding.arguments,
                                        [](const Argument& argument) { return argument.outside.value_or(0) > 0; });
  const bool is_here = std::ranges::any_of(processes, [&](const Process& each) { return &each == failed; });
  std::optional<Traced> traced;
  std::size_t count = 0;
  for (const Process& process : processes) {
    if (is_here && &process != failed) continue;
    for (const Delivery& delivery : process.deliveries) {
      if (!delivery.origin) continue;
      const DeliveredOrigin& origin = *delivery.origin;
      if (!is_line_of(finding, line_of_user(symbolizer.stack(process, origin.stack)))) continue;
      ++count;
      const bool is_known = bad == finding.arguments.end() ? is_here : bad->first_value == origin.value;
      if (!traced || (is_known && !traced->proven)) traced = {&process, &origin, is_known};
    }
  }
  if (traced) traced->proven = traced->proven && count == 1 && traced->origin->certain;
  return traced;
}

// Merges consecutive steps on one line into the first of them.
std::vector<OriginStep> steps_of(const Traced& traced, const symbolize::Symbolizer& symbolizer) {
  std::vector<OriginStep> steps;
  for (const DeliveredOrigin::Step& step : traced.origin->steps) {
    const Location line = located(line_of_user(symbolizer.stack(*traced.process, step.stack)));
    if (line.line == 0 && steps.empty()) return {};
    if (line.line == 0 || (!steps.empty() && same_line(steps.back().location, line))) continue;
    steps.push_back({step.role, step.op, step.value, step.batch, step.sample, line});
  }
  return steps;
}

}  // namespace

bool names_bad_value(const Finding& finding) {
  return std::ranges::any_of(finding.arguments,
                             [](const Argument& argument) { return argument.outside.value_or(0) > 0; });
}

void add_origins(Diagnosis& report, const session::Session& session,
                 const std::vector<const analyse::Failure*>& failures, const symbolize::Symbolizer& symbolizer) {
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    for (std::size_t f = 0; f < report.findings.size(); ++f) {
      Finding& finding = report.findings[f];
      if (!analyse::is_asynchronous(finding.kind)) continue;
      const Process* failed = f < failures.size() && failures[f] != nullptr ? failures[f]->again_process : nullptr;
      const auto traced = traced_of(finding, session.reruns[i], failed, symbolizer);
      std::vector<OriginStep> steps = traced ? steps_of(*traced, symbolizer) : std::vector<OriginStep>{};
      if (steps.empty()) continue;

      if (!traced->proven && finding.origin && finding.origin->known_by == analyse::Fact::measured) continue;
      finding.origin = ValueOrigin{std::move(steps), traced->origin->index,
                                   traced->proven ? analyse::Fact::measured : analyse::Fact::matched};
    }
  }
}

}  // namespace cudadiag::diagnose
