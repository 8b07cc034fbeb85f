"""The pytest entry point: looks at what is installed before anything of ``fakellm`` is imported.

pytest loads this module in every run of an environment that has the package. Where another package owns the name
``fakellm``, the run ends with the words that mend it instead of an ImportError from somewhere inside.
"""

from __future__ import annotations

from . import trouble

_FOUND = trouble()

if _FOUND is None:
    from fakellm import pytest_plugin

    globals().update({name: value for name, value in vars(pytest_plugin).items() if not name.startswith("__")})
else:

    def pytest_configure() -> None:
        import pytest

        raise pytest.UsageError(_FOUND)
