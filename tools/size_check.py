"""Check that no file has more than 400 lines of code and no function more than 40.

Lines of code are those left when docstrings, comments and blank lines are taken away.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("src", "tests", "benchmarks", "examples", "tools")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code, those of docstrings still among them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def docstring_lines(tree: ast.AST) -> set[int]:
    """Return the numbers of the lines that hold docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        documentable = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        if documentable and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def complaints(path: str, source: str) -> list[str]:
    """Return one line for each part of a file that is too long."""
    found = []
    tree = ast.parse(source)
    code = code_lines(source) - docstring_lines(tree)
    if len(code) > MAX_FILE_LINES:
        found.append(f"{path}: {len(code)} lines of code, at most {MAX_FILE_LINES}: split it by idea")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_code = len(code.intersection(range(node.lineno, (node.end_lineno or node.lineno) + 1)))
            if n_code > MAX_FUNCTION_LINES:
                where = f"{path}:{node.lineno}: {node.name}"
                found.append(f"{where} has {n_code} lines of code, at most {MAX_FUNCTION_LINES}")
    return found


def main() -> int:
    found = []
    for folder in CHECKED:
        for file in sorted((ROOT / folder).rglob("*.py")):
            found += complaints(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
    print("\n".join(found) or "sizes: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
