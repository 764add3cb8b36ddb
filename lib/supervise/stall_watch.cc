#include "supervise/stall_watch.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "analyse/hangs/stall_rule.h"
#include "base/processes.h"
#include "session/area/area_progress.h"
#include "session/area/area_reader.h"
#include "session/session_reader.h"
#include "wire/area.h"
#include "wire/clock.h"

namespace cudadiag::supervise {
namespace {

// Returns an interval that is short enough for accurate times, and long enough to cost almost nothing.
std::chrono::milliseconds interval_for(double seconds) {
  return std::chrono::milliseconds(std::clamp(static_cast<int>(seconds * 50), 10, 250));
}

}  // namespace

struct StallWatch::Watched {
  Watched(const launch::Arena& arena, std::size_t index, double seconds) : area(arena, index), rule(seconds) {}

  bool records() const {
    return !area.bytes().empty() && wire::load_acquire(area.bytes().data(), wire::area::kState) ==
                                        static_cast<std::uint32_t>(wire::area::State::recording);
  }

  launch::LiveArea area;
  analyse::StallRule rule;
  // Notes whether the process's streams have issued or completed operations since the last call.
  void note_progress(const std::vector<session::StreamProgress>& streams, Clock::time_point now) {
    std::uint64_t total = 0;
    for (const session::StreamProgress& stream : streams) total += std::uint64_t{stream.issued} + stream.completed;
    if (std::exchange(progress, total) != total) worked = now;
  }

  double clock = 0;  // for how many seconds the process was seen running
  std::uint64_t progress = 0;
  std::optional<Clock::time_point> worked;  // when an operation was last seen to start or complete
  std::vector<std::size_t> numbers;         // index of each of its stalls among all stalls found
};

StallWatch::StallWatch(const launch::Arena& arena, double seconds)
    : arena_(arena), seconds_(seconds), interval_(interval_for(seconds)), last_(Clock::now()) {}

StallWatch::~StallWatch() = default;

void StallWatch::take_ended(Watched& process, StallNews& news) const {
  for (const auto& ended : process.rule.take_ended()) {
    news.ended.push_back({process.numbers[ended.stall], ended.seconds});
  }
}

bool StallWatch::others_work(const Watched& process) const {
  const std::chrono::duration<double> limit(seconds_);
  return std::any_of(processes_.begin(), processes_.end(), [&](const std::unique_ptr<Watched>& other) {
    return other.get() != &process && other->worked && last_ - *other->worked < limit;
  });
}

void StallWatch::look_at(Watched& process, double passed, StallNews& news) {
  if (!process.records()) return;
  const auto bytes = process.area.bytes();
  const std::uint32_t pid = wire::load(bytes.data(), wire::area::kPid);
  const auto streams = session::stream_progress(bytes);
  process.note_progress(streams, last_);
  const bool works = std::any_of(streams.begin(), streams.end(), [](const auto& stream) { return stream.busy(); });
  // While a program is stopped (SIGSTOP), its GPU work may be waiting for it. This time does not count towards a stall.
  const base::Life life = works ? base::life_of(pid) : base::Life::runs;
  if (life == base::Life::gone) return;
  if (life == base::Life::runs) process.clock += passed;
  const bool due = process.rule.look(process.clock, streams);
  take_ended(process, news);
  if (!due || life != base::Life::runs) return;
  session::AreaContents contents = session::read_area(bytes, wire::ClockReading::now());
  if (!contents.error.empty()) return;
  const session::Process picture = session::describe_process(std::move(contents.record), {});
  for (session::Stall& stall : process.rule.judge(process.clock, picture, others_work(process))) {
    arena_.keep_areas();  // the report names the process, even if it ends well
    process.numbers.push_back(found_++);
    news.found.push_back(std::move(stall));
  }
}

StallNews StallWatch::look() {
  StallNews news;
  const Clock::time_point now = Clock::now();
  const Clock::duration passed = now - last_;
  if (passed < interval_) return news;
  last_ = now;
  while (processes_.size() < arena_.claimed()) {
    processes_.push_back(std::make_unique<Watched>(arena_, processes_.size(), seconds_));
  }
  // The launcher itself may have been stopped. It saw no progress while it was stopped, so that time does not count.
  const std::chrono::duration<double> seen = std::min<Clock::duration>(passed, 2 * interval_);
  for (const auto& process : processes_) look_at(*process, seen.count(), news);
  return news;
}

StallNews StallWatch::finish() {
  StallNews news;
  const std::chrono::duration<double> passed = std::min<Clock::duration>(Clock::now() - last_, 2 * interval_);
  for (const auto& process : processes_) {
    if (process->numbers.empty()) continue;
    process->clock += passed.count();
    process->rule.look(process->clock, session::stream_progress(process->area.bytes()));
    take_ended(*process, news);
  }
  return news;
}

}  // namespace cudadiag::supervise
