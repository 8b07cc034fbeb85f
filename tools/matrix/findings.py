"""``findings.yaml`` of a recipe: what is a defect of that client or gateway, in words, and ``findings.md`` made of it.

    - title: The stream helper loses the token ids of every choice
      run: openai-python-helper
      case: happy/plain[api=chat,layout=vllm-0.32.0,stream=true]
      check: capture.kept
      right: the final completion keeps unknown fields of choices as it keeps those of the root

A claim stands on a finding of the published results: what was sent, what was kept and the command are taken from there.
A claim whose evidence is gone is an error, so nothing is claimed that was not seen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from .recipe import Recipe, RecipeError
from .result import Result

SHOWN = 700
"""Characters of a side that are shown."""


class ClaimModel(BaseModel):
    """One claim as a file spells it. ``kept``: what it made of it; ``report``: where the same was reported."""

    model_config = ConfigDict(extra="forbid")

    title: str
    run: str
    case: str
    check: str
    kept: str
    right: str
    report: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and the recipe that it is about."""

    recipe: Recipe
    model: ClaimModel


def load(recipes: Sequence[Recipe]) -> list[Claim]:
    """Every claim, in the recipes' order; raises RecipeError."""
    claims: list[Claim] = []
    for recipe in recipes:
        path = recipe.root / recipe.folder / "findings.yaml"
        rows: list[Any] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
        for place, row in enumerate(rows or []):
            try:
                claims.append(Claim(recipe, ClaimModel.model_validate(row)))
            except ValidationError as wrong:
                first = wrong.errors()[0]
                raise RecipeError(f"{path}: {place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return claims


def document(claims: Sequence[Claim], results: Sequence[Result]) -> str:
    """``findings.md``; raises RecipeError for a claim about a published run whose evidence is not there."""
    lines = [
        "# Findings",
        "",
        "What released clients and gateways do with the tokens that a server sent, for their maintainers. "
        "Generated from the results beside it: every claim shows what was sent and what came of it, and a claim "
        "without evidence does not build. Bytes are cut for display; the command shows all of them.",
        "",
    ]
    by_name = {result.name: result for result in results}
    last = ""
    for claim in claims:
        found = by_name.get(claim.model.run)
        if found is None:
            continue
        if claim.recipe.name != last:
            last = claim.recipe.name
            versions = ", ".join(f"{name} {version}" for name, version in found.header["installed"].items())
            lines += [
                f"## {last}",
                "",
                f"{claim.recipe.model.homepage}. Seen with {versions} on {found.header['date']}.",
                "",
            ]
        lines += _told(claim.model, found)
    return "\n".join(lines)


def _told(claim: ClaimModel, result: Result) -> list[str]:
    row = result.case(claim.case)
    shown = [] if row is None else [one for one in row["failed"] if one["check"] == claim.check]
    if row is None or not shown:
        raise RecipeError(f"{claim.run}: the finding {claim.title!r} has no evidence: {claim.check} in {claim.case}")
    evidence = row.get("evidence", {})
    lines = [f"### {claim.title}", "", f"`{claim.check}` in `{claim.case}`: {shown[0].get('message', '')}", ""]
    sides = (("Sent", "response"), ("Kept", "captured"), ("Came back", "came back"))
    for word, name in sides:
        if evidence.get(name):
            lines += [f"{word}:", "", "```", _cut(evidence[name]), "```", ""]
    if not evidence.get("captured") and not evidence.get("came back"):
        lines += [f"It ended: {row.get('ending', 'with an error of the suite')}. {row.get('message', '')}", ""]
    lines += [f"What it made of it: {claim.kept}.", "", f"What would be right: {claim.right}.", ""]
    if claim.report:
        lines += [f"See also {claim.report}.", ""]
    return [*lines, "```sh", row.get("reproduce", ""), "```", ""]


def _cut(side: Any) -> str:
    text = side if isinstance(side, str) else json.dumps(side, ensure_ascii=False)
    text = text.replace("```", "`\u200b``")
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}\n…\n{text[-SHOWN // 2 :]}"
