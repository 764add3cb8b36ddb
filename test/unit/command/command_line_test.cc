#include "options/command_line.h"

#include <doctest/doctest.h>

namespace cudadiag::command {
namespace {

TEST_CASE("a typing error is distinguished from a different word") {
  const std::vector<std::string> commands = {"run", "races", "bisect", "report", "ranks", "list"};
  CHECK(closest("reprot", commands) == "report");
  CHECK(closest("RUN", commands) == "run");
  CHECK(closest("bisekt", commands) == "bisect");
  CHECK(closest("lst", commands) == "list");
  CHECK(closest("python3", commands).empty());
  CHECK(closest("x", commands).empty());
  CHECK(closest("", commands).empty());
  CHECK(did_you_mean("reprot", commands) == "; did you mean report?");
  CHECK(did_you_mean("python3", commands).empty());
}

}  // namespace
}  // namespace cudadiag::command
