// Decides which code is the user's own. The true line of a stack depends on this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "symbolize/source_frame.h"

namespace cudadiag::symbolize {

// The rule, including the options by which users say that certain files and folders are theirs or not. The option whose
// path contains the file and is the most specific decides; of equally specific ones, the last does. Without such an
// option, the file's folder and name decide.
class UserCode {
 public:
  UserCode() = default;
  // `interpreters`: folders of the processes' interpreters. Packages install scripts there that start these packages.
  explicit UserCode(std::vector<session::CodeRule> rules, std::vector<std::string> interpreters = {});

  // Returns false for the standard library, installed packages, and frozen or generated code. Returns true for
  // `<string>`, `<stdin>` and notebook cells.
  bool python(std::string_view file) const;
  bool python(const PythonFrame& frame) const;
  // Returns whether the code was generated at run time, perhaps by a library, and no option of the user names it.
  bool made_at_run_time(const PythonFrame& frame) const;

  // Returns false for system, CUDA and framework libraries, the interpreter and the recorder. Options cannot change
  // that for the interpreter, CUDA and the recorder.
  bool module(std::string_view path) const;
  // Returns whether the module is below /usr/local/lib or in the library folder next to an interpreter's own, as with
  // conda, and no option names it. A module there without line information is not one that the user works on.
  bool is_installed(std::string_view module) const;
  // Decides by the source file of the code or, if that is unknown, by its module.
  bool native(const NativeFrame& frame) const;

 private:
  const session::CodeRule* rule_for(std::string_view path) const;
  bool is_entry_point(const PythonFrame& frame) const;

  std::vector<session::CodeRule> rules_;
  std::vector<std::string> interpreters_;
};

// Returns whether this is host code that nvcc generated to launch `kernel`: its stub, or the function with the kernel's
// own name.
bool is_launch_code(const NativeFrame& frame, std::string_view kernel);

// How many of the innermost frames belong to the recorder, CUDA and nvcc. `kernel` is the kernel that nvcc's frames
// name or, if they name none, `launched`. It is empty if the program called the driver directly, without nvcc's code.
struct LaunchFrames {
  std::size_t count = 0;
  std::string kernel;
};
LaunchFrames launch_frames(const std::vector<NativeFrame>& native, std::string_view launched,
                           const UserCode& code = {});

// Sets `user` in every frame. `kernel` is the mangled name of the launched kernel, or empty. nvcc's host function that
// launches a kernel has the kernel's name, and the line where the kernel is defined rather than launched.
void mark_user_frames(SourceStack& stack, std::string_view kernel, const UserCode& code = {});

// Goes by the `user` marks, but a frame that is the host side of `kernel` is never the true line.
TrueLine find_true_line(const SourceStack& stack, std::string_view kernel);

}  // namespace cudadiag::symbolize
