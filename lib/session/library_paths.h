// Finds out from a path whether a file or module belongs to the user or to a library. Libraries are those of the
// system, CUDA, frameworks and Python. The analysis uses these functions to compare runs. To choose the line to show
// first, reports use symbolize/user_code.h, which considers whole stacks and the user's own rules.
#pragma once

#include <string_view>

namespace cudadiag::session {

// Return whether a Python file, or a module, belongs to the user. Both functions consider only the path, not the user's
// own rules.
bool is_python_file_of_users(std::string_view file);
bool is_module_of_users(std::string_view path);

// Returns whether `file` may name code that was generated at run time, from a string or from a file that the program
// wrote. Also true for the code of `python -c`, which has the same name as code from a string.
bool is_made_at_run_time(std::string_view file);

// Returns whether a compiler wrote the file at run time. These are Inductor's modules, in any folder, and Triton's
// cached files.
bool is_generated(std::string_view path);

// Returns whether the module is the Python interpreter. In a stack, native frames further out than the interpreter add
// nothing to the Python frames.
bool is_interpreter(std::string_view module);

// Returns whether the path is in Python's own library folder or an installed package, which may be zipped:
// `lib/python3.12/`, `site-packages/`.
bool is_python_library(std::string_view path);

// Returns whether the library is the recorder, or a part of CUDA such as the driver, the runtime, CUPTI or cuBLAS.
// Recognises the library by its soname, in any folder.
bool is_cuda_module(std::string_view path);

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
