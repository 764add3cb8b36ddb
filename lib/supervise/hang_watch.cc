#include "supervise/hang_watch.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analyse/hangs/hang.h"
#include "session/area/area_progress.h"
#include "supervise/recorded_processes.h"
#include "wire/hash.h"

namespace cudadiag::supervise {
namespace {

bool hangs(const session::Process& process, double seconds) {
  return process.record.state == wire::area::State::recording && analyse::hang(process, seconds).has_value();
}

}  // namespace

Life life_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  Life life = Life::gone;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:")) {
      const std::size_t letter = line.find_first_not_of(" \t", 6);
      if (letter == std::string::npos || line[letter] == 'Z' || line[letter] == 'X') return Life::gone;
      life = line[letter] == 'T' || line[letter] == 't' ? Life::stopped : Life::runs;
    }
    if (line.starts_with("TracerPid:") && line.find_first_of("123456789", 10) != std::string::npos)
      return Life::stopped;
  }
  return life;
}

bool has_ended(std::uint32_t pid) { return life_of(pid) == Life::gone; }

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
    const Life life = life_of(process.pid);
    if (life == Life::stopped) return still_ = {}, false;
    found = found || (life == Life::runs && hangs(process, still_seconds()));
  }
  judged_ = digest;
  return found;
}

}  // namespace cudadiag::supervise
