// The kinds of passes, and the reasons for ending one early, with their words for manifests, folder names, environment
// variables and reports.
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
  other,     // from a manifest, unknown to this program
};

std::string_view word(PassKind kind);
// Returns nullopt if no kind has this word.
std::optional<PassKind> pass_kind(std::string_view word);

// Why cudadiag ended a run early.
enum class CutShort {
  interrupted,  // by the user
  time_limit,
  first_race,
  issued_nothing,  // for longer than the first run ever did
  asked_terminal,  // for input that no one provides
  other,           // from a manifest, unknown to this program
};

std::string_view word(CutShort reason);
// Returns "" for nullopt.
std::string_view word(const std::optional<CutShort>& reason);
// Returns nullopt for "".
std::optional<CutShort> cut_short(std::string_view word);

}  // namespace cudadiag::session
