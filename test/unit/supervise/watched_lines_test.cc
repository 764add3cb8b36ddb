#include <doctest/doctest.h>

#include "supervise/hook_config.h"
#include "unit/scratch_folder.h"

namespace cudadiag::supervise {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("watched lines are passed to the hook, one per line") {
  CHECK(watched_lines({}).empty());
  CHECK(watched_lines({"./train.py:41", "a:b.py:7"}) == "60.0\t0\n41\t0\twatch\t\ttrain.py\n7\t0\twatch\t\ta:b.py");
}

TEST_CASE("a line beyond the end of its file, and a file that does not exist, are doubtful") {
  const test::ScratchFolder folder;
  const std::string script = folder.file("train.py", "a = 1\nb = 2\nc = 3").string();
  CHECK(doubtful_lines({script + ":3"}, {"python3", script}).empty());
  const auto late = doubtful_lines({script + ":4"}, {"python3", script});
  REQUIRE(late.size() == 1);
  CHECK(contains(late.front(), "ends at line 3"));
  const std::filesystem::path link = folder.path() / "link.py";
  std::filesystem::create_symlink(script, link);
  CHECK(doubtful_lines({link.string() + ":4"}, {"python3", script}).size() == 1);
  const auto nowhere = doubtful_lines({"model.py:1"}, {"python3", script});
  REQUIRE(nowhere.size() == 1);
  CHECK(contains(nowhere.front(), "found no file model.py here"));
  // A path may also be relative to the program's folder.
  folder.file("model.py", "a = 1\n");
  CHECK(doubtful_lines({"model.py:1"}, {"python3", script}).empty());
}

session::Session session_with(const session::Delivery& delivery) {
  session::Session session;
  session.processes.emplace_back().deliveries.push_back(delivery);
  return session;
}

TEST_CASE("a line that was not reached, or had no value, is named") {
  session::Delivery delivery;
  delivery.kind = session::DeliveryKind::watched;
  delivery.file = "/home/u/train.py";
  delivery.line = 41;
  delivery.visits = {0};
  const auto unreached = silent_lines({"train.py:41"}, session_with(delivery));
  REQUIRE(unreached.size() == 1);
  CHECK(contains(unreached.front(), "no process seems to have reached the line"));
  delivery.visits = {3};
  const auto without = silent_lines({"train.py:41"}, session_with(delivery));
  REQUIRE(without.size() == 1);
  CHECK(contains(without.front(), "no variable whose value"));
  delivery.values.emplace_back();
  CHECK(silent_lines({"train.py:41"}, session_with(delivery)).empty());
}

TEST_CASE("without a process, nothing was watched") {
  const auto sentences = silent_lines({"train.py:41"}, {});
  REQUIRE(sentences.size() == 1);
  CHECK(contains(sentences.front(), "CUDA was never initialised"));
}

}  // namespace
}  // namespace cudadiag::supervise
