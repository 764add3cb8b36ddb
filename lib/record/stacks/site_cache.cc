#include "record/stacks/site_cache.h"

#include <algorithm>

namespace cudadiag::record {

const SiteCache::Entry& SiteCache::insert(const Entry& entry) {
  Entry* set = &entries[set_of(entry.key)];
  const auto fits = [&](const Entry& each) {
    return each.key == 0 || (each.key == entry.key && each.addresses == entry.addresses);
  };
  Entry* place = std::find_if(set, set + kWays, fits);
  if (place == set + kWays) place = set + replaced++ % kWays;
  return *place = entry;
}

}  // namespace cudadiag::record
