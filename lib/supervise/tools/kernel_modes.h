// How kernels use their parameters, read off their code with NVIDIA's disassembler, where that is installed: on a
// thread of its own, for the kernels that are asked for.
#pragma once

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

#include "sass/byte_ranges.h"
#include "sass/kernel_accesses.h"
#include "supervise/tools/kernel_code.h"

namespace cudadiag::supervise {

class KernelModes {
 public:
  using Codes = std::vector<std::shared_ptr<const sass::ByteRanges>>;

  // `modules`: the folder to which the recorder writes device code. `disassembler`: a path; empty: there is none.
  KernelModes(std::filesystem::path modules, std::string disassembler);
  ~KernelModes();
  KernelModes(const KernelModes&) = delete;
  KernelModes& operator=(const KernelModes&) = delete;

  // Nothing: it is being looked for. Unknown where modules have different kernels of one name, and these differ in it.
  std::optional<sass::Mode> mode(const std::string& kernel, std::uint32_t parameter, const sass::LaunchWords& launch);
  // The codes of the kernels of one name. Not read: they are being looked for. None: no module has such a kernel, or the
  // code of one is not known.
  struct Code {
    bool read = false;
    Codes codes{};
  };
  Code code(const std::string& kernel);
  // Code that was read is out of date once the program loads more: call this before kernels that were launched since
  // are asked about. Returns a number that is another one then.
  std::uint64_t look_for_modules();
  // Until all that was asked for is known, for so long.
  void wait(std::chrono::seconds patience);
  // Kernels whose code was looked for; whether it was found and understood.
  std::size_t asked() const;
  std::size_t understood() const;
  // In all of their code: opcodes that are not known.
  std::uint64_t unknown_opcodes() const;
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
    Codes ranges{};                                            // of the same; empty: one of them could not be read
    std::optional<std::filesystem::file_time_type> modules{};  // which there were; nothing: none was looked at yet
    bool wanted = false;
  };
  struct Read {
    std::size_t looked_at = 0;    // of the modules that have it
    std::set<std::string> codes;  // all that distinguishes them
    std::vector<sass::KernelAccesses> accesses;
    Codes ranges;  // of launches with any parameters; null: it could not be read
  };

  void run();
  std::filesystem::file_time_type newest_module() const;
  std::optional<sass::Mode> known_mode(const Wanted& wanted, std::uint32_t parameter, const sass::LiveWords& live);
  Known& known(const Wanted& wanted, std::filesystem::file_time_type newest);
  const Read& look(const Wanted& wanted);
  void read(const KernelCode& code, sass::ZeroWords zeros, Read& to) const;
  void index_new_modules();

  const std::filesystem::path modules_;
  std::string disassembler_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Wanted> wanted_;
  std::map<Wanted, Known> known_;
  bool busy_ = false, stopping_ = false;
  std::filesystem::file_time_type newest_ = std::filesystem::file_time_type::min();  // when it was last looked
  std::uint64_t generation_ = 0;
  // The thread's own.
  std::map<std::string, std::vector<std::filesystem::path>> homes_;  // modules, by kernels
  std::map<Wanted, Read> read_;
  std::set<std::filesystem::path> indexed_;
  std::thread thread_;
};

// nvdisasm where it is installed: with the toolkit, or in the Triton of the Python that `command` runs in.
std::string find_disassembler(const std::vector<std::string>& command);

}  // namespace cudadiag::supervise
