// Facts about files, modules and kernels from their names.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string_view>

// Finds out from a path whether a module belongs to the user or to a library. The recorder needs this, and so do the
// rules of the analysis (session/user_or_library.h).
namespace cudadiag::wire::library_paths {

inline constexpr std::string_view kSystemFolders[] = {
    "/lib/",         "/lib32/",      "/lib64/",          "/usr/lib/",        "/usr/lib32/",       "/usr/lib64/",
    "/usr/libexec/", "/opt/nvidia/", "/usr/local/cuda/", "/usr/local/cuda-", "/usr/local/nvidia/"};

// The names of CUDA's libraries, as returned by stem_of().
inline constexpr std::string_view kCudaStems[] = {
    "libcuda",         "libcudart",          "libcupti",         "libcublas",       "libcublasLt",   "libcudnn",
    "libcufft",        "libcufftw",          "libcurand",        "libcusolver",     "libcusolverMg", "libcusparse",
    "libcusparseLt",   "libcutensor",        "libcutensorMg",    "libcufile",       "libnccl",       "libnvrtc",
    "libnvJitLink",    "libnvjpeg",          "libnvToolsExt",    "libnvtx3interop", "libnvidia",     "libnvinfer",
    "libnvonnxparser", "libnvperf_host",     "libnvperf_target", "libnvfatbin",     "libnvblas",     "libnvshmem_host",
    "libcudadevrt",    "libcudadiag_record", "libaccinj64",      "libnppc",         "libnpps"};
inline constexpr std::string_view kCudaStemPrefixes[] = {
    "libcudnn_adv",       "libcudnn_cnn", "libcudnn_engines", "libcudnn_graph",
    "libcudnn_heuristic", "libcudnn_ops", "libnppi",          "libnvinfer_",
    "libnvidia-",         "libnvrtc-",    "libnccl-"};

inline constexpr std::string_view kLibraryStems[] = {"libtorch",
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
inline constexpr std::string_view kLibraryStemPrefixes[] = {"libcaffe2", "libonnxruntime_providers_", "ld-linux",
                                                            "linux-vdso"};

// Folders in which compilers store code at run time. Instead of lines in these folders, reports show the Python line
// that called the code.
inline constexpr std::string_view kGeneratedParts[] = {"/torchinductor_", "/torch_compile_debug/", "/.triton/cache/",
                                                       "/.triton/dump/"};

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

// Like substr(), but never throws: the recorder contains no code for exceptions of the standard library.
constexpr std::string_view part(std::string_view text, std::size_t at, std::size_t size = std::string_view::npos) {
  at = at < text.size() ? at : text.size();
  return {text.data() + at, size < text.size() - at ? size : text.size() - at};
}

inline std::string_view base_name(std::string_view path) { return part(path, path.rfind('/') + 1); }

// Returns the name up to its first '.'. Also removes a suffix after '-' if it is the hash of a wheel or the version of
// an old C library. Examples: `libcudart` for libcudart-d0da41ae.so.11.0, `libc` for libc-2.31.so. Other suffixes stay:
// `libcuda-kernels` is not one of CUDA's libraries.
inline std::string_view stem_of(std::string_view path) {
  auto name = base_name(path);
  name = part(name, 0, name.find('.'));
  constexpr std::size_t kHash = 8;  // digits of a hash
  const auto dash = name.rfind('-');
  const auto end = part(name, dash + 1);
  const bool is_hash = end.size() == kHash && end.find_first_not_of("0123456789abcdef") == end.npos;
  return is_hash || end.find_first_not_of("0123456789") == end.npos ? part(name, 0, dash) : name;
}

// Returns whether the text is a Python version such as "3" or "3.13t". The letters at its end mark debug and
// free-threaded builds.
inline bool is_python_version(std::string_view text) {
  while (text.ends_with('t') || text.ends_with('d') || text.ends_with('m')) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
}

// Returns whether the path contains a folder `python3.12` or an archive `python312.zip` below a folder `lib`.
inline bool is_below_standard_library(std::string_view path) {
  for (const std::string_view lib : {"/lib/python", "/lib64/python"}) {
    for (auto at = path.find(lib); at != path.npos; at = path.find(lib, at + 1)) {
      auto name = part(path, at + lib.size());
      const auto end = name.find('/');
      if (end == name.npos) continue;
      name = part(name, 0, end);
      if (name.ends_with(".zip")) name.remove_suffix(4);
      if (!name.empty() && is_python_version(name)) return true;
    }
  }
  return false;
}

// Returns whether the file is named like an Inductor file: a hash, in a folder named after two letters of the hash, as
// in `ab/cabq….py`.
inline bool has_inductor_name(std::string_view path) {
  constexpr std::size_t kHash = 52;
  const auto name = base_name(path);
  if (!name.ends_with(".py") || name.size() != kHash + 3 || name[0] != 'c') return false;
  const auto folder = part(path, 0, path.size() - name.size());
  const auto is_base32 = [](unsigned char c) { return std::islower(c) || (c >= '2' && c <= '7'); };
  const auto end = folder.size();
  return end >= 4 && folder[end - 4] == '/' && part(folder, end - 3, 2) == part(name, 1, 2) &&
         std::all_of(name.begin(), name.begin() + kHash, is_base32);
}

// Returns whether a compiler wrote the file at run time. These are Inductor's modules, in any folder, and Triton's
// cached files.
inline bool is_generated(std::string_view path) {
  return contains_any(path, kGeneratedParts) || has_inductor_name(path);
}

// Returns whether the path is in Python's own library folder or an installed package, which may be zipped:
// `lib/python3.12/`, `site-packages/`.
inline bool is_python_library(std::string_view path) {
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

// Returns whether the library is the recorder, or a part of CUDA such as the driver, the runtime, CUPTI or cuBLAS.
// Recognises the library by its soname, in any folder.
inline bool is_cuda_module(std::string_view path) {
  const auto stem = stem_of(path);
  return equals_any(stem, kCudaStems) || starts_with_any(stem, kCudaStemPrefixes);
}

// Returns whether the module is the Python interpreter. In a stack, native frames further out than the interpreter add
// nothing to the Python frames.
inline bool is_interpreter(std::string_view module) {
  auto name = base_name(module);
  constexpr std::string_view kPython = "python", kLibrary = "libpython";
  if (name.starts_with(kLibrary)) return is_python_version(part(name, kLibrary.size(), 1));
  if (!name.starts_with(kPython)) return false;
  name.remove_prefix(kPython.size());
  return is_python_version(name);
}

inline bool is_module_of_users(std::string_view path) {
  if (path.empty() || path.starts_with('[')) return false;  // "[vdso]"
  const auto stem = stem_of(path);
  return !starts_with_any(path, kSystemFolders) && !is_cuda_module(path) && !equals_any(stem, kLibraryStems) &&
         !starts_with_any(stem, kLibraryStemPrefixes) && !is_python_library(path) && !is_interpreter(path) &&
         !is_generated(path);
}

}  // namespace cudadiag::wire::library_paths

// Recognises files that a program generates for itself, by the random part of their names. The random part differs from
// run to run. Only the path is examined, so that the recorder and the analysis of a session get the same result. The
// files must be below a folder named `tmp`. If TMPDIR names a different folder, its files are not recognised.
namespace cudadiag::wire::temporary_file {

// The number of random characters in names from Python's tempfile: `nn.sage_conv_q9dx4sbc.py`, `tmpab12cd_3`.
inline constexpr std::size_t kDrawn = 8;

constexpr bool is_drawn(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Returns true if the beginning of a file's name shows that the file was generated. Authors do not choose names like
// these. Generated code is named after the module of a class, so the name has dots or is `__main__`. PyTorch Geometric
// uses the class name and one of two endings instead.
constexpr bool begins_as_generated(std::string_view name) {
  constexpr std::string_view kMain = "__main__", kEnds[] = {"_propagate_", "_edge_updater_"};
  if (name.starts_with(kMain)) return true;
  bool has_class = false;
  for (const char c : name) has_class = has_class || (c >= 'A' && c <= 'Z');
  for (const std::string_view end : kEnds) {
    if (has_class && name.ends_with(end)) return true;
  }
  return name.find('.') != name.npos && (name.back() == '_' || !is_drawn(name.back()));
}

// Returns the position of the random characters in a file or folder name, before its last suffix; npos if there are
// none. Eight of these characters may also form an ordinary word. They are therefore accepted only after tempfile's
// prefix `tmp`, or in names of generated code. Must not throw, because exceptions would link the C++ runtime into the
// recorder.
constexpr std::size_t drawn_at(std::string_view name, bool is_folder) {
  const std::size_t dot = is_folder ? name.npos : name.rfind('.');
  const std::size_t end = dot == name.npos ? name.size() : dot;
  if (end <= kDrawn) return name.npos;
  const std::size_t at = end - kDrawn;
  for (std::size_t i = at; i < end; ++i) {
    if (!is_drawn(name[i])) return name.npos;
  }
  const std::string_view before(name.data(), at);
  return before == "tmp" || (!is_folder && begins_as_generated(before)) ? at : name.npos;
}

// Calls `visit(part)` for each part of the path that is the same in every run. Returns true if the path has random
// parts.
template <typename Visit>
constexpr bool visit_lasting(std::string_view path, Visit visit) {
  constexpr std::string_view kFolder = "/tmp/";
  std::size_t begin = 0;
  const std::size_t folder = path.find(kFolder);
  std::size_t at = folder == path.npos ? path.size() : folder + kFolder.size();
  while (at < path.size()) {
    const std::size_t slash = path.find('/', at);
    const std::size_t end = slash == path.npos ? path.size() : slash;
    const std::size_t drawn = drawn_at({path.data() + at, end - at}, slash != path.npos);
    if (drawn != path.npos) {
      visit(std::string_view(path.data() + begin, at + drawn - begin));
      begin = at + drawn + kDrawn;
    }
    at = end + 1;
  }
  visit(std::string_view(path.data() + begin, path.size() - begin));
  return begin > 0;
}

// Returns true if the name shows that the program generated the file.
constexpr bool is_made_by_program(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos || path.find("/tmp/") == path.npos) return false;
  const std::string_view name(path.data() + slash + 1, path.size() - slash - 1);
  return drawn_at(name, false) != name.npos;
}

}  // namespace cudadiag::wire::temporary_file

// Recognises kernels by their names.
//
// In PyTorch and other frameworks, the names of kernels that raise a device-side assert if an index or a value is out
// of range contain certain words. The recorder puts markers around launches of these kernels. After an assert, the
// analysis suspects them first, although a name proves nothing.
namespace cudadiag::wire {

inline bool checks_its_data(std::string_view kernel) {
  for (const std::string_view word :
       {"ndex", "gather", "catter", "mbedding", "nll_loss", "NLLLoss", "ssert", "ultinomial", "bincount",
        "binary_cross_entropy", "one_hot", "ClassNLL", "MultiMargin", "MultiLabelMargin", "npool", "ernoulli",
        "take_put", "compute_cuda_kernel"}) {
    if (kernel.find(word) != kernel.npos) return true;
  }
  return false;
}

// Returns whether this is a kernel of NCCL, including those for sends and receives. The names differ between versions.
inline bool is_of_nccl(std::string_view kernel) {
  for (const std::string_view part : {"ncclDevKernel", "ncclKernel", "ncclSym"}) {
    if (kernel.find(part) != kernel.npos) return true;
  }
  return false;
}

// Returns whether the mangled name is that of a kernel of PyTorch or of one of NVIDIA's libraries. Templates that a
// program instantiates with its own code, such as those of CUTLASS and CUB, do not count.
inline bool is_of_library(std::string_view kernel) {
  for (const std::string_view part :
       {"2at6native", "cublas", "cudnn", "cusparse", "cufft", "_xmma_", "ncclDevKernel"}) {
    if (kernel.find(part) != kernel.npos) return true;
  }
  for (const std::string_view start : {"nvjet_", "ampere_", "volta_", "turing_"}) {
    if (kernel.starts_with(start)) return true;
  }
  return false;
}

}  // namespace cudadiag::wire
