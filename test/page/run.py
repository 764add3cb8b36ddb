#!/usr/bin/env python3
"""run.py PRINT_PAGES [--renew] [--show FOLDER]: shows the sample pages in a real browser, at three widths, light and
dark.

Each page is compared with a small picture of it in `pictures`, so that a change of layout or colour is noticed.
`--renew` draws these pictures again, and README's picture: check the full-size pictures (`--show`) before you commit
them. The pictures depend on the fonts."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import browser
import png

PICTURES = pathlib.Path(__file__).resolve().parent / "pictures"
README_PICTURE = PICTURES.parents[2] / ".github/page.png"
README_WIDTH, README_END = 820, "document.querySelectorAll('h3')[2].getBoundingClientRect().top | 0"
PAGES = ("failure", "ranks", "race", "clean")
WIDTHS = (380, 900, 1600)
SCALE = 1 / 16
FONT = "DejaVu Sans"
# Each version of a browser draws text a little differently; an extra line shifts everything below it.
SAME_LEVELS, MOST_DIFFERENT = 16, 0.005

# The lowest contrast ratio (WCAG 2) between a text and its background, and that text.
CONTRAST = """(() => {
  const parts = colour => (colour.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const background = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [21, ""];
  for (const element of document.querySelectorAll("body *:not(svg *)")) {
    const own = [...element.childNodes].filter(n => n.nodeType == 3 && n.textContent.trim());
    if (!own.length || !element.checkVisibility()) continue;
    const [a, b] = [luminance(parts(getComputedStyle(element).color)), luminance(background(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, own[0].textContent.trim().slice(0, 40)];
  }
  return worst;
})()"""
LEAST_CONTRAST = 4.5

# The texts that do not fit into their boxes.
CLIPPED = """[...document.querySelectorAll("pre em, .badge, th")].filter(e => e.scrollWidth > e.clientWidth + 1 &&
  getComputedStyle(e).display != "inline").map(e => e.textContent)"""


def skip(why):
    print(f"skipped: {why}")
    raise SystemExit(77)


def different(rows, wanted):
    """Returns the share of the levels that differ; 1 if the sizes do."""
    if len(rows) != len(wanted) or len(rows[0]) != len(wanted[0]):
        return 1
    pairs = [pair for a, b in zip(rows, wanted) for pair in zip(a, b)]
    return sum(abs(a - b) > SAME_LEVELS for a, b in pairs) / len(pairs)


def complaints(shown, name, width, mode, renew):
    page = f"{name} at {width} pixels, {mode}"
    wide = shown.ask("document.documentElement.scrollWidth")
    if wide > width:
        yield f"{page}: is {wide} pixels wide"
    ratio, text = shown.ask(CONTRAST)
    if ratio < LEAST_CONTRAST:
        yield f"{page}: contrast {ratio:.1f} of {text!r}, at least {LEAST_CONTRAST} is wanted"
    if clipped := shown.ask(CLIPPED):
        yield f"{page}: {clipped} do not fit"
    picture = PICTURES / f"{name}-{width}-{mode}.png"
    rows = png.colour_rows(shown.picture(SCALE))
    if renew:
        picture.write_bytes(png.write_colour(rows))
        return
    share = different(rows, png.colour_rows(picture.read_bytes()))
    if share > MOST_DIFFERENT:
        yield f"{page}: {share:.1%} of it differs from {picture.name}"


def readme_complaints(shown, pages, renew):
    shown.show(pages / "example.html", README_WIDTH, False)
    rows = png.colour_rows(shown.picture(height=README_END))
    if renew:
        README_PICTURE.write_bytes(png.write_few_colours(rows))
    elif (share := different(rows, png.colour_rows(README_PICTURE.read_bytes()))) > MOST_DIFFERENT:
        yield f"{share:.1%} of the page that README shows differs from {README_PICTURE.name}"


def main(print_pages, *options):
    program = browser.program()
    if program is None:
        skip("no Chromium is installed: apt-get install chromium fonts-dejavu-core")
    font = subprocess.run(["fc-match", "system-ui"], capture_output=True, text=True, check=False).stdout
    if FONT not in font:
        skip(f"the pictures were drawn with {FONT}: apt-get install fonts-dejavu-core")
    folder = pathlib.Path(options[options.index("--show") + 1]) if "--show" in options else None
    pages = pathlib.Path(tempfile.mkdtemp(prefix="cudadiag-pages-"))
    found = []
    try:
        subprocess.run([print_pages, pages], check=True)
        with browser.Browser(program) as shown:
            for name in PAGES:
                for width in WIDTHS:
                    for mode in ("light", "dark"):
                        shown.show(pages / f"{name}.html", width, mode == "dark")
                        found += complaints(shown, name, width, mode, "--renew" in options)
                        if folder:
                            (folder / f"{name}-{width}-{mode}.png").write_bytes(shown.picture())
            found += readme_complaints(shown, pages, "--renew" in options)
    finally:
        shutil.rmtree(pages)
    print("\n".join(found) or f"{len(PAGES) * len(WIDTHS) * 2 + 1} pictures are as they were")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
