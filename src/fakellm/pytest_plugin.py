"""The pytest plugin: fixtures, a marker, options. A thin skin over ``fakellm.testing``.

Nothing of fakellm is imported until a test uses a fixture, so a suite that never does pays for one small module. What
a test left undone (unmatched requests, replies that nobody asked for) fails it after its body has passed, and never
hides a failure of its own. Every xdist worker has a server and a port of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from .testing.casework import CaseHandle, CaseServer, Wish
    from .testing.handle import Fakellm, Server
    from .testing.loop import LoopThread
    from .testing.settings import Settings

OPTIONS = {
    "layout": "play this layout, vendor[-version]; several, separated by commas, run every test once for each",
    "scenario": "a scenario file or folder that answers what a test does not say itself",
    "seed": "the same seed gives the same tokens and scores",
    "unmatched": "what a request without a reply does to its test: fail (default) or ignore",
    "unused": "what an unplayed reply with `times` does to its test: fail (default) or ignore",
}
"""Setting -> help. Each is an ini value ``fakellm_NAME`` and an option ``--fakellm-NAME``."""

MARKER = "fakellm(scenario, layout, layouts, faults, unmatched, unused, ...): how this test's fake server is set up"
CASES_MARKER = "fakellm_cases(profile, apis, ...): run once per conformance case; see fakellm.testing.fakellm_cases"
HANDLES = pytest.StashKey[list["Fakellm"]]()
CASES = pytest.StashKey[list["CaseHandle"]]()
FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fakellm", "fakellm, the fake inference server")
    for name, words in OPTIONS.items():
        group.addoption(f"--fakellm-{name}", default=None, metavar=name.upper(), help=words)
        parser.addini(f"fakellm_{name}", words, default=None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", CASES_MARKER)


# ------------------------------------------------------------------ collection


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fakellm_case" in metafunc.fixturenames:
        _over_cases(metafunc)
    if "fakellm_layout" in metafunc.fixturenames and not _parametrized(metafunc, "fakellm_layout"):
        layouts = _layouts(metafunc)
        if len(layouts) > 1:
            metafunc.parametrize("fakellm_layout", layouts, indirect=True)


def _over_cases(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("fakellm_cases")
    if marker is None:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.name} takes fakellm_case, but has no @fakellm_cases(...) that says which cases"
        )
    from .errors import FakellmError
    from .testing.casework import select_cases

    try:
        cases = select_cases(_wish(marker))
    except (FakellmError, TypeError) as wrong:
        raise pytest.Collector.CollectError(f"{metafunc.definition.name}: {wrong}") from None
    metafunc.parametrize("fakellm_case", cases, ids=[case.id for case in cases], indirect=True)


def _wish(marker: pytest.Mark) -> Wish:
    from .testing.casework import Wish

    words: dict[str, Any] = dict(marker.kwargs)
    if marker.args:
        words["profile"] = marker.args[0]
    return Wish(**{name: _frozen(value) for name, value in words.items()})


def _frozen(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _parametrized(metafunc: pytest.Metafunc, name: str) -> bool:
    """Whether a test's own ``parametrize`` sets this fixture."""
    given = (marker.args[0] for marker in metafunc.definition.iter_markers("parametrize") if marker.args)
    named: list[Sequence[str]] = [one.split(",") if isinstance(one, str) else one for one in given]
    return any(name == one.strip() for names in named for one in names)


def _layouts(metafunc: pytest.Metafunc) -> list[str]:
    """The layouts that a test is to run over: its marker's, or several of the command line or the ini file."""
    for marker in metafunc.definition.iter_markers("fakellm"):
        if marker.kwargs.get("layouts"):
            return list(marker.kwargs["layouts"])
        if marker.kwargs.get("layout"):
            return []
    return _listed(_option(metafunc.config, "layout"))


def _listed(words: str | None) -> list[str]:
    return [word.strip() for word in (words or "").split(",") if word.strip()]


def _option(config: pytest.Config, name: str) -> str | None:
    """The command line's word, else the ini file's."""
    given: str | None = config.getoption(f"--fakellm-{name}")
    return given if given is not None else cast("str | None", config.getini(f"fakellm_{name}") or None)


# -------------------------------------------------------------------- fixtures


@pytest.fixture(scope="session")
def _fakellm_thread() -> Iterator[LoopThread]:
    from .testing.loop import LoopThread

    thread = LoopThread()
    yield thread
    thread.stop()


@pytest.fixture(scope="session")
def fakellm_server(_fakellm_thread: LoopThread) -> Iterator[Server]:
    """The server on which the ``fakellm`` of every test plays: ``base_url`` and ``root_url`` stay for the session."""
    from .testing.handle import Server

    server = Server(_fakellm_thread)
    yield server
    server.stop()


@pytest.fixture
def fakellm_layout(request: pytest.FixtureRequest) -> str | None:
    """The layout of this test, where it runs over several; it may be parametrised directly too."""
    return getattr(request, "param", None)


@pytest.fixture
def fakellm(request: pytest.FixtureRequest, fakellm_server: Server, fakellm_layout: str | None) -> Iterator[Fakellm]:
    """A fake inference server with a clean script and journal: say what it answers, then let the client call it."""
    yield from _handle(request, fakellm_server, {"layout": fakellm_layout})


@pytest.fixture
def fakellm_factory(request: pytest.FixtureRequest, _fakellm_thread: LoopThread) -> Iterator[Callable[..., Fakellm]]:
    """More fake servers, each with an address of its own: ``fakellm_factory(layout="sglang-0.5.23")``."""
    from .testing.handle import Server

    opened: list[tuple[Generator[Fakellm], Server]] = []

    def make(**words: Any) -> Fakellm:
        server = Server(_fakellm_thread)
        handle = _handle(request, server, words)
        opened.append((handle, server))
        return next(handle)

    yield make
    late: list[str] = []
    for handle, server in reversed(opened):
        try:
            next(handle, None)
        except pytest.fail.Exception as failure:
            late.append(str(failure))
        server.stop()
    if late:
        pytest.fail("\n".join(late), pytrace=False)


@pytest.fixture(scope="session")
def _fakellm_case_server(_fakellm_thread: LoopThread) -> Iterator[CaseServer]:
    from .testing.casework import CaseServer

    server = CaseServer(_fakellm_thread)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def fakellm_case(request: pytest.FixtureRequest, _fakellm_case_server: CaseServer) -> Iterator[CaseHandle]:
    """One conformance case: ``fakellm_case.run(lambda call: capture)`` makes its calls and judges."""
    from .testing.casework import CaseHandle

    item = cast("pytest.Item", request.node)
    marker = item.get_closest_marker("fakellm_cases")
    assert marker is not None, "pytest_generate_tests lets no test without this marker come here"
    handle = CaseHandle(_fakellm_case_server, request.param, _wish(marker))
    item.stash[CASES] = [handle]
    yield handle
    handle.close()


def _handle(request: pytest.FixtureRequest, server: Server, words: dict[str, Any]) -> Generator[Fakellm]:
    """Open a handle for a test, and after it fail the test for what came too late for ``pytest_runtest_call``."""
    from .errors import FakellmError
    from .testing.handle import Fakellm

    item = cast("pytest.Item", request.node)
    try:
        handle = Fakellm(_settings(request).updated(words, where="fakellm_factory"), server)
    except FakellmError as wrong:
        pytest.fail(str(wrong), pytrace=False)
    item.stash.setdefault(HANDLES, list["Fakellm"]()).append(handle)
    yield handle
    problems = [] if item.stash.get(FAILED, False) else handle.problems()
    handle.close()
    if problems:
        pytest.fail(_told(problems), pytrace=False)


def _settings(request: pytest.FixtureRequest) -> Settings:
    """The command line's and the ini file's words, then those of the markers, the nearest last."""
    from .testing.settings import Settings

    config = request.config
    given: dict[str, Any] = {name: _option(config, name) for name in OPTIONS}
    if len(_listed(given["layout"])) > 1:
        given["layout"] = None  # such tests run once per layout, told by the fixture fakellm_layout
    if given["scenario"] is not None:
        given["scenario"] = config.rootpath / given["scenario"]
    item = cast("pytest.Item", request.node)
    settings = Settings(folder=item.path.parent).updated(given, where="the command line or the ini file of pytest")
    for marker in reversed(list(item.iter_markers("fakellm"))):
        where = f"@pytest.mark.fakellm of {item.nodeid}"
        settings = settings.updated(_marked(marker), where=where)
    return settings


def _marked(marker: pytest.Mark) -> dict[str, Any]:
    """A marker's words; its one argument is a scenario."""
    words: dict[str, Any] = dict(marker.kwargs)
    if marker.args:
        words["scenario"] = marker.args[0]
    return words


# --------------------------------------------------------------------- verdict


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Comes after the test itself, and only when that passed: what was left undone fails it."""
    __tracebackhide__ = True
    problems = [problem for handle in _handles(item) for problem in handle.problems()]
    if problems:
        item.stash[FAILED] = True
        pytest.fail(_told(problems), pytrace=False)
    for case in _cases(item):
        if case.record is None:
            item.stash[FAILED] = True
            pytest.fail(f"{case.id} was not judged: call fakellm_case.run(client)", pytrace=False)


def _handles(item: pytest.Item) -> Sequence[Fakellm]:
    return item.stash.get(HANDLES, ())


def _cases(item: pytest.Item) -> Sequence[CaseHandle]:
    return item.stash.get(CASES, ())


def _told(problems: Sequence[str]) -> str:
    return "\n".join(["fakellm: the test passed, but not everything went as it was scripted", *problems])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """The findings of a case as properties; on failure the journal as a section of the report."""
    for case in _cases(item):
        if call.when == "call" and case.record is not None:
            from .testing.casework import properties_of

            item.user_properties.extend(properties_of(case.record))
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if not report.failed:
        return
    item.stash[FAILED] = True
    for handle in _handles(item):
        report.sections.append(("fakellm journal", handle.report()))
