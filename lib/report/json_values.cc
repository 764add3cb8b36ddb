#include "report/json_values.h"

namespace cudadiag::report {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace cudadiag::report
