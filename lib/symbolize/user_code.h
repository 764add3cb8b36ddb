// Decides which code is the user's own, and so which line of a stack is the true one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "symbolize/source_frame.h"

namespace cudadiag::symbolize {

// The rule, with the user's options for certain files and folders. The most specific path that contains the file
// decides, and of equal ones the last; otherwise the file's place and name.
class UserCode {
 public:
  UserCode() = default;
  // `interpreters`: folders of the processes' interpreters; what packages install there starts them.
  explicit UserCode(std::vector<session::CodeRule> rules, std::vector<std::string> interpreters = {});

  // Not the standard library, installed packages, frozen or generated code. `<string>`, `<stdin>` and notebook cells
  // are the user's.
  bool python(std::string_view file) const;
  bool python(const PythonFrame& frame) const;
  // It may also be a library's, and no option of the user's names it.
  bool made_at_run_time(const PythonFrame& frame) const;

  // Not system, CUDA or framework libraries, the interpreter or the recorder. The interpreter, CUDA and the recorder
  // never are, whatever was said.
  bool module(std::string_view path) const;
  // Below /usr/local/lib, or in the folder of libraries beside an interpreter's own, as conda installs them, and no
  // option names it: without line information it is not what the user works on.
  bool is_installed(std::string_view module) const;
  // By the source file of the code, else by its module.
  bool native(const NativeFrame& frame) const;

 private:
  const session::CodeRule* rule_for(std::string_view path) const;
  bool is_entry_point(const PythonFrame& frame) const;

  std::vector<session::CodeRule> rules_;
  std::vector<std::string> interpreters_;
};

// Code that nvcc generates on the host for the launch of `kernel`: its stub, and the function of the kernel's own name.
bool is_launch_code(const NativeFrame& frame, std::string_view kernel);

// How many of the innermost frames are the recorder's, CUDA's and nvcc's for a launch, and of which kernel if nvcc's
// name it; otherwise that is `launched`, or empty if the driver was called directly, without code of nvcc's.
struct LaunchFrames {
  std::size_t count = 0;
  std::string kernel;
};
LaunchFrames launch_frames(const std::vector<NativeFrame>& native, std::string_view launched,
                           const UserCode& code = {});

// Sets `user` in every frame. `kernel` is the mangled name of the launched kernel, empty if none: nvcc gives the host
// function that launches a kernel that kernel's own name and the line of its definition, which is not the line of the
// launch.
void mark_user_frames(SourceStack& stack, std::string_view kernel, const UserCode& code = {});

// The marks decide, except that a frame which is the host side of `kernel` never leads.
TrueLine find_true_line(const SourceStack& stack, std::string_view kernel);

}  // namespace cudadiag::symbolize
