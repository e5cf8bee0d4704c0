"""Check the news fragments in `changes/`, or join them into CHANGELOG.md at a release.

    python tools/news.py check             names and texts are right, a changed package has a fragment
    python tools/news.py release 0.1.0     move every fragment into a new section of CHANGELOG.md

A change is what differs from the base: NEWS_BASE when set, else origin/main, else the last tag. Without any
of them (a copy without history) only the fragments themselves are checked.
"""

import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = {
    "added": "Added",
    "changed": "Changed",
    "fixed": "Fixed",
    "removed": "Removed",
    "docs": "Documentation",
    "house": "House",
}
NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(KINDS)})\.md")
MAX_CHARACTERS = 400


def fragments(folder: Path) -> list[Path]:
    """Return the fragment files of a folder, its README left out."""
    return sorted(path for path in folder.iterdir() if path.name != "README.md")


def complaints(path: Path) -> list[str]:
    """Return what is wrong with one fragment's name and text."""
    found = []
    if not NAME.fullmatch(path.name):
        found.append(f"{path.name}: call it <slug>.<kind>.md, kind one of {', '.join(KINDS)}")
    text = path.read_text(encoding="utf-8").strip()
    if not text.endswith("."):
        found.append(f"{path.name}: write one or two sentences that end in a full stop")
    if len(text) > MAX_CHARACTERS:
        found.append(f"{path.name}: {len(text)} characters, at most {MAX_CHARACTERS}")
    return found


def git(*args: str) -> str | None:
    """Return what git prints, or None when it fails."""
    done = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def changed_files() -> list[str]:
    """Return the files that differ from the base, those not yet committed included; none without a base."""
    base = os.environ.get("NEWS_BASE")
    if not base:
        known = git("rev-parse", "--verify", "--quiet", "origin/main")
        base = git("merge-base", "HEAD", known) if known else git("describe", "--tags", "--abbrev=0")
    if not base:
        return []
    tracked = git("diff", "--name-only", base)
    if tracked is None:
        raise SystemExit(f"NEWS_BASE={base} is not a commit of this repository")
    return tracked.splitlines() + (git("ls-files", "--others", "--exclude-standard") or "").splitlines()


def check() -> list[str]:
    """Return all complaints about the fragments and about changes that lack one."""
    found = [line for path in fragments(ROOT / "changes") for line in complaints(path)]
    changed = changed_files()
    touched = [name for name in changed if name.startswith("src/gnomon/")]
    if touched and not any(NAME.fullmatch(name.removeprefix("changes/")) for name in changed):
        found.append(f"{touched[0]} changed without a fragment: add changes/<slug>.<kind>.md, see changes/README.md")
    return found


def section(version: str, paths: list[Path], day: datetime.date) -> str:
    """Return the text of one release, fragments grouped by kind in the order of KINDS."""
    text = f"## {version} ({day.isoformat()})\n"
    for kind, title in KINDS.items():
        of_kind = [path for path in paths if path.name.endswith(f".{kind}.md")]
        if of_kind:
            items = (" ".join(path.read_text(encoding="utf-8").split()) for path in of_kind)
            text += f"\n### {title}\n\n" + "".join(f"- {item}\n" for item in items)
    return text


def release(version: str) -> None:
    """Put the fragments at the top of CHANGELOG.md and delete them."""
    log = ROOT / "CHANGELOG.md"
    title = "# Changelog\n"
    older = log.read_text(encoding="utf-8").removeprefix(title) if log.exists() else ""
    paths = fragments(ROOT / "changes")
    log.write_text(f"{title}\n{section(version, paths, datetime.date.today())}{older}", encoding="utf-8")
    for path in paths:
        path.unlink()


def main(args: list[str]) -> int:
    if len(args) == 2 and args[0] == "release":
        release(args[1])
        return 0
    if args != ["check"]:
        print(__doc__)
        return 2
    found = check()
    print("\n".join(found) or "news: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
