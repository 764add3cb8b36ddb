#include <doctest/doctest.h>

#include <string>

#include "base/text.h"

using namespace cudadiag::base;

TEST_CASE("names are demangled where they are mangled") {
  CHECK(demangle("_Z4fillPii") == "fill(int*, int)");
  CHECK(demangle("i") == "i");  // must not become "int", although "i" is the mangled form of int
  CHECK(demangle("_Zgarbage") == "_Zgarbage");
  CHECK(demangle("") == "");
  CHECK(without_clone_suffix("_Z4fillPii.part.0.cold") == "_Z4fillPii");
  CHECK(without_clone_suffix("main.run") == "main.run");
}

TEST_CASE("names that are not mangled stay as they are") {
  CHECK(demangle("_Z4deepPii") == "deep(int*, int)");
  CHECK(demangle("triton_kernel_0d1d") == "triton_kernel_0d1d");
  CHECK(demangle("_Z") == "_Z");
  CHECK(demangle("").empty());
}

TEST_CASE("long template names are demangled, unless they expand to an enormous text") {
  std::string list, wanted;
  for (int i = 0; i < 500; ++i) list += "3foo", wanted += i == 0 ? "foo" : ", foo";
  CHECK(demangle("_Z1f1AIJ" + list + "EE") == "f(A<" + wanted + ">)");
  // Each name refers to the previous one twice, so the demangled text grows exponentially.
  std::string chain = "_Z1f1A1BIS_S_E";
  for (const char link : std::string("13579BDFHJLNPRTVXZ")) {
    const std::string before = std::string("S") + link + '_';
    chain += "1BI" + before + before + "E";
  }
  CHECK(demangle(chain) == chain);
  const std::string deep = "_Z1f" + std::string(8000, 'P');
  CHECK(demangle(deep) == deep);
}
