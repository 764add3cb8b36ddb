// Recognises secrets by the names of their variables or options, and by the shapes of known tokens.
#pragma once

#include <cstddef>
#include <string_view>

namespace cudadiag::report {

// Returns whether the name has no lower-case letter, as is usual for environment variables.
bool is_capitals(std::string_view name);

// Accepts "HF_TOKEN", "api-key", "wandb_api_key" and "AccountKey", but not "tokenizer" or "num_tokens". A name in
// capitals counts as an environment variable, in which any part of the name may match.
bool is_secret_name(std::string_view name);

// Returns whether the name ends in the word "key", as in "key" and "wandb-key". The value may be a secret, or the name of
// a field.
bool is_key_name(std::string_view name);

// Returns whether the value of an option with this name can be a secret: "--key k3yvalue" and "--wandb-key name", but not
// "--key name", "--sort-key name" or "--key 3".
bool is_key_of_option(std::string_view name, std::string_view value);

// Returns the length of the token with which the text begins, if it has the shape that a service documents for its
// tokens; otherwise 0.
std::size_t known_token(std::string_view text);

// Returns the length of a key of W&B with which the text begins; otherwise 0. It looks like a commit id, so ask only
// where W&B is named before it.
std::size_t wandb_key(std::string_view text);
bool names_wandb(std::string_view text);

// Returns whether a call of this name takes a secret: "login", "client.authenticate", "HTTPBasicAuth".
bool is_login_name(std::string_view name);

// Returns whether the word is an option such as "--token" or "-pwd", whose value is the next word.
bool is_secret_option(std::string_view word);

// Returns whether the value is long and contains both letters and digits.
bool looks_random(std::string_view value);

}  // namespace cudadiag::report
