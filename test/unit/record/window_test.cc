#include "record/rerun/window.h"

#include <doctest/doctest.h>

#include <string>

using cudadiag::record::Window;

TEST_CASE("a rerun waits for an operation from the earliest call given for its site or its kernel") {
  Window window;
  REQUIRE(window.read("00000000000000aa@7,00000000000000bb@3,00000000000000aa@5"));
  CHECK(window.armed_from(0xaa, 0) == 5);
  CHECK(window.armed_from(0xaa, 0xbb) == 3);
  CHECK(window.armed_from(0xcc, 0) == Window::kNever);
  CHECK_FALSE(window.empty());
}

TEST_CASE("the word all means every operation from its first call on") {
  Window window;
  REQUIRE(window.read("all,00000000000000aa@7"));
  CHECK(window.armed_from(0xaa, 0) == 1);
  CHECK(window.armed_from(1, 2) == 1);
  CHECK(window.from_the_start());
}

TEST_CASE("a window begins at the start if it includes a first call, or one shortly after it") {
  Window far, near, hooked;
  REQUIRE(far.read("00000000000000aa@9,near=2"));
  CHECK_FALSE(far.from_the_start());
  REQUIRE(near.read("00000000000000aa@3,near=2"));
  CHECK(near.from_the_start());
  REQUIRE(hooked.read("00000000000000aa@0"));
  CHECK_FALSE(hooked.from_the_start());
  CHECK(hooked.armed_from(0xaa, 0) == 1);
}

TEST_CASE("a window with only nodes is not empty, and arms no site") {
  Window window;
  REQUIRE(window.read("node=4/5/ab@3,node=2/5/cd@1"));
  CHECK_FALSE(window.empty());
  CHECK(window.armed_from(0xab, 0xab) == Window::kNever);
  REQUIRE(window.nodes().size() == 2);
  CHECK(window.nodes()[0].index == 4);
  CHECK(window.nodes_from() == 1);
  CHECK_FALSE(window.read("node=4/5/ab@3,nonsense"));
  CHECK(window.nodes().empty());
  CHECK(window.nodes_from() == Window::kNever);
}

TEST_CASE("with invalid text, or too many keys, a rerun waits for nothing") {
  Window nonsense;
  CHECK_FALSE(nonsense.read("all,yesterday"));
  CHECK(nonsense.empty());
  CHECK(nonsense.armed_from(1, 1) == Window::kNever);

  std::string most, more;
  for (std::size_t i = 0; i <= cudadiag::wire::window::kMostKeys; ++i) {
    if (i < cudadiag::wire::window::kMostKeys) most += (most.empty() ? "" : ",") + std::string("aa@1");
    more += (more.empty() ? "" : ",") + std::string("aa@1");
  }
  Window full, beyond;
  CHECK(full.read(most));
  CHECK_FALSE(beyond.read(more));
  CHECK(beyond.empty());
}

TEST_CASE("a window can set how long one operation may take") {
  Window window;
  REQUIRE(window.read("patience=250,all"));
  CHECK(window.patience() == 250);
  CHECK(Window().patience() == cudadiag::wire::window::kDefaultPatience);
}
