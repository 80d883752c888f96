# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bar chart as SVG: one group of horizontal bars per row, one bar per mode, on a logarithmic axis of ratios."""
import math
from xml.sax.saxutils import escape

COLOURS = ["#2a6fbb", "#d9822b", "#3a9a5b", "#8e5ea2", "#b04a4a", "#777777"]
BAR, GAP, GROUP_GAP, LEFT, WIDTH, TOP = 14, 2, 14, 150, 560, 64


def bar_chart(title, subtitle, groups, modes):
    """groups: [(row name, {mode: ratio})]; modes: names in the order of their colours."""
    ratios = [ratio for _, values in groups for ratio in values.values()]
    if not ratios:
        return ""
    low = min(0.5, *ratios)
    high = max(4.0, *ratios) * 1.1
    scale = WIDTH / (math.log(high) - math.log(low))

    def x(ratio):
        return LEFT + (math.log(ratio) - math.log(low)) * scale

    out = []
    y = TOP
    for name, values in groups:
        begin = y
        for index, mode in enumerate(modes):
            if mode not in values:
                continue
            ratio = values[mode]
            start, stop = sorted((x(1.0), x(ratio)))
            out.append(f'<rect x="{start:.1f}" y="{y}" width="{max(stop - start, 1):.1f}" height="{BAR}" '
                       f'fill="{COLOURS[index % len(COLOURS)]}"/>')
            out.append(f'<text x="{stop + 4:.1f}" y="{y + BAR - 3}" class="value">{ratio:.2f}</text>')
            y += BAR + GAP
        out.append(f'<text x="{LEFT - 10}" y="{(begin + y) / 2 + 3:.0f}" text-anchor="end">{escape(name)}</text>')
        y += GROUP_GAP
    bottom = y
    axis = []
    for tick in [0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]:
        if low <= tick <= high:
            style = "one" if tick == 1 else "grid"
            axis.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 8}" y2="{bottom}" class="{style}"/>')
            axis.append(f'<text x="{x(tick):.1f}" y="{bottom + 14}" text-anchor="middle" class="value">{tick:g}</text>')
    legend = []
    place = LEFT
    for index, mode in enumerate(modes):
        legend.append(f'<rect x="{place}" y="{bottom + 26}" width="10" height="10" fill="{COLOURS[index % len(COLOURS)]}"/>')
        legend.append(f'<text x="{place + 14}" y="{bottom + 35}">{escape(mode)}</text>')
        place += 24 + 7 * len(mode)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 50}" height="{bottom + 48}" '
        'font-family="sans-serif" font-size="12">',
        '<style>.value{font-size:10px;fill:#333}.grid{stroke:#ddd}.one{stroke:#333}</style>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="15">{escape(title)}</text>',
        f'<text x="10" y="38" class="value">{escape(subtitle)}</text>',
        *axis, *out, *legend, "</svg>", ""])
