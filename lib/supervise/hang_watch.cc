#include "supervise/hang_watch.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "analyse/hangs/hang.h"
#include "base/processes.h"
#include "session/area/area_progress.h"
#include "supervise/recorded_processes.h"
#include "wire/hash.h"

namespace cudadiag::supervise {
namespace {

bool hangs(const session::Process& process, double seconds) {
  return process.record.state == wire::area::State::recording && analyse::hang(process, seconds).has_value();
}

}  // namespace

HangWatch::HangWatch(const launch::Arena& arena, double seconds)
    : arena_(arena),
      limit_(seconds),
      interval_(std::clamp(static_cast<int>(seconds * 250), 10, 1000)),
      last_(Clock::now()) {}

bool HangWatch::look() {
  const Clock::time_point now = Clock::now();
  const Clock::duration passed = now - last_;
  if (passed < interval_) return false;
  last_ = now;
  std::uint64_t digest = wire::kHashSeed;
  for (std::size_t area = 0; area < arena_.claimed(); ++area) {
    digest = wire::mix(digest, session::progress_digest(launch::LiveArea(arena_, area).bytes()));
  }
  if (digest != digest_) {
    digest_ = digest;
    still_ = {};
    return false;
  }
  still_ += std::min<Clock::duration>(passed, 2 * interval_);
  // Once a state has been found not to be a hang, it is not checked again until there is progress.
  if (still_ < limit_ || digest == judged_) return false;
  session::Session session;
  const std::vector<session::Process> processes = read_processes(&arena_, nullptr, session);
  bool found = false;
  for (const session::Process& process : processes) {
    const base::Life life = base::life_of(process.pid);
    if (life == base::Life::stopped) return still_ = {}, false;
    found = found || (life == base::Life::runs && hangs(process, still_seconds()));
  }
  judged_ = digest;
  return found;
}

}  // namespace cudadiag::supervise
