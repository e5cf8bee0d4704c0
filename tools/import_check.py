"""Check two import rules that the import contracts cannot express, who touches rows, and who writes files.

Inside the package only those who make or read rows or graphs, and the one solver that takes nothing else, may import
scipy.sparse (its solvers in scipy.sparse.linalg are free), and nowhere may a private part of scikit-learn be
imported; models/ import none of it.
Only rows/ touches the array behind rows, and asks whether X is sparse or of another library than NumPy; frames are
read in one file for X, in one for y, and where files of tables are.
Only _files opens a path for writing, renames or deletes.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("src", "tests", "benchmarks", "examples", "tools")
SPARSE_HOMES = (
    "src/gnomon/rows/",
    "src/gnomon/graphs/",
    "src/gnomon/models/colored_mvu/sdp.py",
    "src/gnomon/datasets/",
    "src/gnomon/tables/",
)
FRAME_HOMES = ("src/gnomon/rows/frames.py", "src/gnomon/targets/forms.py", "src/gnomon/tables/")
KIND = "src/gnomon/rows/kind.py"
DOORS = ("src/gnomon/rows/", "src/gnomon/estimators/_estimator.py")  # where X of a user is validated
FILES = "src/gnomon/_files.py"
WRITERS = {"write_text", "write_bytes", "write_parquet", "to_csv", "to_parquet", "tofile", "savez", "savetxt"}
MOVERS = {"rename", "unlink", "rmdir", "rmtree", "symlink_to", "hardlink_to", "touch"}
MOVERS_OF_OS = {"replace", "remove", "removedirs", "renames", "link", "symlink", "move", "open", "fdopen"}
NO_ARRAYS = tuple(f"src/gnomon/{level}/" for level in ("numerics", "likelihoods", "solvers", "models", "estimators"))


def imported_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the full dotted name of everything that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def rows_opened(path: str, tree: ast.AST) -> Iterator[str]:
    """Yield a line for each place that looks behind the contract of rows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "tocsr" and path != KIND:
            yield f"{path}:{node.lineno}: gnomon.rows.kind.is_sparse asks whether X is sparse"
        if isinstance(node, ast.Name) and node.id == "is_foreign" and not path.startswith(DOORS):
            yield f"{path}:{node.lineno}: what library X belongs to is asked in gnomon.rows"
        if isinstance(node, ast.Attribute) and node.attr == "X" and path.startswith(NO_ARRAYS):
            yield f"{path}:{node.lineno}: the array behind rows belongs to gnomon.rows; a step sees a view"


def paths_written(path: str, tree: ast.AST) -> Iterator[str]:
    """Yield a line for each call that opens a path for writing, renames or deletes."""
    items = [item for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items]
    opened = {ast.unparse(item.optional_vars) for item in items if item.optional_vars is not None}
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and ast.unparse(node.value) == "BytesIO()"]
    opened |= {ast.unparse(node.targets[0]) for node in made}
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        owner, _, name = ast.unparse(node.func).rpartition(".")
        given = [
            word for word in (*node.args, *(word.value for word in node.keywords)) if isinstance(word, ast.Constant)
        ]
        modes = {word.value for word in given if isinstance(word.value, str) and set(word.value) <= set("rwxabt+")}
        writes = name in WRITERS | MOVERS or (name == "open" and any(set(mode) & set("wxa+") for mode in modes))
        moves = owner in ("os", "shutil") and name in MOVERS_OF_OS
        draws = name == "savefig" and ast.unparse(node.args[0]) not in opened
        if writes or moves or draws or (owner == "np" and name == "save"):
            yield f"{path}:{node.lineno}: {name} writes, renames or deletes, which only gnomon._files does"


def complaints(path: str, source: str) -> list[str]:
    """Return one line for each forbidden import in a file, given its path from the root and its text."""
    tree = ast.parse(source)
    found = list(rows_opened(path, tree)) if path.startswith("src/") else []
    if path.startswith("src/") and path != FILES:
        found += paths_written(path, tree)
    for line, name in imported_names(tree):
        parts = name.split(".")
        if parts[0] == "sklearn" and path.startswith("src/gnomon/models/"):
            found.append(f"{path}:{line}: models run without scikit-learn, which belongs in gnomon.estimators")
        if parts[0] == "sklearn" and any(part.startswith("_") and not part.endswith("__") for part in parts):
            found.append(f"{path}:{line}: {name} is private to scikit-learn; use its public names")
        sparse = parts[:2] == ["scipy", "sparse"] and parts[2:3] != ["linalg"]
        if parts[0] == "narwhals" and path.startswith("src/") and not path.startswith(FRAME_HOMES):
            found.append(f"{path}:{line}: frames are read in gnomon.rows.frames (X) and gnomon.targets.forms (y)")
        if sparse and path.startswith("src/") and not path.startswith(SPARSE_HOMES):
            found.append(f"{path}:{line}: {name} belongs in gnomon.rows; ask it for what is needed here")
    return found


def main() -> int:
    found = []
    for folder in CHECKED:
        for file in sorted((ROOT / folder).rglob("*.py")):
            found += complaints(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
    print("\n".join(found) or "imports: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
