// How kernels use their parameters, read off their code with NVIDIA's disassembler, where that is installed: on a
// thread of its own, for the kernels that are asked for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sass/kernel_accesses.h"
#include "supervise/tools/kernel_code.h"

namespace cudadiag::supervise {

class KernelModes {
 public:
  // `modules`: the folder to which the recorder writes device code. `disassembler`: a path; empty: there is none.
  KernelModes(std::filesystem::path modules, std::string disassembler);
  ~KernelModes();
  KernelModes(const KernelModes&) = delete;
  KernelModes& operator=(const KernelModes&) = delete;

  // Nothing: it is being looked for. Unknown where modules have different kernels of one name, and these differ in it.
  std::optional<sass::Mode> mode(const std::string& kernel, std::uint32_t parameter, const sass::LaunchWords& launch);
  // Until all that was asked for is known, for so long.
  void wait(std::chrono::seconds patience);
  // Kernels whose code was looked for; whether it was found and understood.
  std::size_t asked() const;
  std::size_t understood() const;
  bool has_disassembler() const { return !disassembler_.empty(); }

 private:
  // Kernels of one name, in launches with these zeros among their parameters; 0: in all.
  struct Wanted {
    std::string kernel;
    sass::ZeroWords zeros = 0;
    auto operator<=>(const Wanted&) const = default;
  };
  struct Known {
    std::vector<sass::KernelAccesses> codes;                   // each that differs
    std::optional<std::filesystem::file_time_type> modules{};  // which there were; nothing: none was looked at yet
    bool wanted = false;
  };
  struct Read {
    std::size_t looked_at = 0;    // of the modules that have it
    std::set<std::string> codes;  // all that tells them apart
    std::vector<sass::KernelAccesses> accesses;
  };

  void run();
  std::filesystem::file_time_type newest_module() const;
  std::optional<sass::Mode> known_mode(const Wanted& wanted, std::uint32_t parameter, const sass::LiveWords& live);
  const std::vector<sass::KernelAccesses>& look(const Wanted& wanted);
  sass::KernelAccesses read(const KernelCode& code, sass::ZeroWords zeros) const;
  void index_new_modules();

  const std::filesystem::path modules_;
  std::string disassembler_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Wanted> wanted_;
  std::map<Wanted, Known> known_;
  bool busy_ = false, stopping_ = false;
  // The thread's own.
  std::map<std::string, std::vector<std::filesystem::path>> homes_;  // modules, by kernels
  std::map<Wanted, Read> read_;
  std::set<std::filesystem::path> indexed_;
  std::thread thread_;
};

// nvdisasm where it is installed: with the toolkit, or in the Triton of the Python that `command` runs in.
std::string find_disassembler(const std::vector<std::string>& command);

}  // namespace cudadiag::supervise
