// What paths tell: which files and modules belong to the system, to CUDA, to frameworks and to Python. The rules on
// whole stacks are in user_code.h, which is what other code asks.
#pragma once

#include <string_view>

namespace cudadiag::symbolize {

// Where nothing was said of the file or module: is it the user's by where it lies and what it is called?
bool is_python_file_of_users(std::string_view file);
bool is_module_of_users(std::string_view path);

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

}  // namespace cudadiag::symbolize
