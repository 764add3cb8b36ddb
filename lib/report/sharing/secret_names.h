// How secrets are recognised: by the names that they are given to, and by the shapes that services give them.
#pragma once

#include <string_view>

namespace cudadiag::report {

// No small letter is in it: as variables of the environment are called.
bool is_capitals(std::string_view name);

// "HF_TOKEN", "api-key", "wandb_api_key", "AccountKey", but neither "tokenizer" nor "num_tokens". Capitals are a variable
// of the environment, of which any part of the name will do.
bool is_secret_name(std::string_view name);

// An option of a command line, "--token" or "-pwd", whose value is the next word.
bool is_secret_option(std::string_view word);

// "hf_…", "ghp_…", "AKIA…": a word with a prefix that only tokens have.
bool is_known_token(std::string_view word);

// Long, of letters and digits.
bool looks_random(std::string_view value);

}  // namespace cudadiag::report
