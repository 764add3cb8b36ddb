// manifest.json: the launcher's knowledge of a session, beside the areas. Format "cudadiag.session/1".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "session/session.h"

namespace cudadiag::session {

// The remedy for a manifest that cannot be used.
inline constexpr const char* kMoveManifestAway = "move it away to read the session without its reruns";

inline constexpr std::uint64_t kMostManifestBytes = 64u << 20;

// A manifest of some version of ours, which parse_manifest may refuse.
bool is_manifest(std::string_view text);

// As manifests and reports name it: "write".
std::string_view word(Deed deed);

std::string write_manifest(const Manifest& manifest);

// A member that is missing or of another type is left at its default; only text that is not a manifest at all fails.
base::Result<Manifest> parse_manifest(std::string_view text);

}  // namespace cudadiag::session
