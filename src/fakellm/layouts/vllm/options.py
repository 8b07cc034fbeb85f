"""The launch options of ``vllm serve``: their names, how many words they take, which versions know them.

The names were read off the argument tables of the captured versions. Most options shape the engine and not the wire:
they are known here so that a real command line can be given unchanged. What the others mean is in ``launch.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .traits import Version

V10: Version = (0, 10, 2)
V12: Version = (0, 12, 0)
V16: Version = (0, 16, 0)
V20: Version = (0, 20, 2)
V24: Version = (0, 24, 0)
V28: Version = (0, 28, 0)
V32: Version = (0, 32, 0)


@dataclass(frozen=True, slots=True)
class Option:
    """One option. ``takes``: ``flag`` (also ``--no-NAME``), ``one`` word, or ``many`` words."""

    name: str
    takes: str
    since: Version
    until: Version | None = None


_NAMES: tuple[tuple[str, Version, Version | None, str], ...] = (
    (
        "flag",
        V10,
        None,
        """
        allow-credentials async-scheduling data-parallel-hybrid-lb disable-cascade-attn
        disable-chunked-mm-input disable-custom-all-reduce disable-fastapi-docs
        disable-hybrid-kv-cache-manager disable-log-stats disable-sliding-window disable-uvicorn-access-log
        enable-auto-tool-choice enable-chunked-prefill enable-eplb enable-expert-parallel
        enable-force-include-usage enable-log-outputs enable-log-requests enable-lora enable-prefix-caching
        enable-prompt-embeds enable-prompt-tokens-details enable-request-id-headers
        enable-server-load-tracking enable-sleep-mode enable-ssl-refresh enable-tokenizer-info-endpoint
        enforce-eager exclude-tools-when-tool-choice-none fully-sharded-loras headless interleave-mm-strings
        kv-sharing-fast-prefill log-error-stack ray-workers-use-nsight return-tokens-as-token-ids
        skip-mm-profiling skip-tokenizer-init trust-remote-code trust-request-chat-template use-tqdm-on-load
        """,
    ),
    (
        "flag",
        V10,
        V12,
        """
        disable-async-output-proc enable-lora-bias eplb-log-balancedness
        guided-decoding-disable-additional-properties guided-decoding-disable-any-whitespace
        guided-decoding-disable-fallback
        """,
    ),
    (
        "flag",
        V10,
        V16,
        """
        disable-mm-preprocessor-cache enable-multimodal-encoder-data-parallel
        """,
    ),
    (
        "flag",
        V10,
        V20,
        """
        disable-frontend-multiprocessing disable-log-requests
        """,
    ),
    (
        "flag",
        V10,
        V28,
        """
        calculate-kv-scales
        """,
    ),
    (
        "flag",
        V12,
        None,
        """
        aggregate-engine-logging data-parallel-external-lb disable-nccl-for-dp-synchronization enable-dbo
        enable-mm-embeds kv-cache-metrics tokens-only
        """,
    ),
    (
        "flag",
        V16,
        None,
        """
        allow-deprecated-quantization cudagraph-metrics enable-flashinfer-autotune
        enable-layerwise-nvtx-tracing enable-log-deltas enable-logging-iteration-details enable-mfu-metrics
        enable-offline-docs enable-return-routed-experts enable-tower-connector-lora mm-encoder-only
        specialize-active-lora
        """,
    ),
    (
        "flag",
        V20,
        None,
        """
        enable-elastic-ep enable-ep-weight-filter enable-flash-late-interaction
        enable-mamba-cache-stochastic-rounding fail-on-environ-validation grpc language-model-only numa-bind
        scheduler-reserve-full-isl
        """,
    ),
    (
        "flag",
        V24,
        None,
        """
        data-parallel-multi-port-external-lb enable-cumem-allocator enable-mixed-moe-lora-format
        jit-monitor-verbose use-fp64-gumbel
        """,
    ),
    (
        "flag",
        V28,
        V32,
        """
        enable-bf16x3-router-gemm
        """,
    ),
    (
        "flag",
        V28,
        None,
        """
        cohere-is-reasoning-model enable-fault-tolerance enable-moe-shared-loras enable-per-request-metrics
        mm-device-do-normalize return-sampling-mask use-replayssm
        """,
    ),
    (
        "flag",
        V32,
        None,
        """
        dcp-q-replicate enable-batch-sharded-sampling enable-hc-sp enable-mamba-shared-prefix-checkpoint
        enable-nccl-comm-suspend enable-scale-out enable-shm-tensor-arena enable-trace-replay
        long-prefill-token-threshold-adaptive sleep-mode-offload-cudagraph swa-bounded-replay
        trust-request-mm-kwargs
        """,
    ),
    (
        "many",
        V10,
        None,
        """
        allowed-headers allowed-methods allowed-origins api-key collect-detailed-traces ignore-patterns
        logits-processors lora-modules middleware served-model-name
        """,
    ),
    (
        "many",
        V10,
        V16,
        """
        cuda-graph-sizes
        """,
    ),
    (
        "many",
        V12,
        None,
        """
        allowed-media-domains cudagraph-capture-sizes
        """,
    ),
    (
        "many",
        V20,
        None,
        """
        cpu-offload-params kv-cache-dtype-skip-layers lora-target-modules numa-bind-cpus numa-bind-nodes
        offload-params
        """,
    ),
    (
        "many",
        V24,
        None,
        """
        device-ids
        """,
    ),
    (
        "many",
        V32,
        None,
        """
        sleep-preserve-parameter-names
        """,
    ),
    (
        "one",
        V10,
        None,
        """
        additional-config allowed-local-media-path api-server-count block-size chat-template
        chat-template-content-format code-revision compilation-config config config-format convert
        cpu-offload-gb data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port
        data-parallel-size data-parallel-size-local data-parallel-start-rank decode-context-parallel-size
        default-mm-loras distributed-executor-backend download-dir dtype eplb-config generation-config
        gpu-memory-utilization h11-max-header-count h11-max-incomplete-event-size hf-config-path
        hf-overrides hf-token host io-processor-plugin kv-cache-dtype kv-cache-memory-bytes kv-events-config
        kv-transfer-config limit-mm-per-prompt load-format log-config-file logprobs-mode
        long-prefill-token-threshold lora-dtype mamba-cache-dtype mamba-ssm-cache-dtype max-cpu-loras
        max-log-len max-logprobs max-lora-rank max-loras max-model-len max-num-batched-tokens max-num-seqs
        max-parallel-loading-workers media-io-kwargs mm-encoder-tp-mode mm-processor-cache-gb
        mm-processor-kwargs model model-impl model-loader-extra-config num-gpu-blocks-override
        otlp-traces-endpoint override-generation-config pipeline-parallel-size port prefix-caching-hash-algo
        pt-load-map-location quantization reasoning-parser response-role revision root-path runner
        safetensors-load-strategy scheduler-cls scheduling-policy seed show-hidden-metrics-for-version
        speculative-config ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-keyfile tensor-parallel-size
        tokenizer tokenizer-mode tokenizer-revision tool-call-parser tool-parser-plugin tool-server uds
        uvicorn-log-level worker-cls worker-extension-cls
        """,
    ),
    (
        "one",
        V10,
        V12,
        """
        eplb-step-interval eplb-window-size guided-decoding-backend lora-extra-vocab-size
        max-seq-len-to-capture num-lookahead-slots num-redundant-experts override-pooler-config
        preemption-mode rope-scaling rope-theta scheduler-delay-factor
        """,
    ),
    (
        "one",
        V10,
        V16,
        """
        task
        """,
    ),
    (
        "one",
        V10,
        V20,
        """
        logits-processor-pattern swap-space
        """,
    ),
    (
        "one",
        V10,
        V28,
        """
        max-long-partial-prefills max-num-partial-prefills override-attention-dtype
        """,
    ),
    (
        "one",
        V12,
        None,
        """
        all2all-backend cp-kv-cache-interleave-size dbo-decode-token-threshold dbo-prefill-token-threshold
        dcp-kv-cache-interleave-size ec-transfer-config expert-placement-strategy kv-cache-metrics-sample
        kv-offloading-backend kv-offloading-size mamba-block-size master-addr master-port
        max-cudagraph-capture-size mm-encoder-attn-backend mm-processor-cache-type
        mm-shm-cache-max-object-size-mb nnodes node-rank optimization-level pooler-config
        prefill-context-parallel-size reasoning-parser-plugin stream-interval structured-outputs-config
        video-pruning-rate
        """,
    ),
    (
        "one",
        V16,
        None,
        """
        attention-backend attention-config default-chat-template-kwargs disable-access-log-for-endpoints
        kernel-config mamba-cache-mode profiler-config ssl-ciphers ubatch-size weight-transfer-config
        """,
    ),
    (
        "one",
        V20,
        None,
        """
        dcp-comm-backend distributed-timeout-seconds gdn-prefill-backend ir-op-priority mamba-backend
        mamba-cache-philox-rounds mm-tensor-ipc moe-backend offload-backend offload-group-size
        offload-num-in-group offload-prefetch-step performance-mode reasoning-config renderer-num-workers
        shutdown-timeout
        """,
    ),
    (
        "one",
        V24,
        None,
        """
        cpu-distributed-timeout-seconds data-parallel-supervisor-port diffusion-config
        dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s
        fingerprint-mode fingerprint-value linear-backend mm-encoder-attn-dtype mm-encoder-fp8-scale-path
        mm-encoder-fp8-scale-save-margin mm-encoder-fp8-scale-save-path prefill-schedule-interval
        quantization-config safetensors-prefetch-block-size safetensors-prefetch-num-threads spec-method
        spec-model spec-tokens watermark
        """,
    ),
    (
        "one",
        V28,
        None,
        """
        cohere-format ec-manager-config fault-tolerance-config jit-monitor-mode kda-prefill-backend
        mamba-ssu-algorithm max-num-scheduled-tokens mm-hasher-algorithm mm-ipc-gpu-memory-gb
        mm-processor-device model-class-overrides prefix-match-unit replayssm-buffer-len
        video-pruning-method
        """,
    ),
    (
        "one",
        V32,
        None,
        """
        anthropic-disabled-thinking-effort aux-output-config custom-histogram-buckets
        device-memory-utilization dp-sync-interval elastic-ep-max-dp-size engram-config grpc-port
        kda-decode-backend log-level logging-config max-lora-cls-labels max-num-active-seqs
        max-num-queued-reqs max-num-queued-tokens per-request-spec-decode-metrics
        prefix-cache-retention-interval sparse-indexer-topk-backend sse-keep-alive-interval
        tool-strict-level watermark-config
        """,
    ),
)

SHORT: Mapping[str, str] = {
    "-q": "quantization",
    "-pp": "pipeline-parallel-size",
    "-tp": "tensor-parallel-size",
    "-dcp": "decode-context-parallel-size",
    "-pcp": "prefill-context-parallel-size",
    "-dp": "data-parallel-size",
    "-dpn": "data-parallel-rank",
    "-dpr": "data-parallel-start-rank",
    "-dpl": "data-parallel-size-local",
    "-dpa": "data-parallel-address",
    "-dpp": "data-parallel-rpc-port",
    "-dpb": "data-parallel-backend",
    "-dph": "data-parallel-hybrid-lb",
    "-dpe": "data-parallel-external-lb",
    "-dpm": "data-parallel-multi-port-external-lb",
    "-ep": "enable-expert-parallel",
    "-sc": "speculative-config",
    "-cc": "compilation-config",
    "-asc": "api-server-count",
    "-ac": "attention-config",
    "-dc": "diffusion-config",
    "-n": "nnodes",
    "-r": "node-rank",
    "-O": "optimization-level",
}
"""Short spellings -> names."""

EVERY: Mapping[str, Option] = {
    name: Option(name, takes, since, until) for takes, since, until, names in _NAMES for name in names.split()
}
"""Every option of any version."""


@cache
def known(version: Version) -> Mapping[str, Option]:
    """The options that a version knows."""
    return {
        name: option
        for name, option in EVERY.items()
        if option.since <= version and (option.until is None or version < option.until)
    }
