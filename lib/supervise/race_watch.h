// Looks for races between streams while the target runs. One thread reads the target's rings and collects the races,
// and another finds out from the machine code of kernels how they use their parameters.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "launch/arena.h"
#include "launch/signals.h"
#include "sass/byte_ranges.h"
#include "sass/kernel_accesses.h"
#include "session/found_races.h"
#include "supervise/kernel_code.h"

namespace cudadiag::supervise {

// Determines from the machine code of kernels how they use their parameters. Without NVIDIA's disassembler, all answers
// are unknown. A separate thread analyses the kernels that callers ask about.
class KernelModes {
 public:
  using Codes = std::vector<std::shared_ptr<const sass::ByteRanges>>;

  // `modules` is the folder where the recorder stores device code. `disassembler` is the path of nvdisasm; empty if
  // there is none.
  KernelModes(std::filesystem::path modules, std::string disassembler);
  ~KernelModes();
  KernelModes(const KernelModes&) = delete;
  KernelModes& operator=(const KernelModes&) = delete;

  // Returns how the kernel uses the parameter; nullopt until this is known. Returns Mode::unknown if several kernels
  // have this name and use the parameter differently.
  std::optional<sass::Mode> mode(const std::string& kernel, std::uint32_t parameter, const sass::LaunchWords& launch);
  // The code of all kernels with one name. `read` is true once all modules have been searched. `codes` is empty if no
  // module has such a kernel, or if the code of one of them is unknown.
  struct Code {
    bool read = false;
    Codes codes{};
  };
  Code code(const std::string& kernel);
  // Checks whether the program has loaded more code, which may change earlier results. Call this before asking about
  // kernels launched since the last check. Returns a number that changes whenever there is more code.
  std::uint64_t look_for_modules();
  // Waits until all requests are answered, but at most for `patience`.
  void wait(std::chrono::seconds patience);
  // The number of kernels that callers asked about, and the number of those whose code was found and understood.
  std::size_t asked() const;
  std::size_t understood() const;
  // The number of unknown opcodes in the code of all these kernels.
  std::uint64_t unknown_opcodes() const;
  bool has_disassembler() const { return !disassembler_.empty(); }

 private:
  // A request to analyse all kernels with one name. If `zeros` is not 0, the request is only about launches with these
  // zeros among their parameters.
  struct Wanted {
    std::string kernel;
    sass::ZeroWords zeros = 0;
    auto operator<=>(const Wanted&) const = default;
  };
  struct Known {
    std::vector<sass::KernelAccesses> codes;                   // each different code once
    Codes ranges{};                                            // the same codes; empty if one could not be read
    std::optional<std::filesystem::file_time_type> modules{};  // modules up to this time were considered; nullopt: none
    bool wanted = false;
  };
  struct Read {
    std::size_t looked_at = 0;    // how many of the modules with this kernel were read
    std::set<std::string> codes;  // identifies the codes that were read
    std::vector<sass::KernelAccesses> accesses;
    Codes ranges;  // for launches with any parameters; null for code that could not be read
  };

  void run();
  std::filesystem::file_time_type newest_module() const;
  std::optional<sass::Mode> known_mode(const Wanted& wanted, std::uint32_t parameter, const sass::LiveWords& live);
  Known& known(const Wanted& wanted, std::filesystem::file_time_type newest);
  const Read& look(const Wanted& wanted);
  void read(const KernelInstructions& code, sass::ZeroWords zeros, Read& to) const;
  void index_new_modules();

  const std::filesystem::path modules_;
  std::string disassembler_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Wanted> wanted_;
  std::map<Wanted, Known> known_;
  bool busy_ = false, stopping_ = false;
  std::filesystem::file_time_type newest_ = std::filesystem::file_time_type::min();  // at the last check
  std::uint64_t generation_ = 0;
  // Used only on `thread_`.
  std::map<std::string, std::vector<std::filesystem::path>> homes_;  // by kernel: the modules that contain it
  std::map<Wanted, Read> read_;
  std::set<std::filesystem::path> indexed_;
  std::thread thread_;
};

class RaceWatch {
 public:
  // Wakes `relay` at the first race. `pass_folder` is where the recorder stores device code; empty if it stores none.
  // `disassembler` is the path of nvdisasm; empty if there is none.
  RaceWatch(const launch::Arena& arena, launch::SignalRelay& relay, const std::filesystem::path& pass_folder,
            std::string disassembler);
  ~RaceWatch();
  RaceWatch(const RaceWatch&) = delete;
  RaceWatch& operator=(const RaceWatch&) = delete;

  bool found_any() const { return found_.load(std::memory_order_acquire); }
  // Call this once, after the target has ended. Reads the remaining records. The device code is not needed afterwards.
  session::Races finish();

 private:
  struct Watched;

  void run();
  bool look();
  void settle(bool at_last);
  void hand_on_the_rest();

  const launch::Arena& arena_;
  launch::SignalRelay& relay_;
  const std::filesystem::path modules_;
  KernelModes modes_;
  std::vector<std::unique_ptr<Watched>> processes_;
  std::atomic<bool> stopping_ = false, found_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::supervise
