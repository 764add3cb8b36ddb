// Tests whether the threads of a process that ran meanwhile are noticed, with real threads.
#include <doctest/doctest.h>
#include <sys/prctl.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "record/operations/threads.h"

namespace other_threads_test {

using namespace cudadiag::record;

namespace {

// A thread that sleeps. run() wakes it up for one turn, and the destructor ends it.
class Sleeper {
 public:
  explicit Sleeper(const char* name = nullptr)
      : thread_([this, name] {
          if (name != nullptr) prctl(PR_SET_NAME, name);
          std::unique_lock lock(mutex_);
          id_ = thread_id();
          for (++turns_; !ends_; ++turns_) {
            changed_.notify_all();
            const unsigned asked = asked_;
            changed_.wait(lock, [&] { return ends_ || asked_ != asked; });
          }
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return turns_ > 0; });
  }
  ~Sleeper() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  void run() {
    std::unique_lock lock(mutex_);
    const unsigned turns = turns_;
    ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return turns_ != turns; });
  }
  std::uint32_t id() const { return id_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned turns_ = 0, asked_ = 0;
  bool ends_ = false;
  std::uint32_t id_ = 0;
  std::thread thread_;
};

// Returns whether another thread was seen to run. The sleepers may still be on their way to sleep.
bool ran(const OtherThreads& others) {
  for (int i = 0; i < 1000; ++i) {
    if (!others.have_run()) return false;
    std::this_thread::yield();
  }
  return true;
}

OtherThreads begun(const DriverThreads& except = {}) {
  OtherThreads others;
  do {
    others.begin(except);
  } while (others.have_run());
  return others;
}

}  // namespace

TEST_CASE("a thread that ran is noticed unless it is an exception") {
  Sleeper one, other;
  const OtherThreads all = begun();
  CHECK_FALSE(all.have_run());
  one.run();
  CHECK(ran(all));
  const OtherThreads most = begun({{one.id(), 0}});
  one.run();
  CHECK_FALSE(ran(most));
  other.run();
  CHECK(ran(most));
}

TEST_CASE("the driver's threads are the only new one, and the one with its name") {
  Sleeper events("cuda-EvtHandlr");
  DriverThreadSearch search;
  search.begin();
  CHECK(search.found().ids[0] == 0);
  Sleeper functions;
  CHECK(search.found().ids == std::array{functions.id(), events.id()});
  Sleeper second;
  CHECK(search.found().ids == std::array{0u, events.id()});
}

}  // namespace other_threads_test
