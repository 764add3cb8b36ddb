// The kinds of passes, and the word for each in manifests, in folder names and in the environment of a rerun.
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
  other,     // of a manifest that this program does not know
};

std::string_view word(PassKind kind);
// Nothing: no kind has this word.
std::optional<PassKind> pass_kind(std::string_view word);

}  // namespace cudadiag::session
