"""``findings.yaml`` of a recipe: what is a defect of that client or gateway, in words, and ``findings.md`` made of it.

    - title: The stream helper loses the token ids of every choice
      run: openai-python-helper
      case: happy/plain[api=chat,layout=vllm-0.32.0,stream=true]
      check: capture.kept
      right: the final completion keeps unknown fields of choices as it keeps those of the root

A claim stands on a finding of the published results: what was sent, what was kept and the command are taken from there.
``good: true`` says that the check passed there, and that this is worth knowing. A claim whose evidence is gone is an
error, so nothing is claimed that was not seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from .recipe import Recipe, RecipeError
from .result import Result
from .site import anchor

SHOWN = 700
"""Characters of a side that are shown."""


class ClaimModel(BaseModel):
    """One claim as a file spells it. ``kept``: what it made of it, ``right``: what would be right (of a defect);
    ``good``: it is no defect; ``report``: where the same was reported."""

    model_config = ConfigDict(extra="forbid")

    title: str
    run: str
    case: str
    check: str
    kept: str
    right: str | None = None
    good: bool = False
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
            if not claims[-1].model.good and claims[-1].model.right is None:
                raise RecipeError(f"{path}: {place}: a defect says what would be right")
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
    if row is None or (claim.check not in row["passed"] if claim.good else not _failed(claim, row)):
        raise RecipeError(f"{claim.run}: the finding {claim.title!r} has no evidence: {claim.check} in {claim.case}")
    if claim.good:
        return [*_held(claim, row), "", "```sh", _command(claim), "```", ""]
    evidence = row.get("evidence", {})
    message = _failed(claim, row)[0].get("message", "")
    lines = [f"### {claim.title}", "", f"`{claim.check}` in `{claim.case}`: {message}", ""]
    sides = (("Sent", "response"), ("Kept", "captured"), ("Came back", "came back"))
    for word, name in sides:
        if evidence.get(name):
            lines += [f"{word}:", "", "```", _cut(evidence[name]), "```", ""]
    if not evidence.get("captured") and not evidence.get("came back"):
        lines += [f"It ended: {row.get('ending', 'with an error of the suite')}. {row.get('message', '')}", ""]
    lines += [f"What it made of it: {claim.kept}.", "", f"What would be right: {claim.right}.", ""]
    if claim.report:
        lines += [f"See also {claim.report}.", ""]
    page = f"runs/{result.name}.html#{anchor(claim.case)}"
    return [*lines, f"[All of the evidence]({page}), and again:", "", "```sh", _command(claim), "```", ""]


def _failed(claim: ClaimModel, row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in row["failed"] if one["check"] == claim.check]


def _held(claim: ClaimModel, row: Mapping[str, Any]) -> list[str]:
    """What is right, and how the call ended."""
    values = ", ".join(f"{name} {state}" for name, state in row["values"].items())
    ended = f"It ended: {row.get('ending', '')}. {row.get('message', '')}".strip()
    kept = [] if row.get("ending") in ("refused", "errored") else ["", f"Of what was sent: {values}."]
    lines = [f"### Right: {claim.title}", "", f"`{claim.check}` passed in `{claim.case}`: {claim.kept}.", "", ended]
    return [*lines, *kept]


def _command(claim: ClaimModel) -> str:
    return f"make matrix CLIENT={claim.run} MATRIX_ARGS=\"--only '{claim.case}'\""


def _cut(side: Any) -> str:
    text = side if isinstance(side, str) else json.dumps(side, ensure_ascii=False)
    text = text.replace("```", "`\u200b``")
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}\n…\n{text[-SHOWN // 2 :]}"
