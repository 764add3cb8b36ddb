#include "sass/byte_ranges.h"

#include <utility>

#include "sass/origins/instructions.h"
#include "sass/origins/walk.h"
#include "sass/threads/followed_launch.h"

namespace cudadiag::sass {
namespace {

constexpr std::uint32_t kMostInstructions = 20'000;

MayAccesses may_accesses(const std::map<std::uint32_t, std::set<CodeAccess>>& noted) {
  MayAccesses out;
  for (const auto& [at, accesses] : noted) {
    for (const CodeAccess& access : accesses) {
      MayAccess& may = out[at];
      may.anywhere |= access.anywhere;
      for (const Origin& origin : access.origins) {
        // An indexed array may supply any address.
        may.anywhere |= origin.indexed;
        may.words.insert(origin.offset);
      }
    }
  }
  return out;
}

}  // namespace

class ByteRanges::Implementation {
 public:
  Implementation(std::string text, ParameterBank bank, Calls calls)
      : text_(std::move(text)), program_(text_), instructions_(program_), bank_(bank) {
    OriginSets sets;
    Instructions noting(program_, bank, calls, 0, sets);
    if (program_.empty() || !walk(program_, noting, sets)) return;
    accesses_ = {true, noting.accesses(), {}};
    if (program_.size() > kMostInstructions || instructions_.unknown_opcodes() != 0) return;
    may_ = may_accesses(noting.accesses_by_instruction());
    detours_.emplace(program_);
  }

  const KernelAccesses& accesses() const { return accesses_; }
  std::uint64_t unknown_opcodes() const { return instructions_.unknown_opcodes(); }

  std::vector<ParameterBytes> of(const LaunchValues& launch) const {
    if (!detours_) return {};
    const FollowedLaunch::Code code{program_, instructions_, *detours_, may_, bank_};
    return FollowedLaunch(code, launch).bytes();
  }

 private:
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

}  // namespace cudadiag::sass
