// Reads values from untrusted JSON documents. A value that is absent, has the wrong type or is out of range counts as
// missing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace cudadiag::session {

using Json = nlohmann::json;

inline std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Returns at most the first kilobyte, for names and other short texts.
inline std::string short_text(const Json& value) {
  return value.is_string() ? value.get<std::string>().substr(0, 1024) : std::string();
}
inline std::string short_text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? std::string() : short_text(*it);
}

inline bool bool_of(const Json& object, const char* key, bool otherwise = false) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}

template <typename T>
std::optional<T> integer(const Json& value) {
  const auto fitting = [](auto number) {
    return std::in_range<T>(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  };
  if (value.is_number_unsigned()) return fitting(value.get<std::uint64_t>());
  return value.is_number_integer() ? fitting(value.get<std::int64_t>()) : std::nullopt;
}

template <typename T>
std::optional<T> integer_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? std::nullopt : integer<T>(*it);
}

// Copies an integer member into `number`. Leaves `number` unchanged if the member is missing or does not fit.
template <typename Number>
void take(const Json& object, const char* key, Number& number) {
  if (const auto value = integer_of<Number>(object, key)) number = *value;
}

}  // namespace cudadiag::session
