// Executes a kernel's code symbolically for threads of a launch, one box of threads at a time. Internal to lib/sass.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sass/code/detours.h"
#include "sass/threads/calculator.h"
#include "sass/threads/forms.h"

namespace cudadiag::sass {

// The parameter words through which an instruction may access memory.
struct MayAccess {
  bool anywhere = false;
  std::set<std::uint32_t> words;
  std::optional<std::uint32_t> handle{};  // offset of the handle of its texture or surface
};
using MayAccesses = std::map<std::uint32_t, MayAccess>;

std::optional<Box> all_threads(const LaunchValues& launch);

class FollowedLaunch {
 public:
  // Everything that the members refer to must outlive the FollowedLaunch.
  struct Code {
    const Program& program;
    const ThreadCode& instructions;
    const Detours& detours;
    const MayAccesses& accesses;
    ParameterBank bank;
  };
  static constexpr std::size_t kMostSteps = 100'000;
  FollowedLaunch(const Code& code, const LaunchValues& launch, std::size_t most_steps = kMostSteps)
      : code_(code), launch_(launch), most_steps_(most_steps) {}

  // Call only one of these two functions, and only once.
  std::vector<ParameterBytes> bytes();
  // Returns the accesses that these threads make regardless of the contents of memory.
  CertainAccesses certain(const Box& threads);
  // After certain(): the words of known memory that were loaded as numbers of 8 bytes.
  const std::set<std::uint32_t>& loaded_numbers() const { return loaded_numbers_; }
  // After certain(): whether a thread may write to known memory that was loaded.
  bool changes_what_it_reads() const;

 private:
  struct Part {
    Box box;
    ThreadState state;
  };
  enum class Next { on, ended, parted, lost };

  static constexpr std::size_t kMostParts = 4096;

  bool follow(const Box& threads);
  bool follow(Part part);
  Next step(Part& part);
  Next jump(Part& part, const ThreadInstruction& code);
  Next call(Part& part, const ThreadInstruction& code, Calculator& calculator);
  Next detour(Part& part);
  Next access(Part& part, const ThreadInstruction& code, Calculator& calculator);
  Next local_access(Part& part, const ThreadInstruction& code, Calculator& calculator);
  Next tile_access(Part& part, const ThreadInstruction& code, Calculator& calculator);
  static std::optional<Form> place_of_tile(const TensorMap& map, const ThreadInstruction& code, const Part& part,
                                           Calculator& calculator);
  void add_tile(const TensorMap& map, const ThreadInstruction& code, const Form& place, const Box& box);
  Next image_access(Part& part, const ThreadInstruction& code, Calculator& calculator);
  std::optional<Form> place_in_image(const Image& image, const ThreadInstruction& code, const Part& part,
                                     Calculator& calculator) const;
  Next part_where(const Part& part, const Cut& cut);
  void give_up_on(std::uint32_t at);
  std::vector<OpenAccess> open_accesses() const;
  void forget_bytes_of(std::uint32_t at);
  void add_access(std::uint32_t word, const ThreadInstruction& code, const Form& form, const Box& box);
  void note_certain(std::uint32_t at, const Calculator::Address& address, const Box& box);
  struct Span {
    std::uint64_t begin = 0, end = 0;
  };
  std::optional<Span> span_of(const Calculator::Address& address, std::uint32_t width, const Box& box) const;
  struct Loaded {
    std::vector<Value> registers;  // empty if unknown
    std::optional<Cut> cut;        // where to cut the box, so that all threads of a part load the same bytes
  };
  Loaded loaded(std::uint32_t at, const Calculator::Address& address, const Box& box);

  const Code& code_;
  const LaunchValues& launch_;
  const std::size_t most_steps_;
  std::vector<Part> open_;
  std::size_t parts_ = 1, steps_ = 0;
  std::set<std::uint32_t> not_known_;  // some bytes used through these words are unknown
  bool none_known_ = false;
  using Use = std::pair<std::uint32_t, Mode>;  // a parameter word, and how it is used
  std::map<Use, Lattices> used_;
  std::set<Use> too_many_;                                                    // uses with too many separate pieces
  using CertainKey = std::pair<std::uint32_t, std::optional<std::uint32_t>>;  // an instruction and a word
  std::map<CertainKey, CertainAccess> certain_;
  bool uses_other_memory_ = false;
  std::set<std::uint32_t> open_accesses_;  // instructions that use memory, and whose addresses are not all known
  std::vector<Span> loaded_, stored_;  // addresses of known memory that was loaded, and of memory that was stored to
  std::set<std::uint32_t> loaded_numbers_;
  bool stores_anywhere_ = false;
};

}  // namespace cudadiag::sass
