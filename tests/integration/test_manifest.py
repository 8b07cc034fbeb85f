"""deploy/kubernetes.yaml: what it starts is a command of ours, and what it asks of the server is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fakellm.ask import Request
from fakellm.cli.serve import serve
from fakellm.house import Choices, House
from fakellm.scenario.load import load_set

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text()))


def named(kind: str, name: str) -> dict[str, Any]:
    return next(one for one in DOCUMENTS if (one["kind"], one["metadata"]["name"]) == (kind, name))


CONTAINER: dict[str, Any] = named("Deployment", "fakellm")["spec"]["template"]["spec"]["containers"][0]


def test_the_container_runs_a_command_that_is_understood() -> None:
    command, *arguments = CONTAINER["args"]

    given = serve.make_context("serve", list(arguments)).params

    assert "serve" == command
    assert ("0.0.0.0", 8000, "redis://fakellm-redis:6379/0") == (given["host"], given["port"], given["state"])
    assert "/scenarios" == str(given["scenario"])
    assert ["FAKELLM_ADMIN_TOKEN"] == [one["name"] for one in CONTAINER["env"]]


@pytest.mark.parametrize("name", ["fakellm", "fakellm-redis"])
def test_services_find_their_pods(name: str) -> None:
    pod = named("Deployment", name)["spec"]["template"]
    service = named("Service", name)["spec"]

    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert [(port["targetPort"], port["port"]) for port in service["ports"]] == list(ports.items())


@pytest.mark.parametrize("layout", ["vllm", "sglang", "dynamo", "openai"])
def test_probes_are_answered(layout: str) -> None:
    fake = House.open(None, Choices(layout=layout)).fake

    for probe in ("startupProbe", "readinessProbe"):
        answer, _ = fake.answer(Request("GET", CONTAINER[probe]["httpGet"]["path"]))
        assert 200 == answer.wire.status


def test_a_redis_that_is_gone_does_not_restart_the_pods() -> None:
    """Readiness fails then, and no request comes; a restart would bring nothing back."""
    assert {"port": "http"} == CONTAINER["livenessProbe"]["tcpSocket"]


def test_scenarios_are_found_as_a_config_map_lays_them(tmp_path: Path) -> None:
    """Files are links into a hidden folder that is itself a link."""
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "hello.yaml").write_text("replies: [{say: Hello}]")
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "hello.yaml").symlink_to("..data/hello.yaml")

    assert ["hello"] == list(load_set(tmp_path))
