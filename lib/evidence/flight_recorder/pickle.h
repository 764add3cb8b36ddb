// Reads pickles that PyTorch's C++ pickler writes (protocol 2). Supports only the operations that this pickler uses for
// dictionaries, lists, tuples, strings, numbers and None. None of these operations imports or calls anything. Rejects
// all other operations, and therefore also pickles that Python writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "evidence/flight_recorder/document.h"

namespace cudadiag::evidence {

// Parses the document's bytes as a pickle, and adds the values to the document, which must be empty. If the pickle is
// rejected, returns the reason as a clause: "it ends within a value".
std::optional<std::string> read_pickle(Document& document);

// The same for JSON.
std::optional<std::string> read_json(Document& document);

}  // namespace cudadiag::evidence
