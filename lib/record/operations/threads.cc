#include "record/operations/threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "record/operations/streams.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace thread = wire::thread;

void Threads::attach(AreaMap& map) { area_ = &map; }

ThreadState* Threads::acquire() {
  const LockGuard lock(mutex_);
  std::size_t index;
  if (used_ < area::kThreads / 2 || (ended_count_ == 0 && used_ < area::kThreads)) {
    index = used_++;
  } else if (ended_count_ > 0) {
    index = ended_[ended_first_];
    ended_first_ = (ended_first_ + 1) % area::kThreads;
    --ended_count_;
  } else {
    return nullptr;
  }
  take(states_[index], index);
  return &states_[index];
}

void Threads::take(ThreadState& state, std::size_t index) {
  state.index = static_cast<std::uint16_t>(index);
  state.tid = thread_id();
  state.entry = area_->region(area::Region::threads) + index * area::kThreadSize;
  state.ring = area_->region(area::Region::rings) + index * area::kRingRecords * area::kOperationSize;
  namespace parameters = wire::launch_parameters;
  state.parameters = index >= parameters::kThreads
                         ? nullptr
                         : area_->region(area::Region::parameters) + index * parameters::kSlots * parameters::kSlotSize;
  state.torch_thread = 0;
  state.open = {};
  state.call_site = 0;
  state.interrupts = false;
  state.waits = false;
  state.stack = {};
  state.own_stack = {};
  state.graph_site = 0;
  state.adds_nodes = false;
  state.markers = {};
  state.recent_errors = state.recent_worked = state.recent_looked = 0;
  wire::store(state.entry, thread::kTid, state.tid);
  wire::store(state.entry, thread::kPythonState, std::uint64_t{0});
  prctl(PR_GET_NAME, state.entry + thread::kNameOffset);
  wire::store_release(state.entry, thread::kState, static_cast<std::uint32_t>(thread::State::live));
}

void Threads::release(ThreadState& state) {
  const LockGuard lock(mutex_);
  wire::store_release(state.entry, thread::kState, static_cast<std::uint32_t>(thread::State::ended));
  ended_[(ended_first_ + ended_count_) % area::kThreads] = state.index;
  ++ended_count_;
}

ThreadState* Threads::latest_in_wait() {
  const LockGuard lock(mutex_);
  ThreadState* latest = nullptr;
  for (std::size_t i = 0; i < used_; ++i) {
    ThreadState& state = states_[i];
    if (!is_in_call(state) || wire::load(state.entry, wire::thread::kCallSite) == 0) continue;
    const auto entered = [](const ThreadState& each) { return wire::load(each.entry, wire::thread::kCallTicks); };
    if (latest == nullptr || entered(state) > entered(*latest)) latest = &state;
  }
  return latest;
}

bool Threads::others_are_in_calls(const ThreadState* own) {
  const LockGuard lock(mutex_);
  const std::byte* entries = area_->region(area::Region::threads);
  for (std::size_t i = 0; i < used_; ++i) {
    const std::byte* entry = entries + i * area::kThreadSize;
    const auto state = static_cast<thread::State>(wire::load(entry, thread::kState));
    if (&states_[i] != own && state == thread::State::live && wire::load(entry, thread::kCallDomain) != 0) return true;
  }
  return false;
}

// The calling thread may be switched out between the two calls, so its own number must not change meanwhile.
long OtherThreads::switches() {
  const auto read = [](int who) {
    rusage used{};
    return getrusage(who, &used) == 0 ? used.ru_nvcsw + used.ru_nivcsw : -1;
  };
  for (int i = 0; i < 3; ++i) {
    const long own = read(RUSAGE_THREAD), all = read(RUSAGE_SELF);
    if (own >= 0 && all >= 0 && own == read(RUSAGE_THREAD)) return all - own;
  }
  return -1;
}

// Returns a number that grows by one for each thread of the process; 0 if unknown.
unsigned long OtherThreads::threads() {
  struct stat status {};
  return stat("/proc/self/task", &status) == 0 ? status.st_nlink : 0;
}

// Returns whether all other threads wait, according to their files in /proc.
bool OtherThreads::all_wait() {
  const Uncancelled uncancelled;
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const long own = thread_id();
  bool wait = true, listed = false;
  each_name(folder, [&](const char* name) {
    listed |= leading_number(name) == own;
    if (!wait || name[0] == '.' || leading_number(name) == own) return;
    char path[64], text[128] = {};
    snprintf(path, sizeof path, "%.16s/stat", name);
    const int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    // The state follows the name, which may contain parentheses itself.
    const char* end = size > 0 ? strrchr(text, ')') : nullptr;
    wait = end != nullptr && end[1] == ' ' && strchr("SIZX", end[2]) != nullptr;
  });
  close(folder);
  return wait && listed;
}

// Looks at the states first: a thread that ran then and waits now has been switched out.
bool OtherThreads::have_run() const {
  return !all_wait() || switches_ < 0 || switches() != switches_ || threads_ == 0 || threads() != threads_;
}

std::byte* next_record(ThreadState& state, Streams& streams) {
  std::uint64_t serial = state.serial;
  if (static_cast<std::uint32_t>(serial + 1) == 0) [[unlikely]]
    state.serial = ++serial;
  std::byte* record = state.ring + serial % area::kRingRecords * area::kOperationSize;
  if (serial >= area::kRingRecords) [[likely]]
    streams.hold_unfinished(record);
  wire::store_release(record, wire::operation::kSerial, 0);
  std::atomic_thread_fence(std::memory_order_release);
  return record;
}

void publish(ThreadState& state, std::byte* record) {
  const std::uint64_t serial = state.serial + 1;
  // The slot of the next record holds the ring's oldest record, which the processor has evicted from its caches by now.
  std::byte* next = state.ring + serial % area::kRingRecords * area::kOperationSize;
  state.serial = serial;
  wire::store_release(record, wire::operation::kSerial, static_cast<std::uint32_t>(serial));
  wire::store_release(state.entry, thread::kPublished, serial);
  __builtin_prefetch(next, 1);
}

const SiteCache::Entry& SiteCache::insert(const Entry& entry) {
  Entry* set = &entries[set_of(entry.key)];
  const auto fits = [&](const Entry& each) {
    return each.key == 0 || (each.key == entry.key && each.addresses == entry.addresses);
  };
  Entry* place = std::find_if(set, set + kWays, fits);
  if (place == set + kWays) place = set + replaced++ % kWays;
  return *place = entry;
}

}  // namespace cudadiag::record
