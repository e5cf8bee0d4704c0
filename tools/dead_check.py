"""Check that everything at the top of a module can be reached from the public names, and that methods are named.

Roots are the names in each package's `__all__`, the command line, what `gnomon reproduce` calls of an experiment, and
what a module runs when it is imported. A name that only tests reach is dead. Methods are followed by name alone: a
private one, or any one below the estimators, that no other code names is dead.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "gnomon"
FACES = ("estimators", "selection", "plotting", "export", "datasets", "describe")  # their methods are for users
CALLED_BY_A_FRAMEWORK = {
    "_iter_test_indices",
    "_n_features_out",
    "_repr_html_",
    "choices",
}  # of scikit-learn, IPython, click
Definition = ast.FunctionDef | ast.ClassDef
Node = tuple[str, str]  # module, name at its top; the name "" is what runs on import


def modules(folder: Path) -> dict[str, ast.Module]:
    """Return the trees of a package's modules by dotted name."""
    trees = {}
    for path in sorted((folder / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
        trees[name].is_package = path.name == "__init__.py"
    return trees


def imported(module: str, tree: ast.Module) -> dict[str, Node]:
    """Return what each imported name stands for, wherever in the module it is imported: a module or a name in one."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".") if tree.is_package else module.split(".")[:-1]
                base = ".".join([*parents[: len(parents) - node.level + 1], *([node.module] if node.module else [])])
            for alias in node.names:
                found[alias.asname or alias.name] = (base, alias.name)
    return found


def names_in(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yield the names that code reads, each with the attribute read from it, and words of text that name something."""
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name):
            yield child.value.id, child.attr
        elif isinstance(child, ast.Name):
            yield child.id, None


def graph(trees: dict[str, ast.Module]) -> tuple[dict[Node, set[Node]], dict[Node, int]]:
    """Return who names whom, and the line of every definition."""
    edges, lines = defaultdict(set), {}
    for module, tree in trees.items():
        brought = imported(module, tree)
        own = {node.name for node in tree.body if isinstance(node, Definition)}

        def targets(name: str, attribute: str | None, module=module, brought=brought, own=own) -> Iterator[Node]:
            if name in own:
                yield module, name
            elif name in brought:
                base, inner = brought[name]
                yield (f"{base}.{inner}", attribute or "") if f"{base}.{inner}" in trees else (base, inner)

        for node in tree.body:
            here = (module, node.name) if isinstance(node, Definition) else (module, "")
            if isinstance(node, Definition):
                lines[here] = node.lineno
                if node.decorator_list:
                    edges[module, ""].add(here)
            edges[here] |= {target for pair in names_in(node) for target in targets(*pair)}
        for name, (base, inner) in brought.items():  # a name passed on by a package
            edges[module, name].add((f"{base}.{inner}", "") if f"{base}.{inner}" in trees else (base, inner))
    return edges, lines


def listed(names: ast.List) -> list[str]:
    """Return the names that a list spells out."""
    return [name.value for name in names.elts if isinstance(name, ast.Constant)]


def public(trees: dict[str, ast.Module]) -> Iterator[Node]:
    """Yield the roots."""
    for module, tree in trees.items():
        yield module, ""
        if module.startswith(f"{PACKAGE}.experiments."):
            yield from ((module, name) for name in ("reproduce", "format_table"))
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                yield from ((module, name) for name in listed(node.value))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_HOMES":
                homes = ast.literal_eval(node.value)
                yield from ((f"{module}.estimators.{home}", name) for name, home in homes.items())


def is_special(name: str) -> bool:
    """Whether Python or a framework calls a name by itself."""
    return (name.startswith("__") and name.endswith("__")) or name in CALLED_BY_A_FRAMEWORK


def unreachable(trees: dict[str, ast.Module]) -> list[str]:
    """Return a line for each definition at the top of a module that no root leads to."""
    edges, lines = graph(trees)
    seen, waiting = set(), list(public(trees))
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += edges[node]
    dead = sorted(set(lines) - seen)
    return [
        f"{module}:{lines[module, name]}: {name} cannot be reached" for module, name in dead if not is_special(name)
    ]


def unnamed_methods(trees: dict[str, ast.Module]) -> list[str]:
    """Return a line for each method that nothing names and that no user or framework calls."""
    named = {
        getattr(node, "attr", None) or getattr(node, "value", None)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    }
    found = []
    for module, tree in trees.items():
        face = module.split(".")[1:2] and module.split(".")[1] in FACES
        for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            for node in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
                hidden = node.name.startswith("_") or not face
                if hidden and not is_special(node.name) and node.name not in named:
                    found.append(f"{module}:{node.lineno}: nothing names {owner.name}.{node.name}")
    return found


def main() -> int:
    trees = modules(ROOT / "src")
    found = unreachable(trees) + unnamed_methods(trees)
    print("\n".join(found) or "dead code: none")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
