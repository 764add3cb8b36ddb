// The kinds of passes, and the reasons for ending a pass early. Their names are used in manifests, folder names,
// environment variables and reports.
#pragma once

#include <optional>
#include <string_view>

namespace cudadiag::session {

enum class PassKind {
  record,    // the first run
  confirm,   // a rerun that waits for operations
  device,    // without the recorder, to get a GPU core dump
  eager,     // without torch.compile
  sanitize,  // under compute-sanitizer
  memory,    // asks PyTorch's allocator what holds its memory
  races,     // looks for the tensors that are involved in races
  origin,    // traces a bad value back
  launch,    // saves the failing launch
  other,     // a word in a manifest that this version does not know
};

std::string_view word(PassKind kind);
std::optional<PassKind> pass_kind(std::string_view word);

// Why cudadiag ended a pass early.
enum class CutShort {
  interrupted,  // by the user or a signal
  time_limit,
  first_race,
  first_failure,   // with --end-on-failure
  issued_nothing,  // it issued no GPU work for longer than the first run ever did
  asked_terminal,  // it waited for terminal input that no one could provide
  other,           // a word in a manifest that this version does not know
};

std::string_view word(CutShort reason);
// Returns "" for nullopt.
std::string_view word(const std::optional<CutShort>& reason);
// Returns nullopt for "".
std::optional<CutShort> cut_short(std::string_view word);

}  // namespace cudadiag::session
