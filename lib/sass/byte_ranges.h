// Computes from a kernel's code exactly which bytes one launch uses through each parameter.
//
// Executes the code symbolically for all threads of the launch at once. A value is a linear function of the thread's
// coordinates. Where threads diverge, the launch is split into boxes of threads that take the same path. A value is
// unknown if it comes from memory, from other threads or from an instruction that is not modelled.
//
// The answer for a parameter is partial if an access that may go through it cannot be followed, or depends on an
// unknown value. It is also partial if the launch takes too long to follow. A partial answer contains only the bytes
// that all paths use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sass/kernel_accesses.h"
#include "sass/launch_values.h"

namespace cudadiag::sass {

class ByteRanges {
 public:
  ByteRanges(std::string text, ParameterBank bank, Calls calls = Calls::anything);
  ByteRanges(ByteRanges&&) noexcept;
  ~ByteRanges();

  const KernelAccesses& accesses() const;
  // Returns whether the code has a load, an atomic operation or a fence at system scope, by which it can wait for the
  // host. A volatile load is one.
  bool uses_system_scope() const;
  // Returns how many opcodes in the code are not modelled. If there are any, of() and certain() return nothing.
  std::uint64_t unknown_opcodes() const;
  // Returns an entry for each parameter and mode. Safe to call from several threads.
  std::vector<ParameterBytes> of(const LaunchValues& launch) const;
  // Returns the accesses that threads of the launch certainly make, unless an earlier access fails. Omits accesses to
  // shared memory that are certain to succeed. Follows the code
  // for all threads at once. If that does not cover all accesses, also follows single threads at the corners of grid
  // and block. Ignores the known memory if threads of the launch may change it. Positions are relative to an address
  // parameter or, without one, to the only 8-byte parameter word from which the code computes the address. Safe to call
  // from several threads.
  CertainAccesses certain(const LaunchValues& launch) const;

  // Looks for a race between threads of the launch. The words in `addresses` must have values, which need not be the
  // true ones if they are as far apart. Safe to call from several threads.
  ThreadRaces thread_races(const LaunchValues& launch) const;

 private:
  class Implementation;
  std::unique_ptr<const Implementation> it_;
};

}  // namespace cudadiag::sass
