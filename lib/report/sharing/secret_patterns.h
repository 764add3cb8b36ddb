// Recognises secrets by the names of their variables or options, and by the shapes of known tokens.
#pragma once

#include <string_view>

namespace cudadiag::report {

// Whether the name has no lower-case letter, as usual for environment variables.
bool is_capitals(std::string_view name);

// "HF_TOKEN", "api-key", "wandb_api_key", "AccountKey", but neither "tokenizer" nor "num_tokens". A name in capitals is
// an environment variable, in which any part of the name may match.
bool is_secret_name(std::string_view name);

// Whether the word is an option such as "--token" or "-pwd" whose value is the next word.
bool is_secret_option(std::string_view word);

// Whether the word has a prefix that only tokens have: "hf_…", "ghp_…", "AKIA…".
bool is_known_token(std::string_view word);

// Whether the value is long and contains letters and digits.
bool looks_random(std::string_view value);

}  // namespace cudadiag::report
