// Finds races between the threads of one launch. Judges launches of one shape once, when the process has ended:
// launches of one kernel with the same grid, block and parameters, whose addresses are equally far apart.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "races/known_memory.h"
#include "races/launch_bytes.h"
#include "session/races.h"

namespace cudadiag::races {

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
