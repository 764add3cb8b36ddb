// Finds out from a path whether a file or module belongs to the user or to a library. Libraries are those of the
// system, CUDA, frameworks and Python. The analysis uses these functions to compare runs. To choose the line to show
// first, reports use symbolize/user_code.h, which considers whole stacks and the user's own rules.
#pragma once

#include <string_view>

#include "wire/name_patterns.h"

namespace cudadiag::session {

using wire::library_paths::is_cuda_module;
using wire::library_paths::is_generated;
using wire::library_paths::is_interpreter;
using wire::library_paths::is_module_of_users;
using wire::library_paths::is_python_library;

// Returns whether a Python file belongs to the user. Like is_module_of_users(), considers only the path, not the user's
// own rules.
bool is_python_file_of_users(std::string_view file);

// Returns whether `file` may name code that was generated at run time, from a string or from a file that the program
// wrote. Also true for the code of `python -c`, which has the same name as code from a string.
bool is_made_at_run_time(std::string_view file);

// Returns whether the library is the recorder, in any folder.
bool is_recorder(std::string_view path);

// Returns whether the library lets a script call exported functions by name: libffi, and modules that it may be linked
// into.
bool is_foreign_function_interface(std::string_view path);

// Returns whether the module is a Python binding of CUDA that returns or raises the code of each call.
bool is_cuda_binding(std::string_view path);

// Returns whether the library is the one that calls main().
bool is_c_library(std::string_view path);

// Returns whether a header or source came with the system, toolkit, compiler or framework; false for an empty path.
bool is_library_source(std::string_view file);

}  // namespace cudadiag::session
