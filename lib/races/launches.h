// Reads from the code of kernels what their launches do: the bytes that they use through their parameters, and races
// between the threads of one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "races/known_memory.h"
#include "sass/byte_ranges.h"
#include "session/found_races.h"

namespace cudadiag::races {

// The code of each kernel that has a given function's name; empty if the code of one of these kernels is unknown. No
// element is null.
using Codes = std::vector<std::shared_ptr<const sass::ByteRanges>>;
using CodeOf = std::function<Codes(std::uint32_t function)>;

// Returns grid, block and parameters of the launch in `record`.
sass::LaunchValues values_of(const std::byte* record, std::string_view parameters);

// Finds out which bytes launches use. Launches that differ only in their addresses are evaluated once. Several kernels
// may have the same name; Triton compiles one for each kind of argument. We do not know which one was launched, so the
// bytes are known only if all of these kernels use the same bytes.
class LaunchBytes {
 public:
  explicit LaunchBytes(CodeOf code_of) : code_of_(std::move(code_of)) {}

  struct Memory {
    std::vector<std::uint32_t> addresses;  // offsets of the parameter words that are addresses of memory
    std::vector<sass::Image> images;       // images of the handles among the parameters
    std::vector<sass::TensorMap> tensors;  // tensors of the CUtensorMaps among the parameters
  };
  // Returns the bytes that the launch in `record` uses. The reference is valid until the next call.
  const std::vector<sass::ParameterBytes>& of(const std::byte* record, std::uint32_t function,
                                              std::string_view parameters, Memory memory);
  // Returns how the kernel uses the textures and surfaces whose handles are parameters. Returns an empty list if
  // kernels of the same name use the handles differently.
  std::vector<sass::HandleUse> handles(std::uint32_t function);

  // Returns whether a kernel with this function's name writes through pointers that it reads from memory. Also returns
  // true if the kernel's code is unknown or too complex to analyse.
  bool may_write_elsewhere(std::uint32_t function);

  // Returns whether a kernel with this function's name can wait for the host by accesses at system scope. Also returns
  // true if the kernel's code is unknown.
  bool may_wait_for_host(std::uint32_t function) const;
  // Returns whether a kernel with this function's name may write through the parameter. Also returns true if the
  // kernel's code is unknown.
  bool may_write(std::uint32_t function, std::uint32_t parameter) const;

  static const std::vector<sass::ParameterBytes> kNone;

 private:
  // Everything that the bytes depend on, apart from the code.
  struct Launch {
    std::uint32_t function;
    sass::LaunchValues values;
    bool operator==(const Launch&) const = default;
  };
  struct HashOfLaunch {
    std::size_t operator()(const Launch& launch) const;
  };
  struct Known {
    Codes codes;
    std::vector<sass::ParameterBytes> bytes;
  };
  static constexpr std::size_t kMostKnown = 1u << 14;
  static constexpr int kMostFailures = 3;  // consecutive evaluations without a result, after which the kernel's
                                           // launches are not evaluated
  static constexpr std::size_t kMostCodes = 8;

  CodeOf code_of_;
  std::unordered_map<Launch, Known, HashOfLaunch> known_;
  std::map<Codes, int> failures_;                             // consecutive failures for each set of codes
  std::unordered_map<std::uint32_t, bool> writes_elsewhere_;  // keyed by function; only functions with known code
};

// Finds races between the threads of one launch. Judges launches of one shape once, when the process has ended:
// launches of one kernel with the same grid, block and parameters, whose addresses are equally far apart.
class KernelRaces {
 public:
  explicit KernelRaces(CodeOf code_of) : code_of_(std::move(code_of)) {}

  struct Pointer {
    std::uint32_t offset = 0;  // of the parameter word
    std::uint64_t value = 0;
    Memory memory;  // that it points into
  };
  // `record` is that of a kernel, and `access` says where it was issued. `parameters` are complete if `are_known`.
  void launched(const std::byte* record, const session::RaceAccess& access, std::string_view parameters, bool are_known,
                const std::vector<Pointer>& pointers);
  // Judges the launches that have not been judged. Gives up after ten seconds.
  void judge();

  const std::vector<session::KernelRace>& found() const { return found_; }
  // The number of kernels that were launched, and of those whose launches were not all checked completely.
  std::uint64_t kernels() const { return checked_.size(); }
  std::uint64_t unchecked() const;

 private:
  struct Shape {
    sass::LaunchValues values;  // with addresses that are as far apart as the true ones
    session::RaceAccess access;
    std::vector<Pointer> pointers;
    std::uint64_t times = 0;
  };
  void judge(Shape& shape);
  void add(const Shape& shape, const sass::ThreadRace& race);

  static constexpr std::size_t kMostShapes = 512, kMostOfKernel = 8, kMostFound = 256;

  const CodeOf code_of_;
  std::unordered_map<std::string, std::size_t> known_;  // indexes of shapes_, keyed by the bytes that make up the shape
  std::vector<Shape> shapes_;
  std::size_t judged_ = 0;
  std::map<std::uint32_t, bool> checked_;           // keyed by function
  std::map<std::uint32_t, std::size_t> of_kernel_;  // number of shapes, keyed by function
  std::vector<session::KernelRace> found_;
};

}  // namespace cudadiag::races
