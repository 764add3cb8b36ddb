#include "report/device_text.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/printable.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kFunctionColumns = 40;

// Without -v, omits the folders of files outside `directory`, because the folder in which a library was built means
// nothing to users.
std::string file_of(const std::string& file, const std::string& directory, bool verbose) {
  const std::string relative = diagnose::relative_path(file, directory);
  if (verbose || !relative.starts_with('/')) return relative;
  return base::printable(std::filesystem::path(file).filename().string());
}

std::string place_of(const diagnose::Device& device, const std::string& directory, bool verbose) {
  if (device.line > 0) return fmt::format("{}:{}", file_of(device.file, directory, verbose), device.line);
  if (device.function.empty()) return "line: unknown (the code is not in the core dump)";
  const std::size_t columns = verbose ? device.function.size() : kFunctionColumns;
  return fmt::format("{}+{:#x} (no line information)",
                     base::printable(diagnose::short_kernel_name(device.function, columns)), device.offset);
}

std::string threads_of(const diagnose::Device& device, bool verbose) {
  if (!device.block || !device.thread) return "block, thread: unknown (the warp had exited)";
  std::string text =
      fmt::format("block {} thread {}", diagnose::dimensions(*device.block), diagnose::dimensions(*device.thread));
  if (device.threads_by_sanitizer && !device.line_by_sanitizer) text += " (compute-sanitizer)";
  if (device.threads) {
    text += fmt::format("; {} thread{}", diagnose::thousands(*device.threads), *device.threads == 1 ? "" : "s");
  }
  if (verbose && device.blocks)
    text += fmt::format(" of {} block{}", diagnose::thousands(*device.blocks), *device.blocks == 1 ? "" : "s");
  if (device.assertions == 1) text += ", one assertion";
  if (device.assertions > 1) text += fmt::format(", one of {} assertions", device.assertions);
  return text;
}

}  // namespace

std::vector<std::string> device_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose) {
  if (!finding.device) {
    const std::string why = finding.device_unknown.empty() ? "no rerun" : base::printable(finding.device_unknown);
    return {"line, block, thread: unknown (" + why + ")"};
  }
  const diagnose::Device& device = *finding.device;
  std::string place = place_of(device, directory, verbose);
  if (verbose && device.line > 0 && !device.function.empty()) place += " in " + base::printable(device.function);
  if (!device.inlined.empty()) {
    const std::filesystem::path header(device.inlined.front().file);
    place += fmt::format(" (in {}, inlined)", base::printable(header.filename().string()));
  }
  if (device.line_by_sanitizer && device.threads_by_sanitizer) {
    place = "compute-sanitizer: " + place;
  } else if (device.line_by_sanitizer) {
    place += " (compute-sanitizer)";
  }
  std::vector<std::string> lines = {place + "  " + threads_of(device, verbose)};
  if (verbose) {
    for (const diagnose::Location& inner : device.inlined) {
      lines.push_back(fmt::format("in {}:{}", file_of(inner.file, directory, verbose), inner.line));
    }
    for (const diagnose::Location& caller : device.callers) {
      lines.push_back(fmt::format("inlined at {}:{} in {}", file_of(caller.file, directory, verbose), caller.line,
                                  caller.function.empty() ? "an unknown function" : base::printable(caller.function)));
    }
  }
  if (device.assertions > 0) {
    lines.push_back(device.message.empty() ? "an assertion without text failed"
                                           : "assertion `" + base::printable(device.message) + "` failed");
  } else if (!device.message.empty()) {
    lines.push_back(base::printable(device.message));
  } else if (device.asserted) {
    lines.emplace_back(device.of_first_run ? "only the program's own output can contain the text of the assertion"
                                           : "the text of the assertion is not in the rerun's output");
  }
  const std::string exception =
      device.exception.empty()
          ? ""
          : base::printable(device.exception) + (device.of_first_run ? " in this run; " : " in a rerun; ");
  lines.push_back(exception + base::printable(device.join));
  return lines;
}

}  // namespace cudadiag::report
