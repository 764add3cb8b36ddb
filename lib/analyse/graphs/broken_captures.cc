#include "analyse/graphs/broken_captures.h"

#include "wire/cuda_codes.h"

namespace cudadiag::analyse {
namespace {

using session::Capture;
using session::FailedCall;

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

}  // namespace cudadiag::analyse
