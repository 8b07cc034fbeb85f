"""No secret that a side of an exchange showed stands in what a report keeps of it."""

from __future__ import annotations

from dataclasses import replace

from fakellm.conform import judging
from fakellm.conform.observation import Received
from support.observations import WHOLE, observation, sends

KEY = "sk-0123456789"


def test_evidence_is_blanked_on_every_side() -> None:
    quoting = f'{{"error": "Incorrect API key provided: {KEY}"}}'.encode()
    asked = Received(
        method="POST", path="/v1/chat/completions", headers=(("Authorization", f"Bearer {KEY}"),), body=quoting
    )
    one = replace(observation(WHOLE, sent=sends(WHOLE, body=quoting)), upstream=(asked,))

    raw = judging._raw([one])
    shown = judging._evidence(one, raw, "evidence/x/")

    assert {"request-1.txt", "response.txt"} == set(raw)
    assert all(KEY.encode() not in data and b"[redacted]" in data for data in raw.values())
    assert KEY not in str(shown)
    assert 2 <= str(shown).count("[redacted]")
