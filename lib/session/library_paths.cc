#include "session/library_paths.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "wire/names/temporary_file.h"

namespace cudadiag::session {
namespace {

constexpr std::string_view kSystemFolders[] = {
    "/lib/",         "/lib32/",      "/lib64/",          "/usr/lib/",        "/usr/lib32/",       "/usr/lib64/",
    "/usr/libexec/", "/opt/nvidia/", "/usr/local/cuda/", "/usr/local/cuda-", "/usr/local/nvidia/"};

// The names of CUDA's libraries, as returned by stem_of().
constexpr std::string_view kCudaStems[] = {
    "libcuda",         "libcudart",          "libcupti",         "libcublas",       "libcublasLt",   "libcudnn",
    "libcufft",        "libcufftw",          "libcurand",        "libcusolver",     "libcusolverMg", "libcusparse",
    "libcusparseLt",   "libcutensor",        "libcutensorMg",    "libcufile",       "libnccl",       "libnvrtc",
    "libnvJitLink",    "libnvjpeg",          "libnvToolsExt",    "libnvtx3interop", "libnvidia",     "libnvinfer",
    "libnvonnxparser", "libnvperf_host",     "libnvperf_target", "libnvfatbin",     "libnvblas",     "libnvshmem_host",
    "libcudadevrt",    "libcudadiag_record", "libaccinj64",      "libnppc",         "libnpps"};
constexpr std::string_view kCudaStemPrefixes[] = {
    "libcudnn_adv",       "libcudnn_cnn", "libcudnn_engines", "libcudnn_graph",
    "libcudnn_heuristic", "libcudnn_ops", "libnppi",          "libnvinfer_",
    "libnvidia-",         "libnvrtc-",    "libnccl-"};

constexpr std::string_view kLibraryStems[] = {"libtorch",
                                              "libtorch_cpu",
                                              "libtorch_cuda",
                                              "libtorch_cuda_linalg",
                                              "libtorch_hip",
                                              "libtorch_python",
                                              "libtorch_global_deps",
                                              "libtorch_nvshmem",
                                              "libtorch_xpu",
                                              "libc10",
                                              "libc10_cuda",
                                              "libc10_hip",
                                              "libc10_xpu",
                                              "libshm",
                                              "libtensorflow",
                                              "libtensorflow_cc",
                                              "libonnxruntime",
                                              "libstdc++",
                                              "libc++",
                                              "libc++abi",
                                              "libgcc_s",
                                              "libgomp",
                                              "libomp",
                                              "libiomp5",
                                              "libffi",
                                              "__triton_launcher",
                                              "libc",
                                              "libm",
                                              "libdl",
                                              "libpthread",
                                              "librt",
                                              "ld"};
constexpr std::string_view kLibraryStemPrefixes[] = {"libcaffe2", "libonnxruntime_providers_", "ld-linux",
                                                     "linux-vdso"};

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

// Folders in which compilers store code at run time. Instead of lines in these folders, reports show the Python line
// that called the code.
constexpr std::string_view kGeneratedParts[] = {"/torchinductor_", "/torch_compile_debug/", "/.triton/cache/",
                                                "/.triton/dump/"};
constexpr std::string_view kUserPseudoFiles[] = {
    "<string>",       "<stdin>", "<console>", "<input>", "<ipython-input-", "<doctest ", "<cell ", "<command-",
    "<python-input-",               // CPython 3.13
    "<timeit-src>",   "<script>"};  // a second interpreter in CPython 3.14

// Debuggers and build tools that run the program in their own process.
constexpr std::string_view kToolParts[] = {"/debugpy/", "/helpers/pydev/", "_stage2_bootstrap.py"};

template <typename Prefixes>
bool starts_with_any(std::string_view text, const Prefixes& prefixes) {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](auto prefix) { return text.starts_with(prefix); });
}

template <typename Parts>
bool contains_any(std::string_view text, const Parts& parts) {
  return std::any_of(std::begin(parts), std::end(parts), [&](auto part) { return text.find(part) != text.npos; });
}

template <typename Texts>
bool equals_any(std::string_view text, const Texts& texts) {
  return std::find(std::begin(texts), std::end(texts), text) != std::end(texts);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns the name up to its first '.'. Also removes a suffix after '-' if it is the hash of a wheel or the version of
// an old C library. Examples: `libcudart` for libcudart-d0da41ae.so.11.0, `libc` for libc-2.31.so. Other suffixes stay:
// `libcuda-kernels` is not one of CUDA's libraries.
std::string_view stem_of(std::string_view path) {
  auto name = base_name(path);
  name = name.substr(0, name.find('.'));
  constexpr std::size_t kHash = 8;  // digits of a hash
  const auto dash = name.rfind('-');
  const auto end = name.substr(dash + 1);
  const bool is_hash = end.size() == kHash && end.find_first_not_of("0123456789abcdef") == end.npos;
  return is_hash || end.find_first_not_of("0123456789") == end.npos ? name.substr(0, dash) : name;
}

// Returns whether the text is a Python version such as "3" or "3.13t". The letters at its end mark debug and
// free-threaded builds.
bool is_python_version(std::string_view text) {
  while (text.ends_with('t') || text.ends_with('d') || text.ends_with('m')) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
}

// Returns whether the path contains a folder `python3.12` or an archive `python312.zip` below a folder `lib`.
bool is_below_standard_library(std::string_view path) {
  for (const std::string_view lib : {"/lib/python", "/lib64/python"}) {
    for (auto at = path.find(lib); at != path.npos; at = path.find(lib, at + 1)) {
      auto name = path.substr(at + lib.size());
      const auto end = name.find('/');
      if (end == name.npos) continue;
      name = name.substr(0, end);
      if (name.ends_with(".zip")) name.remove_suffix(4);
      if (!name.empty() && is_python_version(name)) return true;
    }
  }
  return false;
}

// Returns whether the file is named like an Inductor file: a hash, in a folder named after two letters of the hash, as
// in `ab/cabq….py`.
bool has_inductor_name(std::string_view path) {
  constexpr std::size_t kHash = 52;
  const auto name = base_name(path);
  if (!name.ends_with(".py") || name.size() != kHash + 3 || name[0] != 'c') return false;
  const auto folder = path.substr(0, path.size() - name.size());
  const auto is_base32 = [](unsigned char c) { return std::islower(c) || (c >= '2' && c <= '7'); };
  return folder.ends_with("/" + std::string(name.substr(1, 2)) + "/") &&
         std::all_of(name.begin(), name.begin() + kHash, is_base32);
}

}  // namespace

bool is_generated(std::string_view path) { return contains_any(path, kGeneratedParts) || has_inductor_name(path); }

bool is_python_library(std::string_view path) {
  constexpr std::string_view kPackageFolders[] = {"/site-packages/",
                                                  "/dist-packages/",
                                                  "/__pypackages__/",
                                                  ".whl/",
                                                  ".egg/",
                                                  "/.cache/torch/hub/",
                                                  "/.cache/huggingface/modules/"};
  // In CuPy's tracebacks, the paths of sources that Cython compiled are relative to the folder in which CuPy was built.
  const bool is_of_cupy = path.find("/cupy/") != path.npos && path.ends_with(".pyx");
  return is_of_cupy || contains_any(path, kPackageFolders) || is_below_standard_library(path);
}

bool is_cuda_module(std::string_view path) {
  const auto stem = stem_of(path);
  return equals_any(stem, kCudaStems) || starts_with_any(stem, kCudaStemPrefixes);
}

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

bool is_interpreter(std::string_view module) {
  auto name = base_name(module);
  constexpr std::string_view kPython = "python", kLibrary = "libpython";
  if (name.starts_with(kLibrary)) return is_python_version(name.substr(kLibrary.size(), 1));
  if (!name.starts_with(kPython)) return false;
  name.remove_prefix(kPython.size());
  return is_python_version(name);
}

bool is_module_of_users(std::string_view path) {
  if (path.empty() || path.starts_with('[')) return false;  // "[vdso]"
  const auto stem = stem_of(path);
  return !starts_with_any(path, kSystemFolders) && !is_cuda_module(path) && !equals_any(stem, kLibraryStems) &&
         !starts_with_any(stem, kLibraryStemPrefixes) && !is_python_library(path) && !is_interpreter(path) &&
         !is_generated(path);
}

}  // namespace cudadiag::session
