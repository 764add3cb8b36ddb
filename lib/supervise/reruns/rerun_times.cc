#include "supervise/reruns/rerun_times.h"

#include <fmt/core.h>

#include <algorithm>

#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

double expected_seconds(const session::Session& session) {
  if (session.manifest.passes.empty()) return 0;
  const session::Pass& first = session.manifest.passes.front();
  // The recorded time may be wrong: it comes from the recorded program, and the clock may have been changed during the
  // run.
  const double failed_after = first.failed_after.value_or(first.seconds);
  return failed_after >= 0 && failed_after <= first.seconds ? failed_after : first.seconds;
}

double longest_pause(const session::Session& session) {
  const double whole = expected_seconds(session);
  double longest = 0;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    // If records are lost, a longer pause may be among them, so this returns the whole duration.
    if (record.dropped_operations > 0 || record.operations_issued > record.operations.size()) return whole;
    // The recording begins only when CUDA is initialised, so the time before that counts as a pause.
    longest = std::max(longest, whole - record.seconds(record.frozen_ticks));
    std::uint64_t before = record.clock_start;
    const auto look = [&](std::uint64_t ticks) {
      if (ticks <= before) return;
      longest = std::max(longest, record.seconds(ticks) - record.seconds(before));
      before = ticks;
    };
    for (const session::Operation& operation : record.operations) look(operation.ticks);
    look(record.frozen_ticks);
  }
  return longest > 0 ? std::min(longest, whole) : whole;
}

std::string with_patience(const std::string& window, double seconds) {
  if (seconds == RerunOptions().patience) return window;
  return fmt::format("{},patience={}", window, static_cast<unsigned>(seconds * 1000));
}

}  // namespace cudadiag::supervise
