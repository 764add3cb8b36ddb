#include "replay/launch_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/processes.h"
#include "base/text.h"
#include "session/session_files.h"
#include "wire/hash.h"

namespace cudadiag::replay {
namespace {

constexpr std::uint32_t kCooperativeAttribute = 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE

// Returns a C++ string literal. Escapes every character that could end the literal or the line.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                          c == '-' || c == '.' || c == '$';
    if (is_plain) {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return result + "\"";
}

// Returns a table with at least one row, because C++ does not allow empty arrays. `count` is the name of a constant for
// the actual number of rows.
std::string table(const char* type, const char* name, const char* count, const std::vector<std::string>& rows) {
  std::string text = fmt::format("static {} {}[] = {{\n", type, name);
  for (const std::string& row : rows) text += "    {" + row + "},\n";
  if (rows.empty()) text += "    {},\n";
  return text + fmt::format("}};\nstatic const std::size_t {} = {};\n", count, rows.size());
}

std::string dimensions(const char* name, const Dim3& value) {
  return fmt::format("static const unsigned {}[] = {{{}, {}, {}}};\n", name, value[0], value[1], value[2]);
}

std::string tables_of(const SavedLaunch& launch) {
  std::vector<std::string> blocks, parameters, attributes, values, limits;
  for (const Block& block : launch.blocks) {
    if (block.reach == Reach::nothing) continue;
    const auto name_or_null = [](const std::string& name) { return name.empty() ? "nullptr" : literal(name); };
    const Contents contents = block.contents.value_or(Contents{});
    blocks.push_back(fmt::format("0x{:x}, {}, {}, {}, {}, {}, {}, 0", block.address, block.bytes, block.is_of_host(),
                                 name_or_null(block.variable), name_or_null(contents.file), contents.from,
                                 contents.bytes));
  }
  for (const Parameter& each : launch.parameters) {
    parameters.push_back(fmt::format("{}, {}, \"{}\"", each.offset, each.bytes.size(), base::hex_of(each.bytes)));
  }
  std::vector<Attribute> all = launch.attributes;
  if (launch.cooperative) all.push_back({kCooperativeAttribute, {std::byte{1}}});
  for (const Attribute& each : all) {
    attributes.push_back(fmt::format("{}, \"{}\"", each.id, base::hex_of(each.value)));
  }
  for (const auto& [id, value] : launch.function_values)
    values.push_back(fmt::format("{}, {}u", id, static_cast<std::uint32_t>(value)));
  for (const auto& [id, value] : launch.limits) limits.push_back(fmt::format("{}, {}u", id, value));
  return fmt::format("static const char* kernel = {};\n", literal(launch.kernel)) + dimensions("grid", launch.grid) +
         dimensions("block", launch.block) +
         fmt::format("static const unsigned shared_bytes = {};\n", launch.shared_bytes) +
         table("Block", "blocks", "block_count", blocks) +
         table("const Parameter", "parameters", "parameter_count", parameters) +
         table("const Attribute", "attributes", "attribute_count", attributes) +
         table("const Value", "values", "value_count", values) + table("const Value", "limits", "limit_count", limits);
}

std::string in_words(Missing what, std::uint64_t count) {
  switch (what) {
    case Missing::attribute:
      return fmt::format("launch attribute {}, which refers to an object of the process", count);
    case Missing::allocations:
      return fmt::format("{} allocations that the recorder had no room to record", count);
    case Missing::parameters:
      return "the parameters, because the driver did not report their sizes (needs CUDA 12.4 or later)";
    case Missing::globals:
      return "variables of the module, because its image could not be read or contains too many";
    case Missing::heap:
      return "memory that kernels allocated with malloc on the device";
  }
  return "";
}

std::string line_of(const SourcePlace& place) {
  return place.line == 0 ? "unknown" : fmt::format("{}:{}", base::printable(place.file), place.line);
}

}  // namespace

std::string readme_of(const SavedLaunch& launch) {
  std::uint64_t saved = 0, unsaved = 0;
  for (const Block& block : launch.blocks) {
    const std::uint64_t kept = block.contents ? block.contents->bytes : 0;
    saved += kept;
    if (block.reach != Reach::nothing) unsaved += block.bytes - std::min(kept, block.bytes);
  }
  const SavedFailure failure = launch.failure.value_or(SavedFailure{});
  std::string text = fmt::format(
      "# A saved kernel launch\n\n"
      "{} saved this launch before it was issued. It failed with {} {}.\n\n"
      "**Running it executes the device code in `image` on your GPU.** Do that only if you trust the source of the "
      "folder. The memory files contain the program's GPU memory, such as inputs and weights.\n\n"
      "| | |\n| --- | --- |\n"
      "| kernel | `{}` |\n| issued at | {} |\n| grid, block | {} x {} x {}, {} x {} x {} |\n"
      "| saved on | {}, compute capability {}.{}, CUDA {}.{} |\n| memory | {} bytes saved, {} bytes missing |\n\n"
      "## Run it\n```\ncudadiag replay .\ncudadiag replay --times 20 .\ncudadiag replay --sanitize .\n```\n"
      "cudadiag-replay(1) describes all options. A folder from another machine needs `--foreign`.\n\n"
      "Without cudadiag:\n```\ng++ -std=c++17 -I/usr/local/cuda/include replay.cc -o replay -lcuda\n./replay\n```\n",
      base::printable(launch.made_by), failure.code, base::printable(failure.name),
      base::printable(launch.demangled.empty() ? launch.kernel : launch.demangled), line_of(failure.line),
      launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
      base::printable(launch.gpu.name), launch.gpu.major, launch.gpu.minor, launch.gpu.driver / 1000,
      launch.gpu.driver % 1000 / 10, saved, unsaved);
  if (!launch.missing.empty()) {
    text += "\n## Not saved\n";
    for (const auto& [what, count] : launch.missing) text += "- " + in_words(what, count) + "\n";
  }
  return text;
}

std::string source_of(const SavedLaunch& launch) {
  std::string text = kStandaloneProgram;
  const std::string_view place = kTablesPlace;
  if (const std::size_t at = text.find(place); at != std::string::npos)
    text.replace(at, place.size(), tables_of(launch));
  return text;
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostDescription = std::uint64_t{64} << 20;

base::FileDescriptor open_folder(const fs::path& path) {
  return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::optional<base::Error> store(const base::FileDescriptor& folder, const char* name, std::string_view text) {
  const int error = base::replace_file(folder, name, [&](int file) { return base::write_all(file, text); });
  if (error == 0) return std::nullopt;
  return base::Error{fmt::format("cannot write {} of the saved launch: {}", name, std::strerror(error)),
                     "free some disk space"};
}

std::optional<base::Error> store_texts(const base::FileDescriptor& folder, const SavedLaunch& launch) {
  for (const auto& [name, text] : {std::pair(kReadme, readme_of(launch)), std::pair(kSource, source_of(launch)),
                                   std::pair(kLaunchFile, write_launch(launch))}) {
    if (auto failure = store(folder, name, text)) return failure;
  }
  return std::nullopt;
}

// Copies a file without its holes and zeros.
bool copy_file(const base::FileDescriptor& from, int folder, const std::string& name, std::uint64_t bytes) {
  const base::FileDescriptor to(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return to.valid() && session::copy_sparse(from.get(), 0, bytes, to.get());
}

// Returns a clause that says why another user may have written the folder or its files; empty if only this user can
// have written them.
std::string why_others_may_have_written(int folder) {
  struct stat status {};
  if (::fstat(folder, &status) != 0) return "its folder cannot be read";
  if (status.st_uid != ::geteuid()) return fmt::format("its folder belongs to another user (uid {})", status.st_uid);
  if ((status.st_mode & S_IWOTH) != 0) return "anyone can write to its folder";
  const int listed = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> files(::fdopendir(listed), ::closedir);
  if (!files) return ::close(listed), "its folder cannot be read";
  while (const dirent* file = ::readdir(files.get())) {
    const std::string name = file->d_name;
    if (name == "." || name == ".." || ::fstatat(folder, file->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (status.st_uid != ::geteuid())
      return fmt::format("its file {} belongs to another user (uid {})", base::printable(name), status.st_uid);
    if (!S_ISLNK(status.st_mode) && (status.st_mode & S_IWOTH) != 0)
      return fmt::format("anyone can write to its file {}", base::printable(name));
  }
  return "";
}

// Searches the bytes for the key, because a file from another user must not be parsed. No string in the file can
// contain the key with its quotation marks, because JSON escapes them.
bool names_this_host(std::string_view text) {
  constexpr std::string_view kKey = "\"made_on\"";
  const std::string mark = host_mark();
  const std::size_t key = text.find(kKey);
  if (mark.empty() || key == std::string_view::npos) return false;
  text.remove_prefix(key + kKey.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n:"), text.size()));
  return text.starts_with('"' + mark + '"');
}

}  // namespace

std::string host_mark() {
  const std::string host = base::host_name();
  return host.empty() ? "" : fmt::format("{:016x}", wire::hash_bytes(host.data(), host.size()));
}

base::Result<LaunchFolder> LaunchFolder::open(const fs::path& path) {
  auto unparsed = UnparsedLaunch::open(path);
  if (const auto* failure = std::get_if<base::Error>(&unparsed)) return *failure;
  return std::get<UnparsedLaunch>(std::move(unparsed)).parse();
}

UnparsedLaunch::UnparsedLaunch(fs::path path, base::FileDescriptor folder, std::string text)
    : path_(std::move(path)), folder_(std::move(folder)), text_(std::move(text)) {
  why_foreign_ = why_others_may_have_written(folder_.get());
  if (why_foreign_.empty() && !names_this_host(text_)) why_foreign_ = "it was saved on another host";
}

base::Result<UnparsedLaunch> UnparsedLaunch::open(const fs::path& path) {
  const base::Error none = {path.string() + " is not the folder of a saved launch",
                            "to save one: cudadiag run --save-launch -- COMMAND"};
  base::FileDescriptor folder = open_folder(path);
  if (!folder.valid()) return none;
  auto text = session::read_plain_file(path / kLaunchFile, kMostDescription);
  if (!text) return none;
  return UnparsedLaunch(path, std::move(folder), std::move(*text));
}

base::Result<LaunchFolder> UnparsedLaunch::parse() && {
  auto launch = parse_launch(text_);
  if (const auto* failure = std::get_if<base::Error>(&launch)) return *failure;
  return LaunchFolder(std::move(path_), std::move(folder_), std::move(why_foreign_),
                      std::get<SavedLaunch>(std::move(launch)));
}

base::Result<base::FileDescriptor> LaunchFolder::open_file(const std::string& name, std::uint64_t bytes) const {
  const auto refused = [&](std::string_view why) { return base::Error{fmt::format("{} {}", name, why), ""}; };
  if (name.find('/') != std::string::npos) return refused("is not in the folder of the launch");
  base::FileDescriptor file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() && errno == ENOENT) return refused("is missing");
  if (!file.valid() && errno == ELOOP) return refused("is a symbolic link");
  if (!file.valid() || ::fstat(file.get(), &status) != 0)
    return refused(fmt::format("cannot be opened: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return refused("is not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) != bytes)
    return refused(fmt::format("has {} bytes, but launch.json says {}", status.st_size, bytes));
  return file;
}

bool holds_launch(const fs::path& folder) {
  const auto bytes = session::read_plain_file(folder / wire::saved_launch::kDescription, kMostDescription);
  return bytes && std::holds_alternative<SavedLaunch>(read_description(std::as_bytes(std::span(*bytes))));
}

std::optional<base::Error> complete_folder(const fs::path& path, const Surroundings& surroundings) {
  const auto bytes = session::read_plain_file(path / wire::saved_launch::kDescription, kMostDescription);
  const base::FileDescriptor folder = open_folder(path);
  if (!bytes || !folder.valid()) return base::Error{"no launch was saved in " + path.string(), ""};
  auto read = read_description(std::as_bytes(std::span(*bytes)));
  if (const auto* failure = std::get_if<base::Error>(&read)) return *failure;
  auto& launch = std::get<SavedLaunch>(read);
  const std::uint32_t code = launch.failure->code;
  launch.made_by = "cudadiag " CUDADIAG_VERSION;
  launch.made_on = host_mark();
  launch.demangled = surroundings.demangled;
  launch.failure = surroundings.failure;
  launch.failure->code = code;
  launch.gpu.bus = surroundings.bus_of(launch.device);
  std::stable_sort(launch.blocks.begin(), launch.blocks.end(), [](const Block& a, const Block& b) {
    return std::pair(!a.variable.empty(), a.address) < std::pair(!b.variable.empty(), b.address);
  });
  if (auto failure = store_texts(folder, launch)) return failure;
  ::unlinkat(folder.get(), wire::saved_launch::kDescription, 0);
  return std::nullopt;
}

std::optional<base::Error> copy_folder(const LaunchFolder& from, SavedLaunch launch, const fs::path& to) {
  const base::Error failure = {"cannot write the launch to " + to.string(), "choose a new folder with --write"};
  if (::mkdir(to.c_str(), 0700) != 0) return failure;
  const base::FileDescriptor folder = open_folder(to);
  if (!folder.valid()) return failure;
  const auto copy = [&](const std::string& name, std::uint64_t bytes) {
    const auto opened = from.open_file(name, bytes);
    const auto* file = std::get_if<base::FileDescriptor>(&opened);
    return file != nullptr && copy_file(*file, folder.get(), name, bytes);
  };
  if (!copy(wire::saved_launch::kImage, launch.image_bytes)) return failure;
  for (const Block& block : launch.blocks) {
    if (block.contents && !copy(block.contents->file, block.contents->bytes)) return failure;
  }
  return store_texts(folder, launch);
}

}  // namespace cudadiag::replay
