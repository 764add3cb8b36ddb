#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <thread>

#include "base/files.h"
#include "run/reruns.h"

namespace cudadiag::command {
namespace {

using base::FileDescriptor;
using std::chrono::milliseconds;

// A question on a terminal that is not the controlling terminal of any process.
class Desk {
 public:
  Desk() {
    int person = -1, program = -1;
    REQUIRE(::openpty(&person, &program, nullptr, nullptr, nullptr) == 0);
    person_ = base::FileDescriptor(person);
    program_ = base::FileDescriptor(program);
  }
  // Types the line. If the line ends with a newline, waits until it has arrived.
  void type_ahead(std::string_view line) const {
    type(line);
    pollfd arrival{program_.get(), POLLIN, 0};
    REQUIRE(::poll(&arrival, 1, 60'000) == 1);
  }
  void type(std::string_view keys) const {
    REQUIRE(::write(person_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  bool ask(const AskingTimes& times = {milliseconds(0), milliseconds(60'000)}) {
    launch::SignalRelay relay;
    return command::ask("Run it again?", program_.get(), relay, times);
  }
  // Waits until the program has discarded all earlier input, and then types the keys.
  bool answer(std::string_view keys) {
    type_ahead("y\n");
    std::jthread person([&] {
      wait_until_discarded();
      type(keys);
    });
    return ask();
  }
  void wait_until_discarded() const {
    int waiting = 1;
    while (waiting > 0) {
      if (::ioctl(program_.get(), FIONREAD, &waiting) != 0) break;
      std::this_thread::yield();
    }
  }
  void hang_up() { person_ = base::FileDescriptor(); }

 private:
  base::FileDescriptor person_, program_;
};

TEST_CASE("the question and the announcement say how many reruns, how long they take and what for") {
  const RerunOutlook outlook{2, 5.2, "to prove this", "it changes no files"};
  CHECK(question(outlook) == "Run it again to prove this? Usually 2 runs, about 6 s each; it changes no files.");
  CHECK(announcement(outlook) ==
        "running the command again to prove this: usually 2 runs, about 6 s each; it changes no files (turn off: "
        "--rerun=never)");
  CHECK(question({1, 5.2, "to prove this", "", "", 2}) ==
        "Run it again to prove this? Usually 1 or 2 runs, about 6 s each.");
  CHECK(question({1, 5.2, "to prove this", "", "", 3}) ==
        "Run it again to prove this? Usually 1 to 3 runs, about 6 s each.");
  CHECK(question({1, 0.3, "to prove this", ""}) == "Run it again to prove this? Usually 1 run, under a second.");
  CHECK(question({1, 0.3, "to prove this", "", "it can harm others"}) ==
        "Run it again to prove this? Usually 1 run, under a second. But it can harm others.");
}

TEST_CASE("the reason for not asking says what is known") {
  using supervise::RerunObstacle;
  using Kind = RerunObstacle::Kind;
  CHECK(sentence(RerunObstacle{Kind::failed_late, {}, 121}) == "it failed only after 2 min");
  CHECK(sentence(RerunObstacle{Kind::took_long, {}, 151}) == "it took 3 min");
  CHECK(sentence(RerunObstacle{Kind::ended_by_signal, "signal 9"}) == "signal 9 ended it");
  CHECK(sentence(RerunObstacle{Kind::ended_by_signal, "status 143"}) == "it ended with status 143, as after a signal");
  CHECK(sentence(RerunObstacle{Kind::no_folder}) ==
        "its working folder was removed before it started; first change to a folder that exists");
}

TEST_CASE("only yes means consent") {
  for (const char* yes : {"y\n", "Y\n", "yes\n", " y \n"}) CHECK(Desk().answer(yes));
  for (const char* no : {"n\n", "\n", "yy\n", "yarn\n", "ls\n", "\x04"}) CHECK_FALSE(Desk().answer(no));
}

TEST_CASE("what was typed before the question, or just after it, is not an answer") {
  Desk desk;
  desk.type_ahead("y\n");
  CHECK_FALSE(desk.ask({milliseconds(0), milliseconds(100)}));
  desk.type_ahead("y\n");
  std::jthread person([&] { desk.type("y\n"); });
  CHECK_FALSE(desk.ask({milliseconds(60'000), milliseconds(100)}));
}

TEST_CASE("after an answer that came too early, the question is asked again") {
  Desk desk;
  desk.type_ahead("n\n");
  std::jthread person([&] {
    desk.wait_until_discarded();
    desk.type_ahead("n\n");
    desk.wait_until_discarded();
    desk.type("y\n");
  });
  CHECK(desk.ask({milliseconds(2'000), milliseconds(60'000)}));
}

TEST_CASE("the question is shown again when this process continues after a stop, however short") {
  Desk desk;
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const FileDescriptor shown(ends[0]), usual(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  int questions = 0;
  std::jthread person([&] {
    std::string text;
    for (std::array<char, 256> piece{}; questions < 2;) {
      const ssize_t length = ::read(shown.get(), piece.data(), piece.size());
      if (length <= 0) return;
      text.append(piece.data(), static_cast<std::size_t>(length));
      if (const std::size_t at = text.find("[y/N]"); at != text.npos) {
        text.erase(0, at + 1);
        ++questions;
        questions == 1 ? static_cast<void>(::kill(::getpid(), SIGCONT)) : desk.type("n\n");
      }
    }
  });
  const bool agreed = desk.ask({milliseconds(0), milliseconds(5000)});
  ::dup2(usual.get(), STDERR_FILENO);
  person.join();
  CHECK_FALSE(agreed);
  CHECK(questions == 2);
}

TEST_CASE("no answer in time, a hang-up and an incomplete line all mean no") {
  Desk desk;
  CHECK_FALSE(desk.ask({milliseconds(0), milliseconds(100)}));
  Desk half;
  half.type("y");
  CHECK_FALSE(half.ask({milliseconds(0), milliseconds(100)}));
  Desk gone;
  gone.hang_up();
  CHECK_FALSE(gone.ask());
}

}  // namespace
}  // namespace cudadiag::command
