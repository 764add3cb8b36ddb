#include "supervise/reruns/rerun_needs.h"

#include <algorithm>
#include <iterator>

#include "analyse/allocations.h"
#include "analyse/cuda_errors.h"
#include "analyse/reruns/eager.h"
#include "session/property.h"
#include "supervise/reruns/device_pass.h"
#include "supervise/reruns/suspect_lines.h"

namespace cudadiag::supervise {
namespace {

using analyse::Analysis;
using session::PassKind;

template <typename Predicate>
bool any_failure(const Analysis& analysis, const Predicate& predicate) {
  return std::any_of(analysis.failures.begin(), analysis.failures.end(), predicate);
}

bool is_async(const analyse::Failure& failure) { return analyse::is_asynchronous(failure.kind) && failure.code != 0; }

// Only calls from Python can be saved.
bool may_have_inputs(const Analysis& analysis) {
  return any_failure(analysis, [](const analyse::Failure& failure) {
    return is_async(failure) && failure.process != nullptr &&
           session::has(failure.process->record, session::Property::python);
  });
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

void add_kernel(const session::ProcessRecord& record, const analyse::Candidate& candidate, SuspectedKernels& kernels) {
  const session::Site* site = session::by_id(record.sites, candidate.operation->site);
  const std::uint32_t function = candidate.node != nullptr ? candidate.node->function
                                 : site != nullptr         ? site->function
                                                           : 0;
  const std::string* name = session::by_id(record.functions, function);
  const bool of_graph = candidate.operation->kind == wire::operation::Kind::graph;
  kernels.all &= !of_graph || (candidate.node != nullptr && candidate.alike && name != nullptr);
  if (name == nullptr || name->empty()) return;
  const bool known = std::find(kernels.names.begin(), kernels.names.end(), *name) != kernels.names.end();
  if (!known) kernels.names.push_back(*name);
}

bool wants_sanitizer(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, PassKind::sanitize) && !suspected_kernels(analysis).names.empty();
}

}  // namespace

bool wants_proof(const Analysis& analysis) {
  return any_failure(analysis, [](const analyse::Failure& failure) {
    return is_async(failure) && failure.grade != analyse::Grade::proven;
  });
}

bool was_made(const session::Manifest& manifest, PassKind kind) {
  return std::any_of(manifest.passes.begin(), manifest.passes.end(), [&](const session::Pass& each) {
    return each.kind == kind && (!each.cut_short || !each.dump.empty());
  });
}

bool wants_dump(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, PassKind::device) && any_failure(analysis, [](const analyse::Failure& failure) {
    return is_async(failure) && !failure.dumped && leaves_a_dump(failure.code);
  });
}

bool wants_memory(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, PassKind::memory) && any_failure(analysis, [](const analyse::Failure& failure) {
    if (failure.kind != analyse::Kind::out_of_memory || failure.reported == nullptr) return false;
    return !analyse::wanted_host_memory(*failure.reported) && uses_pytorch(failure.process->record);
  });
}

bool wants_origin(const Analysis& analysis, const session::Manifest& manifest, bool asked) {
  constexpr std::uint32_t kAssert = 710;
  return !was_made(manifest, PassKind::origin) && any_failure(analysis, [&](const analyse::Failure& failure) {
    const session::ProcessRecord& record = failure.process->record;
    if (!is_async(failure) || !session::has(record, session::Property::python)) return false;
    return asked || failure.code == kAssert;
  });
}

bool wants_eager(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, PassKind::eager) && any_failure(analysis, [](const analyse::Failure& failure) {
    return is_async(failure) && analyse::is_compiled(failure);
  });
}

bool wants_hang_dump(const Analysis& analysis, const session::Manifest& manifest) {
  const bool told = std::any_of(manifest.passes.begin(), manifest.passes.end(), [](const session::Pass& pass) {
    return pass.kind == PassKind::device && !pass.dump.empty();
  });
  // If the rerun hangs too, cudadiag can terminate it only if the hang of the first run was recorded.
  return manifest.hang && !told &&
         any_failure(analysis, [](const analyse::Failure& failure) { return failure.kind == analyse::Kind::hang; });
}

bool wants_races(const session::Session& session) {
  return !was_made(session.manifest, PassKind::races) && !racing_lines(session, 0).empty();
}

bool memcheck_may_help(const analyse::Failure& failure) {
  return is_async(failure) && analyse::memcheck_may_help(failure.code);
}

SuspectedKernels suspected_kernels(const Analysis& analysis) {
  constexpr std::size_t kMost = 8;
  SuspectedKernels kernels;
  for (const analyse::Failure& failure : analysis.failures) {
    if (!memcheck_may_help(failure) || failure.process == nullptr || !kernels.names.empty()) continue;
    for (const analyse::Candidate& candidate : failure.candidates) {
      add_kernel(failure.process->record, candidate, kernels);
    }
    kernels.all &= failure.unlisted == 0 && kernels.names.size() <= kMost;
  }
  return kernels;
}

std::optional<NoCrossCheck> obstacle_to_cross_check(const session::Manifest& manifest) {
  if (find_unchecked(manifest.passes) != nullptr) return std::nullopt;
  const bool asked = std::any_of(manifest.passes.begin(), manifest.passes.end(),
                                 [](const session::Pass& pass) { return pass.debugger.has_value(); });
  return asked ? NoCrossCheck::asked_already : NoCrossCheck::no_dump;
}

session::Pass* unchecked_dump(session::Manifest& manifest) { return find_unchecked(manifest.passes); }

bool wants_reruns(const Analysis& analysis, const session::Manifest& manifest, const RerunOptions& options) {
  return wants_proof(analysis) || (options.save_inputs && may_have_inputs(analysis)) ||
         (options.save_launch && any_failure(analysis, is_async)) || wants_eager(analysis, manifest) ||
         (options.hang_dump && wants_hang_dump(analysis, manifest)) ||
         (options.device && wants_dump(analysis, manifest)) || (options.values && wants_memory(analysis, manifest)) ||
         (options.origin && wants_origin(analysis, manifest, true)) ||
         (options.cross_check && find_unchecked(manifest.passes) != nullptr) ||
         (options.sanitize && wants_sanitizer(analysis, manifest));
}

unsigned planned_reruns(const Analysis& analysis, const session::Session& session, const RerunPlan& plan) {
  const session::Manifest& manifest = session.manifest;
  const RerunOptions& options = plan.options;
  // For PyTorch programs, assumes that there is a bad value to trace. Only a rerun that observes the operators can show
  // whether this is true.
  const bool expects_origin = options.origin || any_failure(analysis, [](const analyse::Failure& failure) {
                                return uses_pytorch(failure.process->record);
                              });
  const bool wanted[] = {wants_proof(analysis) || options.saved_bytes() > 0,
                         options.save_launch && any_failure(analysis, is_async),
                         options.values && wants_memory(analysis, manifest),
                         options.values && wants_origin(analysis, manifest, options.origin) && expects_origin,
                         wants_races(session),
                         wants_eager(analysis, manifest),
                         options.device && wants_dump(analysis, manifest),
                         options.hang_dump && wants_hang_dump(analysis, manifest),
                         options.sanitize && wants_sanitizer(analysis, manifest)};
  const auto runs = static_cast<unsigned>(std::count(std::begin(wanted), std::end(wanted), true));
  // One rerun without torch.compile finds the failing line, and a second one reads the values of that line.
  return options.values && wants_eager(analysis, manifest) ? runs + 1 : runs;
}

}  // namespace cudadiag::supervise
