// Finds the operations that may have raised a sticky error, and orders them by likelihood.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "analyse/error_codes.h"
#include "analyse/first_failure.h"
#include "analyse/graph_nodes.h"
#include "analyse/operation_arguments.h"
#include "wire/cuda_codes.h"
#include "wire/name_patterns.h"

namespace cudadiag::analyse {
namespace {

using session::Operation;

bool runs_kernels(wire::operation::Kind kind) {
  return kind == wire::operation::Kind::kernel || kind == wire::operation::Kind::graph;
}

bool returned(const Operation& operation) { return operation.flags & wire::operation::kReturned; }

bool returned_sticky(const Operation& operation, std::uint32_t code) {
  return returned(operation) && operation.result != 0 && (operation.result == code || is_sticky(operation.result));
}

Suspect::Call how_it_ended(const Operation& operation, std::uint32_t code) {
  if (!returned(operation)) return Suspect::Call::not_returned;
  return returned_sticky(operation, code) ? Suspect::Call::refused : Suspect::Call::queued;
}

// Returns whether the call may have returned the error of its own operation, which requires a blocking launch. A
// blocking copy does not count, because the driver checks its addresses before it queues the copy.
bool waited_for_itself(const Operation& operation) {
  return operation.flags & wire::operation::kBlocking && runs_kernels(operation.kind);
}

template <typename Predicate>
void drop_unless_all(std::vector<Suspect>& suspects, Predicate excluded) {
  if (std::ranges::all_of(suspects, excluded)) return;
  std::erase_if(suspects, excluded);
}

}  // namespace

std::vector<Suspect> suspects_of(const StreamHistory& history, const CandidateWindow& window, std::uint32_t code) {
  std::vector<Suspect> suspects;
  for (const Operation* operation : window.of(history)) {
    if (!wire::operation::can_fault(operation->kind)) continue;
    if (!was_queued(*operation) && !returned_sticky(*operation, code)) continue;
    Suspect suspect;
    suspect.operation = operation;
    suspect.history = &history;
    suspect.call = how_it_ended(*operation, code);
    suspect.first = suspects.empty();
    suspect.before = operation->ordinal > history.completed ? operation->ordinal - history.completed - 1 : 0;
    suspects.push_back(suspect);
  }
  return suspects;
}

void drop_refused(std::vector<Suspect>& suspects) {
  const auto refused = [](const Suspect& suspect) {
    return suspect.call == Suspect::Call::refused && !waited_for_itself(*suspect.operation);
  };
  drop_unless_all(suspects, refused);
  if (suspects.empty() || !refused(suspects.front())) return;
  // Only the order of the calls is left as evidence: the first call returned its own error, and later ones were
  // refused.
  const auto earliest = std::ranges::min_element(
      suspects, [](const Suspect& a, const Suspect& b) { return a.operation->ticks < b.operation->ticks; });
  suspects = {*earliest};
}

void drop_not_started(std::vector<Suspect>& suspects, const std::vector<StreamStart>& starts) {
  for (auto& suspect : suspects) {
    suspect.start_unsure = suspect.operation->ordinal > starts[suspect.history->index].unsure_after;
  }
  drop_unless_all(suspects, [&](const Suspect& suspect) {
    const bool contended = suspect.operation->flags & wire::operation::kContended;
    return !contended && suspect.operation->ordinal > starts[suspect.history->index].blocked_after;
  });
}

void drop_kinds_that_cannot_raise(std::vector<Suspect>& suspects, std::uint32_t code) {
  if (!cuda::has(code, cuda::only_kernels)) return;
  drop_unless_all(suspects, [](const Suspect& suspect) { return !runs_kernels(suspect.operation->kind); });
}

void prefer_checking_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code) {
  if (code != cuda::kAssert) return;
  for (Suspect& suspect : suspects) {
    const std::string* kernel = session::kernel_at(record, suspect.operation->site);
    suspect.checks_data =
        (kernel != nullptr && wire::checks_its_data(*kernel)) || launches_checking_kernel(*suspect.operation, record);
  }
}

void prefer_stale_graphs(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code) {
  if (!may_be_illegal_address(code, record) || record.stale_pointers.empty()) return;
  const Operation* latest = nullptr;
  for (Suspect& suspect : suspects) {
    if (suspect.call != Suspect::Call::queued) continue;
    suspect.uses_freed = stale_pointer_of(record, *suspect.operation) != nullptr;
    if (suspect.uses_freed && (latest == nullptr || suspect.operation->ticks > latest->ticks)) {
      latest = suspect.operation;
    }
  }
  if (latest == nullptr) return;
  const AllocationMap map(record, latest->ticks);
  if (std::ranges::any_of(
          suspects, [&](const Suspect& suspect) { return is_given_freed_memory(record, *suspect.operation, map); })) {
    for (Suspect& suspect : suspects) suspect.uses_freed = false;
  }
}

void prefer_own_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code) {
  if (!cuda::has(code, cuda::bad_address)) return;
  std::vector<Suspect*> own;
  const Operation* of_library = nullptr;
  for (Suspect& suspect : suspects) {
    const std::string* kernel = session::kernel_at(record, suspect.operation->site);
    if (kernel == nullptr || suspect.operation->kind != wire::operation::Kind::kernel) continue;
    wire::is_of_library(*kernel) ? void(of_library = suspect.operation) : own.push_back(&suspect);
  }
  if (own.empty() || of_library == nullptr) return;
  const AllocationMap map(record, of_library->ticks);
  const bool has_bad_argument = std::ranges::any_of(suspects, [&](const Suspect& suspect) {
    return std::ranges::find(own, &suspect) == own.end() && is_given_freed_memory(record, *suspect.operation, map);
  });
  for (Suspect* suspect : own) suspect->own_kernel = !has_bad_argument;
}

void order_by_likelihood(std::vector<Suspect>& suspects) {
  const auto rank = [](const Suspect& suspect) {
    return std::tuple(suspect.call == Suspect::Call::not_returned, !suspect.checks_data, !suspect.uses_freed,
                      suspect.other_context, !runs_kernels(suspect.operation->kind), suspect.start_unsure,
                      !suspect.own_kernel, !suspect.first, suspect.operation->ticks);
  };
  std::ranges::stable_sort(suspects, [&](const Suspect& a, const Suspect& b) { return rank(a) < rank(b); });
}

std::string reason(const Suspect& suspect) {
  if (suspect.call == Suspect::Call::refused) {
    return "its own call returned the error, and everything issued before it had finished";
  }
  if (suspect.call == Suspect::Call::not_returned) {
    return "its call had not returned when the error appeared: it may not have reached the GPU";
  }
  if (suspect.start_unsure) {
    return "waits for an event of another stream, and could have run only if that event had completed";
  }
  if (suspect.operation->flags & wire::operation::kContended) {
    return "issued at the same time as others on its stream, so its position among them is uncertain";
  }
  if (suspect.checks_data) return "its kernel checks the program's data with assertions";
  if (suspect.uses_freed) return "its graph points to memory that was freed before this launch";
  if (suspect.own_kernel) return "its kernel is the program's own, not a library's";
  const std::uint32_t completed = suspect.history->completed;
  if (suspect.before > 0) {
    return fmt::format("follows {} operation{} on its stream that may have finished", suspect.before,
                       suspect.before == 1 ? "" : "s");
  }
  if (completed == 0) return "the first operation on its stream";
  return fmt::format("follows operation {}, the last one on its stream known to have finished", completed);
}

}  // namespace cudadiag::analyse
