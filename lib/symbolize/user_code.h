// Tells the user's own code from libraries, CUDA and the interpreter. The true line of a stack depends on this
// distinction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "symbolize/source_stack.h"

namespace cudadiag::symbolize {

// `rules` come from options that declare files and folders as user code or not. If several rules match a file, the one
// with the longest path applies; among equal paths, the last one. Without a matching rule, the result depends on the
// file's folder and name.
class UserCode {
 public:
  UserCode() = default;
  // `interpreters` are the folders of the processes' interpreters, in which packages install their start scripts.
  explicit UserCode(std::vector<session::CodeRule> rules, std::vector<std::string> interpreters = {});

  // Returns false for the standard library, installed packages, and frozen or generated code. Returns true for
  // `<string>`, `<stdin>` and notebook cells.
  bool python(std::string_view file) const;
  bool python(const PythonFrame& frame) const;
  // Returns whether the code was generated at run time and no rule matches it. A library may have generated it.
  bool made_at_run_time(const PythonFrame& frame) const;

  // Returns false for system, CUDA and framework libraries, the interpreter and the recorder. Rules cannot override
  // this for the interpreter, CUDA and the recorder.
  bool module(std::string_view path) const;
  // Returns whether the module is installed and no rule matches it. Installed means below /usr/local/lib or in the
  // `lib` folder of an interpreter's prefix, as with conda. An installed module without line information does not count
  // as user code.
  bool is_installed(std::string_view module) const;
  // Returns whether the frame is in user code. A rule that matches the source file takes precedence. Without a matching
  // rule, the module must be the user's, and the source file must not be a library's.
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

// `count` is the number of innermost frames that belong to the recorder, CUDA or nvcc's launch code. `kernel` is the
// kernel that nvcc's stubs name or, without a stub, `launched`. `kernel` is empty if the program called the driver
// directly.
struct LaunchFrames {
  std::size_t count = 0;
  std::string kernel;
};
LaunchFrames launch_frames(const std::vector<NativeFrame>& native, std::string_view launched,
                           const UserCode& code = {});

// Sets `user` in every frame. `kernel` is the mangled name of the launched kernel, or empty. Does not mark nvcc's host
// function for the kernel: its line is the kernel's definition, not the launch.
void mark_user_frames(SourceStack& stack, std::string_view kernel, const UserCode& code = {});

// The result depends on the `user` marks, so call mark_user_frames() first. nvcc's host function for `kernel` is never
// the true line.
TrueLine find_true_line(const SourceStack& stack, std::string_view kernel);

// ---- file names of code that is not in a plain file: typed, compiled from a string, or in an archive

// Returns whether IPython gives this file name to the code of a cell that begins with %%time or %%timeit. Code after
// %time or %timeit on one line gets the same name, but reports then show the line that contains the command.
bool is_cell_of_magic(std::string_view file);

// Returns "cell In[3]" for `<ipython-input-3-0a1b>`, and "cell ipykernel_12/345.py" for a cell that ran in ipykernel;
// otherwise "".
std::string cell_name(std::string_view file);

std::string why_no_source(std::string_view file);

}  // namespace cudadiag::symbolize
