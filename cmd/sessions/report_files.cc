#include "sessions/report_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/processes.h"
#include "base/result.h"
#include "base/text.h"
#include "diagnose/page_drawings.h"
#include "diagnose/run_description.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "launch/isolation/isolation.h"
#include "launch/spawn.h"
#include "report/finding_text.h"
#include "report/redaction.h"
#include "report/writers.h"
#include "session/session_files.h"
#include "session/session_trust.h"
#include "session/session_writer.h"
#include "supervise/reruns/replays.h"
#include "symbolize/source_file.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

// Commands that open a file with its usual program: on Linux desktops, in WSL, and on Debian.
constexpr const char* kOpeners[] = {"xdg-open", "wslview", "sensible-browser"};

// An opener that fails, or hands the file to a running browser, exits within this time. An opener that becomes the
// browser keeps running.
constexpr std::chrono::milliseconds kPatience{2000}, kLook{20};

// Returns true if the process exits without an error, or is still running after kPatience.
bool has_opened(pid_t pid) {
  int status = 0;
  for (auto waited = std::chrono::milliseconds(0); waited < kPatience; waited += kLook) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

// Opens a file in the user's browser. Starts $BROWSER or, if that is unset, the default opener of the desktop or of
// Windows. Does not wait for the browser to exit. Returns nullopt on success.
std::optional<base::Error> open_in_browser(const std::string& file) {
  std::vector<std::string> programs(std::begin(kOpeners), std::end(kOpeners));
  // BROWSER may be a colon-separated list. Only its first program is used.
  const char* chosen = std::getenv("BROWSER");
  const std::string browser = chosen == nullptr ? "" : std::string(chosen).substr(0, std::string(chosen).find(':'));
  if (!browser.empty()) programs.insert(programs.begin(), browser);
  const std::string path = std::filesystem::absolute(file).string();
  launch::SpawnOptions options;
  options.apart = true;
  options.outlives = true;
  std::string failed;
  for (const std::string& program : programs) {
    const auto started = launch::start_process({program, path}, base::own_environment(), options);
    const pid_t* pid = std::get_if<pid_t>(&started);
    if (pid == nullptr) continue;
    if (has_opened(*pid)) return std::nullopt;
    failed += (failed.empty() ? "" : " and ") + program;
  }
  return base::Error{failed.empty() ? "no program that opens web pages was found" : failed + " could not open the page",
                     "open the page yourself: " + path};
}

// The page quotes source code, so only its owner can read it, even if the file existed before.
constexpr mode_t kMode = 0600;

// Returns the names to remove from a report before the user shares it: the user's home folders and user names, the name
// of this host, and the name of the session's host.
report::Redaction own_names(const session::Session& session) {
  std::vector<std::string> homes, users, hosts = {session.manifest.host, base::host_name()};
  if (const char* home = std::getenv("HOME")) homes.emplace_back(home);
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (const char* user = std::getenv(variable)) users.emplace_back(user);
  }
  if (const passwd* entry = ::getpwuid(::geteuid())) {
    homes.emplace_back(entry->pw_dir);
    users.emplace_back(entry->pw_name);
  }
  return {std::move(homes), std::move(users), std::move(hosts)};
}

// The user may have named the session by its working folder, as in "cudadiag report . --bundle".
std::string name_for(const session::Session& session, const char* extension) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(session.folder, error);
  return "cudadiag-" + (error ? session.folder : folder).filename().string() + extension;
}

std::string page_of(const session::Session& session, const PageRequest& request) {
  const std::string foreign = request.foreign ? "" : session::why_foreign(session);
  const symbolize::WithheldSources withheld(!foreign.empty());
  diagnose::SessionState state(session);
  diagnose::Diagnosis report = state.diagnosis();
  diagnose::mark_foreign(report, foreign);
  const report::Redaction removed = request.keep_names ? report::Redaction({}, {}, {}) : own_names(session);
  return report::write_html(report, diagnose::pictures_of(state),
                            {&removed, CUDADIAG_VERSION, !launch::missing_isolation()});
}

bool write_file(const std::string& file, const std::string& page) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(file, ignored);
  const base::FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  struct stat status {};
  if (out.valid() && ::fstat(out.get(), &status) == 0 && S_ISREG(status.st_mode)) ::fchmod(out.get(), kMode);
  if (out.valid() && base::write_all(out.get(), page)) return true;
  say("cannot write " + file + ": " + std::strerror(errno) + "; choose another file: --html FILE.html");
  if (out.valid() && is_new) base::remove_file(out, file);
  return false;
}

}  // namespace

int write_page(const session::Session& session, const PageRequest& request) {
  std::string file = request.file;
  if (file == "-" && request.open)
    return say("--html - --open: a browser needs a file; use --html FILE.html"), kOwnFailure;
  const std::string extension = std::filesystem::path(file).extension().string();
  if (!file.empty() && file != "-" && extension != ".html" && extension != ".htm") {
    say("--html " + file + ": the file name must end in .html. Put a session before the option: cudadiag report " +
        diagnose::shell_word(file) + " --html FILE.html");
    return kOwnFailure;
  }
  if (file.empty() && (request.open || ::isatty(STDOUT_FILENO) != 0)) {
    file = name_for(session, ".html");
  }
  const std::string page = page_of(session, request);
  if (file.empty() || file == "-") return print(page), 0;
  if (!write_file(file, page)) return kOwnFailure;
  say("wrote the page to " + file + (request.keep_names ? "" : ", without home folders, user names and host names") +
      "; review the page before you share it");
  if (!request.open) return 0;
  // The page was written, so a missing browser is not a failure.
  if (const auto obstacle = open_in_browser(file)) say(*obstacle);
  return 0;
}

namespace {

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

// Returns a .tar.gz without times and owners, so that equal contents give equal bytes. Returns "" if zlib failed.
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

bool is_python(const Script& script) {
  return script.file.extension() == ".py" ||
         script.content.substr(0, script.content.find('\n')).find("python") != std::string::npos;
}

// Returns the script: the first word of the command that names a readable text file. Text files later in the command
// are the script's data. A command that a Python package installed, such as /venv/bin/torchrun, precedes the script.
std::optional<Script> script_of(const session::Manifest& manifest) {
  std::optional<Script> installed;
  for (const std::string& word : manifest.command) {
    auto script = script_at(std::filesystem::path(manifest.working_directory) / word);
    if (!script) continue;
    const bool is_installed =
        script->file.parent_path().filename() == "bin" && script->file.extension() != ".py" && is_python(*script);
    if (!is_installed) return script;
    if (!installed) installed = std::move(script);
  }
  return installed;
}

std::string versions_of(const diagnose::Diagnosis& report) {
  std::string text = "cudadiag " CUDADIAG_VERSION "\n";
  for (const auto& [key, name, version] : diagnose::kVersions) {
    if (!(report.*version).empty()) text += fmt::format("{} {}\n", name, report.*version);
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
  return redaction.text(script.content,
                        is_python(script) ? report::Redaction::Kind::text : report::Redaction::Kind::script);
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
  if (file.empty()) file = name_for(session, ".tar.gz");
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
