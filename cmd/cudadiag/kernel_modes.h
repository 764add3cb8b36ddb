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

#include "races/kernel_accesses.h"

namespace cudadiag::command {

class KernelModes {
 public:
  // `modules`: the folder to which the recorder writes device code. `disassembler`: a path; empty: there is none.
  KernelModes(std::filesystem::path modules, std::string disassembler);
  ~KernelModes();
  KernelModes(const KernelModes&) = delete;
  KernelModes& operator=(const KernelModes&) = delete;

  // Nothing: it is being looked for.
  std::optional<races::Mode> mode(const std::string& kernel, std::uint32_t parameter, const races::LiveWords& live);
  // Until all that was asked for is known, for so long.
  void wait(std::chrono::seconds patience);
  // Kernels whose code was looked for; whether it was found and understood.
  std::size_t asked() const;
  std::size_t understood() const;
  bool has_disassembler() const { return !disassembler_.empty(); }

 private:
  void run();
  races::KernelAccesses look(const std::string& kernel);
  void index_new_modules();

  const std::filesystem::path modules_;
  const std::string disassembler_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> wanted_;
  std::map<std::string, std::optional<races::KernelAccesses>> known_;  // nothing: not yet
  bool busy_ = false, stopping_ = false;
  // The thread's own.
  std::map<std::string, std::filesystem::path> homes_;  // of kernels
  std::set<std::filesystem::path> indexed_;
  std::thread thread_;
};

// nvdisasm where it is installed: with the toolkit, or in the Triton of the Python that `command` runs in.
std::string find_disassembler(const std::vector<std::string>& command);

}  // namespace cudadiag::command
