#include "report/html/style.h"

namespace cudadiag::report {

std::string_view page_head() {
  return R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
:root {
  --page: #f4f5f7; --card: #ffffff; --ink: #1c2127; --muted: #5a6472; --rule: #dde1e7; --code: #f8f9fb;
  --red: #b3261e; --red-back: #fdecea; --mark: #fff3cd; --green: #146c43; --green-back: #dff3e7;
  --blue: #1d5fa8; --blue-back: #e2eefb; --amber: #855700; --amber-back: #fdf0d5; --grey-back: #e9ecf0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1215; --card: #181c21; --ink: #e7eaee; --muted: #9aa5b3; --rule: #2c333c; --code: #12161a;
    --red: #ff8a80; --red-back: #3d1f1d; --mark: #40340f; --green: #7ddba3; --green-back: #153524;
    --blue: #8fc1f7; --blue-back: #152c45; --amber: #f2c265; --amber-back: #3a2c0e; --grey-back: #262c34;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 74rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
article { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 1.5rem 1.75rem; margin-bottom: 1.25rem; }
article.failure { border-top: 4px solid var(--red); }
article.clean { border-top: 4px solid var(--green); }
article.open { border-top: 4px solid var(--amber); }
h1, h2 { line-height: 1.25; margin: 0.2rem 0 0.75rem; font-weight: 650; overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; }
h2 { font-size: 1.3rem; }
h1::first-letter, h2::first-letter, .known b::first-letter { text-transform: uppercase; }
h3 { font-size: 0.8rem; letter-spacing: 0.05em; text-transform: uppercase; color: var(--muted); margin: 1.75rem 0 0.5rem; font-weight: 600; }
code, pre, .facts td, .values, svg text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
h1 code, h2 code { color: var(--red); font-size: 0.92em; }
small { color: var(--muted); font-weight: 400; font-size: 0.7em; }
p { margin: 0.5rem 0; overflow-wrap: anywhere; }
.context { color: var(--muted); font-size: 0.9rem; display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; margin: 0 0 0.5rem; }
.badges { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 0 0 1rem; }
.badge { border-radius: 99px; padding: 0.1rem 0.75rem; font-size: 0.85rem; font-weight: 600; background: var(--grey-back); overflow-wrap: anywhere; }
.badge.proven { background: var(--green-back); color: var(--green); }
.badge.bracketed { background: var(--blue-back); color: var(--blue); }
.badge.inferred { background: var(--amber-back); color: var(--amber); }
.lead { font-size: 1.2rem; line-height: 1.45; }
.values { font-size: 0.85rem; margin: 0.5rem 0; padding: 0; list-style: none; color: var(--ink); }
.values li, .fix li { overflow-wrap: anywhere; }
.known b { display: inline-block; }
.meaning { color: var(--muted); font-size: 0.85rem; }
.fix { background: var(--green-back); border-radius: 8px; padding: 0.75rem 1rem; margin: 1rem 0; }
.fix strong { color: var(--green); }
.fix ul { margin: 0.25rem 0 0; padding: 0; list-style: none; }
.lines { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem; }
figure { margin: 0; min-width: 0; }
figure + figure:not(.lines *) { margin-top: 1rem; }
figcaption { font-size: 0.9rem; margin-bottom: 0.4rem; overflow-wrap: anywhere; }
figcaption b { display: block; }
figcaption.below { color: var(--muted); margin: 0.5rem 0 0; }
pre { margin: 0; padding: 0.6rem 0; background: var(--code); border: 1px solid var(--rule); border-radius: 8px; overflow-x: auto; font-size: 0.82rem; line-height: 1.6; }
pre span { display: block; padding: 0 1rem 0 0.75rem; border-left: 3px solid transparent; width: max-content; min-width: 100%; }
pre i { display: inline-block; min-width: 3.2em; padding-right: 1em; text-align: right; color: var(--muted); font-style: normal; user-select: none; }
pre .at { background: var(--mark); border-left-color: var(--red); }
.blamed pre .at, pre .other { background: var(--grey-back); border-left-color: var(--muted); }
pre em { display: inline-block; width: 8ch; font-style: normal; font-weight: 600; color: var(--muted); user-select: none; }
pre .at em { color: var(--red); }
.drawing { overflow-x: auto; background: var(--code); border: 1px solid var(--rule); border-radius: 8px; padding: 0.75rem; }
svg { display: block; }
svg text { font-size: 12px; fill: var(--ink); }
svg .small { font-size: 10px; fill: var(--muted); }
svg .lane { stroke: var(--rule); stroke-width: 2; }
svg .box { stroke: var(--rule); stroke-width: 1.5; fill: var(--card); }
svg .finished, .swatch.finished { fill: var(--green-back); stroke: var(--green); background: var(--green-back); border-color: var(--green); }
svg .failed, .swatch.failed { fill: var(--red-back); stroke: var(--red); background: var(--red-back); border-color: var(--red); }
svg .failed { stroke-width: 2.5; }
svg .suspected, .swatch.suspected { fill: var(--amber-back); stroke: var(--amber); background: var(--amber-back); border-color: var(--amber); }
svg .not-run { stroke-dasharray: 4 3; }
.swatch.not-run { border-style: dashed; }
svg .not-known, .swatch.not-known { fill: var(--grey-back); background: var(--grey-back); }
svg .marker { fill: var(--green); stroke: var(--green); stroke-width: 1.5; }
svg .marker.missing { fill: none; stroke: var(--red); }
svg .gap { stroke: var(--red); stroke-width: 2; stroke-dasharray: 6 4; fill: none; }
svg .held { fill: var(--blue-back); stroke: var(--blue); stroke-width: 1.5; }
svg .limit { stroke: var(--red); stroke-width: 1.5; stroke-dasharray: 6 4; }
svg .alarm { fill: var(--red); }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; color: var(--muted); font-size: 0.85rem; margin: 0.5rem 0 0; padding: 0; list-style: none; }
.swatch { display: inline-block; width: 0.9em; height: 0.9em; border: 1.5px solid var(--rule); border-radius: 3px; margin-right: 0.45em; vertical-align: -0.1em; background: var(--card); }
.facts { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.facts th { width: 6rem; text-align: left; vertical-align: top; font-weight: 600; color: var(--muted); padding: 0.3rem 1rem 0.3rem 0; border-top: 1px solid var(--rule); }
.facts td { padding: 0.3rem 0; overflow-wrap: anywhere; border-top: 1px solid var(--rule); font-size: 0.82rem; }
.facts td.prose { font-family: inherit; font-size: 0.9rem; }
details { margin: 0.4rem 0; }
summary { cursor: pointer; color: var(--muted); }
details pre { margin-top: 0.4rem; padding: 0.6rem 0.75rem; }
a { color: var(--blue); }
footer { color: var(--muted); font-size: 0.85rem; }
@media (max-width: 40rem) {
  main { padding: 0.5rem 0.5rem 2rem; }
  article { padding: 1rem; border-radius: 8px; }
  h1 { font-size: 1.35rem; }
  .lead { font-size: 1.05rem; }
  pre { font-size: 0.75rem; }
  pre i { min-width: 2.2em; padding-right: 0.7em; }
  pre em { display: block; }
  pre em:empty { display: none; }
  .facts th, .facts td { display: block; width: auto; border: 0; padding: 0; }
  .facts th { border-top: 1px solid var(--rule); padding-top: 0.4rem; }
  .facts td { padding-bottom: 0.4rem; }
}
@media print {
  body { background: none; }
  article { border-color: #999; break-inside: avoid; }
}
</style>
)";
}

}  // namespace cudadiag::report
