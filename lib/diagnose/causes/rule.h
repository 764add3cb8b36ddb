// One rule of the tables of causes, the list of tables, and the search for the rule that explains a failure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/causes/case.h"

namespace cudadiag::causes {

// `often`: there are other possible causes, so the text says "often" or "probably".
enum class Sure { certain, often };

// A rule matches if all its conditions match; an empty member matches anything.
struct Rule {
  std::string_view id{};  // several rules may have the same id, if they need different facts for the same cause
  Sure sure = Sure::certain;
  std::vector<std::uint32_t> codes{};
  // Complete conditions of assertions in PyTorch's own kernels, or parts of the assertions' messages.
  std::vector<std::string_view> assertions{};
  // Parts of the names of PyTorch kernels. These kernels contain no assertions other than those in `assertions`. If
  // `assertions` is not empty, the names are compared only for error 710 with an unknown assertion text.
  std::vector<std::string_view> kernels{};
  std::vector<std::string_view> calls{};  // parts of the refused call's name
  // A further condition, which also adds the facts that the texts use.
  bool (*when)(const Case&, Facts&) = nullptr;
  // Each "{name}" is replaced by a fact. The first text whose facts are all known is used. Without its facts, a part in
  // brackets is left out; "[a|b]" becomes the first of its parts whose facts are known. A step of `fix` with an unknown
  // fact is omitted. `fix` and `link` may contain choices for in_dialect().
  std::vector<std::string_view> texts{};
  std::vector<std::string_view> fix{};
  std::string_view link{};
};

// The advice of all rules for memory that is used after it was freed. The memory was freed before the operation was
// issued, so waiting for earlier operations does not help.
inline const std::vector<std::string_view> kFreeLater = {
    "issue this operation before the free, and free only once it has finished ({cuda:cudaStreamSynchronize, then "
    "cudaFree; or cudaFreeAsync|cuStreamSynchronize, then cuMemFree; or cuMemFreeAsync} on the same stream)",
    "or pass memory that has not been freed, if the program kept an old pointer",
    "{python:keep a reference to the object that the raw pointer belongs to}"};
inline constexpr std::string_view kFreeLaterLink =
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#stream-ordered-memory-allocator";

// Returns true if torch._assert_async checked the assertion. The program may have chosen the message.
bool is_asked(const Case& failed);

// Returns `text` with its facts filled in, or nullopt if one that it needs is missing.
std::optional<std::string> filled(std::string_view text, const Facts& facts);

// Resolves choices: "{cuda:cudaFree|cuMemFree}" becomes the part before the bar if the program uses the runtime, else
// the part after it. "{python:…|…}" and "{torch:…|…}" do the same for programs that use Python or PyTorch. Without a
// bar, the second part is empty.
std::string in_dialect(std::string_view text, const Dialect& dialect);

bool fits(const Rule& rule, const Case& failed, Facts& facts);

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts);

// The table of causes, one file for each family. If rules of two families may match, the family that is more specific
// comes first.
const std::vector<Rule>& known_bug_rules();
const std::vector<Rule>& access_rules();
const std::vector<Rule>& indexing_rules();
const std::vector<Rule>& numerics_rules();
const std::vector<Rule>& capture_rules();
const std::vector<Rule>& pointer_rules();
const std::vector<Rule>& library_rules();
const std::vector<Rule>& allocation_rules();
const std::vector<Rule>& launch_rules();
const std::vector<Rule>& stream_rules();
const std::vector<Rule>& device_rules();
const std::vector<Rule>& hardware_rules();
const std::vector<Rule>& kernel_rules();
const std::vector<Rule>& hang_rules();  // for hangs only, which try no other family

// `proof` has indices in Finding::arguments.
struct Explanation : diagnose::Cause {
  std::vector<std::string> fix;
};

// Tries the rules of a table in order and takes the first match. A wrong cause is worse than none, so if no rule
// matches, the finding has no cause.
std::optional<Explanation> explain(const Case& failed);

// Returns the id of every rule, each once, in the order of the table.
std::vector<std::string_view> cause_ids();

}  // namespace cudadiag::causes
