// Puts the wrappers (entry_points.h) in the place of the driver's functions, without a variable of the dynamic linker
// and without a change to code:
// - the addresses in libcuda's own symbol table become the wrappers': dlsym, and libraries that are bound later, get
//   these;
// - addresses that were handed out before lie in the tables of the runtimes and in the GOTs of libraries: they are
//   replaced there, word by word, in the writable parts of what the process has loaded.
// An address that a program keeps elsewhere, such as on its heap, stays. Calls through it are not seen.
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
  std::size_t replaced = 0;  // addresses that had been handed out
};

// Call it once a process, with none of our locks held. It asks the dynamic linker and reads /proc/self/pagemap.
Redirection redirect_driver();

// Does the same for a libcudart.so, if the process has one. Call it after redirect_driver().
void redirect_runtime();

// Returns the function that a wrapper calls, and any other address unchanged.
void* original_of(void* function);
// Returns the wrapper of a redirected function, and any other address unchanged.
void* wrapper_of(void* function);

// Has a module call `function` where it would call another library's function of this name. False: it does not call it
// by its name, or the address cannot be written.
bool redirect_calls(const LoadedModule& module, const char* name, void* function);
// The same for libcuda's calls of abort().
bool redirect_abort(void (*function)());

}  // namespace cudadiag::record
