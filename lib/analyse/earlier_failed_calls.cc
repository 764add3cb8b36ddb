// Finds the earlier failed call that is to blame for the error of a later one.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyse/failed_calls.h"
#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "wire/cuda_codes.h"

namespace cudadiag::analyse {

SameCall same_call(const session::Process& process, const SameLine& same_line) {
  return [&](const session::FailedCall& a, const session::FailedCall& b) {
    if (a.code != b.code || a.call != b.call) return false;
    return a.site == b.site || (same_line && same_line(process, a.site, b.site));
  };
}

using session::FailedCall;

LateErrorChecks::LateErrorChecks(const std::vector<const FailedCall*>& errors, const SameCall& same) {
  for (const FailedCall* look : errors) {
    if (look->of_call == 0) continue;
    const auto of =
        std::ranges::find_if(errors, [&](const FailedCall* error) { return error->serial == look->of_call; });
    if (of == errors.end()) continue;
    const FailedCall* first = nullptr;
    for (auto error = errors.begin(); error != errors.end() && (*error)->serial < look->serial; ++error) {
      // `of` is the first failure that the recorder still remembered. Earlier failures also count if the thread did not
      // query their errors. Failures at other call sites count too, because the recorder treats them as different
      // calls.
      const bool unasked = error >= of || !((*error)->flags & wire::error::kLookedAt) || (*error)->site != (*of)->site;
      if ((*error)->of_call != 0 || !unasked || causes_.contains(*error)) continue;
      if ((*error)->tid != (*of)->tid || !same(**error, **of)) continue;
      if (first == nullptr) first = *error;
      causes_[*error] = first;
    }
    if (first != nullptr) causes_[look] = first;
  }
}

const FailedCall* LateErrorChecks::cause(const FailedCall* error) const {
  const auto found = causes_.find(error);
  return found == causes_.end() ? nullptr : found->second;
}

namespace {

using session::Capture;

constexpr std::uint32_t kGlobal = 0, kRelaxed = 2;  // CUstreamCaptureMode
constexpr std::uint32_t kUnsupported = 900;

bool same(const Capture& a, const Capture& b) { return a.began != 0 && a.began == b.began && a.tid == b.tid; }

bool breaks(const FailedCall& call, const Capture& capture) {
  if (!wire::error::is_of_capture(call.code) || call.code == wire::cuda::kStreamCaptureInvalidated) return false;
  if (same(call.capture, capture)) return true;
  // An unsafe call breaks every capture that forbids unsafe calls.
  if (call.code != kUnsupported) return false;
  return call.tid == capture.tid ? capture.mode != kRelaxed : capture.mode == kGlobal;
}

// Returns the earliest time at which the call can have broken the capture. This is the time at which the call began,
// because a call on another thread may find the capture broken before this call returns.
std::uint64_t start_of(const FailedCall& error) { return error.started != 0 ? error.started : error.ticks; }

const FailedCall* cause_of(const FailedCall& noticed, const std::vector<const FailedCall*>& errors) {
  const Capture& capture = noticed.capture;
  const FailedCall* found_broken = nullptr;
  for (const FailedCall* error : errors) {
    if (error->code == wire::cuda::kStreamCaptureInvalidated && same(error->capture, capture)) {
      found_broken = error;
      break;
    }
  }
  const std::uint64_t until = (found_broken == nullptr ? noticed : *found_broken).ticks;
  const FailedCall* first = nullptr;
  for (const FailedCall* error : errors) {
    if (!breaks(*error, capture) || error->ticks < capture.began || start_of(*error) > until) continue;
    if (first == nullptr || start_of(*error) < start_of(*first)) first = error;
  }
  if (first != nullptr) return first;
  return found_broken != nullptr ? found_broken : &noticed;
}

}  // namespace

BrokenCaptures::BrokenCaptures(const std::vector<const FailedCall*>& errors) {
  for (const FailedCall* error : errors) {
    const bool known = wire::error::is_of_capture(error->code) && error->capture.began != 0;
    if (known) causes_[error] = cause_of(*error, errors);
  }
}

const FailedCall* BrokenCaptures::cause(const FailedCall* error) const {
  const auto found = causes_.find(error);
  return found == causes_.end() ? error : found->second;
}

namespace {

using session::ProcessRecord;

wire::operation::Kind issued_by(const FailedCall& call, const ProcessRecord& record) {
  const session::Site* site = session::by_id(record.sites, call.site);
  return site == nullptr ? wire::operation::Kind::none : site->kind;
}

// Returns whether `refused` may have received a null pointer, or an address outside known memory, because `earlier`
// failed.
bool may_lack(const FailedCall& refused, const FailedCall& earlier, const ProcessRecord& record) {
  const session::Operation* operation = refused_operation(record, refused);
  if (operation == nullptr || !wire::operation::has_bytes(operation->kind)) return true;
  const AllocationMap map(record, operation->ticks);
  const auto lacks = [&](std::uint64_t address, bool of_host) {
    if (address == 0) return true;
    return map.find(address).state != Whereabouts::State::live && (!of_host || wanted_host_memory(earlier));
  };
  return lacks(operation->destination, goes_to_host(refused)) ||
         (operation->kind == wire::operation::Kind::copy && lacks(operation->source, comes_from_host(refused)));
}

template <std::size_t N>
bool is_of(const FailedCall& error, const std::string_view (&families)[N]) {
  return std::ranges::any_of(families, [&](std::string_view family) { return error.call.starts_with(family); });
}

// Returns whether the call is about memory, according to its name.
bool is_of_memory(const FailedCall& error) { return is_of(error, {"cuMem", "cudaMalloc", "cudaMem", "cudaHost"}); }
bool loads_kernels(const FailedCall& error) {
  return is_of(error, {"cuModuleLoad", "cuModuleGetFunction", "cuLibraryLoad", "cuLibraryGet", "cuLink"});
}

// Returns whether a launch received a kernel that was never loaded.
bool has_no_kernel(const FailedCall& failed, const ProcessRecord& record) {
  const std::string* kernel = session::kernel_at(record, failed.site);
  const bool is_known = session::by_id(record.sites, failed.site) != nullptr;
  return failed.flags & wire::error::kLaunch && is_known && (kernel == nullptr || kernel->empty());
}

}  // namespace

bool was_given_memory(const ProcessRecord& record, const FailedCall& error, std::uint64_t until) {
  return std::ranges::any_of(record.allocations, [&](const session::Allocation& memory) {
    return memory.made > error.ticks && memory.made < until && memory.thread == error.thread;
  });
}

const FailedCall* swallowed_before(const FailedCall& failed, const ProcessRecord& record) {
  // The recorder's count of operations includes refused ones, unless the CUDA runtime refused them.
  const bool counted =
      failed.domain == wire::error::Domain::driver &&
      (failed.flags & wire::error::kLaunch || issued_by(failed, record) != wire::operation::Kind::none);
  const auto nothing_between = [&](const FailedCall& error) {
    return error.operation + (counted ? 1 : 0) >= failed.operation && !was_given_memory(record, error, failed.ticks);
  };
  const auto may_have_made = [&](const FailedCall& error) {
    const bool makes_nothing =
        error.flags & wire::error::kLaunch || wire::operation::can_fault(issued_by(error, record));
    const bool may_matter = !is_benign(error) || (error.code == wire::cuda::kSymbolNotFound &&
                                                  failed.code == wire::cuda::kInvalidResourceHandle);
    return error.tid == failed.tid && error.serial < failed.serial && may_matter && !makes_nothing &&
           !(failed.code == wire::cuda::kInvalidResourceHandle && is_of_memory(error)) &&
           !(error.flags & wire::error::kSticky) &&
           (failed.code != wire::cuda::kInvalidValue || may_lack(failed, error, record));
  };
  const auto& errors = record.errors;
  const auto found = std::ranges::find_if(
      errors, [&](const FailedCall& error) { return may_have_made(error) && nothing_between(error); });
  if (found != errors.end()) return &*found;
  if (failed.code != wire::cuda::kInvalidResourceHandle || !has_no_kernel(failed, record)) return nullptr;
  const auto latest = std::find_if(errors.rbegin(), errors.rend(), [&](const FailedCall& error) {
    return may_have_made(error) && loads_kernels(error);
  });
  return latest == errors.rend() ? nullptr : &*latest;
}

void recall_failed_allocation(Failure& failure) {
  if (!is_asynchronous(failure.kind) || failure.candidates.size() != 1) return;
  const auto given = arguments_of(failure).arguments;
  if (std::ranges::none_of(given, [](const auto& argument) { return argument.pointer == 0u; })) return;
  const session::Operation& operation = *failure.candidates.front().operation;
  const auto& errors = failure.process->record.errors;
  const auto may_have_left_null = [&](const FailedCall& error) {
    const bool allocates = error.call.starts_with("cuMemAlloc") || error.call.starts_with("cuMemHostAlloc");
    return allocates && error.thread == operation.thread && error.ticks < operation.ticks &&
           !(error.flags & wire::error::kSticky);
  };
  // Takes the latest failed call, because most programs use memory soon after they allocate it.
  for (const FailedCall& error : errors) {
    if (!may_have_left_null(error)) continue;
    if (failure.swallowed == nullptr || failure.swallowed->ticks < error.ticks) failure.swallowed = &error;
  }
}

}  // namespace cudadiag::analyse
