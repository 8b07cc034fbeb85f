"""Imports go one way: a module may use what stands in an earlier layer, and nothing of its own layer but itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

LAYERS = [
    {"errors"},
    {"pattern_syntax", "resources", "chance", "message", "capture", "pages", "hiding"},
    {"pattern", "timing", "generation", "tokenizer", "wire", "diagnosis"},
    {"ask", "detokenizer", "context"},
    {"told", "emission"},
    {"layouts.base"},
    {"plan", "pacing", "problem", "aborting", "shelf", "source"},
    {"plans"},
    {"layouts"},
    {"reading", "scenario"},
    {"faults"},
    {"stage"},
    {"journal", "armed"},
    {"flight"},
    {"fake", "state"},
    {"house"},
    {"fidelity", "showcase", "beside"},
    {"server", "record"},
    {"conform"},
    {"testing"},
    {"pytest_plugin"},
    {"cli"},
    {"__main__"},
]
"""Parts of the package, lowest first. The data goes scenario -> generation -> emission -> told -> layouts -> message ->
wire -> server; modules that only describe data (ask, told, message) or a contract (layouts.base) lie below those that
work on it."""

FORBIDDEN = {
    "fidelity": {"scenario", "faults", "stage", "house", "journal", "fake"},
    "conform.checks": {"server", "house", "stage", "fake", "scenario", "layouts", "conform.drivers", "conform.run"},
    "conform.drivers": {"conform.checks", "conform.report", "scenario", "layouts", "faults"},
    "conform.report": {"conform.drivers", "server", "house", "scenario", "layouts", "faults"},
    "conform.shape": {"layouts.vllm", "layouts.sglang", "layouts.dynamo", "layouts.openai"},
}
"""Arrows that the layers would allow and the design does not. A recording is played by layouts alone; checks judge
observations and never reach for the fake; reports know verdicts; shapes come from captures, not from renderers."""

CLOCKS_AND_SOCKETS = {
    "aiohttp", "asyncio", "socket", "time", "datetime", "random", "secrets", "uuid", "subprocess", "threading",
    "tempfile", "multiprocessing",
}  # fmt: skip

IMPURE = {
    "server": "the rim: sockets and the clock",
    "record": "the rim: sockets and the clock",
    "cli": "the rim: what a person starts",
    "testing": "the rim: what a test starts, a server in a thread",
    "conform.host": "runs the fake for a suite",
    "conform.run": "runs cases side by side",
    "conform.run_client": "the same for clients",
    "conform.run_gateway": "the same for gateways",
    "conform.run_server": "the same for servers",
    "conform.merge": "stamps a merged report",
    "conform.whole": "measures how long a run took",
    "conform.mutants.degenerate": "adapters that hang or flood",
    "conform.mutants.gateways": "gateways that are wrong in one way: sockets",
    "conform.mutants.gateway_mutants": "the same",
    "conform.mutants.matrix": "measures the kill matrix",
    "conform.mutants.servers": "the fake as a server that is wrong in one way: sockets",
    "conform.recording": "stamps what it records",
    "conform.session": "a run's start, end and report header",
    "conform.drivers": "start clients and talk to them",
    "context": "the one place below the server that reads the clock",
    "house": "measures how long the fake has been up",
    "state": "shared with other processes: memory and Redis",
    "fidelity.sources": "unpacks tokenizers into a temporary folder",
    "tokenizer.tiktoken_files": "reads rank files",
}
"""Modules that may know clocks, chance or sockets, and why."""

ALLOWED = {
    ("faults", "random"): "random.Random objects come in as arguments, seeded by the caller",
    ("tokenizer.chat_template", "datetime"): "formats the time that the caller gives (strftime_now)",
    ("layouts.compatible.native.ollama", "datetime"): "writes the context's time as the date that Ollama tells",
    ("layouts.sglang.dates", "datetime"): "writes the context's time as a date, as two routes do",
    ("conform.baseline", "datetime"): "compares the dates that a baseline names with the one that the caller gives",
}


def modules() -> list[str]:
    """Every module below fakellm, without the package's own name."""
    package = SOURCE / "fakellm"
    names = (path.relative_to(package).with_suffix("").parts for path in package.rglob("*.py"))
    return sorted(".".join(name[:-1] if name[-1] == "__init__" else name) for name in names)


def path_of(module: str) -> Path:
    place = SOURCE / "fakellm" / Path(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def imports(module: str) -> Iterator[str]:
    """Absolute names of everything that a module imports, in functions too. ``if TYPE_CHECKING`` counts as well."""
    path = path_of(module)
    package = ["fakellm", *module.split(".")] if path.name == "__init__.py" else ["fakellm", *module.split(".")[:-1]]
    package = [part for part in package if part]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def inner(name: str) -> str | None:
    """The module below fakellm that an import leads to, or None for somebody else's."""
    if not name.startswith("fakellm."):
        return None
    found = name.removeprefix("fakellm.")
    while found and not path_of(found).exists():
        found = found.rpartition(".")[0]
    return found or None


def part(module: str) -> str:
    """The part of the package that a module belongs to: the longest name in LAYERS that it is or lies below."""
    names = {name for names in LAYERS for name in names}
    parents = [".".join(module.split(".")[:length]) for length in range(module.count(".") + 1, 0, -1)]
    return next((name for name in parents if name in names), parents[-1])


def layer(module: str) -> int:
    found = [at for at, names in enumerate(LAYERS) if part(module) in names]
    assert found, f"{part(module)} stands in no layer: give it a place in LAYERS, and say so in ARCHITECTURE.md"
    return found[0]


def below(module: str, prefixes: set[str]) -> str | None:
    """The prefix that a module is or lies below."""
    return next((prefix for prefix in prefixes if module == prefix or module.startswith(f"{prefix}.")), None)


MODULES = [module for module in modules() if module]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_only_earlier_layers(module: str) -> None:
    wrong = {
        target
        for target in map(inner, imports(module))
        if target is not None and part(target) != part(module) and layer(target) >= layer(module)
    }

    assert set() == wrong


@pytest.mark.parametrize("module", MODULES)
def test_arrows_that_the_design_forbids_are_not_there(module: str) -> None:
    forbidden = {target for holder, targets in FORBIDDEN.items() if below(module, {holder}) for target in targets}

    assert set() == {target for target in map(inner, imports(module)) if target and below(target, forbidden)}


@pytest.mark.parametrize("module", MODULES)
def test_the_core_knows_no_clock_no_chance_and_no_socket(module: str) -> None:
    if below(module, set(IMPURE)):
        return
    used = {name.split(".")[0] for name in imports(module)} & CLOCKS_AND_SOCKETS

    assert set() == {name for name in used if not any(below(module, {one}) and name == two for one, two in ALLOWED)}


def test_every_exception_is_still_needed() -> None:
    """An excuse for an import that is no longer there is removed."""
    for holder in IMPURE:
        covered = [module for module in MODULES if below(module, {holder})]
        used = {name.split(".")[0] for module in covered for name in imports(module)}
        assert not covered or used & CLOCKS_AND_SOCKETS, f"{holder} is pure now: take it off IMPURE"
    for holder, name in ALLOWED:
        covered = [module for module in MODULES if below(module, {holder})]
        assert any(name in {one.split(".")[0] for one in imports(module)} for module in covered), (holder, name)


def test_the_guard_imports_nothing_of_the_package_at_its_top() -> None:
    tree = ast.parse((SOURCE / "fakellm_conformance" / "__init__.py").read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]

    assert [] == [node for node in top if "fakellm" in ast.unparse(node)]
