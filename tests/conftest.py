"""What every test may use: programs that may be missing, and the packed golden library.

A test that needs a program carries ``@pytest.mark.tool("node")``. Where the program is absent the test is skipped with
the reason; with FAKELLM_REQUIRE_TOOLS=1 (as ``.ci/run`` sets it) it fails instead, so that nothing is skipped unseen.
"""

from __future__ import annotations

import os
import shutil

import pytest

TOOLS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "redis-server": ("redis-server",),
    "node": ("node",),
    "go": ("go",),
    "nginx": ("nginx",),
}
"""tool -> the names under which it may be installed."""


def find_tool(name: str) -> str | None:
    """The path of a tool, or None where it is absent."""
    places = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    return next((path for path in (shutil.which(word, path=places) for word in TOOLS[name]) if path is not None), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("tool"):
        requires_tool(*marker.args)


def requires_tool(name: str) -> str:
    """The path of a tool; skips the running test where it is absent, or fails it under FAKELLM_REQUIRE_TOOLS=1."""
    found = find_tool(name)
    if found is not None:
        return found
    reason = f"this test needs {name}, which is not installed here"
    if os.environ.get("FAKELLM_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{reason} (FAKELLM_REQUIRE_TOOLS=1)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def tool(request: pytest.FixtureRequest) -> str:
    """The path of the tool that the test's ``tool`` marker names."""
    marker = request.node.get_closest_marker("tool")
    assert marker is not None, "mark the test with @pytest.mark.tool(NAME)"
    return requires_tool(*marker.args)
