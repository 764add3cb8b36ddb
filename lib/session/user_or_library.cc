#include "session/user_or_library.h"

namespace cudadiag::session {
namespace {

using namespace wire::library_paths;

constexpr std::string_view kLibrarySourceParts[] = {"/include/crt/",
                                                    "/targets/x86_64-linux/include/",
                                                    "/targets/sbsa-linux/include/",
                                                    "/include/c++/",
                                                    "/include/thrust/",
                                                    "/include/cub/",
                                                    "/include/cuda/std/",
                                                    "/include/ATen/",
                                                    "/include/c10/",
                                                    "/include/torch/",
                                                    "/lib/gcc/",
                                                    "/lib/clang/",
                                                    "/rustc/",
                                                    "/.cargo/registry/"};
constexpr std::string_view kLibrarySourceFolders[] = {"/usr/include/", "/usr/local/include/", "/usr/src/debug/"};
constexpr std::string_view kCudaHeaders[] = {"cuda_runtime.h", "cuda_runtime_api.h", "host_runtime.h",
                                             "device_launch_parameters.h"};

constexpr std::string_view kUserPseudoFiles[] = {
    "<string>",       "<stdin>", "<console>", "<input>", "<ipython-input-", "<doctest ", "<cell ", "<command-",
    "<python-input-",               // CPython 3.13
    "<timeit-src>",   "<script>"};  // a second interpreter in CPython 3.14

// Debuggers and build tools that run the program in their own process.
constexpr std::string_view kToolParts[] = {"/debugpy/", "/helpers/pydev/", "_stage2_bootstrap.py"};

}  // namespace

bool is_recorder(std::string_view path) { return stem_of(path) == "libcudadiag_record"; }

bool is_foreign_function_interface(std::string_view path) {
  constexpr std::string_view kStems[] = {"libffi", "_ctypes", "_cffi_backend"};
  return equals_any(stem_of(path), kStems) || is_interpreter(path);
}

bool is_cuda_binding(std::string_view path) {
  // The folders cuda/_cuda, cuda/_lib and the modules cuda/ccuda… are those of cuda-python before 12.8.
  constexpr std::string_view kParts[] = {"/cuda/bindings/",      "/cuda/core/",     "/cuda/_cuda/",  "/cuda/_lib/",
                                         "/cuda/cuda.",          "/cuda/ccuda.",    "/cuda/cudart.", "/cuda/ccudart.",
                                         "/cupy_backends/cuda/", "/pycuda/_driver."};
  constexpr std::string_view kExtensions[] = {".cpython-", ".abi3."};
  return contains_any(base_name(path), kExtensions) && contains_any(path, kParts);
}

bool is_c_library(std::string_view path) { return stem_of(path) == "libc"; }

bool is_library_source(std::string_view file) {
  if (file.empty()) return false;
  return starts_with_any(file, kSystemFolders) || starts_with_any(file, kLibrarySourceFolders) ||
         contains_any(file, kLibrarySourceParts) || equals_any(base_name(file), kCudaHeaders) ||
         is_python_library(file);
}

bool is_python_file_of_users(std::string_view file) {
  if (file.empty()) return false;
  if (file.starts_with('<')) return starts_with_any(file, kUserPseudoFiles);
  return !is_python_library(file) && !is_generated(file) && !contains_any(file, kToolParts);
}

bool is_made_at_run_time(std::string_view file) {
  return file == "<string>" || file == "<timeit-src>" || wire::temporary_file::is_made_by_program(file);
}

}  // namespace cudadiag::session
