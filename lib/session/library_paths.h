// Decides from paths which files and modules belong to the system, CUDA, frameworks and Python. The analysis uses this
// to compare runs. Reports choose the line to show first by the rules for whole stacks in symbolize/user_code.h, which
// include the user's own rules.
#pragma once

#include <string_view>

namespace cudadiag::session {

// Returns whether a file or module is the user's, judging by its path. The user's own rules do not count here.
bool is_python_file_of_users(std::string_view file);
bool is_module_of_users(std::string_view path);

// Returns whether `file` is the name of code that a library generates at run time. The code comes from a string, or
// from a file that the program wrote itself. The code of `python -c` looks the same.
bool is_made_at_run_time(std::string_view file);

// Returns whether a compiler wrote the file at run time: Inductor's modules, in any folder, and Triton's cached files.
bool is_generated(std::string_view path);

// Returns whether the module is the Python interpreter. Native frames further out than the interpreter's add nothing to
// the Python frames.
bool is_interpreter(std::string_view module);

// Returns whether the path is in Python's own library folder or an installed package: `lib/python3.12/`,
// `site-packages/`, or a zipped one.
bool is_python_library(std::string_view path);

// Whether the library is the driver, the runtime, CUPTI, cuBLAS or another part of CUDA, or the recorder. Recognises
// sonames in any folder.
bool is_cuda_module(std::string_view path);

// Whether the library calls exported functions by name for a script: libffi, and modules that it may be linked into.
bool is_foreign_function_interface(std::string_view path);

// Whether the library is the one that calls main().
bool is_c_library(std::string_view path);

// Whether a header or source came with the system, toolkit, compiler or framework; false for an empty path.
bool is_library_source(std::string_view file);

}  // namespace cudadiag::session
