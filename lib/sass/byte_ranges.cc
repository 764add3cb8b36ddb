#include "sass/byte_ranges.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sass/origins/instructions.h"
#include "sass/origins/walk.h"
#include "sass/threads/followed_launch.h"

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kMostInstructions = 20'000;
constexpr std::size_t kStepsOfCorner = 20'000;

MayAccesses may_accesses(const Instructions& noting) {
  MayAccesses out;
  for (const auto& [at, use] : noting.handles_by_instruction()) out[at].handle = use.parameter;
  for (const auto& [at, accesses] : noting.accesses_by_instruction()) {
    for (const CodeAccess& access : accesses) {
      MayAccess& may = out[at];
      may.anywhere |= access.anywhere;
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
    const auto same = std::find_if(to.accesses.begin(), to.accesses.end(), [&](const CertainAccess& known) {
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

class ByteRanges::Implementation {
 public:
  Implementation(std::string text, ParameterBank bank, Calls calls)
      : text_(std::move(text)), program_(text_), instructions_(program_), bank_(bank) {
    OriginSets sets;
    Instructions noting(program_, bank, calls, 0, sets);
    if (program_.empty() || !walk(program_, noting, sets)) return;
    accesses_ = {true, noting.accesses(), {}, noting.writes_elsewhere()};
    for (const auto& [at, use] : noting.handles_by_instruction()) accesses_.handles.insert(use);
    if (program_.size() > kMostInstructions || instructions_.unknown_opcodes() != 0) return;
    may_ = may_accesses(noting);
    detours_.emplace(program_);
  }

  const KernelAccesses& accesses() const { return accesses_; }
  std::uint64_t unknown_opcodes() const { return instructions_.unknown_opcodes(); }

  std::vector<ParameterBytes> of(const LaunchValues& launch) const {
    if (!detours_) return {};
    const FollowedLaunch::Code code{program_, instructions_, *detours_, may_, bank_};
    return FollowedLaunch(code, launch).bytes();
  }

  CertainAccesses certain(const LaunchValues& launch) const {
    CertainAccesses all = followed(launch);
    const bool all_counted =
        std::ranges::all_of(all.accesses, [](const auto& each) { return each.parameter.has_value(); });
    if (!all_counted) count_from_words(all, launch);
    return all;
  }

 private:
  CertainAccesses followed(const LaunchValues& launch) const {
    const auto threads = all_threads(launch);
    if (!detours_ || !threads) return {};
    const FollowedLaunch::Code code{program_, instructions_, *detours_, may_, bank_};
    CertainAccesses all = FollowedLaunch(code, launch).certain(*threads);
    if (all.only_these) return all;
    for (const Box& corner : corners_of(*threads))
      merge(all, FollowedLaunch(code, launch, kStepsOfCorner).certain(corner));
    std::sort(all.accesses.begin(), all.accesses.end());
    return all;
  }

  // Returns the parameter words from which the code computes addresses. Returns none if there are too many, because the
  // launch is followed once for each word.
  std::set<std::uint32_t> addressed_words() const {
    constexpr std::size_t kMost = 16;
    std::set<std::uint32_t> words;
    for (const auto& [at, may] : may_) words.insert(may.words.begin(), may.words.end());
    return words.size() <= kMost ? words : std::set<std::uint32_t>();
  }

  // Where possible, makes positions relative to a parameter word. To do this, follows the launch once more for each
  // word, with the word treated as an address. The threads may then take other paths, so only accesses that both
  // results contain are changed.
  void count_from_words(CertainAccesses& all, const LaunchValues& launch) const {
    std::map<std::size_t, std::vector<CertainAccess>> counted;  // keyed by index in `all.accesses`
    for (const std::uint32_t word : addressed_words()) {
      if (word + 8 > launch.parameters.size()) continue;
      if (std::binary_search(launch.addresses.begin(), launch.addresses.end(), word)) continue;
      LaunchValues other = launch;
      other.addresses.insert(std::upper_bound(other.addresses.begin(), other.addresses.end(), word), word);
      std::int64_t value = 0;
      std::memcpy(&value, launch.parameters.data() + word, sizeof value);
      for (const CertainAccess& each : followed(other).accesses) {
        if (each.parameter != word || std::abs(value) > kMostOfForm) continue;
        for (std::size_t at = 0; at < all.accesses.size(); ++at) {
          const CertainAccess& number = all.accesses[at];
          const bool same = !number.parameter && number.instruction == each.instruction &&
                            number.least == each.least + value && number.most == each.most + value;
          if (same) counted[at].push_back(each);
        }
      }
    }
    for (auto& [at, found] : counted) {
      if (found.size() == 1) all.accesses[at] = std::move(found.front());
    }
  }

  const std::string text_;
  const Program program_;
  const ThreadCode instructions_;
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
std::uint64_t ByteRanges::unknown_opcodes() const { return it_->unknown_opcodes(); }
std::vector<ParameterBytes> ByteRanges::of(const LaunchValues& launch) const { return it_->of(launch); }
CertainAccesses ByteRanges::certain(const LaunchValues& launch) const { return it_->certain(launch); }

}  // namespace cudadiag::sass
