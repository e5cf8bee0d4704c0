"""Draw docs/images/which_model.svg: questions one below the other, each with its answer, no wider than a telephone.

python tools/decision_figure.py
"""

from html import escape
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "docs/images/which_model.svg"
TITLE = "Which model should I use: questions from the top, the first yes decides"
QUESTIONS = (
    ("Are there no labels at all?", ("PPCA", "in clusters: MixturePPCA")),
    ("Do rows exceed memory, or stream?", ("SPPCA, DPPCA or CPPCA", "on Dask, or partial_fit")),
    ("Do labels come from another domain?", ("DomainStack, SCL",)),
    ("Must it be one model with a likelihood?", ("classes: DPPCA, numbers: SPPCA", "both, or counts: CPPCA")),
    ("Is a curved map by kernels wanted?", ("KernelSPPCA, KDA",)),
    ("Else, for any labels and any table:", ("GuidedProjection",)),
)
WIDTH, STEP, LINE = 360, 30, 20


def box(y: int, lines: tuple[str, ...], last: bool) -> str:
    """Return the box of an answer whose top is at y."""
    height = LINE * len(lines) + 14
    weight = ' font-weight="bold"' if last else ""
    texts = "".join(
        f'<text x="192" y="{y + 21 + LINE * i}"{weight}>{escape(line)}</text>' for i, line in enumerate(lines)
    )
    frame = f'<rect x="44" y="{y}" width="296" height="{height}" rx="6" stroke-width="{3 if last else 1.5}"/>'
    return f'<g fill="#fff5e6" stroke="#b60">{frame}</g><g text-anchor="middle" fill="#222">{texts}</g>'


def figure() -> str:
    """Return the picture as SVG."""
    parts, y = [], 8
    for i, (question, answers) in enumerate(QUESTIONS):
        last = i == len(QUESTIONS) - 1
        parts.append(f'<rect x="8" y="{y}" width="344" height="{STEP}" rx="6" fill="#eef3f8" stroke="#456"/>')
        parts.append(f'<text x="20" y="{y + 20}" fill="#222">{escape(question)}</text>')
        parts.append(box(y + STEP + 6, answers, last))
        below = y + STEP + LINE * len(answers) + 32
        if not last:
            parts.append(f'<path d="M22 {y + STEP} V{below - 2}" stroke="#555" stroke-width="1.5" fill="none"/>')
            parts.append(f'<path d="M17 {below - 8} L22 {below - 1} L27 {below - 8} Z" fill="#555"/>')
            parts.append(f'<text x="28" y="{below - 6}" fill="#444" font-size="12">no</text>')
        y = below
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" '
        f'font-family="sans-serif" font-size="15" role="img">\n<title>{TITLE}</title>\n'
        f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    FILE.write_text(figure(), encoding="utf-8")
