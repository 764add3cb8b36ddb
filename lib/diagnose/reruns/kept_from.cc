#include "diagnose/reruns/kept_from.h"

#include <fmt/core.h>

#include <algorithm>

#include "diagnose/facts/place.h"

namespace cudadiag::diagnose {
namespace {

using session::Deed;
using session::KeptFrom;

const char* doing(Deed deed) {
  switch (deed) {
    case Deed::write:
      return "writing";
    case Deed::make:
      return "creating";
    case Deed::remove:
      return "removing";
    case Deed::rename:
      return "renaming";
    case Deed::link:
      return "linking to";
    case Deed::change:
    case Deed::administer:
      return "changing";
    case Deed::connect:
      return "connecting to";
    case Deed::listen:
      return "listening on";
    case Deed::send:
      return "sending to";
    case Deed::signal:
      return "signalling";
    case Deed::trace:
      return "attaching to";
    case Deed::share:
      return "using";
  }
  return "changing";
}

// Programs survive when isolation denies a change under /proc, so such a change did not end the rerun.
bool is_of_process(const KeptFrom& kept) { return kept.object.starts_with("/proc/"); }

}  // namespace

std::string kept_from_text(const std::vector<KeptFrom>& kept, const std::string& directory) {
  if (kept.empty()) return "";
  auto last = std::find_if_not(kept.rbegin(), kept.rend(), is_of_process);
  if (last == kept.rend()) last = kept.rbegin();
  const auto said = [&](const KeptFrom& each) {
    return fmt::format("{} {}", doing(each.deed), relative_path(each.object, directory));
  };
  if (kept.size() == 1) return said(*last);
  if (kept.size() == 2) return said(*last) + " and " + said(&*last == &kept.front() ? kept.back() : kept.front());
  return fmt::format("{} and from {} other actions", said(*last), kept.size() - 1);
}

}  // namespace cudadiag::diagnose
