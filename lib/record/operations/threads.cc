#include "record/operations/threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

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

namespace {

// Reads a file of a thread in /proc/self/task. The text ends with a null character.
template <std::size_t kSize>
ssize_t read_thread_file(const char* thread, const char* name, char (&text)[kSize]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%.16s/%s", thread, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, text, kSize - 1);
  if (file >= 0) close(file);
  text[std::max<ssize_t>(size, 0)] = '\0';
  return size;
}

// Calls `visit` for each thread, with its id as a number and as text. Returns false if the system has no list of
// threads.
template <typename Visit>
bool each_thread(Visit visit) {
  const Uncancelled uncancelled;
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  each_name(folder, [&](const char* name) {
    if (name[0] != '.') visit(leading_number(name), name);
  });
  close(folder);
  return true;
}

// Returns how often the thread was switched out; negative if unknown.
long switches_of(std::uint32_t id) {
  const Uncancelled uncancelled;
  char name[16], text[2048];
  snprintf(name, sizeof name, "%u", id);
  if (read_thread_file(name, "status", text) <= 0) return -1;
  long sum = 0;
  for (const char* what : {"\nvoluntary_ctxt_switches:\t", "\nnonvoluntary_ctxt_switches:\t"}) {
    const char* found = strstr(text, what);
    if (found == nullptr) return -1;
    sum += leading_number(found + strlen(what));
  }
  return sum;
}

}  // namespace

void DriverThreadSearch::begin() {
  each_thread([&](long id, const char*) {
    if (count_ < kMost) known_[count_++] = static_cast<std::uint32_t>(id);
  });
}

DriverThreads DriverThreadSearch::found() const {
  DriverThreads found;
  for (int tries = 0; tries < kTries && (found.ids[0] == 0 || found.ids[1] == 0); ++tries) {
    const Uncancelled uncancelled;
    const timespec moment = {0, 100'000};
    if (tries > 0) nanosleep(&moment, nullptr);
    found = found_now();
  }
  return found;
}

DriverThreads DriverThreadSearch::found_now() const {
  DriverThreads found;
  int created = 0;
  each_thread([&](long id, const char* thread) {
    char name[32];
    if (read_thread_file(thread, "comm", name) > 0 && strcmp(name, "cuda-EvtHandlr\n") == 0) {
      found.ids[1] = static_cast<std::uint32_t>(id);
    } else if (std::find(known_.begin(), known_.begin() + count_, id) == known_.begin() + count_) {
      ++created;
      found.ids[0] = static_cast<std::uint32_t>(id);
    }
  });
  if (created != 1 || count_ == 0 || count_ == kMost) found.ids[0] = 0;
  return found;
}

// The calling thread and the exceptions may run meanwhile, so their numbers must not change.
long OtherThreads::switches() const {
  const auto read = [](int who) {
    rusage used{};
    return getrusage(who, &used) == 0 ? used.ru_nvcsw + used.ru_nivcsw : -1;
  };
  const auto read_except = [&] {
    long sum = 0;
    for (const std::uint32_t id : except_.ids) {
      const long of_one = id == 0 ? 0 : switches_of(id);
      if (of_one < 0) return -1L;
      sum += of_one;
    }
    return sum;
  };
  for (int i = 0; i < 3; ++i) {
    const long except = read_except(), own = read(RUSAGE_THREAD), all = read(RUSAGE_SELF);
    if (except >= 0 && own >= 0 && all >= 0 && own == read(RUSAGE_THREAD) && except == read_except()) {
      return all - own - except;
    }
  }
  return -1;
}

// Returns a number that grows by one for each thread of the process; 0 if unknown.
unsigned long OtherThreads::threads() {
  struct stat status {};
  return stat("/proc/self/task", &status) == 0 ? status.st_nlink : 0;
}

// Returns whether all other threads wait, according to their files in /proc.
bool OtherThreads::all_wait() const {
  const long own = thread_id();
  bool wait = true, listed = false;
  const bool known = each_thread([&](long id, const char* thread) {
    listed |= id == own;
    if (!wait || id == own || except_.contain(id)) return;
    char text[128];
    const ssize_t size = read_thread_file(thread, "stat", text);
    // The state follows the name, which may contain parentheses itself.
    const char* end = size > 0 ? strrchr(text, ')') : nullptr;
    wait = end != nullptr && end[1] == ' ' && strchr("SIZX", end[2]) != nullptr;
  });
  return known && wait && listed;
}

// Looks at the states first: a thread that ran then and waits now has been switched out.
bool OtherThreads::have_run() const {
  return !all_wait() || switches_ < 0 || switches() != switches_ || threads_ == 0 || threads() != threads_;
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

bool change_stack(ThreadState& thread, std::uintptr_t stack_pointer) {
  const auto is_on = [&](const StackRange& stack) { return stack.has(stack_pointer); };
  const auto change = [&](const StackRange& stack, bool own) {
    thread.stack = stack;
    thread.on_own_stack = own;
    return true;
  };
  if (is_on(thread.own_stack)) return change(thread.own_stack, true);
  StackRange* set = thread.known_stacks.set_of(stack_pointer);
  StackRange* end = set + KnownStacks::kWays;
  if (const StackRange* known = std::find_if(set, end, is_on); known != end) return change(*known, false);
  StackRange found;
  if (!find_stack(stack_pointer, found)) return false;
  if (is_own_stack(found, stack_pointer)) return change(thread.own_stack = found, true);
  std::move_backward(set, end - 1, end);
  return change(*set = found, false);
}

void forget_stack(ThreadState& thread, std::uintptr_t stack_pointer) {
  StackRange* set = thread.known_stacks.set_of(stack_pointer);
  std::replace_if(
      set, set + KnownStacks::kWays, [&](const StackRange& stack) { return stack.has(stack_pointer); }, StackRange{});
  thread.stack = thread.own_stack = {};
}

}  // namespace cudadiag::record
