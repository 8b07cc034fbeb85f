"""``fakellm_cases``: the decorator that runs a test once per conformance case. Light: it only makes a mark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


def fakellm_cases(
    profile: str = "capture-client",
    *,
    apis: Sequence[str] = ("chat",),
    stream: Sequence[bool] = (False, True),
    captures: Sequence[str] | None = None,
    layouts: Sequence[str] = (),
    only: Sequence[str] = (),
    extended: bool = False,
    smoke: bool = False,
) -> Callable[[Test], Test]:
    """Run the test once for every case of the suite that this client can meet; the test takes ``fakellm_case``.

    ``profile``: capture-client or sdk. ``apis``, ``stream``, ``captures``: what the client does and exposes (see
    ``fakellm conform list``). ``layouts``: default those of ``fakellm conform client``. ``only``: globs on case ids.

        @fakellm_cases("capture-client", apis=["chat"])
        def test_my_client(fakellm_case):
            fakellm_case.run(lambda call: my_client.capture(call.base_url, call.request))
    """
    import pytest

    words: dict[str, Any] = {
        "apis": tuple(apis),
        "stream": tuple(stream),
        "captures": None if captures is None else tuple(captures),
        "layouts": tuple(layouts),
        "only": (only,) if isinstance(only, str) else tuple(only),
        "extended": extended,
        "smoke": smoke,
    }
    return pytest.mark.fakellm_cases(profile, **words)
