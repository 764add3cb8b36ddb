#include "supervise/race_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/processes.h"
#include "launch/environment.h"
#include "races/race_detector.h"
#include "session/area_reader.h"
#include "session/session_folders.h"
#include "wire/area.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTick{20};  // longer than the resolution of file times
constexpr std::ptrdiff_t kMostSpecials = 16;    // for how many sets of zeros a kernel is analysed
constexpr sass::ZeroWords kAllZeros = ~sass::ZeroWords{0};
constexpr std::uint64_t kMostCode = std::uint64_t{1} << 30;  // of one module; the recorder has the same limit for all
                                                             // modules together

evidence::Bytes bytes_of(const std::string& text) { return {text.data(), text.size()}; }

}  // namespace

KernelModes::KernelModes(fs::path modules, std::string disassembler)
    : modules_(std::move(modules)), disassembler_(std::move(disassembler)) {
  if (disassembler_.empty()) return;
  thread_ = base::optional_thread([this] { run(); });
  if (!thread_.joinable()) disassembler_.clear();
}

KernelModes::~KernelModes() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<sass::Mode> KernelModes::mode(const std::string& kernel, std::uint32_t parameter,
                                            const sass::LaunchWords& launch) {
  if (kernel.empty()) return sass::Mode::unknown;
  const std::lock_guard lock(mutex_);
  const auto mode = known_mode({kernel, 0}, parameter, launch.live);
  if (!mode || !sass::is_near(*mode) || launch.zeros == 0) return mode;
  // The kernel adds an offset to the address in this parameter. Zeros among the launch's parameters may make the offset
  // 0, so the code is analysed again with these zeros.
  const Wanted special{kernel, launch.zeros};
  if (!known_.contains(special)) {
    const auto looked_at = std::distance(known_.lower_bound({kernel, 1}), known_.upper_bound({kernel, kAllZeros}));
    if (looked_at >= kMostSpecials) return mode;
  }
  return known_mode(special, parameter, launch.live);
}

std::optional<sass::Mode> KernelModes::known_mode(const Wanted& wanted, std::uint32_t parameter,
                                                  const sass::LiveWords& live) {
  if (disassembler_.empty()) return sass::Mode::unknown;
  const fs::file_time_type newest = newest_module();
  const Known& now = known(wanted, newest);
  if (now.modules < newest) return std::nullopt;
  // Several kernels may have this name, and we cannot tell which of them was launched.
  std::optional<sass::Mode> mode;
  for (const sass::KernelAccesses& code : now.codes) {
    const sass::Mode its = code.mode(parameter, live);
    if (mode.value_or(its) != its) return sass::Mode::unknown;
    mode = its;
  }
  return mode.value_or(sass::Mode::unknown);
}

// Returns what is known about the kernels. If some modules have not been read yet, also requests their analysis.
KernelModes::Known& KernelModes::known(const Wanted& wanted, fs::file_time_type newest) {
  Known& known = known_[wanted];
  if (known.modules >= newest) return known;
  if (!known.wanted) wanted_.push_back(wanted);
  known.wanted = true;
  wake_.notify_all();
  return known;
}

KernelModes::Code KernelModes::code(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  if (kernel.empty() || disassembler_.empty()) return {true};
  const Known& now = known({kernel, 0}, newest_);
  return now.modules >= newest_ ? Code{true, now.ranges} : Code{};
}

std::uint64_t KernelModes::look_for_modules() {
  const fs::file_time_type newest = newest_module();
  const std::lock_guard lock(mutex_);
  if (newest != newest_) ++generation_;
  newest_ = newest;
  return generation_;
}

void KernelModes::wait(std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  const auto limit = std::chrono::steady_clock::now() + patience;
  // Wakes up now and then: this process gives up on work that makes no progress (launch/signals.h).
  while (!wake_.wait_for(lock, std::chrono::seconds(1),
                         [this] { return disassembler_.empty() || (wanted_.empty() && !busy_); })) {
    if (std::chrono::steady_clock::now() > limit) return;
  }
}

std::size_t KernelModes::asked() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(known_, [](const auto& known) { return known.first.zeros == 0; }));
}

std::size_t KernelModes::understood() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [wanted, known] : known_) {
    const auto followed = [](const sass::KernelAccesses& code) { return code.known; };
    if (wanted.zeros == 0 && !known.codes.empty() && std::ranges::all_of(known.codes, followed)) ++count;
  }
  return count;
}

std::uint64_t KernelModes::unknown_opcodes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& [wanted, known] : known_) {
    for (const auto& code : known.ranges) count += code->unknown_opcodes();
  }
  return count;
}

void KernelModes::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
    if (stopping_) return;
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    busy_ = true;
    lock.unlock();
    if (newest_module() > fs::file_time_type::clock::now() - kTick) std::this_thread::sleep_for(kTick);
    const fs::file_time_type modules = newest_module();
    const Read& read = look(wanted);
    lock.lock();
    const bool all_read = std::ranges::count(read.ranges, nullptr) == 0;
    known_[wanted] = {read.accesses, all_read ? read.ranges : Codes(), modules, false};
    busy_ = false;
    wake_.notify_all();
  }
}

// Returns the modification time of the folder, which changes when a module is added. Returns the earliest possible time
// if the folder does not exist.
fs::file_time_type KernelModes::newest_module() const {
  std::error_code error;
  return fs::last_write_time(modules_, error);
}

// ---- called on the thread

void KernelModes::index_new_modules() {
  std::error_code error;
  for (fs::directory_iterator it(modules_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".cubin" || !indexed_.insert(it->path()).second) continue;
    const std::string text = read_cubin(it->path(), kMostCode);
    const auto image = evidence::ElfImage::read(bytes_of(text));
    if (!image) continue;
    for (const std::string& kernel : kernels_of(*image)) homes_[kernel].push_back(it->path());
  }
}

const KernelModes::Read& KernelModes::look(const Wanted& wanted) {
  index_new_modules();
  const std::vector<fs::path>& homes = homes_[wanted.kernel];
  Read& so_far = read_[wanted];
  for (; so_far.looked_at < homes.size(); ++so_far.looked_at) {
    const std::string text = read_cubin(homes[so_far.looked_at], kMostCode);
    const auto image = evidence::ElfImage::read(bytes_of(text));
    const auto code = image ? kernel_code(*image, wanted.kernel) : std::nullopt;
    std::string all;
    if (code) {
      all = fmt::format("{} {} {} {} ", code->architecture, code->bank.offset, code->bank.size,
                        static_cast<int>(code->calls));
      for (const std::uint64_t offset : code->relocated) all += fmt::format("{} ", offset);
      all += code->instructions.all();
    }
    if (!so_far.codes.insert(all).second) continue;
    if (code) {
      read(*code, wanted.zeros, so_far);
    } else {
      so_far.accesses.emplace_back();
      so_far.ranges.emplace_back();
    }
  }
  return so_far;
}

void KernelModes::read(const KernelInstructions& code, sass::ZeroWords zeros, Read& to) const {
  std::string text = disassembled(code, disassembler_);
  if (zeros == 0) {
    to.ranges.push_back(std::make_shared<const sass::ByteRanges>(std::move(text), code.bank, code.calls));
    to.accesses.push_back(to.ranges.back()->accesses());
  } else {
    to.accesses.push_back(sass::read_sass(text, code.bank, code.calls, zeros));
  }
  to.accesses.back().parameters = code.parameters;
}

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
    if (detector) return true;
    if (area.bytes().empty() || wire::load_acquire(area.bytes().data(), wire::area::kState) == 0) return false;
    const auto mode = [this](std::uint32_t function, std::uint32_t parameter,
                             const sass::LaunchWords& launch) -> std::optional<sass::Mode> {
      const std::string* name = session::by_id(names.with_function(function).functions, function);
      if (name == nullptr) return sass::Mode::unknown;
      return modes.mode(*name, parameter, launch);
    };
    detector = std::make_unique<races::Detector>(area.bytes(), mode,
                                                 [this](std::uint32_t function) { return code(function).codes; });
    backlog = std::make_unique<races::Backlog>(area.bytes(), *detector,
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
  std::unique_ptr<races::Detector> detector;
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
    const auto found = [](const auto& process) { return process->detector && process->detector->found_any(); };
    if (!found_ && std::ranges::any_of(processes_, found)) {
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
    if (process->detector) process->detector->settle(at_last);
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
  for (hand_on(); std::ranges::any_of(processes_, waits); hand_on()) {
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
    for (session::Race& race : process->detector->races()) {
      race.pid = pid;
      all.found.push_back(std::move(race));
    }
    for (session::Overrun overrun : process->detector->overruns()) {
      overrun.pid = pid;
      all.overruns.push_back(overrun);
    }
    for (session::EndedMemory ended : process->detector->ended()) {
      ended.pid = pid;
      all.ended.push_back(std::move(ended));
    }
    for (session::KernelRace race : process->detector->kernel_races()) {
      race.pid = pid;
      const auto& functions = process->names.with_function(race.launch.function).functions;
      if (const std::string* name = session::by_id(functions, race.launch.function)) add_lines(race, *name, modules_);
      all.inside.push_back(std::move(race));
    }
    for (session::Race& pair : process->detector->unjudged()) {
      pair.pid = pid;
      all.unjudged.push_back(std::move(pair));
    }
    all.counts.push_back(process->detector->counts());
    all.counts.back().pid = pid;
  }
  return all;
}

}  // namespace cudadiag::supervise
