"""Every fault has a case, and those that no client can notice stand in NOT_TESTED.md with the reason."""

from __future__ import annotations

import re

from fakellm.conform.case import load
from fakellm.conform.session import case_files
from fakellm.faults.registry import faults
from fakellm.resources import resource


def test_every_fault_has_a_case() -> None:
    played = {
        name
        for template in load(case_files())
        for fault in template.model.faults
        for name in ([fault] if isinstance(fault, str) else fault)
    }

    assert set() == set(faults()) - played


def test_the_faults_that_no_client_can_notice_are_listed_with_a_reason() -> None:
    text = (resource("conformance") / "NOT_TESTED.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \| .+ \|$", text, flags=re.MULTILINE))

    assert {fault.id for fault in faults().values() if fault.client_may == ("as-sent",)} == set(rows)
    assert all(len(reason) > 10 for reason in rows.values())
