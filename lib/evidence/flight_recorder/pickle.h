// Reads pickles that PyTorch's C++ pickler writes (protocol 2). Knows only the operations that this pickler uses for
// dictionaries, lists, tuples, texts, numbers and None. None of these imports or calls anything. Rejects every other
// operation, and with them the pickles that Python writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "evidence/flight_recorder/document.h"

namespace cudadiag::evidence {

// Fills an empty document from its bytes. If it rejects them, returns the reason as a clause: "it ends within a value".
std::optional<std::string> read_pickle(Document& document);

// The same for JSON.
std::optional<std::string> read_json(Document& document);

}  // namespace cudadiag::evidence
