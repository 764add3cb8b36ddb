// Reads values from untrusted JSON documents. A value that is absent, has the wrong type or is out of range counts as
// missing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cudadiag::session {

using Json = nlohmann::json;

// Returns a discarded value if the text is not JSON.
Json parse_json(std::string_view text);
// `indent` is the number of spaces for each level; with -1, the text has a single line. Replaces invalid UTF-8.
std::string json_text(const Json& document, int indent);

std::string text_of(const Json& object, const char* key);
// Returns at most the first kilobyte, for names and other short texts.
std::string short_text(const Json& value);
std::string short_text_of(const Json& object, const char* key);
bool bool_of(const Json& object, const char* key, bool otherwise = false);

// Internal to integer(). One member is set if the value is an integer.
struct WholeNumber {
  std::optional<std::uint64_t> positive;
  std::optional<std::int64_t> negative;
};
WholeNumber whole_number(const Json& value);
WholeNumber whole_number_of(const Json& object, const char* key);

template <typename T>
std::optional<T> fitting(const WholeNumber& number) {
  if (number.positive && std::in_range<T>(*number.positive)) return static_cast<T>(*number.positive);
  if (number.negative && std::in_range<T>(*number.negative)) return static_cast<T>(*number.negative);
  return std::nullopt;
}

template <typename T>
std::optional<T> integer(const Json& value) {
  return fitting<T>(whole_number(value));
}

template <typename T>
std::optional<T> integer_of(const Json& object, const char* key) {
  return fitting<T>(whole_number_of(object, key));
}

// Copies an integer member into `number`. Leaves `number` unchanged if the member is missing or does not fit.
template <typename Number>
void take(const Json& object, const char* key, Number& number) {
  if (const auto value = integer_of<Number>(object, key)) number = *value;
}

}  // namespace cudadiag::session
