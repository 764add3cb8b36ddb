#include "supervise/full_log_collector.h"

#include <optional>
#include <utility>

#include "base/processes.h"
#include "session/full_log.h"
#include "session/ring_follower.h"
#include "wire/area.h"

namespace cudadiag::supervise {
namespace {

// At the fastest rate, a ring of 4,096 records fills up in a few milliseconds. Shorter pauses slow the target down,
// because each read takes cache lines away from the threads that write them.
constexpr std::chrono::microseconds kReadPause{300};
// The time between two flushes. If the launcher is killed, the log lacks only operations from the last such interval.
constexpr std::chrono::milliseconds kFlush{50};

}  // namespace

struct FullLogCollector::Logged {
  Logged(const launch::Arena& arena, std::size_t index)
      : area(arena, index), follower(area.bytes(), session::RingFollower::When::returned) {}

  // Returns true once the process has written the header of its area.
  bool ready(const std::filesystem::path& folder) {
    if (writer || given_up || !failure.what.empty()) return writer.has_value();
    if (area.bytes().empty() || wire::load_acquire(area.bytes().data(), wire::area::kState) == 0) return false;
    auto made = session::LogWriter::create(folder, wire::load(area.bytes().data(), wire::area::kPid),
                                           wire::load(area.bytes().data(), wire::area::kStartRealtime));
    if (auto* problem = std::get_if<base::Error>(&made)) {
      failure = std::move(*problem);
    } else {
      writer.emplace(std::move(std::get<session::LogWriter>(made)));
    }
    return writer.has_value();
  }

  launch::LiveArea area;
  session::RingFollower follower;
  std::optional<session::LogWriter> writer;
  base::Error failure;  // why there is no writer
  bool given_up = false;
};

FullLogCollector::FullLogCollector(const launch::Arena& arena, std::filesystem::path folder)
    : arena_(arena), folder_(std::move(folder)), thread_(base::optional_thread([this] { run(); })) {}

FullLogCollector::~FullLogCollector() { stop(); }

void FullLogCollector::stop() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

void FullLogCollector::run() {
  auto flushed = std::chrono::steady_clock::now();
  while (!stopping_.load(std::memory_order_acquire)) {
    {
      const std::lock_guard lock(mutex_);
      look();
      if (std::chrono::steady_clock::now() - flushed > kFlush) {
        for (const auto& process : processes_) {
          if (process->writer) process->writer->flush();
        }
        flushed = std::chrono::steady_clock::now();
      }
    }
    std::this_thread::sleep_for(kReadPause);
  }
}

void FullLogCollector::look() {
  while (processes_.size() < arena_.claimed()) {
    processes_.push_back(std::make_unique<Logged>(arena_, processes_.size()));
  }
  for (const auto& process : processes_) {
    if (process->ready(folder_)) process->follower.poll(*process->writer);
  }
}

void FullLogCollector::catch_up() {
  const std::lock_guard lock(mutex_);
  // look() writes the records that the previous call fetched. The newest records therefore need two calls.
  look();
  look();
  for (const auto& process : processes_) {
    if (process->writer) process->writer->flush_through(process->follower.done());
  }
}

std::vector<base::Error> FullLogCollector::give_up() {
  const std::lock_guard lock(mutex_);
  std::vector<base::Error> said;
  for (const auto& process : processes_) {
    if (process->writer) said.push_back(process->writer->give_up());
    process->writer.reset();
    process->given_up = true;
  }
  return said;
}

std::vector<base::Error> FullLogCollector::finish() {
  stop();
  look();
  std::vector<base::Error> failures;
  for (const auto& process : processes_) {
    if (process->writer) {
      process->follower.finish(*process->writer);
      process->writer->flush_through(process->follower.done());
      process->failure = process->writer->failure();
    }
    if (!process->failure.what.empty()) failures.push_back(process->failure);
  }
  return failures;
}

std::uint64_t FullLogCollector::lost() const {
  std::uint64_t lost = 0;
  for (const auto& process : processes_) lost += process->writer ? process->writer->lost() : 0;
  return lost;
}

}  // namespace cudadiag::supervise
