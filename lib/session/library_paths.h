// Facts from paths: which files and modules belong to the system, to CUDA, to frameworks and to Python. The analysis
// uses it to compare runs. The leading line is decided by the rules on whole stacks in symbolize/user_code.h, which
// also know the user's own rules.
#pragma once

#include <string_view>

namespace cudadiag::session {

// For a file or module without a rule of the user's: is it the user's, judged by its place and name?
bool is_python_file_of_users(std::string_view file);
bool is_module_of_users(std::string_view path);

// The file of code that a library makes at run time: of a string, or of a file that the program wrote itself. The code
// of `python -c` looks the same.
bool is_made_at_run_time(std::string_view file);

// Written by a compiler at run time: Inductor's modules, in whatever folder, and what Triton keeps.
bool is_generated(std::string_view path);

// Whether the interpreter itself lies here: native frames outside of it add nothing to Python's.
bool is_interpreter(std::string_view module);

// Anywhere below Python's own library folder or an installed package: `lib/python3.12/`, `site-packages/`, a zipped
// one.
bool is_python_library(std::string_view path);

// Driver, runtime, CUPTI, cuBLAS and so on by their sonames, wherever they lie; and the recorder.
bool is_cuda_module(std::string_view path);

// Calls exported functions that it found by name, for a script: libffi and what it may be linked into.
bool is_foreign_function_interface(std::string_view path);

// Calls main().
bool is_c_library(std::string_view path);

// A header or source that came with the system, the toolkit, a compiler or a framework; false for an empty path.
bool is_library_source(std::string_view file);

}  // namespace cudadiag::session
