"""SGLang's own parts of a scheduler, as each version has them: sockets, ``Req``, logprobs, the output streamer.

The player asks this for what it needs by one set of names; every difference between versions stays here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from importlib import import_module
from types import SimpleNamespace
from typing import Any

VOCABULARY = 2048
CAPACITY = 100_000
KINDS = {400: "BadRequestError", 503: "ServiceUnavailableError"}
"""What SGLang's scheduler calls an error of a status; others are InternalServerError."""

LONGEST_LESS = 6
"""A prompt must be so much shorter than the context (scheduler: max_req_input_len)."""


class Machine:
    """One scheduler of the installed version."""

    def __init__(self, server_args: Any, port_args: Any) -> None:
        self._args = server_args
        self._context = int(server_args.context_length or 512)
        self._publish()
        self.io: Any = import_module("sglang.srt.managers.io_struct")
        self._batches: Any = import_module("sglang.srt.managers.schedule_batch")
        self._version = _version()
        self._tokenizer = import_module("sglang.srt.utils.hf_transformers_utils").get_tokenizer(server_args.model_path)
        if not hasattr(self._tokenizer, "additional_stop_token_ids"):
            self._tokenizer.additional_stop_token_ids = None
        zmq: Any = import_module("zmq")
        context = zmq.Context(2)
        open_socket = _socket_opener()
        self._inbox = open_socket(context, zmq.PULL, port_args.scheduler_input_ipc_name, False)
        self._to_tokenizer = open_socket(context, zmq.PUSH, port_args.tokenizer_ipc_name, False)
        name = port_args.tokenizer_ipc_name if server_args.skip_tokenizer_init else port_args.detokenizer_ipc_name
        self._outbox = open_socket(context, zmq.PUSH, name, False)
        self._sent: set[str] = set()
        self._make_streamer()

    def ready(self) -> dict[str, Any]:
        return {
            "status": "ready",
            "max_total_num_tokens": CAPACITY,
            "max_req_input_len": self._context - LONGEST_LESS,
            "startup_time": {},
        }

    # messages

    def receive(self, milliseconds: int) -> Any:
        """The next message, None when none came in time."""
        if not self._inbox.poll(milliseconds):
            return None
        return self.io.sock_recv(self._inbox) if hasattr(self.io, "sock_recv") else self._inbox.recv_pyobj()

    def reply(self, answer: Any, question: Any) -> None:
        """An answer to a control message, to the worker that asked."""
        worker = getattr(question, "http_worker_ipc", None)
        if worker is not None and getattr(answer, "http_worker_ipc", None) is None:
            with contextlib.suppress(AttributeError):
                answer.http_worker_ipc = worker
        if getattr(question, "rid", None) and hasattr(answer, "rid"):
            with contextlib.suppress(AttributeError):
                answer.rid = question.rid
        self._push(self._to_tokenizer, answer)

    def _push(self, socket: Any, message: Any) -> None:
        if hasattr(self.io, "sock_send"):
            self.io.sock_send(socket, message)
        else:
            socket.send_pyobj(message)

    def send(self, requests: list[Any]) -> set[str]:
        """Hand the running requests' news on; gives the rids of which something was sent."""
        self._sent = set()
        self._stream(requests, any(one.return_logprob for one in requests))
        return self._sent

    def _note(self, message: Any, _: Any = None) -> None:
        self._sent.update(getattr(message, "rids", None) or ())
        self._push(self._outbox, message)

    # requests

    def request(self, given: Any) -> Any:
        """The ``Req`` of a request, with what the scheduler checks before it runs."""
        req = self._req(given)
        error = self._too_long(req)
        if error:
            req.set_finish_with_abort(error)
        self._start_of_scores(req, given)
        sampling = req.sampling_params
        most = sampling.max_new_tokens if sampling.max_new_tokens is not None else 1 << 30
        sampling.max_new_tokens = min(most, self._context - 2 - len(req.origin_input_ids))
        return req

    def _req(self, given: Any) -> Any:
        told = {
            "return_logprob": given.return_logprob,
            "top_logprobs_num": given.top_logprobs_num,
            "token_ids_logprob": given.token_ids_logprob,
            "stream": given.stream,
            "eos_token_ids": {2, 0},
            "vocab_size": VOCABULARY,
            "http_worker_ipc": getattr(given, "http_worker_ipc", None),
            "time_stats": getattr(given, "time_stats", None),
            "return_flat_raw_top_logprobs": getattr(given, "return_flat_raw_top_logprobs", False),
            "return_hidden_states": given.return_hidden_states,
        }
        known = inspect.signature(self._batches.Req.__init__).parameters
        told = {name: value for name, value in told.items() if name in known}
        req = self._batches.Req(given.rid, given.input_text, given.input_ids, given.sampling_params, **told)
        if not hasattr(req, "logprob"):
            req.logprob = req
        if not hasattr(req, "to_finish"):
            req.to_finish = None
        req.tokenizer = self._tokenizer
        return req

    def _too_long(self, req: Any) -> str | None:
        checks: Any = import_module("sglang.srt.managers.utils")
        return checks.validate_input_length(req, self._context - LONGEST_LESS, self._args.allow_auto_truncate)

    def _start_of_scores(self, req: Any, given: Any) -> None:
        """From which prompt token on scores are told, and the refusal of a start behind the prompt."""
        length = len(req.origin_input_ids)
        if not given.return_logprob:
            req.logprob_start_len = -1
        elif given.logprob_start_len == -1:
            last = 0 if self._version >= (0, 5, 10) else 1
            req.logprob_start_len = length - last if given.token_ids_logprob is None else -1
        else:
            req.logprob_start_len = given.logprob_start_len
        if req.logprob_start_len > length:
            message = (
                f"{req.logprob_start_len=} is higher than the number of input tokens {len(req.origin_input_ids)=}. "
                "Please use a smaller logprob_start_len."
            )
            req.logprob_start_len = -1
            req.set_finish_with_abort(message)

    def abort(self, message: str | None = None, status: Any = None) -> Any:
        """How a request ends that is aborted, or that fails with a message."""
        if message is None:
            return self._batches.FINISH_ABORT()
        return self._batches.FINISH_ABORT(message, status, KINDS.get(int(status), "InternalServerError"))

    def drop(self, req: Any) -> None:
        """Tell the server that a request was taken from the queue."""
        self._push(self._to_tokenizer, self.io.AbortReq(rid=req.rid))

    def finish(self, req: Any, count: int) -> None:
        """Let the Req see whether it ended within its last ``count`` tokens."""
        check = req.update_finish_state if hasattr(req, "update_finish_state") else req.check_finished
        if not hasattr(req, "update_finish_state") and req.to_finish is not None and self._version < (0, 5, 6):
            req.finished_reason = req.to_finish
        check(count) if inspect.signature(check).parameters else check()

    def score(self, req: Any, token_id: int, output: Any) -> None:
        """Let the Req take the scores of one of its tokens."""
        self._scorer.add_logprob_return_values(0, req, 0, [token_id], output.told_of_prompt, output)

    # parts of the version

    def _publish(self) -> None:
        """Tell the version's global places about the arguments, where it has such."""
        with contextlib.suppress(ImportError):
            import_module("sglang.srt.plugins").load_plugins()
        with contextlib.suppress(ImportError, AttributeError, TypeError):
            context: Any = import_module("sglang.srt.runtime_context")
            ranks = context.SpawnRanks(world_rank=0, dp_rank=None, gpu_id=0)
            context.publish(self._args, role="scheduler", ranks=ranks)
        with contextlib.suppress(ImportError, AttributeError):
            import_module("sglang.srt.server_args").set_global_server_args_for_scheduler(self._args)

    def _make_streamer(self) -> None:
        algorithm = import_module("sglang.srt.speculative.spec_info").SpeculativeAlgorithm.NONE
        mode = import_module("sglang.srt.disaggregation.utils").DisaggregationMode.NULL
        sender = SimpleNamespace(send_output=self._note, send_pyobj=self._note)
        try:
            parts: Any = import_module("sglang.srt.managers.scheduler_components.output_streamer")
        except ImportError:
            self._of_the_mixin(sender, algorithm, mode)
            return
        streamer = _made(
            parts.SchedulerOutputStreamer,
            send_to_detokenizer=sender,
            tree_cache=None,
            server_args=self._args,
            is_generation=True,
            spec_algorithm=algorithm,
            disaggregation_mode=mode,
            enable_hicache_storage=lambda: False,
        )
        self._stream = streamer.stream_output
        scorers: Any = import_module("sglang.srt.managers.scheduler_components.logprob_result_processor")
        self._scorer = scorers.SchedulerLogprobResultProcessor(model_config=SimpleNamespace(vocab_size=VOCABULARY))

    def _of_the_mixin(self, sender: Any, algorithm: Any, mode: Any) -> None:
        """Versions whose scheduler streams and scores by methods of its own class."""
        mixin: Any = import_module("sglang.srt.managers.scheduler_output_processor_mixin").SchedulerOutputProcessorMixin

        class Bare(mixin):
            """Nothing of a scheduler but what those methods look at."""

            def get_load(self, *_: Any, **__: Any) -> None:
                return None

            get_loads = get_load

        bare = Bare()
        known: dict[str, Any] = {
            "tp_rank": 0,
            "attn_tp_rank": 0,
            "dp_rank": None,
            "is_generation": True,
            "stream_interval": self._args.stream_interval,
            "send_to_detokenizer": sender,
            "server_args": self._args,
            "spec_algorithm": algorithm,
            "disaggregation_mode": mode,
            "model_config": SimpleNamespace(is_multimodal_gen=False, vocab_size=VOCABULARY),
            "enable_hicache_storage": False,
        }
        for name, value in known.items():
            setattr(bare, name, value)
        self._scorer = bare
        self._stream = bare.stream_output_generation


def _made(kind: Any, **given: Any) -> Any:
    """A dataclass with what is given of its fields, and nothing for the others that it wants."""
    fields = dataclasses.fields(kind)
    names = {field.name for field in fields}
    wanted = {
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    told: dict[str, Any] = dict.fromkeys(wanted)
    if "ps" in told:
        told["ps"] = SimpleNamespace(dp_rank=None, attn_tp_rank=0, tp_rank=0, pp_rank=0)
    told.update({name: value for name, value in given.items() if name in names})
    return kind(**told)


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in import_module("sglang.version").__version__.split(".")[:3])


def _socket_opener() -> Any:
    try:
        return import_module("sglang.srt.utils.network").get_zmq_socket
    except ImportError:
        return import_module("sglang.srt.utils").get_zmq_socket
