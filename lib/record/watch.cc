#include "record/watch.h"

#include <stdio.h>

namespace cudadiag::record {

namespace {

const char* note_of(CuptiApi::Outcome outcome) {
  if (outcome == CuptiApi::Outcome::held) return "cupti-held";
  return outcome == CuptiApi::Outcome::not_found ? "cupti-not-found" : "cupti-refused";
}

}  // namespace

bool Watch::start(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner, wire::WatchBy way) {
  if (way == wire::WatchBy::hooks) return start_hooks(callback, driver, interner);
  char text[512];
  const CuptiApi::Outcome outcome = cupti_.subscribe(callback, text, sizeof text);
  if (outcome != CuptiApi::Outcome::subscribed) {
    interner.note(note_of(outcome), text);
    return way == wire::WatchBy::automatic && start_hooks(callback, driver, interner);
  }
  interner.property("cupti.path", text);
  snprintf(text, sizeof text, "%u", cupti_.version());
  interner.property("cupti", text);
  return true;
}

bool Watch::start_hooks(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner) {
  by_hooks_ = true;
  const Redirection made = hooks_.start(callback, driver);
  char text[128];
  if (made.outcome != Redirection::Outcome::done) {
    interner.note("hooks-refused", made.outcome == Redirection::Outcome::no_driver
                                       ? "libcuda.so.1 was not found among the loaded libraries"
                                       : "the driver's symbol table cannot be made writable");
    return false;
  }
  interner.property("watched_by", "hooks");
  snprintf(text, sizeof text, "%zu entry points, %zu addresses replaced", made.symbols, made.replaced);
  interner.property("hooks", text);
  return true;
}

}  // namespace cudadiag::record
