#include "supervise/run_watch.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <utility>
#include <variant>

#include "base/files.h"
#include "unit/scratch_folder.h"
#include "wire/area.h"

using namespace cudadiag;
using supervise::AfterFreeze;

namespace {

// Changes the arena as a recorder does when it freezes.
void freeze(const launch::Arena& arena) {
  const base::FileDescriptor file(::open(arena.path().c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file.valid());
  void* header = ::mmap(nullptr, wire::arena::kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  REQUIRE(header != MAP_FAILED);
  wire::atomic(static_cast<std::byte*>(header), wire::arena::kEvents).fetch_add(1);
  ::munmap(header, wire::arena::kHeaderSize);
}

// Wants to end the target at the freeze. If told to, lets the target end by itself first, as a long report would.
class Listener : public supervise::RunListener {
 public:
  Listener(const launch::Arena& arena, pid_t target, bool ends_by_itself)
      : arena_(arena), target_(target), ends_by_itself_(ends_by_itself) {}
  bool ended_it() const { return ended_it_; }

  AfterFreeze froze() override {
    siginfo_t ended{};
    if (ends_by_itself_) {
      ::kill(target_, SIGUSR1);
      ::waitid(P_PID, static_cast<id_t>(target_), &ended, WEXITED | WNOWAIT);
    }
    return AfterFreeze::end_target;
  }
  void ends_frozen() override { ended_it_ = true; }
  void unreached(const std::string& /*what*/) override {}
  void hangs(double) override {}
  void stalls(const supervise::StallNews&) override {}
  void interrupts() override {}
  void cannot_end() override {}
  void races() override {}
  std::optional<std::chrono::milliseconds> turns() override {
    if (!std::exchange(is_frozen_, true)) freeze(arena_);
    return std::nullopt;
  }

 private:
  const launch::Arena& arena_;
  pid_t target_;
  bool ends_by_itself_;
  bool is_frozen_ = false, ended_it_ = false;
};

}  // namespace

TEST_CASE("a target that ends by itself while its failure is reported is not ended") {
  for (const bool by_itself : {true, false}) {
    auto created = launch::Arena::create();
    REQUIRE(std::holds_alternative<launch::Arena>(created));
    auto& arena = std::get<launch::Arena>(created);
    launch::SignalRelay relay;
    auto spawned = launch::Target::spawn({"sleep", "1000"}, {"PATH=/usr/bin:/bin"});
    REQUIRE(std::holds_alternative<launch::Target>(spawned));
    auto& target = std::get<launch::Target>(spawned);
    supervise::RunWatch watch(target, relay, &arena);
    Listener listener(arena, target.pid(), by_itself);
    watch.wait({}, listener);
    CHECK(listener.ended_it() == !by_itself);
    CHECK(target.end().signal == (by_itself ? SIGUSR1 : SIGTERM));
    CHECK(watch.sent().contains(SIGTERM) == !by_itself);
  }
}

TEST_CASE("a core dump that grows is progress") {
  auto created = launch::Arena::create();
  REQUIRE(std::holds_alternative<launch::Arena>(created));
  const test::ScratchFolder folder;
  constexpr double kLimit = 0.04;  // seconds
  supervise::HangWatch watch(std::get<launch::Arena>(created), kLimit, folder.path());
  const auto becomes_still = [&](bool still) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while ((watch.still_seconds() > 0) != still && std::chrono::steady_clock::now() < patience) watch.look();
    return (watch.still_seconds() > 0) == still;
  };
  for (int i = 0; i < 3; ++i) {
    REQUIRE(becomes_still(true));
    std::ofstream(folder.path() / "4711-1.gpucore", std::ios::app) << "more";
    CHECK(becomes_still(false));
  }
}
