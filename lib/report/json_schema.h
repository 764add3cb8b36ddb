// Writes JSON objects and their JSON Schema from one list of members. For each type T, a function list(Members&,
// const T&) names the type and adds its members, each with its value.
//
// For the schema, cudadiag calls list() with a default T: the types of the values count, and not the values. Therefore
// list() must not read an optional that may be empty. The compiler finds list() through its arguments, so list() is
// `static` and not in an unnamed namespace.
#pragma once

#include <fmt/core.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cudadiag::report {

using Json = nlohmann::ordered_json;

class Members {
 public:
  // `types` collects the types of members for the schema's "$defs". If it is null, the values are written.
  explicit Members(Json* types = nullptr) : types_(types) {}

  // Every list begins with the name of its type.
  void type(const std::string& name, const std::string& description = "") {
    name_ = name;
    description_ = description;
    if (types_ != nullptr && !types_->contains(name)) (*types_)[name] = nullptr;  // outer types come first
  }

  // Adds a flag, number, string, array or object. An empty optional is null.
  template <typename T>
  void add(const char* name, const T& value, const char* description = nullptr) {
    put(name, of(value), description);
  }
  // Adds a string that is null if it is empty.
  void text(const char* name, std::string_view text, const char* description = nullptr) {
    put(name, types_ != nullptr ? nullable(of(text)) : text.empty() ? Json() : Json(text), description);
  }
  // Adds a number that is null if it is 0.
  void unless_zero(const char* name, std::uint64_t number) {
    add(name, number != 0 ? std::optional(number) : std::nullopt);
  }
  void line(const char* name, int line) { limited(name, line > 0 ? std::optional(line) : std::nullopt, "minimum", 1); }
  // Adds a value with a limit for the schema: the "minimum" of a number or of the numbers in an array, or "minItems".
  template <typename T>
  void limited(const char* name, const T& value, const std::string& keyword, int limit) {
    Json json = of(value);
    if (types_ != nullptr) (keyword == "minimum" && json.contains("items") ? json["items"] : json)[keyword] = limit;
    put(name, std::move(json));
  }
  void address(const char* name, std::uint64_t value) { put(name, address_of(value)); }
  void address(const char* name, const std::optional<std::uint64_t>& value, const char* description = nullptr) {
    put(name, types_ != nullptr ? nullable(address_of(0)) : value ? address_of(*value) : Json(), description);
  }
  void range(const char* name, std::uint64_t begin, std::uint64_t end) {
    put(name, types_ != nullptr ? array_of(address_of(0), 2) : Json::array({address_of(begin), address_of(end)}));
  }
  // Adds a word of an enumeration; null if it is empty and `may_lack` is set.
  void one_of(const char* name, std::string_view word, std::initializer_list<const char*> words,
              const char* description = nullptr, bool may_lack = false) {
    Json type = {{"enum", words}};
    if (may_lack) type["enum"].push_back(nullptr);
    put(name, types_ != nullptr ? type : may_lack && word.empty() ? Json() : Json(word), description);
  }
  // Adds an object that has no C++ type of its own. `list` adds its members.
  template <typename List>
  void object(const char* name, const char* type, const List& list, const char* description = nullptr) {
    put(name, object_of(type, list), description);
  }
  template <typename List>
  void object_or_null(const char* name, const char* type, bool known, const List& list,
                      const char* description = nullptr) {
    put(name,
        types_ != nullptr ? nullable(object_of(type, list))
        : known           ? object_of(type, list)
                          : Json(),
        description);
  }

  // Returns an object as a document. It is ASCII, so that a terminal gets no control sequences; bytes that are not
  // UTF-8 become U+FFFD.
  template <typename T>
  static std::string document(const T& object) {
    return Members().of(object).dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
  }

  // Returns the value, or its type in the schema.
  template <typename T>
  Json of(const T& object) {
    Members members(types_);
    list(members, object);
    return members.whole();
  }
  Json of(bool flag) { return types_ != nullptr ? Json{{"type", "boolean"}} : Json(flag); }
  Json of(double number) { return types_ != nullptr ? Json{{"type", "number"}} : Json(number); }
  template <std::integral T>
  Json of(const T& number) {
    if (types_ == nullptr) return number;
    return std::unsigned_integral<T> ? Json{{"type", "integer"}, {"minimum", 0}} : Json{{"type", "integer"}};
  }
  Json of(std::string_view text) { return types_ != nullptr ? Json{{"type", "string"}} : Json(text); }
  Json of(const std::string& text) { return of(std::string_view(text)); }
  template <typename... T>
  Json of(const std::variant<T...>& number) {
    return std::visit([&](auto value) { return types_ != nullptr ? of(double()) : Json(value); }, number);
  }
  template <typename T>
  Json of(const std::optional<T>& value) {
    if (types_ != nullptr) return nullable(of(T{}));
    return value ? of(*value) : Json();
  }
  template <typename T>
  Json of(const std::vector<T>& values) {
    if (types_ != nullptr) return array_of(of(T{}));
    Json array = Json::array();
    for (const T& value : values) array.push_back(of(value));
    return array;
  }
  Json of(const std::array<std::uint32_t, 3>& numbers) {
    return types_ != nullptr ? array_of(of(std::uint32_t()), 3) : Json(numbers);
  }
  // Pairs of a name and a text.
  Json of(const std::vector<std::pair<std::string, std::string>>& facts) {
    if (types_ != nullptr) return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    Json json = Json::object();
    for (const auto& [name, value] : facts) json[name] = value;
    return json;
  }

 private:
  static Json nullable(Json type) {
    if (!type.contains("type")) return {{"anyOf", Json::array({Json{{"type", "null"}}, std::move(type)})}};
    type["type"] = Json::array({type["type"], "null"});
    return type;
  }
  static Json array_of(Json type, int length = 0) {
    Json array = {{"type", "array"}, {"items", std::move(type)}};
    if (length > 0) array.update({{"minItems", length}, {"maxItems", length}});
    return array;
  }
  Json address_of(std::uint64_t value) const {
    return types_ != nullptr ? Json{{"type", "string"}, {"pattern", "^0x[0-9a-f]+$"}}
                             : Json(fmt::format("{:#x}", value));
  }
  template <typename List>
  Json object_of(const char* type, const List& list) {
    Members members(types_);
    members.type(type);
    list(members);
    return members.whole();
  }
  void put(const char* name, Json json, const char* description = nullptr) {
    if (types_ != nullptr && description != nullptr) {
      Json described = {{"description", description}};
      described.update(json);
      json = std::move(described);
    }
    members_[name] = std::move(json);
  }
  // Every object has all its members and no others.
  Json whole() {
    if (types_ == nullptr) return std::move(members_);
    Json type = Json::object();
    if (!description_.empty()) type["description"] = description_;
    type.update({{"type", "object"}, {"additionalProperties", false}, {"required", Json::array()}});
    for (const auto& [name, unused] : members_.items()) type["required"].push_back(name);
    type["properties"] = std::move(members_);
    (*types_)[name_] = std::move(type);
    return {{"$ref", "#/$defs/" + name_}};
  }

  Json* types_;
  std::string name_, description_;
  Json members_ = Json::object();
};

}  // namespace cudadiag::report
