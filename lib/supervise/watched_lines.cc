#include "supervise/watched_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "analyse/notes.h"
#include "base/text.h"
#include "session/plain_file.h"
#include "session/process_record.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr double kWatchSeconds = 60;  // limit for reading watched lines, per process
constexpr std::size_t kMostSource = 8u << 20;

struct Line {
  std::string file, number;
};

// Normalises the path, but keeps it relative, because the program may run the file from any folder.
Line parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return {fs::path(text.substr(0, colon)).lexically_normal().string(), text.substr(colon + 1)};
}

// Returns the file at this path. If there is none, looks for a relative path in the folders of the command's files.
std::optional<fs::path> file_here(const std::string& file, const std::vector<std::string>& command) {
  std::error_code error;
  if (fs::exists(file, error)) return file;
  for (const std::string& word : command) {
    const fs::path beside = fs::path(word).parent_path() / file;
    if (fs::is_regular_file(word, error) && fs::exists(beside, error)) return beside;
  }
  return std::nullopt;
}

bool was_reached(std::size_t index, const session::Session& session) {
  for (const session::Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      const bool said = index < delivery.visits.size();
      if (delivery.kind == session::DeliveryKind::watched && (!said || delivery.visits[index] > 0)) return true;
    }
  }
  return false;
}

// `text` is "FILE:LINE".
bool has_values(const std::string& text, const session::Session& session) {
  const auto [file, number] = parse(text);
  for (const session::Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      const bool there = delivery.kind == session::DeliveryKind::watched && delivery.file.ends_with(file) &&
                         std::to_string(delivery.line) == number;
      if (there && !delivery.values.empty()) return true;
    }
  }
  return false;
}

std::string why_unreached(const session::Session& session, const std::string& file) {
  if (session.processes.empty()) return "CUDA was never initialised, and lines are watched only once it is";
  for (const session::Process& process : session.processes) {
    for (const session::Note& note : process.record.notes) {
      const analyse::NoteCode code = analyse::note_code(note.code);
      if (code == analyse::NoteCode::python_hook || code == analyse::NoteCode::python_hook_off) return note.text;
    }
  }
  const bool hooked = std::any_of(session.processes.begin(), session.processes.end(), [](const auto& process) {
    return session::has(process.record, session::Property::python_hook);
  });
  if (!hooked) return "no Python code seems to have run after CUDA was initialised, and lines are watched only then";
  return "cudadiag watches a line only after CUDA is initialised, only if it contains code, and only in a file whose "
         "path ends in " +
         file;
}

}  // namespace

std::string watched_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const auto [file, number] = parse(line);
    text += fmt::format("\n{}\t0\twatch\t\t{}", number, file);
  }
  return text.empty() ? "" : fmt::format("{:.1f}\t0{}", kWatchSeconds, text);
}

std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines,
                                        const std::vector<std::string>& command) {
  std::vector<std::string> sentences;
  for (const std::string& line : lines) {
    const auto [file, number] = parse(line);
    const auto here = file_here(file, command);
    if (!here) {
      sentences.push_back(
          fmt::format("--watch {}: found no file {}{}; the line is watched if the program runs such a file anyway",
                      line, file, file.starts_with('/') ? "" : " here or next to the command's files"));
      continue;
    }
    const auto text = session::read_named_file(*here, kMostSource);
    if (!text || text->empty()) continue;
    const auto ends = std::count(text->begin(), text->end(), '\n');
    const auto count = static_cast<std::uint64_t>(ends) + (text->back() == '\n' ? 0 : 1);
    if (base::whole_number<std::uint64_t>(number).value_or(UINT64_MAX) > count) {
      sentences.push_back(fmt::format("--watch {}: {} ends at line {}", line, here->string(), count));
    }
  }
  return sentences;
}

std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!was_reached(i, session)) {
      sentences.push_back(fmt::format("--watch {}: no process seems to have reached the line; {}", lines[i],
                                      why_unreached(session, parse(lines[i]).file)));
    } else if (!has_values(lines[i], session)) {
      sentences.push_back(fmt::format(
          "--watch {}: the line was reached, but it uses no variable whose value cudadiag can show", lines[i]));
    }
  }
  return sentences;
}

}  // namespace cudadiag::supervise
