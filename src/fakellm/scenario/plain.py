"""The scenario that plays when none was given: any request gets plausible text that takes up its words."""

from __future__ import annotations

from .model import Reply, SayAuto, Scenario


def plain_auto(name: str = "auto") -> Scenario:
    """One reply without conditions and without state: equal requests get equal answers, on any number of servers."""
    return Scenario(
        name=name,
        title="Plausible text for any request",
        replies=(Reply(say=SayAuto(from_request=True), where="plain auto"),),
    )
