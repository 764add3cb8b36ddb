// Loads a build of the fixture library, and returns addresses of its marked lines in the form that the recorder writes.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace fixture {

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE_MESSAGE(handle_ != nullptr, path);
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename F>
  F entry(const char* name) const {
    const auto found = reinterpret_cast<F>(dlsym(handle_, name));
    REQUIRE_MESSAGE(bool(found), name);
    return found;
  }

  // Calls `function`, which returns a return address inside the library. Returns that address relative to the load
  // address.
  std::uint64_t return_address(const char* function) const {
    const void* address = entry<const void* (*)()>(function)();
    Dl_info info{};
    REQUIRE(dladdr(address, &info) != 0);
    return reinterpret_cast<std::uint64_t>(address) - reinterpret_cast<std::uint64_t>(info.dli_fbase);
  }

 private:
  void* handle_;
};

inline constexpr const char* kPlain = "_ZN7fixture19from_plain_functionEv";
inline constexpr const char* kInlined = "_ZN7fixture22from_inlined_functionsEv";
inline constexpr const char* kLocal = "_ZN7fixture16from_local_classEv";
inline constexpr const char* kHeader = "_ZN7fixture19from_library_headerEv";
inline constexpr const char* kC = "fixture_c_function";

// Returns the number of the line that ends in "mark: NAME".
inline int marked_line(const std::string& name, const char* file = FIXTURE_SOURCE) {
  std::ifstream source(file);
  std::string text;
  for (int line = 1; std::getline(source, text); ++line) {
    if (text.ends_with("// mark: " + name)) return line;
  }
  FAIL("no such mark: " << name);
  return 0;
}

}  // namespace fixture
