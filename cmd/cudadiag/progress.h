// How far a rerun has got, on a line of the terminal that is wiped afterwards. Elsewhere nothing is shown.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cudadiag::command {

class Progress {
 public:
  // `operations`: of the whole, 0 if not known.
  Progress(std::string what, std::uint64_t operations);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done);

 private:
  std::string what_;
  std::uint64_t operations_;
  std::chrono::steady_clock::time_point started_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace cudadiag::command
