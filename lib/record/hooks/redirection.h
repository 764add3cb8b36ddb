// Puts the wrappers (entry_points.h) in the place of the driver's functions, without a variable of the dynamic linker
// and without a change to code:
// - the addresses in libcuda's own symbol table become the wrappers': dlsym, and libraries that are bound later, get
//   these;
// - addresses that were handed out before lie in the tables of the runtimes and in the GOTs of libraries: they are
//   replaced there, word by word, in the writable parts of what the process has loaded.
// What a program keeps elsewhere (on its heap) stays, and its calls are not seen.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Once a process, from the thread that holds no lock of ours; it asks the dynamic linker and reads /proc/self/pagemap.
Redirection redirect_driver();

// Likewise for a libcudart.so that the process has, if it has one, after the driver.
void redirect_runtime();

// The driver's function behind a wrapper; any other address as it is.
void* original_of(void* function);
// The wrapper of a function of the driver; any other address as it is.
void* wrapper_of(void* function);

// Has libcuda call `function` where it would call abort(). False: it does not call it by its name.
bool redirect_abort(void (*function)());

}  // namespace cudadiag::record
