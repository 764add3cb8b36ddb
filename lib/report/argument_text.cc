#include "report/argument_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"
#include "diagnose/causes/argument_facts.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kProvingNamed = 3;

std::string text_of(const diagnose::Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

double real(const diagnose::Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// Returns text such as "3 too large" or "1 negative". If some bad values may be too large and others negative, returns
// "4 not in 0..9".
std::string outside_text(const diagnose::Argument& argument) {
  const std::string count = diagnose::thousands(*argument.outside);
  if (!argument.bound) return count + " out of range";
  if (argument.min && real(*argument.min) >= 0) return count + " too large";
  if (argument.max && real(*argument.max) < static_cast<double>(*argument.bound)) return count + " negative";
  return fmt::format("{} not in 0..{}", count, *argument.bound - 1);
}

std::string memory_text(const diagnose::PointedMemory& allocation, const std::string& directory) {
  std::string text = fmt::format("{} bytes into {} bytes", diagnose::thousands(allocation.offset),
                                 diagnose::thousands(allocation.bytes));
  if (allocation.offset > allocation.bytes) {
    text = fmt::format("{} bytes past {} bytes", diagnose::thousands(allocation.offset - allocation.bytes),
                       diagnose::thousands(allocation.bytes));
  }
  if (allocation.out_of_reach && allocation.device) text += fmt::format(" on device {}", *allocation.device);
  if (!allocation.is_freed) return text;
  return text + (allocation.freed ? " freed at " + diagnose::place(*allocation.freed, directory) : " that were freed");
}

}  // namespace

std::string argument_line(const diagnose::Argument& argument, const std::string& directory) {
  std::string line = base::printable(argument.name.empty() ? "argument" : argument.name);
  const auto word = [&](const std::string& text) {
    if (!text.empty()) line += ' ' + text;
  };
  const auto clause = [&](const std::string& text) { line += ", " + text; };
  word(base::printable(argument.dtype));
  word(causes::subscript(argument.shape));
  word(base::printable(argument.device));
  if (!argument.value.empty()) word("= " + base::printable(argument.value));
  if (argument.min) clause("min " + text_of(*argument.min));
  if (argument.max) clause("max " + text_of(*argument.max));
  if (argument.outside.value_or(0) > 0) clause(outside_text(argument));
  if (argument.nan.value_or(0) > 0) clause(diagnose::thousands(*argument.nan) + " NaN");
  if (argument.inf.value_or(0) > 0) clause(diagnose::thousands(*argument.inf) + " infinite");
  if (argument.pointer) clause(*argument.pointer == 0 ? "null" : fmt::format("at {:#x}", *argument.pointer));
  if (argument.allocation) clause(memory_text(*argument.allocation, directory));
  return line;
}

std::vector<std::string> argument_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose) {
  std::vector<std::size_t> order;
  if (finding.cause) order = finding.cause->proof;
  if (!verbose && order.size() > kProvingNamed) order.resize(kProvingNamed);
  for (std::size_t i = 0; verbose && i < finding.arguments.size(); ++i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  }
  std::vector<std::string> lines;
  for (const std::size_t i : order) {
    if (i < finding.arguments.size()) lines.push_back(argument_line(finding.arguments[i], directory));
  }
  return lines;
}

}  // namespace cudadiag::report
