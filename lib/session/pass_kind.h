// The kinds of passes, the reasons for ending one early, and the word for each in manifests, in folder names, in the
// environment of a rerun and in reports.
#pragma once

#include <optional>
#include <string_view>

namespace cudadiag::session {

enum class PassKind {
  record,    // the first run
  confirm,   // waits for operations
  device,    // without the recorder: for a GPU core dump
  eager,     // without torch.compile
  sanitize,  // under compute-sanitizer
  memory,    // asks PyTorch's allocator
  races,     // looks for the tensors that race
  origin,    // traces a bad value back
  launch,    // saves the failing launch
  other,     // of a manifest that this program does not know
};

std::string_view word(PassKind kind);
// Nothing: no kind has this word.
std::optional<PassKind> pass_kind(std::string_view word);

// Why, or at what, cudadiag ended a run.
enum class CutShort {
  interrupted,  // by the user
  time_limit,
  first_race,
  issued_nothing,  // for longer than the first run ever had
  asked_terminal,  // for input that nobody gives
  other,           // of a manifest that this program does not know
};

std::string_view word(CutShort reason);
// Empty: nothing.
std::string_view word(const std::optional<CutShort>& reason);
// Nothing: the word is empty.
std::optional<CutShort> cut_short(std::string_view word);

}  // namespace cudadiag::session
