// Helpers for the JSON documents in this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cudadiag::report {

using Json = nlohmann::ordered_json;

inline Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T, typename Write>
Json array_of(const std::vector<T>& values, const Write& write) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(write(value));
  return array;
}

}  // namespace cudadiag::report
