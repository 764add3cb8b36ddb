// Replaces the driver's functions with the wrappers (entry_points.h), without a variable of the dynamic linker and
// without changing code:
// - The addresses in libcuda's own symbol table become the wrappers'. dlsym, and libraries bound later, get these.
// - Addresses looked up before are in the tables of the runtimes, and in the GOTs of libraries. They are replaced there
//   word by word, in the writable parts of what the process has loaded.
// Addresses that a program keeps elsewhere, such as on its heap, stay unchanged. Calls through them are not seen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/stacks/modules.h"

namespace cudadiag::record {

struct Redirection {
  enum class Outcome : std::uint8_t {
    done,
    no_driver,  // libcuda is not in the process
    refused,    // its symbol table cannot be written
  };
  Outcome outcome = Outcome::no_driver;
  std::size_t symbols = 0;   // entry points that this driver has and that have a wrapper
  std::size_t replaced = 0;  // addresses that had been looked up before
};

// Call it once per process, without the recorder's locks.
// It calls the dynamic linker and reads /proc/self/pagemap.
Redirection redirect_driver();

// Does the same for a libcudart.so, if the process has one. Call it after redirect_driver().
void redirect_runtime();

// Returns the function that a wrapper calls, and any other address unchanged.
void* original_of(void* function);
// Returns the wrapper of a redirected function, and any other address unchanged.
void* wrapper_of(void* function);

// Makes a module call `function` instead of another library's function of this name. Returns false if the module does
// not call that function by name, or if the address cannot be written.
bool redirect_calls(const LoadedModule& module, const char* name, void* function);
// Does the same for libcuda's calls of abort().
bool redirect_abort(void (*function)());

}  // namespace cudadiag::record
