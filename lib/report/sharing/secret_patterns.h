// Recognises secrets by the names of their variables or options, and by the shapes of known tokens.
#pragma once

#include <string_view>

namespace cudadiag::report {

// Returns whether the name has no lower-case letter, as is usual for environment variables.
bool is_capitals(std::string_view name);

// Accepts "HF_TOKEN", "api-key", "wandb_api_key" and "AccountKey", but not "tokenizer" or "num_tokens". A name in
// capitals counts as an environment variable, in which any part of the name may match.
bool is_secret_name(std::string_view name);

// Returns whether the word is an option such as "--token" or "-pwd", whose value is the next word.
bool is_secret_option(std::string_view word);

// Returns whether the word has a prefix that only tokens have: "hf_…", "ghp_…", "AKIA…".
bool is_known_token(std::string_view word);

// Returns whether the value is long and contains both letters and digits.
bool looks_random(std::string_view value);

}  // namespace cudadiag::report
