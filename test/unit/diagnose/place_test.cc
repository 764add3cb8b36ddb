#include "diagnose/facts/place.h"

#include <doctest/doctest.h>

namespace place_test {

using namespace cudadiag::diagnose;

TEST_CASE("a function is shown without its parameters") {
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

TEST_CASE("the text of a location contains all its known parts") {
  Location location;
  CHECK(place(location, "/w") == "an unknown place");
  location.function = "work(int)";
  location.module = "/usr/lib/libwork.so";
  CHECK(place(location, "/w") == "work (libwork.so, line unknown)");
  location.called_from = {{"/w/main.cc", "main", cudadiag::symbolize::Language::cplusplus, "", "", 3}};
  CHECK(place(location, "/w") == "work (libwork.so, line unknown), called from main.cc:3, main");
  location.called_from.clear();
  location.function.clear();
  CHECK(place(location, "/w") == "libwork.so (line unknown)");
  location.offset = 0x1138;
  CHECK(place(location, "/w") == "libwork.so+0x1138 (line unknown)");
  location.function = "work(int)";
  location.file = "/w/work.cc";
  CHECK(place(location, "/w") == "work.cc (line unknown), work");
  location.line = 7;
  CHECK(place(location, "/w") == "work.cc:7, work");
  CHECK(place(location, "/elsewhere") == "/w/work.cc:7, work");
  CHECK(place(location, "/") == "/w/work.cc:7, work");
}

}  // namespace place_test
