"""What is installed and what the machine has, as a report of a problem needs it."""

import importlib.metadata
import os
import platform
import re
from pathlib import Path

from threadpoolctl import threadpool_info

from gnomon.tables import memory

NEEDED = ("gnomon", "numpy", "scipy", "scikit-learn", "threadpoolctl", "narwhals", "array-api-compat", "click", "rich")


def examined() -> tuple[list[tuple[str, str]], list[str]]:
    """(what, how it is) of everything that is looked at, and what is amiss."""
    lines, amiss = [("python", f"{platform.python_version()} on {platform.platform()}")], []
    least = _least_versions()
    for name in NEEDED:
        found = _version(name)
        lines.append((name, found or "missing"))
        if found is None or _older(found, least.get(name, "")):
            amiss.append(f"{name} {found or 'is missing'}: {least.get(name, 'any version')} is needed.")
    for extra, names in _extras().items():
        for name in names:
            found = _version(name)
            lines.append((name, found or f"not installed: pip install 'gnomon[{extra}]'"))
            if found is not None and _older(found, least.get(name, "")):
                amiss.append(f"{name} {found}: {least[name]} is needed.")
    lines.append(("cores", str(os.cpu_count())))
    pools = [f"{pool['internal_api']} {pool['version'] or ''} x {pool['num_threads']}" for pool in threadpool_info()]
    lines.append(("linear algebra", ", ".join(dict.fromkeys(pools)) or "not found"))
    lines.append(("memory", f"{memory() / 2**30:.1f} GiB"))
    for name, what in (("GNOMON_DATA", "data sets"), ("GNOMON_CACHE", "downloaded data sets")):
        folder = os.environ.get(name)
        lines.append((name, folder or f"not set ({what})"))
        if folder and not Path(folder).is_dir():
            amiss.append(f"{name}={folder} is no folder.")
    return lines, amiss


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _required() -> list[tuple[str, str, str]]:
    """(name, least version, extra or "") of what gnomon asks for."""
    found = []
    for line in importlib.metadata.requires("gnomon") or []:
        name = re.match(r"[A-Za-z0-9_.-]+", line)
        least, extra = re.search(r">=\s*([0-9.]+)", line), re.search(r"extra == ['\"](\w+)['\"]", line)
        if name and name[0] != "gnomon":
            found.append((name[0], least[1] if least else "", extra[1] if extra else ""))
    return found


def _least_versions() -> dict[str, str]:
    return {name: least for name, least, _ in reversed(_required())}


def _extras() -> dict[str, list[str]]:
    """Packages of the extras that a user may want; those of its developers are left out."""
    found: dict[str, list[str]] = {}
    for name, _, extra in _required():
        if extra not in ("", "test", "docs", "bench"):
            found.setdefault(extra, []).append(name)
    return found


def _older(version: str, least: str) -> bool:
    def parts(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)[:3]]

    return bool(least) and parts(version) < parts(least)
