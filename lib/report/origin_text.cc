#include "report/origin_text.h"

#include <fmt/core.h>

#include <variant>

#include "base/printable.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"

namespace cudadiag::report {
namespace {

using diagnose::OriginStep;
using Role = session::DeliveredOrigin::Role;

std::string how(Role role, bool is_seen) {
  switch (role) {
    case Role::made:
      return "was produced at";
    case Role::passed:
      return "was passed as a number at";
    case Role::loaded:
      return "was loaded at";
    case Role::copied:
      return is_seen ? "came from data outside PyTorch at" : "was first seen at";
  }
  return "came from";
}

std::string value_of(const OriginStep& step) {
  if (!step.value) return "the bad value";
  return std::visit([](auto number) { return fmt::format("{}", number); }, *step.value);
}

// Gives the operator only if it produced the value; otherwise the line is enough.
std::string first_line(const diagnose::Origin& origin, const std::string& directory) {
  const OriginStep& first = origin.steps.front();
  const bool is_seen = origin.known_by == analyse::Fact::measured;
  std::string text =
      fmt::format("{} {} {}", value_of(first), how(first.role, is_seen), diagnose::place(first.location, directory));
  if (!first.location.source.empty()) text += ": " + base::printable(first.location.source);
  if (first.batch && first.sample) {
    text += fmt::format("; sample {} of the data set, in batch {}", *first.sample, *first.batch);
  } else if (first.batch) {
    text += fmt::format("; batch {}", *first.batch);
  } else if (first.role == Role::made) {
    text += fmt::format(" ({})", base::printable(first.op));
  }
  return text + fmt::format(" [{}]", diagnose::word(grade(origin.known_by)));
}

}  // namespace

std::vector<std::string> origin_lines(const diagnose::Origin& origin, const std::string& directory) {
  std::vector<std::string> lines = {first_line(origin, directory)};
  for (std::size_t i = 1; i < origin.steps.size(); ++i) {
    const OriginStep& step = origin.steps[i];
    const std::string source = step.location.source.empty() ? step.op : step.location.source;
    lines.push_back(
        fmt::format("it passed through {}: {}", diagnose::place(step.location, directory), base::printable(source)));
  }
  return lines;
}

}  // namespace cudadiag::report
