#include "supervise/hang_watch.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "analyse/hang.h"
#include "analyse/stall_rule.h"
#include "base/processes.h"
#include "session/area_reader.h"
#include "session/ring_follower.h"
#include "session/session_reader.h"
#include "supervise/recorded_processes.h"
#include "wire/area.h"
#include "wire/clock.h"
#include "wire/hash.h"
#include "wire/pass_files.h"

namespace cudadiag::supervise {

namespace {

// For a program that is interrupted. Ten times is more than batches of different sizes explain.
constexpr double kInterruptedSeconds = 5, kInterruptedFactor = 10;

// Returns an interval that is short enough for accurate times, and long enough to cost almost nothing.
std::chrono::milliseconds interval_for(double seconds) {
  return std::chrono::milliseconds(std::clamp(static_cast<int>(seconds * 50), 10, 250));
}

}  // namespace

struct StallWatch::Watched {
  Watched(const launch::Arena& arena, std::size_t index, double seconds, double far_longer)
      : area(arena, index), rule(seconds, far_longer) {}

  bool is(wire::area::State state) const {
    return !area.bytes().empty() &&
           wire::load_acquire(area.bytes().data(), wire::area::kState) == static_cast<std::uint32_t>(state);
  }
  // The recorder has not stopped before the process's end, so unfinished work is really unfinished.
  bool is_recorded() const { return is(wire::area::State::recording) || is(wire::area::State::finished); }

  launch::LiveArea area;
  analyse::StallRule rule;
  // Notes whether the process's streams have issued or completed operations since the last call.
  void note_progress(const std::vector<session::StreamProgress>& streams, Clock::time_point now) {
    std::uint64_t total = 0, done = 0;
    for (const session::StreamProgress& stream : streams) {
      total += std::uint64_t{stream.issued} + stream.completed;
      done += stream.completed;
    }
    if (std::exchange(progress, total) != total) worked = now;
    if (std::exchange(completed, done) != done) advanced = clock;
  }

  double clock = 0;     // for how many seconds the process was seen running
  double advanced = 0;  // when a completion marker was last seen to advance, on that clock
  std::uint64_t progress = 0, completed = 0;
  std::optional<Clock::time_point> worked;  // when an operation was last seen to start or complete
  std::vector<std::size_t> numbers;         // index of each of its stalls among all stalls found
};

StallWatch::StallWatch(const launch::Arena& arena, std::optional<double> seconds)
    : arena_(arena),
      reports_(seconds.has_value()),
      seconds_(seconds.value_or(kInterruptedSeconds)),
      interval_(interval_for(seconds_)),
      last_(Clock::now()) {}

StallWatch::~StallWatch() = default;

void StallWatch::take_ended(Watched& process, StallNews& news) {
  for (const auto& ended : process.rule.take_ended()) {
    const std::size_t number = process.numbers[ended.stall];
    news.ended.push_back({number, ended.seconds});
    if (!reports_) silent_[number].stall.ended_after = ended.seconds;
  }
}

bool StallWatch::others_work(const Watched& process) const {
  const std::chrono::duration<double> limit(seconds_);
  return std::ranges::any_of(processes_, [&](const std::unique_ptr<Watched>& other) {
    return other.get() != &process && other->worked && last_ - *other->worked < limit;
  });
}

void StallWatch::look_at(Watched& process, double passed, bool whole, StallNews& news) {
  if (!(whole ? process.is_recorded() : process.is(wire::area::State::recording))) return;
  const auto bytes = process.area.bytes();
  const std::uint32_t pid = wire::load(bytes.data(), wire::area::kPid);
  const auto streams = session::stream_progress(bytes);
  const bool works = std::ranges::any_of(streams, [](const auto& stream) { return stream.busy(); });
  // While a program is stopped (SIGSTOP), its GPU work may be waiting for it. This time does not count towards a stall.
  const base::Life life = works && !whole ? base::life_of(pid) : base::Life::runs;
  if (life == base::Life::gone) return;
  if (life == base::Life::runs) process.clock += passed;
  process.note_progress(streams, last_);
  const bool due = process.rule.look(process.clock, streams) || whole;
  take_ended(process, news);
  if (!due || life != base::Life::runs) return;
  session::AreaContents contents = session::read_area(bytes, wire::ClockReading::now());
  if (!contents.error.empty()) return;
  const session::Process picture = session::describe_process(std::move(contents.record), {});
  for (session::Stall& stall : process.rule.judge(process.clock, picture, others_work(process))) {
    arena_.keep_areas();  // the report names the process, even if it ends well
    process.numbers.push_back(found_++);
    if (!reports_) silent_.push_back({stall, &process, process.clock - stall.seconds});
    news.found.push_back(std::move(stall));
  }
}

StallNews StallWatch::look() {
  StallNews news;
  const Clock::time_point now = Clock::now();
  const Clock::duration passed = now - last_;
  if (passed < interval_) return news;
  look_at_all(now, false, news);
  return reports_ ? news : StallNews{};
}

void StallWatch::look_at_all(Clock::time_point now, bool whole, StallNews& news) {
  const Clock::duration passed = now - std::exchange(last_, now);
  while (processes_.size() < arena_.claimed()) {
    const double far_longer = reports_ ? analyse::kFarLonger : kInterruptedFactor;
    processes_.push_back(std::make_unique<Watched>(arena_, processes_.size(), seconds_, far_longer));
  }
  // The launcher itself may have been stopped. It saw no progress while it was stopped, so that time does not count.
  const std::chrono::duration<double> seen = std::min<Clock::duration>(passed, 4 * interval_);
  for (const auto& process : processes_) look_at(*process, seen.count(), whole, news);
}

void StallWatch::interrupted() {
  if (reports_) return;
  StallNews ignored;
  look_at_all(Clock::now(), true, ignored);
  for (Silent& each : silent_) {
    const Watched& process = *each.process;
    if (each.stall.interrupted || each.stall.ended_after || process.clock - process.advanced < seconds_) continue;
    each.stall.interrupted = true;
    each.stall.seconds = process.clock - each.began;
  }
}

StallNews StallWatch::finish() {
  StallNews news;
  const std::chrono::duration<double> passed = std::min<Clock::duration>(Clock::now() - last_, 4 * interval_);
  for (const auto& process : processes_) {
    if (process->numbers.empty()) continue;
    process->clock += passed.count();
    process->rule.look(process->clock, session::stream_progress(process->area.bytes()));
    take_ended(*process, news);
  }
  if (reports_) return news;
  news = {};
  for (const Silent& each : silent_) {
    if (each.stall.interrupted && !each.stall.ended_after && each.process->is_recorded())
      news.found.push_back(each.stall);
  }
  return news;
}

namespace {

bool hangs(const session::Process& process, double seconds) {
  return process.record.state == wire::area::State::recording && analyse::hang(process, seconds).has_value();
}

}  // namespace

HangWatch::HangWatch(const launch::Arena& arena, double seconds, std::filesystem::path dumps)
    : arena_(arena),
      limit_(seconds),
      dumps_(std::move(dumps)),
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
  std::error_code error;
  for (std::filesystem::directory_iterator it(dumps_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->path().extension() == wire::core_dump::kSuffix) digest = wire::mix(digest, it->file_size(gone));
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
