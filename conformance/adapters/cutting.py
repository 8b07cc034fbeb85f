"""Cutting one function out of a package's source, for trainers that cannot be installed without a GPU.

The source is fetched from the package index at run time (``.sources`` of the adapter's folder) and nothing else of it
is run: neither its imports nor its decorators. What the function needs of its module is given by name.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def cut(path: Path, name: str, **given: Any) -> Callable[..., Any]:
    """The function (or ``Class.method``, which then wants a self) as it stands in the file.

    Raises LookupError when it is not there any more: then the adapter has to be looked at again.
    """
    body: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    *owners, last = name.split(".")
    for owner in owners:
        body = next((one.body for one in body if isinstance(one, ast.ClassDef) and one.name == owner), [])
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == last:
            one.decorator_list = []
            future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
            tree = ast.fix_missing_locations(ast.Module([future, one], []))
            module = types.ModuleType("cut")
            module.__dict__.update(given)
            exec(compile(tree, path.name, "exec"), module.__dict__)
            return module.__dict__[last]
    raise LookupError(f"{path.name} has no {name}")
