// The failures that a test plans: CUDADIAG_SIM_PLAN, parsed once in cuInit. README.md has the grammar.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"
#include "hooks.h"

namespace sim {

// "Stream STREAM has finished COUNT operations."
struct Progress {
  std::uint32_t stream = 0;
  std::uint64_t count = 0;
};

enum class Work : std::uint8_t { none, kernel, copy, memset, prefetch };

struct Rule {
  enum class Effect : std::uint8_t { fault, fail, hold, hang, missing };
  Effect effect = Effect::fault;

  // The operations to which the rule applies: every given condition must be true.
  std::optional<Work> work;
  std::optional<std::string> kernel;
  std::optional<std::uint32_t> stream;
  std::optional<std::uint64_t> size;  // a kernel's blocks in x; the bytes of other operations
  std::string api;

  std::uint64_t nth = 1;  // 0: every operation
  std::uint64_t seen = 0;
  CUresult code = CUDA_ERROR_ILLEGAL_ADDRESS;
  // `fault`: happens after this point at the earliest; `hold`: lasts until this point, or until sim_notify().
  std::optional<Progress> after;
  bool at_once = false;  // `fault`: happens even if no call asks for errors
  bool unseen = false;   // `fault`: stops all work, but calls succeed until one asks for errors
  bool beside = false;   // `fail`: waits until another thread begins a call
  bool fired = false;
  std::uint64_t first_run = 1, last_run = UINT64_MAX;  // the runs to which the rule applies
};

class Plan {
 public:
  // Returns what is wrong with the text; empty if nothing is. Ignores rules for runs other than the `run`-th.
  std::string parse(std::string_view text, std::uint64_t run);

  // Returns the rule that applies to the next operation of this kind, if any. Counts the operation.
  Rule* match(Work work, const std::string* kernel, std::uint64_t size, std::uint32_t stream);
  // Returns the rule by which this call of `api` must fail, if any. Counts the call.
  const Rule* failure_of(std::string_view api);
  bool lacks_kernel(std::string_view name) const;
  // Returns whether `stream`, after `count` operations, must stop until a planned fault has happened.
  bool gates(std::uint32_t stream, std::uint64_t count) const;

  bool has_rules() const { return !rules_.empty(); }
  bool orders_streams() const { return orders_streams_; }
  bool shuffles() const { return shuffle_.has_value(); }
  // Returns true with a probability of `of` / `in`. Only the GPU's worker calls it.
  bool toss(unsigned of, unsigned in) { return (*shuffle_)() % in < of; }
  bool fails_calls() const { return fails_calls_; }
  int devices() const { return devices_; }
  // Hides all devices except those listed in `visible`, as CUDA_VISIBLE_DEVICES does. The list ends at the first device
  // that does not exist.
  void show_only(std::string_view visible);
  // Converts a visible device's number to its number in the plan.
  int hardware_of(int device) const { return visible_.empty() ? device : visible_[static_cast<std::size_t>(device)]; }
  std::chrono::milliseconds start() const { return start_; }  // how long cuInit takes
  bool shared() const { return shared_; }                     // whether the devices are shared under MPS
  // Bytes of device memory; 0 means the default.
  std::uint64_t memory() const { return memory_; }
  CuptiPolicy cupti() const { return cupti_; }
  bool loads_injection() const { return loads_injection_; }
  bool reports_dumps() const { return reports_dumps_; }
  // Whether a dump begins only 1.5 seconds after the failure.
  bool late_dump() const { return late_dump_; }
  const std::string& dump() const { return dump_; }  // file to copy as a core dump; empty if none is written
  // A value of dump() that is not a file name. It means that operations do not fault while core dumps are enabled.
  static constexpr std::string_view kLost = "lost";
  // Another such value: the process crashes instead of writing a core dump.
  static constexpr std::string_view kCrash = "crash";
  // Another such value: a dump begins and is never finished.
  static constexpr std::string_view kStuck = "stuck";

 private:
  std::string parse_rule(const std::vector<std::string>& words, std::uint64_t run);
  std::string parse_option(Rule& rule, const std::string& word);

  std::vector<Rule> rules_;
  bool orders_streams_ = false;
  std::optional<std::minstd_rand> shuffle_;
  bool fails_calls_ = false;
  int devices_ = 1;
  std::chrono::milliseconds start_{0};
  std::vector<int> visible_;  // empty: all
  bool shared_ = false;
  std::uint64_t memory_ = 0;
  CuptiPolicy cupti_ = CuptiPolicy::normal;
  bool loads_injection_ = true;
  bool reports_dumps_ = false, late_dump_ = false;
  std::string dump_;
};

}  // namespace sim
