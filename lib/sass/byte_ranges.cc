#include "sass/byte_ranges.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sass/failing_address.h"
#include "sass/origins.h"
#include "sass/symbolic_execution.h"

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kMostInstructions = 20'000;
constexpr std::size_t kStepsOfCorner = 20'000;
constexpr std::size_t kFewParts = 64;

MayAccesses may_accesses(const Instructions& noting) {
  MayAccesses out;
  for (const auto& [at, use] : noting.handles_by_instruction()) out[at].handle = use.parameter;
  for (const auto& [at, accesses] : noting.accesses_by_instruction()) {
    for (const CodeAccess& access : accesses) {
      MayAccess& may = out[at];
      may.anywhere |= access.anywhere;
      may.other |= access.other;
      for (const Origin& origin : access.origins) {
        // We do not know which element of the array is used, and an element may hold any address.
        may.anywhere |= origin.indexed;
        may.words.insert(origin.offset);
      }
    }
  }
  return out;
}

// Returns a box for each corner thread. Each coordinate of such a thread is the lowest or the highest one.
std::vector<Box> corners_of(const Box& all) {
  std::vector<Box> corners{all};
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    for (std::size_t at = 0, count = corners.size(); at < count; ++at) {
      if (all.low[i] == all.high[i]) continue;
      corners.push_back(corners[at]);
      corners[at].high[i] = all.low[i];
      corners.back().low[i] = all.high[i];
    }
  }
  return corners;
}

void merge(CertainAccesses& to, const CertainAccesses& more) {
  for (const CertainAccess& each : more.accesses) {
    const auto same = std::ranges::find_if(to.accesses, [&](const CertainAccess& known) {
      return known.instruction == each.instruction && known.parameter == each.parameter;
    });
    if (same == to.accesses.end()) {
      to.accesses.push_back(each);
      continue;
    }
    same->step = std::gcd(std::gcd(same->step, each.step), each.least - same->least);
    same->least = std::min(same->least, each.least);
    same->most = std::max(same->most, each.most);
  }
}

}  // namespace

std::optional<std::uint64_t> LaunchValues::word(std::uint32_t offset) const {
  const bool in_memory = (offset & kInMemory) != 0;
  const std::size_t which = (offset & ~kInMemory) / KnownMemory::kMostBytes;
  if (in_memory && which >= memory.size()) return std::nullopt;
  const std::string& bytes = in_memory ? memory[which].bytes : parameters;
  const std::size_t at = in_memory ? offset % KnownMemory::kMostBytes : offset;
  std::uint64_t value = 0;
  if (at + sizeof value > bytes.size()) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class ByteRanges::Implementation {
 public:
  Implementation(std::string text, ParameterBank bank, Calls calls)
      : text_(std::move(text)), program_(text_), bank_(bank) {
    OriginSets sets;
    Instructions noting(program_, bank, calls, 0, sets);
    if (program_.empty() || !walk(program_, noting, sets)) return;
    accesses_ = {true, noting.accesses(), {}, noting.writes_elsewhere()};
    for (const auto& [at, use] : noting.handles_by_instruction()) accesses_.handles.insert(use);
    if (program_.size() > kMostInstructions || unknown_opcodes() != 0) return;
    may_ = may_accesses(noting);
    detours_.emplace(program_);
  }

  const KernelAccesses& accesses() const { return accesses_; }
  // Before sm_80, plain loads have the suffix SYS too, without STRONG.
  bool uses_system_scope() const {
    if (text_.find(".STRONG.SYS") != text_.npos) return true;
    for (std::size_t at = text_.find("MEMBAR"); at != text_.npos; at = text_.find("MEMBAR", at + 1)) {
      if (text_.substr(at, text_.find(' ', at) - at).ends_with(".SYS")) return true;
    }
    return false;
  }
  std::uint64_t unknown_opcodes() const { return program_.unknown_opcodes(); }

  std::vector<ParameterBytes> of(const LaunchValues& launch) const {
    if (!detours_) return {};
    const FollowedLaunch::Code code{program_, *detours_, may_, bank_};
    return FollowedLaunch(code, launch).bytes();
  }

  CertainAccesses certain(const LaunchValues& launch) const {
    Followed all = followed(launch);
    if (all.changes_memory) {
      LaunchValues other = launch;
      other.memory.clear();
      return certain(other);
    }
    const bool all_counted =
        std::ranges::all_of(all.accesses.accesses, [](const auto& each) { return each.parameter.has_value(); });
    if (!all_counted) count_from_words(all, launch);
    if (all.accesses.all_listed) find_tables(all.accesses.open);
    return std::move(all.accesses);
  }

  ThreadRaces thread_races(const LaunchValues& launch) const {
    const auto threads = all_threads(launch);
    if (!detours_ || !threads) return {};
    return find_thread_race({program_, *detours_, may_, bank_}, launch, *threads);
  }

 private:
  // Finds out which of these addresses come from memory.
  void find_tables(std::vector<OpenAccess>& open) const {
    constexpr std::size_t kMost = 16;  // each takes milliseconds
    if (open.size() > kMost) return;
    for (OpenAccess& access : open) {
      if (!access.words.empty() || access.space == Space::shared) continue;
      const Base base = FailingAddress(text_, bank_, access.instruction, {}).base();
      access.from_memory = base.known && base.words.empty() && base.loaded;
      const std::set<std::uint32_t> tables(base.through.begin(), base.through.end());
      const bool one = tables.size() == 1 && (*tables.begin() & kOfVariable) == 0;
      if (access.from_memory && one) access.table = *tables.begin();
    }
  }

  struct Followed {
    CertainAccesses accesses;
    std::set<std::uint32_t> loaded;  // words of known memory that were loaded as numbers
    bool changes_memory = false;     // threads may change the known memory that other threads read
  };

  Followed followed(const LaunchValues& launch) const {
    const auto threads = all_threads(launch);
    if (!detours_ || !threads) return {};
    const FollowedLaunch::Code code{program_, *detours_, may_, bank_};
    Followed out;
    LaunchValues with_numbers = launch, plain = launch;
    with_numbers.addresses_are_numbers = true;
    plain.memory.clear();
    const auto follow = [&](const LaunchValues& values, const Box& box, std::size_t most_steps,
                            std::size_t most_parts) {
      FollowedLaunch followed(code, values, most_steps, most_parts);
      CertainAccesses its = followed.certain(box);
      out.loaded.insert(followed.loaded_numbers().begin(), followed.loaded_numbers().end());
      out.changes_memory |= followed.changes_what_it_reads();
      return its;
    };
    out.accesses = follow(with_numbers, *threads, FollowedLaunch::kMostSteps, FollowedLaunch::kMostParts);
    if (out.accesses.only_these()) return out;
    const auto follow_again = [&](std::size_t most_parts) {
      CertainAccesses more = follow(plain, *threads, FollowedLaunch::kMostSteps, most_parts);
      merge(out.accesses, more);
      if (out.accesses.all_listed || !more.all_listed) return;
      out.accesses.all_listed = true;
      out.accesses.open = std::move(more.open);
      out.accesses.possible = std::move(more.possible);
    };
    // With a known end, a loop may take too many steps. With an unknown end, the code after it is followed.
    follow_again(FollowedLaunch::kMostParts);
    // Where threads part at a diagonal, such as row < column, they form too many boxes. With few boxes, it is unknown
    // which threads go where.
    if (!out.accesses.all_listed) follow_again(kFewParts);
    const LaunchValues& of_corner = launch.memory.empty() ? launch : with_numbers;
    for (const Box& corner : corners_of(*threads))
      merge(out.accesses, follow(of_corner, corner, kStepsOfCorner, FollowedLaunch::kMostParts));
    std::ranges::sort(out.accesses.accesses);
    out.changes_memory |= accesses_.writes_elsewhere && leads_to_known_memory(launch);
    return out;
  }

  // Returns whether an address in the known memory points into known memory. A kernel that writes through such
  // addresses may change addresses.
  static bool leads_to_known_memory(const LaunchValues& launch) {
    return std::ranges::any_of(launch.addresses, [&](std::uint32_t word) {
      const std::uint64_t value = launch.word(word).value_or(0);
      return (word & kInMemory) != 0 && std::ranges::any_of(launch.memory, [value](const KnownMemory& each) {
               return value >= each.address && value < each.address + each.bytes.size();
             });
    });
  }

  // Returns the parameter words from which the code computes addresses, and loaded words. Omits words if there are too
  // many, because the launch is followed once for each word. Prefers the loaded words that are nearest to an address.
  std::set<std::uint32_t> addressed_words(const Followed& all, const LaunchValues& launch) const {
    constexpr std::size_t kMost = 16;
    std::set<std::uint32_t> words;
    for (const auto& [at, may] : may_) words.insert(may.words.begin(), may.words.end());
    if (words.size() > kMost) return {};
    std::vector<std::pair<std::uint64_t, std::uint32_t>> nearest;
    for (const std::uint32_t word : all.loaded) {
      std::uint64_t distance = ~std::uint64_t{0};
      for (const CertainAccess& access : all.accesses.accesses) {
        const std::uint64_t apart = static_cast<std::uint64_t>(access.least) - launch.word(word).value_or(0);
        if (!access.parameter) distance = std::min(distance, std::min(apart, -apart));
      }
      nearest.emplace_back(distance, word);
    }
    std::ranges::sort(nearest);
    for (std::size_t i = 0; i < nearest.size() && words.size() < kMost; ++i) words.insert(nearest[i].second);
    return words;
  }

  // Where possible, makes positions relative to a word. To do this, follows the launch once more for each
  // word, with the word treated as an address. The threads may then take other paths, so only accesses that both
  // results contain are changed.
  void count_from_words(Followed& all, const LaunchValues& launch) const {
    std::vector<CertainAccess>& accesses = all.accesses.accesses;
    std::map<std::size_t, std::vector<Counted>> counted;  // keyed by index in `accesses`
    for (const std::uint32_t word : addressed_words(all, launch)) {
      const auto value = static_cast<std::int64_t>(launch.word(word).value_or(0));
      if (!launch.word(word) || value > kMostOfForm || value < -kMostOfForm) continue;
      if (std::ranges::binary_search(launch.addresses, word)) continue;
      LaunchValues other = launch;
      other.addresses.insert(std::ranges::upper_bound(other.addresses, word), word);
      for (const CertainAccess& each : followed(other).accesses.accesses) {
        if (each.parameter != word) continue;
        for (std::size_t at = 0; at < accesses.size(); ++at) {
          const CertainAccess& number = accesses[at];
          const bool inside = !number.parameter && number.instruction == each.instruction &&
                              number.least <= each.least + value && number.most >= each.most + value;
          if (inside) counted[at].push_back({each.least + value, each.most + value, each});
        }
      }
    }
    for (auto& [at, found] : counted) {
      if (!are_parts_of(accesses[at], found)) continue;
      accesses[at] = found.front().access;
      for (std::size_t i = 1; i < found.size(); ++i) accesses.push_back(found[i].access);
    }
    std::ranges::sort(accesses);
  }

  // An access whose positions are relative to a word, and the addresses of its first and last position.
  struct Counted {
    std::int64_t first = 0, last = 0;
    CertainAccess access;
    auto operator<=>(const Counted&) const = default;
  };

  // Returns whether these accesses make up the whole one, and each address belongs to one of them. Sorts them.
  static bool are_parts_of(const CertainAccess& whole, std::vector<Counted>& parts) {
    std::ranges::sort(parts);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].first <= parts[i - 1].last) return false;
    }
    return parts.front().first == whole.least && parts.back().last == whole.most;
  }

  const std::string text_;
  const Program program_;
  const ParameterBank bank_;
  KernelAccesses accesses_;
  MayAccesses may_;
  std::optional<Detours> detours_;
};

ByteRanges::ByteRanges(std::string text, ParameterBank bank, Calls calls)
    : it_(std::make_unique<Implementation>(std::move(text), bank, calls)) {}
ByteRanges::ByteRanges(ByteRanges&&) noexcept = default;
ByteRanges::~ByteRanges() = default;

const KernelAccesses& ByteRanges::accesses() const { return it_->accesses(); }
bool ByteRanges::uses_system_scope() const { return it_->uses_system_scope(); }
std::uint64_t ByteRanges::unknown_opcodes() const { return it_->unknown_opcodes(); }
std::vector<ParameterBytes> ByteRanges::of(const LaunchValues& launch) const { return it_->of(launch); }
CertainAccesses ByteRanges::certain(const LaunchValues& launch) const { return it_->certain(launch); }
ThreadRaces ByteRanges::thread_races(const LaunchValues& launch) const { return it_->thread_races(launch); }

}  // namespace cudadiag::sass
