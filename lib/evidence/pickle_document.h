// The values in a pickle or JSON file: lists, dictionaries, strings and numbers. A string is either part of the file's
// bytes, which the document owns, or a copy.
//
// The file is not trusted. A document has at most kMostValues values. Several values may contain the same value, but
// none contains itself, because a list or dictionary is complete before another value refers to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudadiag::evidence {

class Document;

// One value of a document. The document must outlive it. A getter that does not match the value's kind returns nullopt,
// or an empty result.
class Value {
 public:
  Value() = default;  // like None
  Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}

  bool is_dictionary() const;
  bool is_list() const;  // or a tuple
  bool is_text() const;
  std::string_view text() const;
  std::optional<std::int64_t> integer() const;  // also for booleans
  // Returns the number of items in a list, or of pairs in a dictionary.
  std::size_t size() const;
  Value item(std::size_t index) const;                             // for a list
  std::span<const std::uint32_t> items() const;                    // for a list: the index of each item
  std::pair<Value, Value> pair(std::size_t index) const;           // for a dictionary: key and value
  Value member(std::string_view key) const;                        // for a dictionary; searches only its first 64 pairs
  std::uint32_t index() const { return index_; }                   // identifies the value in its document
  explicit operator bool() const { return document_ != nullptr; }  // false if the value is missing

 private:
  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class Document {
 public:
  static constexpr std::size_t kMostValues = std::size_t{8} << 20;

  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, dictionary };

  explicit Document(std::string bytes);
  Document(Document&&) = delete;  // values point to the document

  const std::string& bytes() const { return bytes_; }
  Value root() const { return {this, root_}; }

  // Each function adds a value and returns its index, or nullopt if there are too many values.
  std::optional<std::uint32_t> add(Kind kind, std::int64_t number = 0) {
    if (entries_.size() >= kMostValues) return std::nullopt;
    Entry& entry = entries_.emplace_back();
    entry.kind = kind;
    entry.number = number;
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  std::optional<std::uint32_t> add_text(std::string_view part_of_bytes);
  std::optional<std::uint32_t> add_copy(std::string text);
  // Puts these items into an empty list or dictionary. For a dictionary, keys and values alternate.
  void fill(std::uint32_t container, const std::uint32_t* items, std::size_t count);
  bool is_empty(std::uint32_t container) const { return entries_[container].count == 0; }
  Kind kind(std::uint32_t value) const { return entries_[value].kind; }
  void set_root(std::uint32_t value) { root_ = value; }

 private:
  friend class Value;
  struct Entry {
    Kind kind = Kind::none;
    std::uint32_t count = 0;  // number of items or bytes; keys and values of a dictionary count separately
    union {
      std::int64_t number = 0;  // the value, or the index of the first item in `items_`
      const char* text;         // `count` bytes
    };
  };

  const std::string bytes_;
  std::deque<std::string> copies_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> items_;
  std::uint32_t root_ = 0;
};

// Parses the document's bytes as a pickle (see pickle_document.cc), and adds the values to the document, which must be
// empty. If the pickle is rejected, returns the reason as a clause: "it ends within a value".
std::optional<std::string> read_pickle(Document& document);
// The same for JSON.
std::optional<std::string> read_json(Document& document);

inline bool Value::is_dictionary() const {
  return document_ != nullptr && document_->kind(index_) == Document::Kind::dictionary;
}
inline bool Value::is_list() const { return document_ != nullptr && document_->kind(index_) == Document::Kind::list; }
inline bool Value::is_text() const { return document_ != nullptr && document_->kind(index_) == Document::Kind::text; }

}  // namespace cudadiag::evidence
