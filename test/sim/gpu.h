// The simulated GPU: one worker thread takes operations from all streams in turn. It owns the process's devices,
// contexts and plan. Faults happen here.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "memory.h"
#include "objects.h"
#include "plan.h"

namespace sim {

class Gpu {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // Never destroyed: a hanging kernel must not keep the process from exiting.
  static Gpu& instance();

  std::mutex mutex;
  Plan plan;
  int memory_manager = -1;  // an open file; mapped for the first context
  struct {
    bool enabled = false, on_request = false;
    std::string file, pipe;
    void (*complete)(void*, int, CUdevice) = nullptr;  // null before CUDA 13.2
    void* data = nullptr;
  } core_dump;                                        // as set by the functions cuCoredump*
  Memory memory;                                      // has a separate lock
  std::vector<std::unique_ptr<CUctx_st>> primary;     // one per device
  std::vector<std::shared_ptr<Capture>> captures;     // captures in progress
  std::atomic<int> capturing{0};                      // number of captures in progress, readable without the mutex
  std::vector<std::shared_ptr<CUstream_st>> retired;  // streams of destroyed contexts: stale handles stay readable

  // All of these functions require that the mutex is held.
  void start_context(CUctx_st& context, CUdevice device);
  void end_context(Lock& lock, CUctx_st& context);
  std::shared_ptr<CUstream_st> create_stream(CUctx_st& context, unsigned int flags, int priority);
  // Queues the operation even if the stream is being captured. issue() in capture.h handles captures.
  CUresult submit(Lock& lock, CUstream_st& stream, Op op);
  // Returns the work that an event would represent if it were recorded on the stream now.
  Dependency record(CUstream_st& stream);
  // Waits until all dependencies are met, or until the context has failed. Planned faults may happen during this call.
  CUresult wait(Lock& lock, CUctx_st& context, const std::vector<Dependency>& dependencies);
  // Like wait(), but returns CUDA_ERROR_NOT_READY at once if the operations have not finished.
  CUresult query(Lock& lock, CUctx_st& context, const std::vector<Dependency>& dependencies);
  std::vector<Dependency> everything_in(CUctx_st& context);
  void notify();

 private:
  enum class Verdict { go, stay, fault };

  // Copies the dump of the plan to its place, and calls abort(). Until that returns, no waiting call does.
  void leave_dump() const;
  void leave_late_dump();
  void await_request();
  void start_worker();
  void run();
  void rest(Lock& lock);
  bool run_stream(Lock& lock, CUstream_st& stream);
  bool step(CUstream_st& stream, Op& op);
  bool has_met(Op& op);
  Verdict judge(CUstream_st& stream, const Op& op, CUresult& code);
  bool reaches_bad_memory(const Op& op) const;
  bool may_fault(bool asked);
  bool reached(const Progress& progress);
  void execute(const Op& op);
  void fail(CUctx_st& context, CUresult code, bool unseen);
  void reveal(CUctx_st& context);
  static void drop(CUstream_st& stream);
  void enqueue(CUstream_st& stream, Op op);
  void put_barriers(CUstream_st& stream);
  void ask(CUctx_st& context);

  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<std::atomic<std::uint64_t>> operations_;  // number of finished operations of each stream, by index
  std::vector<std::shared_ptr<CUstream_st>> active_;   // streams with work left
  std::uint64_t sequence_ = 0;
  std::uint64_t next_stream_id_ = 1;
  std::uint32_t next_context_uid_ = 1;
  std::uint64_t pass_ = 0;          // the worker's rounds over all streams
  std::uint64_t last_quiet_ = 0;    // the newest round in which nothing could move
  std::uint64_t wanted_quiet_ = 0;  // waiters need a quiet round that is at least this new
  int waiters_ = 0;
  bool worker_started_ = false;
  bool asleep_ = false;
  bool urgent_ = false;
  bool fault_due_ = false;        // this round met an operation that will fault
  bool faults_may_fire_ = false;  // a fault may happen in this round
  int due_rounds_ = 0;
  bool polling_ = false;  // a stream waits for a value in memory; changes of the value are not announced
  bool notified_ = false;
  std::atomic<bool> halted_ = false;  // a dump was requested: no operation continues
};

}  // namespace sim
