// Reads a pickle that PyTorch's C++ pickler wrote (protocol 2). The reader knows only the operations that this pickler
// writes for dictionaries, lists, tuples, texts, numbers and None. None of them imports or calls anything. The reader
// rejects every other operation, and therefore also pickles that Python wrote.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "evidence/flight_recorder/document.h"

namespace cudadiag::evidence {

// Fills an empty document from its bytes. Returns the reason for a rejection as a clause: "it ends within a value".
std::optional<std::string> read_pickle(Document& document);

// The same for JSON.
std::optional<std::string> read_json(Document& document);

}  // namespace cudadiag::evidence
