"""Known holes in what is installed: ``python -m audit PIP_AUDIT [--requirement FILE]``, and what that comes to.

pip-audit ends with 0 where its index knows nothing of a package, so that a mirror without advisories would pass
everything. Here what was not looked up is named and is red: exit code 1 = holes were found, 5 = something was not
audited, 0 = every package was looked up and none has a known hole.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Audit:
    """``holes``: package and version -> ids of advisories with the versions that mend them."""

    audited: int
    skipped: Mapping[str, str]
    holes: Mapping[str, Sequence[str]]

    @classmethod
    def from_json(cls, report: Mapping[str, Any]) -> Audit:
        """From pip-audit's own report (``--format json``)."""
        rows: Sequence[Mapping[str, Any]] = report["dependencies"]
        looked_up = [row for row in rows if "skip_reason" not in row]
        holes = {f"{row['name']} {row['version']}": [_hole(one) for one in row["vulns"]] for row in looked_up}
        return cls(
            len(looked_up),
            {row["name"]: row["skip_reason"] for row in rows if "skip_reason" in row},
            {name: found for name, found in holes.items() if found},
        )

    @property
    def exit_code(self) -> int:
        if self.holes:
            return 1
        return 5 if self.skipped or not self.audited else 0

    def lines(self) -> list[str]:
        """What a person is told."""
        said = [f"{name}: {', '.join(found)}" for name, found in self.holes.items()]
        if self.skipped:
            names = ", ".join(sorted(self.skipped)[:5])
            more = f" and {len(self.skipped) - 5} more" if len(self.skipped) > 5 else ""
            said.append(f"not audited: {names}{more} ({next(iter(self.skipped.values()))})")
        if not self.audited:
            return [*said, "NOTHING WAS AUDITED: this index has no advisories; ask one that has"]
        found = sum(len(one) for one in self.holes.values())
        return [*said, f"{self.audited} packages audited, {len(self.skipped)} not, {found} known holes"]


def _hole(row: Mapping[str, Any]) -> str:
    mended = ", ".join(row.get("fix_versions", ())) or "nothing yet"
    return f"{row['id']} (mended in {mended})"


def main(arguments: Sequence[str]) -> int:
    command = [*arguments, "--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        audit = Audit.from_json(json.loads(ran.stdout))
    except (ValueError, KeyError):
        print(ran.stdout[-2000:], ran.stderr[-2000:], "NOTHING WAS AUDITED: pip-audit gave no report", sep="\n")
        return 5
    print("\n".join(audit.lines()))
    return audit.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
