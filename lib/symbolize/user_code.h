// Decides which code is the user's own, and therefore which line of a stack is the true one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "symbolize/source_frame.h"

namespace cudadiag::symbolize {

// The rule for this decision, including the user's options for certain files and folders. The option with the most
// specific path that contains the file decides; of equally specific ones, the last. Without such an option, the file's
// folder and name decide.
class UserCode {
 public:
  UserCode() = default;
  // `interpreters`: folders of the processes' interpreters; scripts that packages install there start these packages.
  explicit UserCode(std::vector<session::CodeRule> rules, std::vector<std::string> interpreters = {});

  // Returns false for the standard library, installed packages, and frozen or generated code. `<string>`, `<stdin>` and
  // notebook cells are the user's.
  bool python(std::string_view file) const;
  bool python(const PythonFrame& frame) const;
  // Returns whether the code was generated at run time, perhaps by a library, and no option of the user's names it.
  bool made_at_run_time(const PythonFrame& frame) const;

  // Returns false for system, CUDA and framework libraries, the interpreter and the recorder. No option changes that
  // for the interpreter, CUDA and the recorder.
  bool module(std::string_view path) const;
  // Returns whether the module is below /usr/local/lib, or in the library folder next to an interpreter's own, as with
  // conda, and no option names it. The user does not work on such a module if it has no line information.
  bool is_installed(std::string_view module) const;
  // Decides by the source file of the code, or otherwise by its module.
  bool native(const NativeFrame& frame) const;

 private:
  const session::CodeRule* rule_for(std::string_view path) const;
  bool is_entry_point(const PythonFrame& frame) const;

  std::vector<session::CodeRule> rules_;
  std::vector<std::string> interpreters_;
};

// Host code that nvcc generates for the launch of `kernel`: its stub, and the function with the kernel's own name.
bool is_launch_code(const NativeFrame& frame, std::string_view kernel);

// The number of innermost frames that belong to the recorder, CUDA and nvcc for a launch. `kernel` is the kernel that
// nvcc's frames name, or otherwise `launched`. It is empty if the driver was called directly, without nvcc's code.
struct LaunchFrames {
  std::size_t count = 0;
  std::string kernel;
};
LaunchFrames launch_frames(const std::vector<NativeFrame>& native, std::string_view launched,
                           const UserCode& code = {});

// Sets `user` in every frame. `kernel` is the mangled name of the launched kernel, empty if none. nvcc's host function
// that launches a kernel has that kernel's name and the line of its definition, not of the launch.
void mark_user_frames(SourceStack& stack, std::string_view kernel, const UserCode& code = {});

// The `user` marks decide, but a frame that is the host side of `kernel` is never the true line.
TrueLine find_true_line(const SourceStack& stack, std::string_view kernel);

}  // namespace cudadiag::symbolize
