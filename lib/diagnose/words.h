// The text of each enumeration value in the JSON output, names of streams, and the formatting of numbers and shell
// commands. Users' scripts may depend on the texts in the JSON output.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.h"
#include "base/text.h"
#include "diagnose/facts/report_model.h"

namespace cudadiag::diagnose {

std::string_view word(analyse::Grade grade);
std::string_view word(analyse::Verdict verdict);
std::string_view word(analyse::Kind kind);

std::string_view word(sass::AccessKind kind);
std::string_view word(sass::Space space);
std::string_view word(Relation relation);
std::string_view word(Role role);
std::string_view word(TensorRole role);
std::string_view word(RanksDifference difference);
std::string_view word(analyse::GroupAnswer::Kind kind);
std::string_view word(analyse::GroupAnswer::Difference difference);
std::string_view word(WaitsFor what);
std::string_view word(wire::area::State state);
// Returns "python" or "c++"; empty if unknown.
std::string_view word(symbolize::Language language);

// Returns the outcome as text for a report, such as "proven" or "did not fail".
std::string_view word(analyse::Rerun::Outcome outcome);

// Formats dimensions, such as "4096,1,1".
std::string dimensions(const std::array<std::uint32_t, 3>& d);

// Returns the command that reruns a recorded command. `session` is the session's folder. If the program reads its
// standard input (`input`), the command ends in "<INPUT". `given`: Manifest::rerun_options, which `options` replace.
std::string bisect_command(const std::string& session, bool input, const std::vector<std::string>& given,
                           const std::string& options = "");
// Returns the command that records `command` again. `given`: Manifest::options, which `options` replace. Reruns are
// allowed then.
std::string record_command(const std::vector<std::string>& given, const std::vector<std::string>& command, bool input,
                           const std::string& options = "");
// Returns the first name of a descriptor above 2 in a command, such as "/dev/fd/63" of a process substitution; empty if
// there is none. A rerun does not have this descriptor.
std::string descriptor_in(const std::vector<std::string>& command);
// A shell comment, which warns that the suggested command reruns the program without isolation.
inline constexpr const char* kNotIsolated = "  # not isolated: it can write files";

// The option that makes `cudadiag bisect` isolate its reruns, as `cudadiag run` does.
inline constexpr const char* kIsolated = "--isolated";
// The same, after a rerun that wrote more than it may.
inline constexpr const char* kIsolatedWithMoreWrites = "--isolated --write-limit MIB";
// The option that makes `cudadiag bisect` reproduce an intermittent failure.
inline constexpr const char* kRepeat = "--repeat 20";
inline constexpr int kRepeats = 20;

// Joins words with commas, and the last two with `last`: "a, b and c" if `last` is " and ".
std::string joined(const std::vector<std::string>& words, const char* last);
// Adds the article: "a kernel" or "an event".
std::string with_article(std::string_view word);
using base::thousands;
// Formats a duration: "40 ms", "4.2 s", "62 s" or "3 min".
std::string duration(double seconds);

// Quotes `word` as one word for a shell. Characters that base::printable() changes are written as escapes.
std::string shell_word(std::string_view word);
// Returns the words of a command as one line for a shell, each quoted by shell_word().
std::string shell_line(const std::vector<std::string>& words);

// Returns what the report's headline says about the finding's grade. A line inside compiled code is always inferred.
std::string grade_text(const Finding& finding);

// Explains a grade to readers who do not know the term.
std::string_view meaning(analyse::Grade grade);

// Returns a name such as "default stream" or "stream 0x55d0c8".
std::string stream_name(std::uint64_t handle);
// Like stream_name(), for use within a sentence: "the default stream".
std::string stream_phrase(std::uint64_t handle);
// Like stream_phrase(), for a second stream with the same handle: "the default stream of another context".
std::string other_stream_phrase(std::uint64_t handle);

// Replaces the handles in a text by letters, in the order in which they appear: "stream A" for "stream 0x55d0c8".
class StreamLetters {
 public:
  std::string name(const std::string& text);

 private:
  std::vector<std::string> handles_;
};

}  // namespace cudadiag::diagnose
