// Prints messages about the reruns to standard error.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "supervise/reruns/passes.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_policy.h"
#include "terminal.h"

namespace cudadiag::command {

inline constexpr const char* kMpsWarning =
    "this GPU is shared through MPS: a rerun that fails can end the other programs on it";

// Returns the reason that completes "the command was not rerun, because ...".
std::string sentence(const supervise::RerunObstacle& obstacle);
std::string sentence(supervise::NoCrossCheck obstacle);

class RerunSpeech : public supervise::RerunListener {
 public:
  // `prints_passes`: print a line before and after each rerun. `after_each`: called after each rerun.
  explicit RerunSpeech(bool prints_passes, std::function<void(const analyse::Analysis&)> after_each = {})
      : prints_passes_(prints_passes), after_each_(std::move(after_each)) {}

  void begins(const supervise::RerunSpec& spec, std::size_t number) override;
  void runs(const supervise::RerunSpec& spec, const supervise::RerunProgress& progress) override;
  void stops() override { progress_.reset(); }
  void repeats_launch(double limit) override;
  void ended(const supervise::RerunEnded& rerun) override;
  void cannot(const supervise::RerunProblem& problem) override;

 private:
  bool prints_passes_;
  std::function<void(const analyse::Analysis&)> after_each_;
  std::optional<Progress> progress_;
};

// Returns the end of a message: how to run cuda-gdb on a GPU core dump if cudadiag cannot run it.
std::string debugger_advice(const std::filesystem::path& dump);

}  // namespace cudadiag::command
