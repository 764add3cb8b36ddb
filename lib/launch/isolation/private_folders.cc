#include "launch/isolation/private_folders.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/text.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
using base::environment_value;

// Leaves room for socket names: the path of a local socket has at most 107 bytes. Programs append up to 40 bytes to the
// temporary folder's path.
constexpr std::size_t kLongestRoot = 60;
constexpr std::uint64_t kMostBytes = 512u << 20;
constexpr std::uint64_t kMostFiles = 20'000;

struct KnownCache {
  const char* variable;
  const char* name;                     // the folder's name below the rerun's private root
  std::array<const char*, 2> defaults;  // the default paths, relative to the home folder; a leading "/" means relative
                                        // to the temporary folder
};

// Leaves XDG_CACHE_HOME alone. It may also contain downloaded models, which a rerun without a network could not
// download again.
constexpr KnownCache kCaches[] = {
    {"CUDA_CACHE_PATH", "cuda", {".nv/ComputeCache", nullptr}},
    {"TRITON_CACHE_DIR", "triton", {".triton/cache", nullptr}},
    {"TORCHINDUCTOR_CACHE_DIR", "inductor", {"/torchinductor_", nullptr}},
    {"TORCH_EXTENSIONS_DIR", "torch_extensions", {".cache/torch_extensions", nullptr}},
    {"CUPY_CACHE_DIR", "cupy", {".cupy/kernel_cache", nullptr}},
    {"NUMBA_CACHE_DIR", "numba", {nullptr, nullptr}},
    {"WARP_CACHE_PATH", "warp", {".cache/warp", nullptr}},
    {"VLLM_CACHE_ROOT", "vllm", {".cache/vllm", nullptr}},
    {"MPLCONFIGDIR", "matplotlib", {".config/matplotlib", ".cache/matplotlib"}},
};
// Caches that exist only if the user has set the variable that names their folder.
constexpr KnownCache kNamedCaches[] = {
    {"JAX_COMPILATION_CACHE_DIR", "jax", {nullptr, nullptr}},
    {"PYTHONPYCACHEPREFIX", "pycache", {nullptr, nullptr}},
};

fs::path temporary_folder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : folder;
}

std::vector<fs::path> places_of(const KnownCache& cache) {
  if (const std::string named = environment_value(cache.variable); !named.empty()) return {named};
  std::vector<fs::path> places;
  for (const char* place : cache.defaults) {
    if (place == nullptr) continue;
    const std::string text = place;
    // PyTorch appends the user's name to its default folder.
    if (text.front() == '/') places.push_back(temporary_folder().string() + text + environment_value("USER"));
    if (text.front() != '/' && !environment_value("HOME").empty())
      places.push_back(fs::path(environment_value("HOME")) / text);
  }
  return places;
}

struct Room {
  std::uint64_t bytes = kMostBytes, files = kMostFiles;
};

bool fits(const fs::path& folder, Room& room) {
  Room left = room;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const std::uint64_t bytes = it->is_regular_file(ignored) && !it->is_symlink(ignored) ? it->file_size(ignored) : 0;
    if (left.files == 0 || ignored || bytes > left.bytes) return false;
    --left.files;
    left.bytes -= bytes;
  }
  room = left;
  return true;
}

// Preserves modification times, because build tools compare them.
void copy_tree(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const fs::path target = to / it->path().lexically_relative(from);
    if (it->is_symlink(ignored)) {
      fs::copy_symlink(it->path(), target, ignored);
    } else if (it->is_directory(ignored)) {
      fs::create_directory(target, ignored);
    } else if (it->is_regular_file(ignored) && fs::copy_file(it->path(), target, ignored)) {
      fs::last_write_time(target, it->last_write_time(ignored), ignored);
    }
  }
}

}  // namespace

base::Result<PrivateFolders> PrivateFolders::make(const fs::path& place, const base::FileDescriptor& folder) {
  constexpr const char* kName = "private";
  const bool is_long = (place / kName).native().size() > kLongestRoot;
  const bool is_made = !is_long && ::mkdirat(folder.get(), kName, 0700) == 0;
  auto made = is_long ? make_in(temporary_folder())
                      : of(is_made ? base::open_plain_folder(folder.get(), kName) : base::FileDescriptor());
  if (auto* folders = std::get_if<PrivateFolders>(&made)) {
    folders->add_temporary();
    folders->add_caches();
  }
  return made;
}

base::Result<PrivateFolders> PrivateFolders::make_in(const fs::path& place) {
  std::string name = (place / "cudadiag-XXXXXX").string();
  const bool made = ::mkdtemp(name.data()) != nullptr;
  return of(made ? base::open_plain_folder(AT_FDCWD, name.c_str()) : base::FileDescriptor());
}

base::Result<PrivateFolders> PrivateFolders::of(base::FileDescriptor opened) {
  const int failure = errno;
  std::error_code error;
  const fs::path real = opened.valid() ? fs::read_symlink(base::path_through(opened), error) : fs::path();
  if (!opened.valid() || error) {
    return base::Error{std::string("cannot create a private folder: ") + std::strerror(error ? error.value() : failure),
                       ""};
  }
  return PrivateFolders(real, std::move(opened));
}

PrivateFolders::~PrivateFolders() { base::remove_folder(opened_); }

void PrivateFolders::add_temporary() {
  constexpr const char* kTemporary = "tmp";
  ::mkdirat(opened_.get(), kTemporary, 0700);
  for (const char* name : {"TMPDIR", "TMP", "TEMP"}) variables_.push_back({name, (root_ / kTemporary).string()});
}

void PrivateFolders::add_caches() {
  Room room;
  std::error_code error;
  // Uses at most a quarter of the free space on the disk that contains the private folders.
  if (const fs::space_info space = fs::space(base::path_through(opened_), error); !error)
    room.bytes = std::min(room.bytes, space.available / 4);
  const auto add = [&](const KnownCache& cache) {
    const fs::path folder = base::path_through(opened_) / cache.name;
    if (::mkdirat(opened_.get(), cache.name, 0700) != 0) return;
    for (const fs::path& place : places_of(cache)) {
      if (fs::is_directory(place, error) && fits(place, room)) copy_tree(place, folder);
    }
    variables_.push_back({cache.variable, (root_ / cache.name).string()});
  };
  for (const KnownCache& cache : kCaches) add(cache);
  for (const KnownCache& cache : kNamedCaches) {
    if (!environment_value(cache.variable).empty()) add(cache);
  }
  // Stops Python from writing compiled files next to the sources. Python still reads existing ones.
  if (environment_value("PYTHONPYCACHEPREFIX").empty()) variables_.push_back({"PYTHONDONTWRITEBYTECODE", "1"});
}

std::vector<fs::path> cache_folders() {
  std::vector<fs::path> folders;
  const auto add = [&](const KnownCache& cache) {
    for (fs::path& place : places_of(cache)) folders.push_back(std::move(place));
  };
  for (const KnownCache& cache : kCaches) add(cache);
  for (const KnownCache& cache : kNamedCaches) add(cache);
  for (const char* variable : {"XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "PIP_CACHE_DIR", "UV_CACHE_DIR"}) {
    if (const std::string folder = environment_value(variable); !folder.empty()) folders.emplace_back(folder);
  }
  if (const std::string home = environment_value("HOME"); !home.empty()) folders.push_back(fs::path(home) / ".cache");
  return folders;
}

}  // namespace cudadiag::launch
