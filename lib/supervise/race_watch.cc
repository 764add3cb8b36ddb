#include "supervise/race_watch.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/processes.h"
#include "races/backlog.h"
#include "races/feed.h"
#include "session/area/area_regions.h"
#include "session/area/intern_reader.h"
#include "session/session_folders.h"
#include "wire/area.h"

namespace cudadiag::supervise {
namespace {

// At the fastest rate, a ring of 4,096 records fills up in a few milliseconds.
constexpr std::chrono::microseconds kIdle{300};
// How often to recheck pairs of operations whose kernels are unknown.
constexpr std::chrono::milliseconds kSettling{50};
// After the target has ended: how long to wait until the code of all kernels has been read.
constexpr std::chrono::seconds kPatience{60};

std::filesystem::path modules_in(const std::filesystem::path& pass_folder) {
  return pass_folder.empty() ? "" : pass_folder / session::kModulesFolder;
}

// The names and graphs of a process, from its intern heap. If an id is not known yet, reads the heap again.
class Names {
 public:
  explicit Names(std::span<const std::byte> area) : area_(area) {}

  const session::ProcessRecord& with_function(std::uint32_t id) {
    if (id > record_.functions.size()) read();
    return record_;
  }

 private:
  void read() {
    const std::uint64_t used = wire::load_acquire(area_.data(), wire::area::kInternUsed);
    if (used == read_) return;
    read_ = used;
    record_ = {};
    const auto heap = session::AreaRegions(area_).region(wire::area::Region::intern);
    session::read_intern_heap(heap.first(std::min<std::uint64_t>(used, heap.size())), record_);
  }

  std::span<const std::byte> area_;
  std::uint64_t read_ = 0;
  session::ProcessRecord record_;
};

}  // namespace

struct RaceWatch::Watched {
  Watched(const launch::Arena& arena, std::size_t index, KernelModes& kernel_modes)
      : area(arena, index), names(area.bytes()), follower(area.bytes()), modes(kernel_modes) {}

  // Returns true once the process has written the header of its area.
  bool ready() {
    if (feed) return true;
    if (area.bytes().empty() || wire::load_acquire(area.bytes().data(), wire::area::kState) == 0) return false;
    const auto mode = [this](std::uint32_t function, std::uint32_t parameter,
                             const sass::LaunchWords& launch) -> std::optional<sass::Mode> {
      const std::string* name = session::by_id(names.with_function(function).functions, function);
      if (name == nullptr) return sass::Mode::unknown;
      return modes.mode(*name, parameter, launch);
    };
    feed = std::make_unique<races::Feed>(area.bytes(), mode,
                                         [this](std::uint32_t function) { return code(function).codes; });
    backlog = std::make_unique<races::Backlog>(area.bytes(), *feed,
                                               [this](std::uint32_t function) { return code(function).read; });
    return true;
  }

  // Caches the result until the program loads more code, because this is called at every launch.
  const KernelModes::Code& code(std::uint32_t function) {
    if (function >= codes.size()) codes.resize(function + 1);
    Code& known = codes[function];
    if (known.code.read && known.generation == generation) return known.code;
    const std::string* name = session::by_id(names.with_function(function).functions, function);
    known = {name == nullptr ? KernelModes::Code{true} : modes.code(*name), generation};
    return known.code;
  }

  launch::LiveArea area;
  Names names;
  session::RingFollower follower;
  KernelModes& modes;
  std::unique_ptr<races::Feed> feed;
  std::unique_ptr<races::Backlog> backlog;
  struct Code {
    KernelModes::Code code;
    std::uint64_t generation = 0;
  };
  std::vector<Code> codes;  // by function
  std::uint64_t generation = 0;
};

RaceWatch::RaceWatch(const launch::Arena& arena, launch::SignalRelay& relay, const std::filesystem::path& pass_folder,
                     std::string disassembler)
    : arena_(arena), relay_(relay), modules_(modules_in(pass_folder)), modes_(modules_, std::move(disassembler)) {
  thread_ = base::optional_thread([this] { run(); });
}

RaceWatch::~RaceWatch() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

void RaceWatch::run() {
  auto settled = std::chrono::steady_clock::now();
  while (!stopping_.load(std::memory_order_acquire)) {
    if (!look()) std::this_thread::sleep_for(kIdle);
    if (std::chrono::steady_clock::now() - settled > kSettling) {
      settle(false);
      settled = std::chrono::steady_clock::now();
    }
    const auto found = [](const auto& process) { return process->feed && process->feed->found_any(); };
    if (!found_ && std::any_of(processes_.begin(), processes_.end(), found)) {
      found_.store(true, std::memory_order_release);
      relay_.wake();
    }
  }
}

bool RaceWatch::look() {
  while (processes_.size() < arena_.claimed()) {
    processes_.push_back(std::make_unique<Watched>(arena_, processes_.size(), modes_));
  }
  bool fresh = false;
  const std::uint64_t generation = modes_.look_for_modules();
  for (const auto& process : processes_) {
    if (!process->ready()) continue;
    process->generation = generation;
    process->backlog->hand_on();
    process->backlog->look_for_drops();
    fresh |= process->follower.poll(*process->backlog);
  }
  return fresh;
}

void RaceWatch::settle(bool at_last) {
  for (const auto& process : processes_) {
    if (process->feed) process->feed->settle(at_last);
  }
}

void RaceWatch::hand_on_the_rest() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto waits = [](const auto& process) { return process->backlog && !process->backlog->empty(); };
  const auto hand_on = [this] {
    for (const auto& process : processes_) {
      if (process->backlog) process->backlog->hand_on();
    }
  };
  for (hand_on(); std::any_of(processes_.begin(), processes_.end(), waits); hand_on()) {
    if (std::chrono::steady_clock::now() > deadline) break;
    modes_.wait(kPatience);
  }
  for (const auto& process : processes_) {
    if (process->backlog) process->backlog->hand_on_all();
  }
}

session::Races RaceWatch::finish() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
  look();
  for (const auto& process : processes_) {
    if (process->ready()) process->follower.finish(*process->backlog);
  }
  hand_on_the_rest();
  // Two rounds are needed. The first one may show that a kernel must be looked up again for launches with zeros among
  // their parameters.
  for (int round = 0; round < 2; ++round) {
    settle(false);
    modes_.wait(kPatience);
  }
  settle(true);
  session::Races all;
  all.kernels = {modes_.asked(), modes_.understood(), modes_.has_disassembler(), modes_.unknown_opcodes()};
  for (const auto& process : processes_) {
    if (!process->ready()) continue;
    const std::uint32_t pid = wire::load(process->area.bytes().data(), wire::area::kPid);
    for (session::Race& race : process->feed->races()) {
      race.pid = pid;
      all.found.push_back(std::move(race));
    }
    for (session::Overrun overrun : process->feed->overruns()) {
      overrun.pid = pid;
      all.overruns.push_back(overrun);
    }
    for (session::EndedMemory ended : process->feed->ended()) {
      ended.pid = pid;
      all.ended.push_back(std::move(ended));
    }
    for (session::KernelRace race : process->feed->kernel_races()) {
      race.pid = pid;
      const auto& functions = process->names.with_function(race.launch.function).functions;
      if (const std::string* name = session::by_id(functions, race.launch.function)) add_lines(race, *name, modules_);
      all.inside.push_back(std::move(race));
    }
    for (session::Race& pair : process->feed->unjudged()) {
      pair.pid = pid;
      all.unjudged.push_back(std::move(pair));
    }
    all.counts.push_back(process->feed->counts());
    all.counts.back().pid = pid;
  }
  return all;
}

}  // namespace cudadiag::supervise
