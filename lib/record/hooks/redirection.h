// Replaces the driver's functions with the wrappers (wrapper.h). Needs no variable of the dynamic linker, and
// changes no code:
// - In libcuda's symbol table, the addresses of the functions become those of the wrappers. dlsym finds them there, and
//   so do libraries that are bound later.
// - Addresses that were looked up earlier are in tables of the runtimes, and in the GOTs of libraries. They are
//   replaced word by word, in the writable segments of all loaded modules.
// Addresses elsewhere, such as on the program's heap, stay unchanged. Calls through them are not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/stacks/modules.h"

namespace cudadiag::record {

struct Redirection {
  enum class Outcome : std::uint8_t {
    done,
    no_driver,  // libcuda is not in the process
    refused,    // libcuda's symbol table cannot be made writable
  };
  Outcome outcome = Outcome::no_driver;
  std::size_t symbols = 0;   // number of redirected entry points
  std::size_t replaced = 0;  // number of replaced addresses that had been looked up earlier
};

// Must be called once per process, while no lock of the recorder is held. Calls the dynamic linker, and reads
// /proc/self/pagemap.
Redirection redirect_driver();

// Redirects the functions of each libcudart.so that the process has loaded since the last call. Must be called after
// redirect_driver(). Calls `left_out` with the path of each of them for which no wrappers are left (kMostRuntimes).
// Ignores versions that are not known.
void redirect_runtimes(bool (*left_out)(const char* path, void* data), void* data);

// Returns the major version of a libcudart.so, such as 12; 0 for any other file.
int runtime_version(std::string_view path);
// Returns whether the functions of this version have the types of their wrappers.
constexpr bool is_known_runtime(int version) { return version == 12 || version == 13; }

// Returns the function of the driver or of a runtime that a wrapper calls. Returns any other address unchanged.
void* original_of(void* function);
// Returns the wrapper of a redirected function of the driver. Returns any other address unchanged.
void* wrapper_of(void* function);

// Makes a module call `function` instead of another library's function with this name. Returns false if the module does
// not call that function by name, or if the address in its GOT cannot be changed.
bool redirect_calls(const LoadedModule& module, const char* name, void* function);
// Makes libcuda call `function` instead of abort(). Returns false if that is impossible.
bool redirect_abort(void (*function)());

}  // namespace cudadiag::record
