#include <doctest/doctest.h>

#include <set>

#include "analyse/notes.h"

namespace cudadiag::analyse {
namespace {

TEST_CASE("each code of a note has a unique word, which leads back to the code") {
  std::set<std::string_view> words;
  for (int value = 0; value <= static_cast<int>(NoteCode::values_disturb); ++value) {
    const NoteCode code = static_cast<NoteCode>(value);
    CHECK_FALSE(word(code).empty());
    CHECK(note_code(word(code)) == code);
    CHECK(words.insert(word(code)).second);
  }
}

TEST_CASE("an unknown word has no code") {
  CHECK(note_code("") == NoteCode::other);
  CHECK(note_code("\x1b[2J") == NoteCode::other);
}

}  // namespace
}  // namespace cudadiag::analyse
