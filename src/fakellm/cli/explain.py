"""``fakellm explain ID``: the page of a fault, a check or a case. The id says which of them it is."""

from __future__ import annotations

from typing import Any, cast

import click

EPILOG = """Examples:

\b
  fakellm explain late-eos-score
  fakellm explain align.logprobs
  fakellm explain ids/nested-under-choice"""


@click.command("explain", epilog=EPILOG)
@click.argument("name", metavar="ID")
@click.option(
    "--layout", metavar="LAYOUT", default="vllm-0.32.0", show_default=True, help="Whose wire a fault is shown on."
)
def explain(name: str, layout: str) -> int:
    """Show the page of a fault (with its bytes before and after), a check or a case."""
    from ..conform.checks import all_checks
    from ..errors import UsageError, did_you_mean
    from ..faults.registry import faults

    checks = {check.id: check for check in all_checks()}
    templates = {template.slug: template for template in _templates()}
    slug = name.partition("[")[0]
    if name in faults():
        click.echo(_fault(name, layout))
    elif name in checks:
        click.echo(_check(checks[name]))
    elif slug in templates:
        click.echo(_case(templates[slug]))
    else:
        known = [*faults(), *checks, *templates]
        hint = did_you_mean(name, known) or "`fakellm faults` and `fakellm conform list` list what there is"
        raise UsageError(f"there is no fault, check or case {name!r}", hint=hint)
    return 0


def _templates() -> tuple[Any, ...]:
    """The cases' templates; none where this installation has no cases."""
    from ..conform.case import load
    from ..resources import find

    folder = find("conformance")
    return () if folder is None else load(sorted((folder / "cases").glob("*.yaml")))


def _fault(name: str, layout: str) -> str:
    from ..faults.pages import explain as page
    from ..faults.registry import find
    from ..showcase import show

    shown = show(find(name), layout=layout)
    return page(name, shown and shown.text, shown and f"{shown.situation}, {shown.layout}")


def _check(check: Any) -> str:
    modes = ", ".join(sorted(mode.value for mode in check.modes))
    needs = f"\nneeds one of: {', '.join(sorted(check.needs))}" if check.needs else ""
    blocks = [
        f"{check.id}\n{'=' * len(check.id)}\n{check.requirement}",
        check.page,
        f"level {check.level.value}, modes {modes}{needs}",
        "\n  ".join(["Sources:", *check.sources]) if check.sources else "",
    ]
    return "\n\n".join(block.strip() for block in blocks if block.strip())


def _case(template: Any) -> str:
    import yaml

    model = template.model
    told = model.model_dump(exclude_defaults=True, exclude={"name", "title", "why"})
    return "\n\n".join(
        [
            f"{template.slug}\n{'=' * len(template.slug)}\n{model.title}",
            model.why,
            cast(Any, yaml).safe_dump(told, sort_keys=False, allow_unicode=True).strip(),
            f"run it alone: fakellm conform client --only '{template.slug}**' -- COMMAND",
        ]
    )
