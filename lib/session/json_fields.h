// Reads values from untrusted JSON documents. A value that is absent, has the wrong type or is out of range counts as
// missing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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
std::uint64_t count_of(const Json& object, const char* key);  // 0 if it is missing
const Json& list_of(const Json& object, const char* key);     // an empty list if it is missing

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

// A struct lists its members once, in a function that serves both directions:
//
//   void fields(Overrun& overrun, auto& field) {
//     field("pid", overrun.pid);
//     field("mode", overrun.mode, mode_of);  // an enumeration: word(mode) writes it, mode_of(text) reads it
//   }
//
// A writer adds each member to an object. A reader sets each member that the object has, with the right type and within
// its range; the others keep their default. Elements of lists that do not fit are left out.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    if (const auto it = object_.find(key); it != object_.end()) read(*it, value);
  }
  template <typename T>
  void operator()(const char* key, std::vector<T>& list, std::size_t most) {
    (*this)(key, list);
    if (list.size() > most) list.resize(most);
  }
  template <typename T, typename Parse>
  requires std::is_invocable_v<Parse, std::string_view>
  void operator()(const char* key, T& value, Parse parse) { value = parse(std::string_view(text_of(object_, key))); }

  // Returns false, and leaves `value` as it is, if the document has something else.
  template <typename T>
  static bool read(const Json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (json.is_boolean()) value = json.get<bool>();
      return json.is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
      const auto number = integer<T>(json);
      if (number) value = *number;
      return number.has_value();
    } else if constexpr (std::is_floating_point_v<T>) {
      if (json.is_number()) value = json.get<T>();
      return json.is_number();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (json.is_string()) value = json.get<std::string>();
      return json.is_string();
    } else {
      if (!json.is_object()) return false;
      FieldReader reader(json);
      fields(value, reader);
      return true;
    }
  }
  template <typename T>
  static bool read(const Json& json, std::optional<T>& value) {
    T found{};
    if (read(json, found)) value = std::move(found);
    return true;
  }
  template <typename T, std::size_t size>
  static bool read(const Json& json, std::array<T, size>& values) {
    for (std::size_t i = 0; json.is_array() && i < std::min(size, json.size()); ++i) read(json[i], values[i]);
    return true;
  }
  template <typename T>
  static bool read(const Json& json, std::vector<T>& list) {
    return read_list<T>(json, [&](T each) { list.push_back(std::move(each)); });
  }
  template <typename T>
  static bool read(const Json& json, std::set<T>& list) {
    return read_list<T>(json, [&](T each) { list.insert(std::move(each)); });
  }

 private:
  template <typename T, typename Add>
  static bool read_list(const Json& json, const Add& add) {
    if (!json.is_array()) return false;
    for (const Json& each : json) {
      if (T found{}; read(each, found)) add(std::move(found));
    }
    return true;
  }

  const Json& object_;
};

class FieldWriter {
 public:
  template <typename T>
  void operator()(const char* key, T& value) {
    object_[key] = written(value);
  }
  template <typename T>
  void operator()(const char* key, std::vector<T>& list, std::size_t) {
    object_[key] = written(list);
  }
  template <typename T, typename Parse>
  requires std::is_invocable_v<Parse, std::string_view>
  void operator()(const char* key, T& value, Parse) { object_[key] = word(value); }

  template <typename T>
  static Json written(T& value) {
    if constexpr (requires(FieldWriter & writer) { fields(value, writer); }) {
      FieldWriter writer;
      fields(value, writer);
      return std::move(writer.object_);
    } else {
      return value;
    }
  }
  template <typename T>
  static Json written(std::optional<T>& value) {
    return value ? written(*value) : Json(nullptr);
  }
  template <typename T>
  static Json written(std::vector<T>& list) {
    Json array = Json::array();
    for (T& each : list) array.push_back(written(each));
    return array;
  }

 private:
  Json object_ = Json::object();
};

}  // namespace cudadiag::session
