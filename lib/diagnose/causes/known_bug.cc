// Known bugs of frameworks: one row each, with the GitHub thread that describes it. A row without `last` matches any
// version, because arguments that the kernel cannot handle prove that the version has the bug.

#include <algorithm>
#include <charconv>

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

constexpr std::uint32_t kMostGridYZ = 65535;

struct KnownBug {
  std::string_view last;  // the last version of PyTorch known to have the bug; empty means any
  std::string_view kernel;
  std::string_view what;
  std::string_view source;
};

// Kernels whose grid grows with the input along y or z. CUDA allows only 65535 blocks along these dimensions.
constexpr KnownBug kGrids[] = {
    {"", "vectorized_gather_kernel", "indexing of very large rows", "https://github.com/pytorch/pytorch/issues/164048"},
    {"", "fmha_cutlassF", "scaled_dot_product_attention with 65536 or more batches or heads",
     "https://github.com/pytorch/pytorch/issues/142228"},
    {"", "fmha_cutlassB", "scaled_dot_product_attention with 65536 or more batches or heads",
     "https://github.com/pytorch/pytorch/issues/142228"},
};

// Kernels that compute offsets in 32 bits.
constexpr KnownBug kOffsets[] = {
    {"2.12", "atomic_adaptive_average_gradinput", "the backward pass of adaptive_avg_pool2d",
     "https://github.com/pytorch/pytorch/pull/189082"},
    {"2.12", "adaptive_average_gradinput", "the backward pass of adaptive_avg_pool2d",
     "https://github.com/pytorch/pytorch/pull/189082"},
};

int number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
  return error == std::errc() ? value : 0;
}

// Compares major and minor version. Text that is not a version counts as newer than any version.
bool at_most(std::string_view version, std::string_view last) {
  if (version.empty() || version[0] < '0' || version[0] > '9') return false;
  const int major = number(version), last_major = number(last);
  return major != last_major ? major < last_major : number(version) <= number(last);
}

template <std::size_t count>
const KnownBug* add_bug(const KnownBug (&bugs)[count], const Case& failed, Facts& facts) {
  for (const KnownBug& bug : bugs) {
    const std::string& version = failed.report.torch;
    if (failed.kernel().find(bug.kernel) == std::string::npos || version.empty()) continue;
    if (!bug.last.empty() && !at_most(version, bug.last)) continue;
    facts.add("version", version);
    facts.add("what", std::string(bug.what));
    facts.add("source", std::string(bug.source));
    return &bug;
  }
  return nullptr;
}

bool grid(const Case& failed, Facts& facts) {
  const Dim3& grid = failed.launch().grid;
  if (!failed.is_launch() || std::max(grid[1], grid[2]) <= kMostGridYZ) return false;
  facts.add("blocks", std::to_string(std::max(grid[1], grid[2])));
  return add_bug(kGrids, failed, facts) != nullptr;
}

bool offset(const Case& failed, Facts& facts) {
  for (const Argument& argument : failed.finding.arguments) {
    if (extent(argument).value_or(0) <= kMost32) continue;
    facts.proof.push_back(static_cast<std::size_t>(&argument - failed.finding.arguments.data()));
    facts.add("argument", argument.name);
    return add_bug(kOffsets, failed, facts) != nullptr;
  }
  return false;
}

}  // namespace

const std::vector<Rule>& known_bug_rules() {
  static const std::vector<Rule> rules = {
      {.id = "known-bug",
       .codes = {1, 9},
       .when = grid,
       .texts = {"a known bug in PyTorch {version}: {what} launches a grid with {blocks} blocks in y or z, but CUDA "
                 "allows at most 65535 ({source})"},
       .fix = {"split the call (chunk the batch), or try a newer PyTorch",
               "for attention, sdpa_kernel(SDPBackend.MATH) supports such sizes"},
       .link = "https://github.com/pytorch/pytorch/issues"},
      {.id = "known-bug",
       .sure = Sure::often,
       .codes = {700},
       .when = offset,
       .texts = {"{argument} has more elements than 32 bits can count; in PyTorch {version}, a known bug in {what} "
                 "often causes this failure ({source})"},
       .fix = {"split the call into parts of fewer than 2**31 elements, or try a newer PyTorch"},
       .link = "https://github.com/pytorch/pytorch/issues"},
  };
  return rules;
}

}  // namespace cudadiag::causes
