#include "bundle/bundle.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/plain_folder.h"
#include "base/printable.h"
#include "report/finding_text.h"
#include "report/json.h"
#include "report/sharing/redaction.h"
#include "report/text.h"
#include "session/plain_file.h"
#include "sessions/findings.h"
#include "supervise/reruns/replay.h"
#include "terminal/terminal.h"

namespace cudadiag::command {

namespace {

// Writes a .tar.gz without times and owners, so that equal contents give equal bytes.
struct TarEntry {
  std::string name;  // at most 100 bytes
  std::string content;
  std::string source{};  // shown in the list for the user; not packed
};

constexpr std::size_t kBlock = 512;

// The fields of a ustar header and their sizes: name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1,
// link 100, magic 6, version 2. The rest of the block is zero.
std::string header(const TarEntry& entry) {
  std::string block = entry.name.substr(0, 100);
  block.resize(100, '\0');
  block += std::string(
      "0000644\0"
      "0000000\0"
      "0000000\0",
      24);
  block += fmt::format("{:011o}", entry.content.size()) + '\0' + std::string("00000000000\0", 12);
  block += "        0";  // a blank checksum, then type 0: a regular file
  block.resize(257, '\0');
  block += std::string(
      "ustar\0"
      "00",
      8);
  block.resize(kBlock, '\0');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  const std::string checksum = fmt::format("{:06o}", sum) + '\0' + ' ';
  std::copy(checksum.begin(), checksum.end(), block.begin() + 148);
  return block;
}

std::string gzip(const std::string& raw) {
  z_stream stream{};
  if (raw.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  gz_header gzip_header{};
  gzip_header.os = 255;  // unknown
  deflateSetHeader(&stream, &gzip_header);
  std::string out(deflateBound(&stream, raw.size()) + 64, '\0');
  std::string input = raw;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), std::numeric_limits<uInt>::max()));
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return whole ? out : "";
}

// Returns "" if zlib failed.
std::string tarball(const std::vector<TarEntry>& entries) {
  std::string raw;
  for (const TarEntry& entry : entries) {
    raw += header(entry) + entry.content;
    raw.resize((raw.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  raw.resize(raw.size() + 2 * kBlock, '\0');
  return gzip(raw);
}

constexpr std::uintmax_t kLargestScript = 1u << 20, kLargestInputs = std::uintmax_t{1} << 30;
constexpr int kColumns = 100;

struct Script {
  std::filesystem::path file;  // with links resolved
  std::string content;
};

// Returns nullopt if the file is a link that leads out of its folder. Without this check, a link could make us pack any
// file.
std::optional<Script> script_at(const std::filesystem::path& file) {
  std::error_code error;
  Script script{std::filesystem::canonical(file, error), ""};
  const std::filesystem::path folder = std::filesystem::canonical(file.parent_path(), error);
  auto content = error ? std::nullopt : session::read_named_file(script.file, kLargestScript);
  if (!content || content->find('\0') != std::string::npos) return std::nullopt;
  if (file.extension() != ".py" && !content->starts_with("#!")) return std::nullopt;
  const std::filesystem::path inside = script.file.lexically_relative(folder);
  if (inside.empty() || *inside.begin() == "..") {
    say(file.string() + " was not packed: it is a link to a file outside its folder, " + script.file.string());
    return std::nullopt;
  }
  script.content = std::move(*content);
  return script;
}

// Returns the script: the first word of the command that names a readable text file. Text files later in the command
// are the script's data.
std::optional<Script> script_of(const session::Manifest& manifest) {
  for (const std::string& word : manifest.command) {
    if (auto script = script_at(std::filesystem::path(manifest.working_directory) / word)) return script;
  }
  return std::nullopt;
}

std::string versions_of(const diagnose::Diagnosis& report) {
  std::string text = "cudadiag " CUDADIAG_VERSION "\n";
  const std::pair<const char*, const std::string*> parts[] = {
      {"driver", &report.driver}, {"CUDA", &report.cuda},     {"CUPTI", &report.cupti}, {"Python", &report.python},
      {"torch", &report.torch},   {"Triton", &report.triton}, {"cuDNN", &report.cudnn}, {"NCCL", &report.nccl}};
  for (const auto& [name, value] : parts) {
    if (!value->empty()) text += fmt::format("{} {}\n", name, *value);
  }
  for (const std::string& gpu : report.gpus) text += fmt::format("GPU {}\n", gpu);
  return text;
}

void add_inputs(const diagnose::Diagnosis& report, const report::Redaction& redaction, std::vector<TarEntry>& entries) {
  for (const diagnose::Finding& finding : report.findings) {
    if (!finding.inputs) continue;
    const std::filesystem::path folder = finding.inputs->folder;
    const auto kept = [&](const char* name, std::uintmax_t most) {
      return session::read_plain_file(folder / name, most).value_or("");
    };
    entries.push_back({"inputs/call.json", redaction.json(kept("call.json", kLargestScript))});
    // Packs our own script instead of the session's copy, because the receiver may run the script.
    entries.push_back({"inputs/replay.py", supervise::kReplayScript});
    entries.push_back({"inputs/inputs.safetensors", kept("inputs.safetensors", kLargestInputs)});
    return;
  }
  say("this session has no saved inputs; to save them: cudadiag run --save-inputs -- COMMAND");
}

std::string redacted_script(const Script& script, const report::Redaction& redaction) {
  const std::string& content = script.content;
  const bool is_python =
      script.file.extension() == ".py" || content.substr(0, content.find('\n')).find("python") != std::string::npos;
  return redaction.text(content, is_python ? report::Redaction::Kind::text : report::Redaction::Kind::script);
}

std::vector<TarEntry> contents(const session::Session& session, diagnose::Diagnosis report, bool with_inputs) {
  const report::Redaction redaction = own_names(session);
  report.command = redaction.words(report.command);
  for (auto& process : report.processes) process.argv = redaction.words(process.argv);
  report::TextOptions options;
  options.verbosity = report::Verbosity::verbose;
  options.columns = kColumns;
  options.say_clean = true;
  std::vector<TarEntry> entries = {{"report.txt", redaction.text(report::write_text(report, options))},
                                   {"report.json", redaction.json(report::write_json(report))},
                                   {"versions.txt", redaction.text(versions_of(report))}};
  if (const auto script = report.foreign.empty() ? script_of(session.manifest) : std::nullopt) {
    // The file name may contain a secret. It must also be printable, because archive tools print names unchanged.
    const std::string name = base::printable(redaction.text(script->file.filename().string()));
    entries.push_back({"script/" + name, redacted_script(*script, redaction), script->file.string()});
  }
  if (with_inputs) add_inputs(report, redaction, entries);
  return entries;
}

}  // namespace

int write_bundle(const session::Session& session, const diagnose::Diagnosis& report, std::string file,
                 bool with_inputs) {
  if (file.empty()) file = "cudadiag-" + session.folder.filename().string() + ".tar.gz";
  const base::FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid()) {
    say("cannot create " + file + ": " +
        (errno == EEXIST ? "it already exists; choose a different name with --bundle=FILE"
                         : std::string(std::strerror(errno)) + "; choose another file with --bundle=FILE"));
    return kOwnFailure;
  }
  std::vector<TarEntry> entries = contents(session, report, with_inputs);
  say("packing into " + file + ", without home folders, user names, host names, or anything that looks like a secret:");
  for (TarEntry& entry : entries) {
    say(fmt::format("  {} ({}{})", entry.name, report::size_text(entry.content.size()),
                    entry.source.empty() ? "" : ", from " + entry.source));
    entry.name = ("cudadiag-bundle/" + entry.name).substr(0, 100);
  }
  const std::string packed = tarball(entries);
  if (packed.empty() || !base::write_all(out.get(), packed)) {
    const std::string why = packed.empty() ? "the files could not be packed" : std::strerror(errno);
    base::remove_file(out, file);
    say("cannot write " + file + ": " + why + "; choose another file with --bundle=FILE");
    return kOwnFailure;
  }
  say("review the bundle before you share it: only recognisable secrets were removed");
  return 0;
}

}  // namespace cudadiag::command
