"""``fakellm verify``: a verdict from a server that ran in someone's CI, read off its admin API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import click
from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import UsageError

TIMEOUT_SECONDS = 10.0


class _Verdict(BaseModel):
    """The answer of the admin API."""

    model_config = ConfigDict(extra="allow")

    exchanges: int
    unmatched: int
    unused: dict[str, list[Any]]
    problems: list[Any] = []
    ok: bool


@click.command("verify", epilog="Example: fakellm verify --url http://127.0.0.1:8000/_fakellm --junit fakellm.xml")
@click.option("--url", required=True, help="The admin URL of the readiness line (http://127.0.0.1:PORT/_fakellm).")
@click.option("--admin-token", envvar="FAKELLM_ADMIN_TOKEN", help="The admin API's token (or $FAKELLM_ADMIN_TOKEN).")
@click.option("--junit", type=click.Path(path_type=Path), help="Write the verdict as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def verify(url: str, admin_token: str | None, junit: Path | None, as_json: bool) -> int:
    """Fail when a request found no reply, when a one-shot reply was never asked for, when fakellm itself could not play
    what it was told (a fault that does not apply), or when nobody called at all.

    Exit code 0: all well; 1: something was unmatched, unused or not playable; 5: no request came; 4: no such server.
    """
    verdict = _fetch(url.rstrip("/") + "/verdict", admin_token)
    problems = _problems(verdict)
    if junit is not None:
        junit.write_text(_junit(problems), encoding="utf-8")
    if as_json:
        click.echo(json.dumps({**verdict.model_dump(), "problems": problems}))
    else:
        click.echo("\n".join(problems) if problems else f"all well: {verdict.exchanges} exchanges, every reply used")
    if not verdict.exchanges:
        return 5
    return 1 if problems else 0


def _fetch(url: str, token: str | None) -> _Verdict:
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not an HTTP URL", where="--url")
    request = urllib.request.Request(url, headers={"x-fakellm-admin-token": token} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            value: Any = json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        hint = "give --admin-token" if refused.code == 401 else "the admin URL ends in /_fakellm"
        raise UsageError(f"the server answers {refused.code}", where=url, hint=hint) from None
    except (OSError, ValueError) as problem:
        raise UsageError(f"no fakellm answers there: {problem}", where=url) from None
    try:
        return _Verdict.model_validate(value)
    except ValidationError:
        raise UsageError("what answers there is not fakellm", where=url) from None


def _problems(verdict: _Verdict) -> list[str]:
    problems: list[str] = []
    if not verdict.exchanges:
        problems.append("no request came: nothing was checked")
    if verdict.unmatched:
        problems.append(f"{verdict.unmatched} requests found no reply (GET near-misses says why)")
    for rows in verdict.unused.values():
        problems.extend(str(row) for row in rows)
    problems.extend(str(problem) for problem in verdict.problems)
    return problems


def _junit(problems: list[str]) -> str:
    failures = "".join(f"<failure message={quoteattr(problem)}>{escape(problem)}</failure>" for problem in problems)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites><testsuite name="fakellm" tests="1" failures="{1 if problems else 0}">'
        f'<testcase classname="fakellm" name="verify">{failures}</testcase></testsuite></testsuites>\n'
    )
