"""``/metrics``: Prometheus text with vLLM's own names (research, vllm-metrics-0.32.0), counting what was really served.

Counters, gauges and histograms of tokens and parameters; latencies are not told, because nothing here takes any time of
its own. Labels are ``engine`` and ``model_name``, as on the real server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..base import Served

METRICS_TYPE = "text/plain; version=1.0.0; charset=utf-8"
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")
MOST_WAITING = 512
TOKEN_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)


@dataclass(slots=True)
class Histogram:
    """A histogram of token counts."""

    total: float = 0.0
    buckets: Counter[int] = field(default_factory=Counter[int])
    count: int = 0

    def add(self, value: int, times: int = 1) -> None:
        self.total += value * times
        self.count += times
        for bound in TOKEN_BUCKETS:
            if value <= bound:
                self.buckets[bound] += times

    def lines(self, name: str, labels: str) -> Iterator[str]:
        yield f"# TYPE {name} histogram"
        for bound in TOKEN_BUCKETS:
            yield f'{name}_bucket{{{labels},le="{float(bound)}"}} {float(self.buckets[bound])}'
        yield f'{name}_bucket{{{labels},le="+Inf"}} {float(self.count)}'
        yield f"{name}_count{{{labels}}} {float(self.count)}"
        yield f"{name}_sum{{{labels}}} {self.total}"


@dataclass(slots=True)
class Tally:
    """What a server has served. ``running``: requests in flight."""

    running: int = 0
    waiting: Counter[Served] = field(default_factory=Counter[Served])
    """Answers not yet added up: adding is left to whoever reads the numbers."""
    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: Counter[str] = field(default_factory=Counter[str])
    prompts: Histogram = field(default_factory=Histogram)
    generations: Histogram = field(default_factory=Histogram)
    samples: Histogram = field(default_factory=Histogram)
    limits: Histogram = field(default_factory=Histogram)

    def add(self, served: Served) -> None:
        """Count one engine answer."""
        self.waiting[served] += 1
        if len(self.waiting) > MOST_WAITING:
            self._settle()

    def _settle(self) -> None:
        for served, times in self.waiting.items():
            self.prompt_tokens += served.prompt_tokens * times
            self.generation_tokens += served.completion_tokens * times
            self.prompts.add(served.prompt_tokens, times)
            self.generations.add(served.completion_tokens, times)
            self.samples.add(len(served.finish_reasons), times)
            if served.max_tokens is not None:
                self.limits.add(served.max_tokens, times)
            for reason in served.finish_reasons:
                self.finished[reason or "error"] += times
        self.waiting.clear()

    def to_text(self, model: str, *, sleeping: bool) -> str:
        """The exposition text."""
        self._settle()
        return "\n".join(self._lines(model, sleeping)) + "\n"

    def _lines(self, model: str, sleeping: bool) -> Iterator[str]:
        quoted = model.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        labels = f'engine="0",model_name="{quoted}"'
        gauges = {
            "vllm:num_requests_running": float(max(self.running, 0)),
            "vllm:num_requests_waiting": 0.0,
            "vllm:engine_sleep_state": float(sleeping),
            "vllm:kv_cache_usage_perc": 0.0,
        }
        for name, value in gauges.items():
            yield f"# TYPE {name} gauge"
            yield f"{name}{{{labels}}} {value}"
        counters = {
            "vllm:prefix_cache_queries_total": self.prompt_tokens,
            "vllm:prefix_cache_hits_total": 0,
            "vllm:num_preemptions_total": 0,
            "vllm:prompt_tokens_total": self.prompt_tokens,
            "vllm:generation_tokens_total": self.generation_tokens,
        }
        for name, count in counters.items():
            yield f"# TYPE {name} counter"
            yield f"{name}{{{labels}}} {float(count)}"
        yield "# TYPE vllm:request_success_total counter"
        for reason in FINISH_REASONS:
            yield f'vllm:request_success_total{{{labels},finished_reason="{reason}"}} {float(self.finished[reason])}'
        yield from self.prompts.lines("vllm:request_prompt_tokens", labels)
        yield from self.generations.lines("vllm:request_generation_tokens", labels)
        yield from self.samples.lines("vllm:request_params_n", labels)
        yield from self.limits.lines("vllm:request_params_max_tokens", labels)
