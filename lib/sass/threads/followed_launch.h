// Follows a kernel's code for all threads of a launch, box by box. Internal to lib/sass.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "sass/code/detours.h"
#include "sass/threads/calculator.h"
#include "sass/threads/lattices.h"

namespace cudadiag::sass {

// By instruction: the parameter words that its accesses may go through.
struct MayAccess {
  bool anywhere = false;
  std::set<std::uint32_t> words;
};
using MayAccesses = std::map<std::uint32_t, MayAccess>;

class FollowedLaunch {
 public:
  // All members must outlive the FollowedLaunch.
  struct Code {
    const Program& program;
    const ThreadCode& instructions;
    const Detours& detours;
    const MayAccesses& accesses;
    ParameterBank bank;
  };
  FollowedLaunch(const Code& code, const LaunchValues& launch) : code_(code), launch_(launch) {}

  std::vector<ParameterBytes> bytes();

 private:
  struct Part {
    Box box;
    ThreadState state;
  };
  enum class Next { on, ended, parted, lost };

  static constexpr std::size_t kMostParts = 4096, kMostSteps = 100'000;

  bool follow();
  bool follow(Part part);
  Next step(Part& part);
  Next jump(Part& part, const ThreadInstruction& code);
  Next call(Part& part, const ThreadInstruction& code, Calculator& calculator);
  Next detour(Part& part);
  Next access(Part& part, const ThreadInstruction& code, Calculator& calculator);
  Next part_where(const Part& part, const Cut& cut);
  void give_up_on(std::uint32_t at);
  void add_access(std::uint32_t word, const ThreadInstruction& code, const Form& form, const Box& box);

  const Code& code_;
  const LaunchValues& launch_;
  std::vector<Part> open_;
  std::size_t parts_ = 1, steps_ = 0;
  std::set<std::uint32_t> not_known_;  // words not all of whose bytes are known
  bool none_known_ = false;
  using Use = std::pair<std::uint32_t, Mode>;  // of a parameter word
  std::map<Use, Lattices> used_;
  std::set<Use> too_many_;  // uses with too many pieces that do not join
};

}  // namespace cudadiag::sass
