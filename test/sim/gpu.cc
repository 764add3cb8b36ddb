#include "gpu.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "hooks.h"

namespace sim {
namespace {

constexpr std::size_t kQueueLimit = 16384;  // entries that a stream accepts before the launching thread has to wait
constexpr auto kNap = std::chrono::microseconds(200);
constexpr auto kPoll = std::chrono::milliseconds(2);  // between looks at what other processes or the host write
constexpr int kPatience = 1000;  // rounds for which a fault waits while other streams can still progress

bool value_matches(const Op& op) {
  const std::uint32_t now = __atomic_load_n(reinterpret_cast<std::uint32_t*>(op.destination), __ATOMIC_ACQUIRE);
  switch (op.flags & 3u) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::int32_t>(now - op.value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == op.value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & op.value) != 0;
    default:
      return ~(now | op.value) != 0;
  }
}

// Adds a line about the operation that really failed to the file named by CUDADIAG_SIM_FAULTS.
void tell_of_fault(const CUstream_st& stream, const Op& op) {
  constexpr const char* kWork[] = {"nothing", "kernel", "copy", "memset", "prefetch"};
  const char* path = std::getenv("CUDADIAG_SIM_FAULTS");
  if (!path) return;
  std::ofstream(path, std::ios::app) << kWork[static_cast<std::size_t>(op.work())] << " size=" << op.size()
                                     << " nth=" << (op.rule ? op.rule->nth : 0) << " stream=" << stream.index
                                     << std::endl;
}

}  // namespace

Work Op::work() const {
  switch (kind) {
    case Kind::kernel:
      return Work::kernel;
    case Kind::copy:
      return Work::copy;
    case Kind::set8:
    case Kind::set32:
      return Work::memset;
    case Kind::prefetch:
      return Work::prefetch;
    default:
      return Work::none;
  }
}

Gpu& Gpu::instance() {
  static Gpu& gpu = *new Gpu;
  return gpu;
}

void Gpu::start_context(CUctx_st& context, CUdevice device) {
  // As NVIDIA's driver does. The mapping stays.
  if (const int file = std::exchange(memory_manager, -1); file >= 0) {
    mmap(nullptr, 4096, PROT_NONE, MAP_SHARED, file, 0);
  }
  context.device = device;
  context.uid = next_context_uid_++;
  context.error = context.unseen = CUDA_SUCCESS;
  context.legacy = create_stream(context, CU_STREAM_DEFAULT, 0);
  context.alive = true;
  const bool on_request = std::exchange(core_dump.on_request, false) && !plan.dump().empty();
  if (on_request && mkfifo(core_dump.pipe.c_str(), 0600) == 0) {
    std::thread([this] { await_request(); }).detach();
  }
}

void Gpu::leave_dump() const {
  if (plan.dump() == Plan::kCrash) std::raise(SIGSEGV);
  if (plan.dump() == Plan::kStuck) {
    std::ofstream(core_dump.file) << "begun";
    while (true) pause();
  }
  std::error_code error;
  std::filesystem::copy_file(plan.dump(), core_dump.file, error);
  if (core_dump.complete != nullptr) {
    core_dump.complete(core_dump.data, getpid(), 0);
    std::raise(SIGABRT);
  }
  std::abort();
}

// Meanwhile, no operation continues, and queries say so.
void Gpu::leave_late_dump() {
  halted_ = true;
  std::thread([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    leave_dump();
  }).detach();
}

// Writes at most one dump.
void Gpu::await_request() {
  pthread_setname_np(pthread_self(), "cuda-EvtHandlr");
  const int pipe = open(core_dump.pipe.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  if (read(pipe, &byte, 1) != 1 || plan.dump() == Plan::kLost || sim_hooks()->callback != nullptr) return;
  halted_ = true;
  leave_dump();
}

void Gpu::end_context(Lock& lock, CUctx_st& context) {
  wait(lock, context, everything_in(context));
  context.alive = false;
  for (auto& stream : context.streams) {
    stream->destroyed = true;
    retired.push_back(stream);
  }
  context.streams.clear();
  context.per_thread.clear();
  context.legacy.reset();
  memory.forget_context(context.uid);
}

std::shared_ptr<CUstream_st> Gpu::create_stream(CUctx_st& context, unsigned int flags, int priority) {
  if (operations_.empty()) operations_.emplace_back(0);  // every context's legacy stream counts as stream 0
  auto stream = std::make_shared<CUstream_st>();
  stream->context = &context;
  stream->context_uid = context.uid;
  stream->id = next_stream_id_++;
  stream->flags = flags;
  stream->priority = priority;
  if (context.legacy) {
    stream->index = static_cast<std::uint32_t>(operations_.size());
    operations_.emplace_back(0);
  }
  stream->operations = &operations_[stream->index];
  context.streams.push_back(stream);
  return stream;
}

CUresult Gpu::submit(Lock& lock, CUstream_st& stream, Op op) {
  CUctx_st& context = *stream.context;
  if (stream.incoming.size() >= kQueueLimit) {
    ask(context);
    ++waiters_;
    done_.wait(lock, [&] {
      reveal(context);
      return context.error != CUDA_SUCCESS || stream.incoming.size() < kQueueLimit;
    });
    --waiters_;
  }
  if (const CUresult error = context.error; error != CUDA_SUCCESS) return error;
  op.sequence = ++sequence_;
  if (plan.has_rules() && op.work() != Work::none) {
    op.rule = plan.match(op.work(), op.function ? &op.function->name : nullptr, op.size(), stream.index);
  }
  put_barriers(stream);
  enqueue(stream, std::move(op));
  return CUDA_SUCCESS;
}

// Like any other operation, recording an event waits for whatever the stream has to wait for.
Dependency Gpu::record(CUstream_st& stream) {
  put_barriers(stream);
  return {stream.shared_from_this(), stream.issued};
}

// The legacy stream and the blocking streams wait for each other. Before an operation, queues an entry that makes the
// operation wait.
void Gpu::put_barriers(CUstream_st& stream) {
  CUctx_st& context = *stream.context;
  CUstream_st& legacy = *context.legacy;
  if (!stream.synchronises_with_legacy()) return;
  Op barrier{.kind = Op::Kind::wait_streams};
  if (&stream != &legacy) {
    context.last_blocking = sequence_;
    if (stream.legacy_seen == legacy.issued || legacy.finished == legacy.issued) return;
    stream.legacy_seen = legacy.issued;
    barrier.after.push_back({context.legacy, legacy.issued});
  } else if (context.last_blocking != legacy.last_barrier) {
    legacy.last_barrier = context.last_blocking;
    for (const auto& other : context.streams) {
      if (other.get() == &legacy || !other->synchronises_with_legacy() || other->finished == other->issued) continue;
      barrier.after.push_back({other, other->issued});
    }
  }
  if (!barrier.after.empty()) enqueue(stream, std::move(barrier));
}

void Gpu::enqueue(CUstream_st& stream, Op op) {
  stream.incoming.push_back(std::move(op));
  ++stream.issued;
  if (!stream.active) {
    stream.active = true;
    active_.push_back(stream.shared_from_this());
  }
  start_worker();
  if (asleep_) wake_.notify_one();
}

void Gpu::ask(CUctx_st& context) {
  context.asked = sequence_;
  start_worker();
  urgent_ = true;
  wake_.notify_one();
}

CUresult Gpu::wait(Lock& lock, CUctx_st& context, const std::vector<Dependency>& dependencies) {
  const auto met = [&] {
    for (const Dependency& dependency : dependencies) {
      if (!dependency.met()) return false;
    }
    return true;
  };
  reveal(context);
  if (const CUresult error = context.error; error != CUDA_SUCCESS) return error;
  // With a plan, waits until no stream can make progress. Timing then does not affect which call returns a fault.
  const std::uint64_t quiet = plan.has_rules() ? pass_ + 1 : 0;
  if (quiet == 0 && met()) return CUDA_SUCCESS;
  if (quiet > wanted_quiet_) wanted_quiet_ = quiet;
  ask(context);
  ++waiters_;
  done_.wait(lock, [&] {
    reveal(context);
    return context.error != CUDA_SUCCESS || (last_quiet_ >= quiet && met());
  });
  // Every operation that this call allowed to fault has now faulted. Operations released later cannot fault until
  // another call asks for errors.
  if (--waiters_ == 0 && quiet != 0) context.asked = 0;
  return context.error;
}

CUresult Gpu::query(Lock& lock, CUctx_st& context, const std::vector<Dependency>& dependencies) {
  ask(context);
  if (const CUresult error = wait(lock, context, {}); error != CUDA_SUCCESS) return error;
  for (const Dependency& dependency : dependencies) {
    if (!dependency.met()) return CUDA_ERROR_NOT_READY;
  }
  return CUDA_SUCCESS;
}

std::vector<Dependency> Gpu::everything_in(CUctx_st& context) {
  std::vector<Dependency> all;
  for (const auto& stream : context.streams) {
    if (stream->finished != stream->issued) all.push_back({stream, stream->issued});
  }
  return all;
}

void Gpu::notify() {
  Lock lock(mutex);
  notified_ = true;
  urgent_ = true;
  wake_.notify_one();
}

void Gpu::start_worker() {
  if (worker_started_) return;
  worker_started_ = true;
  std::thread([this] { run(); }).detach();
}

void Gpu::run() {
  pthread_setname_np(pthread_self(), "cuda-EvtHandlr");  // as in the real driver
  Lock lock(mutex);
  for (;;) {
    ++pass_;
    bool moved = false;
    fault_due_ = false;
    polling_ = false;
    urgent_ = false;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const auto stream = active_[i];  // a copy: launching threads append to the list meanwhile
      // A stream that is skipped at random may still progress later, so skipping it counts as progress.
      moved |= (plan.shuffles() && plan.toss(1, 3)) || run_stream(lock, *stream);
    }
    std::erase_if(active_, [](const auto& stream) {
      stream->active = stream->next < stream->running.size() || !stream->incoming.empty();
      return !stream->active;
    });
    due_rounds_ = fault_due_ ? due_rounds_ + 1 : 0;
    faults_may_fire_ = fault_due_ && (!moved || due_rounds_ > kPatience);
    if (!moved && !fault_due_) last_quiet_ = pass_;
    if (waiters_ > 0) done_.notify_all();
    if (last_quiet_ == pass_ && last_quiet_ >= wanted_quiet_) {
      rest(lock);
    } else if (plan.shuffles() && waiters_ == 0 && plan.toss(1, 2)) {
      wake_.wait_for(lock, kNap, [&] { return urgent_; });  // so that launching threads get ahead
    }
  }
}

// Waits briefly at first, so that a launch in the meantime need not wake the worker. Then sleeps until there is work.
void Gpu::rest(Lock& lock) {
  const std::uint64_t before = sequence_;
  if (wake_.wait_for(lock, kNap, [&] { return urgent_; })) return;
  if (sequence_ != before) return;
  asleep_ = true;
  const auto roused = [&] { return urgent_ || sequence_ != before; };
  if (polling_) {
    wake_.wait_for(lock, kPoll, roused);
  } else {
    wake_.wait(lock, roused);
  }
  asleep_ = false;
}

bool Gpu::run_stream(Lock& lock, CUstream_st& stream) {
  if (stream.context->unseen != CUDA_SUCCESS) return false;
  if (stream.context->error != CUDA_SUCCESS || stream.context->uid != stream.context_uid) {
    drop(stream);  // destroyed with work still queued, so `fail` did not find it
    return false;
  }
  if (stream.next == stream.running.size()) {
    stream.running.clear();
    stream.next = 0;
    stream.running.swap(stream.incoming);
  }
  lock.unlock();
  bool moved = false;
  while (stream.next < stream.running.size() && step(stream, stream.running[stream.next])) {
    moved = true;
    if (plan.orders_streams()) break;  // one at a time, so that no stream runs past what a rule waits for
    if (plan.shuffles() && plan.toss(1, 3)) break;
  }
  lock.lock();
  return moved;
}

// Returns whether all other kernels have also arrived at the operation's meetings. These kernels run in other
// processes, so their arrival must be polled.
bool Gpu::has_met(Op& op) {
  for (const Meeting& meeting : op.meetings) {
    if (!op.has_arrived && meeting.arrives) meeting.arrived->fetch_add(1);
  }
  op.has_arrived = true;
  const bool all = std::all_of(op.meetings.begin(), op.meetings.end(),
                               [](const Meeting& meeting) { return *meeting.arrived >= meeting.parties; });
  polling_ = polling_ || !all;
  return all;
}

bool Gpu::step(CUstream_st& stream, Op& op) {
  if (halted_) return false;
  if (!op.meetings.empty() && !has_met(op)) return false;
  CUresult code = CUDA_ERROR_ILLEGAL_ADDRESS;
  bool lost = false;
  switch (judge(stream, op, code)) {
    case Verdict::stay:
      return false;
    case Verdict::fault:
      lost = core_dump.enabled && plan.dump() == Plan::kLost;
      if (lost) break;
      tell_of_fault(stream, op);
      if (core_dump.enabled && !plan.dump().empty() && sim_hooks()->callback == nullptr) {
        if (plan.late_dump()) return leave_late_dump(), false;
        leave_dump();
      }
      fail(*stream.context, code, op.rule && op.rule->unseen);
      return false;  // the queue may be gone by now
    case Verdict::go:
      break;
  }
  if (!lost) execute(op);
  if (op.work() != Work::none) stream.operations->fetch_add(1, std::memory_order_release);
  ++stream.next;
  stream.finished.fetch_add(1, std::memory_order_release);
  return true;
}

Gpu::Verdict Gpu::judge(CUstream_st& stream, const Op& op, CUresult& code) {
  if (op.kind == Op::Kind::wait_streams) {
    for (const Dependency& dependency : op.after) {
      if (!dependency.met()) return Verdict::stay;
    }
  }
  if (op.kind == Op::Kind::wait32 && !value_matches(op)) {
    polling_ = true;
    return Verdict::stay;
  }
  const bool asked = stream.context->asked >= op.sequence;
  if (Rule* rule = op.rule) {
    if (rule->effect == Rule::Effect::hang) return Verdict::stay;
    if (rule->effect == Rule::Effect::hold && !(rule->after ? reached(*rule->after) : notified_)) return Verdict::stay;
    if (rule->effect == Rule::Effect::fault) {
      if (rule->after && !reached(*rule->after)) return Verdict::stay;
      code = rule->code;
      rule->fired = rule->at_once || may_fault(asked);
      return rule->fired ? Verdict::fault : Verdict::stay;
    }
  }
  if (plan.orders_streams() && op.work() != Work::none && plan.gates(stream.index, *stream.operations)) {
    return Verdict::stay;
  }
  if (!reaches_bad_memory(op)) return Verdict::go;
  return may_fault(asked) ? Verdict::fault : Verdict::stay;
}

// A fault is delayed until a call asks for errors and no other stream can progress. Timing therefore does not affect
// how far each stream gets.
bool Gpu::may_fault(bool asked) {
  fault_due_ |= asked;
  return asked && std::exchange(faults_may_fire_, false);
}

bool Gpu::reached(const Progress& progress) {
  Lock lock(mutex);
  return progress.stream < operations_.size() && operations_[progress.stream] >= progress.count;
}

bool Gpu::reaches_bad_memory(const Op& op) const {
  if (op.through) {
    return !memory.holds(op.source, sizeof(std::uint64_t)) ||
           !memory.holds(*reinterpret_cast<const std::uint64_t*>(op.source), op.bytes);
  }
  return (op.device_destination && !memory.holds(op.destination, op.bytes)) ||
         (op.device_source && !memory.holds(op.source, op.bytes));
}

void Gpu::execute(const Op& op) {
  void* destination = reinterpret_cast<void*>(op.destination);
  switch (op.kind) {
    case Op::Kind::copy:
      std::memmove(destination, op.staged ? op.staged.get() : reinterpret_cast<const void*>(op.source), op.bytes);
      break;
    case Op::Kind::set8:
      std::memset(destination, static_cast<int>(op.value), op.bytes);
      break;
    case Op::Kind::set32:
      for (std::uint64_t i = 0; i < op.bytes / 4; ++i) static_cast<std::uint32_t*>(destination)[i] = op.value;
      break;
    case Op::Kind::write32:
      __atomic_store_n(static_cast<std::uint32_t*>(destination), op.value, __ATOMIC_RELEASE);
      break;
    case Op::Kind::kernel:
      if (op.through) destination = *reinterpret_cast<void**>(op.source);
      if (destination == nullptr) break;
      *static_cast<std::uint32_t*>(destination) =
          op.device_source ? *reinterpret_cast<const std::uint32_t*>(op.source) : op.value;
      break;
    case Op::Kind::host_function:
      op.host_function(op.data);
      break;
    case Op::Kind::prefetch:
    case Op::Kind::wait32:
    case Op::Kind::wait_streams:
    case Op::Kind::record_event:
    case Op::Kind::wait_event:
      break;
  }
}

// After a failure, no work in the context completes, including the failed operation. Healthy streams therefore stop
// where they are.
void Gpu::fail(CUctx_st& context, CUresult code, bool unseen) {
  Lock lock(mutex);
  context.unseen = code;
  if (!unseen) reveal(context);
  done_.notify_all();  // waiting threads check the error
}

void Gpu::reveal(CUctx_st& context) {
  if (context.unseen == CUDA_SUCCESS) return;
  context.error = std::exchange(context.unseen, CUDA_SUCCESS);
  for (const auto& stream : context.streams) drop(*stream);
  done_.notify_all();
}

void Gpu::drop(CUstream_st& stream) {
  stream.incoming.clear();
  stream.running.clear();
  stream.next = 0;
}

}  // namespace sim
