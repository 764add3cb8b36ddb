#include "report/place.h"

#include <doctest/doctest.h>

using namespace cudadiag::report;

TEST_CASE("a function goes by its name alone") {
  CHECK(without_parameters("main") == "main");
  CHECK(without_parameters("kernel()") == "kernel");
  CHECK(without_parameters("(anonymous namespace)::Program::launch(std::basic_string<char> const&, CUstream_st*)") ==
        "(anonymous namespace)::Program::launch");
  CHECK(without_parameters("Tensor::allocate(unsigned long) const") == "Tensor::allocate");
  CHECK(without_parameters("main::{lambda(int)#1}::operator()(int) const") == "main::{lambda(int)#1}::operator()");
  CHECK(without_parameters("work(void (*)(int), int) [clone .part.0]") == "work");
  CHECK(without_parameters("forward.<locals>.<lambda>") == "forward.<locals>.<lambda>");
  CHECK(without_parameters("odd)") == "odd)");
  CHECK(without_parameters("()") == "()");
  CHECK(without_parameters("") == "");
}

TEST_CASE("a place says what is known of it") {
  Location location;
  CHECK(place(location, "/w") == "a place that is not known");
  location.function = "work(int)";
  location.module = "/usr/lib/libwork.so";
  CHECK(place(location, "/w") == "work (libwork.so, line not known)");
  location.file = "/w/work.cc";
  location.line = 7;
  CHECK(place(location, "/w") == "work.cc:7, work");
  CHECK(place(location, "/elsewhere") == "/w/work.cc:7, work");
}
