#include "evidence/flight_dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "evidence/pickle_document.h"

namespace cudadiag::evidence {
namespace {

constexpr std::size_t kMostGroups = 4096;
constexpr std::size_t kMostRanks = std::size_t{1} << 20;  // limit for all groups together
constexpr std::size_t kMostFrames = 128;
constexpr std::size_t kMostStacks = 4096;  // only stacks of the latest calls are read
constexpr std::size_t kMostTensors = 256, kMostDimensions = 64;
constexpr std::size_t kLongestName = 1024, kLongestPath = 4096;

std::string text_of(Value value, std::size_t longest = kLongestName) {
  return std::string(value.text().substr(0, longest));
}

std::uint64_t count_of(Value value) {
  const auto number = value.integer();
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

// Reads a list of ranks, such as "[0, 2]". All versions write ranks in this form.
std::vector<std::int32_t> ranks_of(std::string_view text, std::size_t most) {
  std::vector<std::int32_t> ranks;
  const char *at = text.data(), *end = text.data() + text.size();
  while (at != end && ranks.size() < most) {
    std::int32_t rank = 0;
    const auto [after, error] = std::from_chars(at, end, rank);
    if (error == std::errc() && rank >= 0) ranks.push_back(rank);
    at = after == at ? at + 1 : after;
  }
  return ranks;
}

// Returns the number of elements in all tensors together. Saturates on overflow.
std::uint64_t elements_of(Value sizes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < std::min(sizes.size(), kMostTensors); ++i) {
    const Value tensor = sizes.item(i);
    std::uint64_t elements = 1;
    for (std::size_t j = 0; j < std::min(tensor.size(), kMostDimensions); ++j) {
      if (__builtin_mul_overflow(elements, count_of(tensor.item(j)), &elements)) elements = ~std::uint64_t{0};
    }
    if (__builtin_add_overflow(sum, elements, &sum)) sum = ~std::uint64_t{0};
  }
  return sum;
}

FlightCall::State state_of(std::string_view word) {
  if (word == "completed") return FlightCall::State::completed;
  return word == "started" ? FlightCall::State::started : FlightCall::State::scheduled;
}

class FlightReader {
 public:
  explicit FlightReader(const Document& document) : root_(document.root()) {}

  base::Result<FlightDump> read() {
    const Value version = root_.member("version"), entries = root_.member("entries");
    if (!version.is_text() || !root_.member("pg_config").is_dictionary()) {
      return base::Error{"it is not a Flight Recorder dump", ""};
    }
    dump_.version = text_of(version, 32);
    if (!dump_.version.starts_with("2.")) {
      return base::Error{fmt::format("its format version is {}, but cudadiag reads only version 2", dump_.version), ""};
    }
    add_groups(root_.member("pg_config"));
    const std::size_t count = entries.is_list() ? entries.size() : 0;
    if (count > FlightDump::kMostCalls)
      return base::Error{fmt::format("it has more than {} calls", FlightDump::kMostCalls), ""};
    for (std::size_t i = 0; i < count; ++i) {
      if (!add_call(entries.item(i), i + kMostStacks >= count))
        return base::Error{"its calls have no numbers (PyTorch before 2.4)", ""};
    }
    // PyTorch may have been configured to omit finished calls.
    const auto record = [&](std::size_t index) { return entries.item(index).member("record_id").integer(); };
    dump_.is_whole = count == 0 || (record(0) == 0 && record(count - 1) == static_cast<std::int64_t>(count) - 1);
    return std::move(dump_);
  }

 private:
  void add_groups(Value config) {
    std::size_t ranks = 0;
    for (std::size_t i = 0; i < std::min(config.size(), kMostGroups); ++i) {
      const auto [key, value] = config.pair(i);
      FlightGroup group;
      group.name = text_of(key);
      group.description = text_of(value.member("desc"));
      // PyTorch's name for an unnamed group.
      if (group.description == "undefined") group.description.clear();
      group.ranks = ranks_of(value.member("ranks").text(), kMostRanks - ranks);
      ranks += group.ranks.size();
      by_name_.emplace(group.name, static_cast<std::uint32_t>(dump_.groups.size()));
      dump_.groups.push_back(std::move(group));
    }
  }

  // Adds a call, unless the dump does not describe its group. Returns false if the call has no number.
  bool add_call(Value entry, bool is_late) {
    const Value number = entry.member("collective_seq_id");
    if (!number.integer()) return false;
    const Value group = entry.member("process_group");
    const auto known = by_name_.find(text_of(group.is_text() ? group : group.item(0)));
    if (known == by_name_.end()) return true;
    FlightCall call;
    call.group = known->second;
    call.collective = count_of(number);
    call.message = count_of(entry.member("p2p_seq_id"));
    call.state = state_of(entry.member("state").text());
    call.function = text_of(entry.member("profiling_name"));
    call.function.erase(0, call.function.find(':') + 1);
    const Value is_message = entry.member("is_p2p");
    call.is_message = is_message ? is_message.integer() == 1
                                 : call.function.starts_with("send ") || call.function.starts_with("recv ");
    call.input = elements_of(entry.member("input_sizes"));
    call.output = elements_of(entry.member("output_sizes"));
    call.input_type = text_of(entry.member("input_dtypes").item(0), 64);
    call.output_type = text_of(entry.member("output_dtypes").item(0), 64);
    call.created = static_cast<double>(count_of(entry.member("time_created_ns"))) * 1e-9;
    if (is_late) call.stack = stack_of(entry.member("frames"));
    dump_.calls.push_back(std::move(call));
    return true;
  }

  // PyTorch writes each frame once, even if several stacks contain it, but it writes a separate list for each stack.
  // Stacks with the same frame indices are equal.
  std::uint32_t stack_of(Value frames) {
    const std::span<const std::uint32_t> all = frames.items();
    const auto items = all.first(std::min(all.size(), kMostFrames));
    if (items.empty()) return 0;
    const std::string_view key(reinterpret_cast<const char*>(items.data()), items.size_bytes());
    const auto [known, is_new] = by_frames_.emplace(key, static_cast<std::uint32_t>(dump_.stacks.size() + 1));
    if (!is_new) return known->second;
    std::vector<FlightFrame>& stack = dump_.stacks.emplace_back();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Value frame = frames.item(i);
      const std::int64_t line = frame.member("line").integer().value_or(0);
      stack.push_back({text_of(frame.member("filename"), kLongestPath), text_of(frame.member("name")),
                       std::in_range<int>(line) && line > 0 ? static_cast<int>(line) : 0});
    }
    return known->second;
  }

  const Value root_;
  FlightDump dump_;
  std::map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::string_view, std::uint32_t> by_frames_;  // the key is the bytes of the frames' indices
};

}  // namespace

base::Result<FlightDump> read_flight_dump(std::string bytes) {
  const bool is_json = bytes.starts_with('{');
  Document document(std::move(bytes));
  auto refused = is_json ? read_json(document) : read_pickle(document);
  if (refused) return base::Error{*std::move(refused), ""};
  return FlightReader(document).read();
}

}  // namespace cudadiag::evidence
