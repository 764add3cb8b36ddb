#include "evidence/flight_recorder/document.h"

#include <algorithm>

namespace cudadiag::evidence {

namespace {

// Limits the dictionary entries that a look-up searches. Without this limit, many values that share a large dictionary
// could make reading very slow.
constexpr std::size_t kMostMembers = 64;

}  // namespace

std::string_view Value::text() const {
  if (!is_text()) return {};
  const Document::Entry& entry = document_->entries_[index_];
  return {entry.text, entry.count};
}

std::optional<std::int64_t> Value::integer() const {
  if (document_ == nullptr) return std::nullopt;
  const Document::Entry& entry = document_->entries_[index_];
  const bool is_number = entry.kind == Document::Kind::integer || entry.kind == Document::Kind::boolean;
  return is_number ? std::optional(entry.number) : std::nullopt;
}

std::size_t Value::size() const {
  if (is_list()) return document_->entries_[index_].count;
  return is_dictionary() ? document_->entries_[index_].count / 2 : 0;
}

std::span<const std::uint32_t> Value::items() const {
  if (!is_list()) return {};
  const Document::Entry& entry = document_->entries_[index_];
  return {document_->items_.data() + entry.number, entry.count};
}

Value Value::item(std::size_t index) const {
  const std::span<const std::uint32_t> all = items();
  return index < all.size() ? Value(document_, all[index]) : Value();
}

std::pair<Value, Value> Value::pair(std::size_t index) const {
  if (!is_dictionary() || index >= size()) return {};
  const std::uint32_t* key =
      &document_->items_[static_cast<std::size_t>(document_->entries_[index_].number) + 2 * index];
  return {Value(document_, key[0]), Value(document_, key[1])};
}

Value Value::member(std::string_view key) const {
  if (!is_dictionary()) return {};
  // Optimised, because most of the time for reading a dump is spent here.
  const auto& entries = document_->entries_;
  const Document::Entry& own = entries[index_];
  const std::uint32_t* at = document_->items_.data() + own.number;
  const std::uint32_t* end = at + 2 * std::min<std::size_t>(own.count / 2, kMostMembers);
  for (; at != end; at += 2) {
    const Document::Entry& name = entries[*at];
    const bool fits = name.kind == Document::Kind::text && name.count == key.size();
    if (fits && std::string_view(name.text, key.size()) == key) return {document_, at[1]};
  }
  return {};
}

// Reserves memory by estimate: in a PyTorch pickle, a value takes about eight bytes, and an entry of a list or
// dictionary takes two to five.
Document::Document(std::string bytes) : bytes_(std::move(bytes)) {
  entries_.reserve(std::min(bytes_.size() / 8, kMostValues));
  items_.reserve(bytes_.size() / 3);
}

std::optional<std::uint32_t> Document::add_text(std::string_view part_of_bytes) {
  const auto index = add(Kind::text);
  if (!index) return index;
  entries_[*index].text = part_of_bytes.data();
  entries_[*index].count = static_cast<std::uint32_t>(part_of_bytes.size());
  return index;
}

std::optional<std::uint32_t> Document::add_copy(std::string text) {
  return add_text(copies_.emplace_back(std::move(text)));
}

void Document::fill(std::uint32_t container, const std::uint32_t* items, std::size_t count) {
  Entry& entry = entries_[container];
  entry.number = static_cast<std::int64_t>(items_.size());
  entry.count = static_cast<std::uint32_t>(count);
  items_.insert(items_.end(), items, items + count);
}

}  // namespace cudadiag::evidence
