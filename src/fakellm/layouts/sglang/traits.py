"""SGLang's versions as traits of one renderer: a table of what changed when, and the set that holds at one version.

A :class:`Trait` is one difference on the wire with the first version that has it and the first that has it no more.
Renderers ask ``traits.has(Trait.X)`` and never compare version numbers. The facts come from captures of 0.5.3, 0.5.6,
0.5.9, 0.5.12, 0.5.18 and 0.5.23 and from reading the wheels of 0.5.10, 0.5.13, 0.5.17 and 0.5.20; what changed between
two of those is given the later one unless the change itself was found.
Knows no request and no rendering.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """The versions that have a trait: from ``since`` (None = always had) to before ``until`` (None = still)."""

    since: Version | None
    until: Version | None
    what: str

    def holds(self, version: Version) -> bool:
        return (self.since is None or version >= self.since) and (self.until is None or version < self.until)


def _since(last: int, what: str) -> Span:
    return Span((0, 5, last), None, what)


def _until(last: int, what: str) -> Span:
    return Span(None, (0, 5, last), what)


class Trait(Enum):
    """One difference between versions; ``value`` says where it holds."""

    # /generate
    PROMPT_TAIL_IN_OUTPUT_IDS = Span((0, 5, 1), (0, 5, 5), "output_ids begin with up to five prompt ids (issue 17240)")
    NATIVE_IDS_DELTA = _until(6, "streamed output_ids are always deltas while text and scores are cumulative")
    INCREMENTAL_IDS_ONLY = Span((0, 5, 6), (0, 5, 10), "--stream-output makes only output_ids deltas")
    INCREMENTAL_KEEPS_SCORES = Span((0, 5, 10), (0, 5, 11), "incremental streams keep their scores cumulative")
    INCREMENTAL_FLAG = _since(10, "the flag is --incremental-streaming-output (--stream-output is an alias)")
    LAST_PROMPT_TOKEN_SCORED = _until(10, "logprob_start_len -1 still gives one input entry")
    TOTAL_RETRACTIONS = Span((0, 5, 5), (0, 5, 12), "meta_info.total_retractions")
    NUM_RETRACTIONS = _since(12, "meta_info.num_retractions")
    SENT_TIMESTAMP = _since(6, "meta_info.response_sent_to_client_ts on the first and on non-stream objects")
    CACHED_DETAILS = _since(9, "meta_info.cached_tokens_details")
    LOGPROBS_LENGTH = _since(10, "meta_info.output_token_logprobs_length, reasoning_tokens, dp_rank")
    WEIGHT_VERSIONS = _since(19, "meta_info.weight_versions, metadata.weight_versions")
    QUEUED_ABORT_KEEPS = _since(6, "an abort in the queue tells output_ids, and scores where asked for")
    QUEUED_ABORT_BREAKS = Span((0, 5, 6), (0, 5, 10), "chat, completions and messages fail on an abort in the queue")
    QUEUED_ABORT_VERSION = _since(9, "it tells weight_version and e2e_latency too")
    NATIVE_CONTRACT = _since(22, "sampling_params are checked against a schema: 400 with the error as a string")
    STREAM_ERROR_TYPED = _since(13, "/generate stream errors carry type, code and retryable")
    NATIVE_PROMPT_IDS = _since(13, "return_prompt_token_ids")
    STOP_PREFIX_HELD = _since(6, "a step whose text may begin a stop string waits for the next one")
    STOP_FIRST = _since(18, "stop strings, then stop ids, then length; before: length, stop ids, stop strings")
    TRIMS_AT_LENGTH = _since(4, "what a step brings beyond max_new_tokens is cut off; 0 is obeyed")
    TRIMS_AT_TOKEN = _since(4, "tokens of a step behind a stop id are dropped")
    TRIMS_AT_STRING = _since(14, "tokens of a step behind a stop string are dropped")
    SCORES_TRIMMED = _since(10, "scores end with the kept tokens; before, those of dropped ones were told too")
    BODY_BY_ORJSON = _since(17, "request bodies are parsed by orjson, whose words show in refusals")
    NATIVE_BY_ORJSON = _since(10, "whole /generate answers are written by orjson (0.00001), before by Python (1e-05)")
    TEMPERATURE_FINITE = _since(17, "temperature must be a non-negative finite number")
    REPETITION_ABOVE_ZERO = _since(12, "repetition_penalty 0 is refused")
    GRAMMARS_FOUR = _since(17, "the refusal of two grammars names structural_tag")
    SEED_RANGED = _since(21, "sampling_seed has 64 bits")
    NULL_PARAMETERS = _since(12, "null sampling parameters mean their defaults; before, they crash /generate")
    STOPS_COUNTED = _since(20, "at most 32 stop strings and patterns")
    VOCABULARY_CHECKED = _since(17, "token_ids_logprob outside the vocabulary is refused")
    FLAT_TOPS = _since(15, "return_flat_raw_top_logprobs")

    # OpenAI routes
    MEDIA_REFUSED = _since(17, "a text model refuses images, videos and audio")
    TEMPLATE_REFUSED = _since(21, "a chat template in the request is refused")
    MESSAGE_TOOLS = _since(17, "tools in messages count; names must be unique")
    FORCED_ALONE = _since(18, "a forced tool choice refuses another grammar beside it")
    TOOLS_FLAT = _until(9, "templates get bare functions as tools")
    CHAT_PROMPT_IDS = _since(13, "chat return_prompt_token_ids, return_meta_info and input_ids")
    RETURN_TOKEN_IDS = _since(17, "return_token_ids on chat and completions")
    CHAT_FIELD_TOKEN_IDS = Span((0, 5, 17), (0, 5, 18), "the chat field is token_ids (response_token_ids from 0.5.18)")
    SGLEXT_IDS = _since(20, "ids in sglext: request fields, headers, server flags")
    SGLEXT_CACHED = _since(10, "sglext.cached_tokens_details")
    SPEC_DETAILS = _since(19, "sglext.spec_tokens_details")
    PYDANTIC_DELTAS = _until(11, "chat deltas write every member, with nulls, and usage")
    REFUSES_BEFORE_STREAM = _since(10, "what fails before the first token is a plain 400, not an event")
    STREAM_ERRORS = _since(10, "an engine failure in a stream is an error event; before, finish_reason abort")
    PARSER_KEEPS_SCORES = _since(15, "chat streams keep the scores of reasoning and tool chunks")
    EMPTY_CONTENT_IS_TEXT = _since(13, 'an empty message has content "" instead of null')
    TOOL_CALLS_OMITTED = _since(22, "message.tool_calls is absent, not null, without calls")
    TRUE_BYTES = _since(21, "bytes of fragments are true; completions spell fragments in Latin-1")
    TOPS_BY_TEXT = _until(21, "chat alternatives with one text collapse into one")
    STREAM_TOPS_OF_FIRST = _until(21, "every token of a streamed step shows the alternatives of the step's first")
    JSON_BY_PYDANTIC = _since(22, "JSON answers are written by pydantic (0.00001), before by Python (1e-05)")
    STOP_ID_ZERO_STAYS = _until(20, "a stop token with the id 0 is not cut off")
    ECHO_SWALLOWS = _until(10, "a completion stream leaves out as many characters as its echo had")
    LOGPROBS_NEED_TOPS = _until(6, "completions with logprobs 0 fail with an internal error")
    ECHO_NEEDS_TOPS = _until(21, "completions with echo and logprobs 0 fail with an internal error")
    CANDIDATES_JOINED = _until(10, "beside transformers 5 (they ask for 4) the texts of a list of candidates are one")
    COMPLETION_DETAILS = _since(23, "usage.completion_tokens_details")
    USAGE_REASONING = _since(1, "usage.reasoning_tokens")
    CONTINUOUS_USAGE_CACHED = _since(17, "continuous usage tells cached tokens under --enable-cache-report")
    DEFAULT_INCLUDE_USAGE = _since(10, "--stream-response-default-include-usage")
    TOOL_SEPARATOR_FIRST = _since(9, "a separator behind a call is looked for before the marker of a call")
    TOOL_SEPARATOR_FALLBACK = _since(10, "a separator that no JSON follows falls back to the marker of a call")
    TOOL_STATE_CLEARED = _until(6, "a streamed call is forgotten when it is complete")
    TOOL_ARGUMENTS_ESCAPED = _until(9, "streamed arguments are ASCII with escapes")
    TOOL_EMPTY_ARGUMENTS = _since(12, "empty arguments are told in streams")
    TOOL_DICTS = _since(9, "llama3 reads Python dicts, mistral its compact calls")
    TOOL_HERMES = _since(9, "the tool parser hermes")
    TOOL_COMPACT_ALL = _since(10, "mistral reads all compact calls of a whole answer")
    TOOL_INDEX_ABSENT = _until(9, "calls of whole answers have index -1")
    TOOL_INDEX_POSITION = Span((0, 5, 9), (0, 5, 21), "calls of whole answers have the index of their tool")
    TOOL_MARKER_IS_CALL = _until(17, "a marker without a call ends in tool_calls and keeps its text")
    TOOL_FORCED_JSON = _until(12, "a forced tool choice is read as a JSON array")
    TOOL_FORCED_EITHER = Span(
        (0, 5, 12), (0, 5, 20), "a forced tool choice is read in the parser's format, else as JSON"
    )
    TOOL_ARRAY_DRAINED = _since(21, "a JSON array of calls is drained at the end of a stream")
    EFFORT_NONE = _since(10, "reasoning_effort none switches thinking off")
    EFFORT_SWITCHES_ON = _since(17, "every other reasoning_effort switches thinking on")
    EFFORT_SHARES = _since(17, "reasoning_effort may be a share")
    ENABLED_FOR_ALL = _since(12, "reasoning.enabled sets enable_thinking beside thinking")
    REASONING_BY_DEFAULT = _since(9, "answers begin as reasoning unless the template variable switches it off")
    REASONING_CONTINUED = _since(9, "an answer that continues a message continues its reasoning")
    REASONING_NONEMPTY = _since(
        17, "the template variable force_nonempty_content makes reasoning without content content"
    )
    REASONING_STRIPPED = _until(13, "blanks around reasoning and content are cut off, every opening marker is dropped")
    REASONING_BEGINS_ONCE = _since(12, "streams drop one opening marker; before, every one of that step")
    REASONING_HELD = _since(18, "an end of reasoning that may be a marker's beginning waits")
    REASONING_FLUSH = _since(17, "what is held back is handed out when the answer ends")

    COMPLETION_TOKENS_FIRST = _since(9, "max_completion_tokens goes before max_tokens; before, max_tokens, if not 0")
    TEXT_OR_IMAGE = _until(21, "/encode names fewer kinds of input")
    VERTEX_BARE = Span((0, 5, 10), (0, 5, 18), "/vertex_generate answers like /generate, without predictions around it")
    NO_EMPTY_TEXT = _until(21, "an empty text is refused where it would be tokenized")
    HIDDEN_STATES_MODES = _since(17, "--return-hidden-states-mode; before, hidden states are refused in other words")
    CONTEXT_MAY_BE_FILLED = _since(12, "prompt and max_new_tokens together may be as long as the context")
    FLAT_OUTPUT = _since(21, "return_flat_raw_output_top_logprobs")
    ONE_KEY_FOR_ONE = _since(18, "extra_key and cache_salt of a single request are one word")
    LABELS_REQUIRED = _since(12, "/v1/score says for which models labels are required")

    # routes
    MODELS_PARENT = _since(6, "/v1/models tells parent")
    MODEL_INFO = _since(6, "/model_info and /server_info beside their get_ names")
    MODEL_INFO_UNDERSTANDING = _since(6, "model_info tells has_image/audio_understanding")
    MODEL_INFO_ARCHITECTURES = _since(9, "model_info tells model_type and architectures")
    MODEL_INFO_EMBEDDING = _since(17, "model_info tells the embedding plan")
    MODEL_INFO_SERVED_NAME = _since(18, "model_info tells served_model_name, load_format and parsers")
    MODEL_INFO_NO_PREFILL_BACKEND = _since(19, "model_info: the embedding plan has prefill_backend disabled")
    MODEL_INFO_DISAGGREGATION = _since(21, "model_info tells disaggregation_mode")
    TOKENIZE = _since(4, "/tokenize, /detokenize and their /v1 names")
    TOKENIZE_MESSAGES = _since(12, "/tokenize takes messages")
    MESSAGES = _since(9, "/v1/messages")
    MESSAGES_PASS_KIND = _since(17, "/v1/messages tells the kind of the chat route's refusal, not Anthropic's")
    MESSAGES_THINK = _since(17, "/v1/messages tells thinking; before, no reasoning, and an answer may be empty")
    MESSAGES_COUNT_AT_START = _since(17, "/v1/messages streams tell input tokens at the start, index before content")
    OLLAMA = _since(7, "/api/chat and its sisters; GET / answers")
    READY = _since(20, "GET /ready")
    PAUSE_MODES = _since(6, "/pause_generation has a mode; before, it always aborts")
    WEIGHT_UPDATE_BRACKETS = _since(21, "/begin_weight_update and /end_weight_update")
    LOADS = _since(9, "/v1/loads")
    LOADS_SUMMED = _until(13, "/v1/loads tells aggregates and how many ranks there are")
    LOADS_ACCELERATOR = _since(17, "/v1/loads tells the accelerator")
    GET_LOAD = _until(21, "/get_load")
    GET_LOAD_TICK = _since(9, "/get_load tells a tick")
    GET_LOAD_PENDING = _since(12, "/get_load tells pending tokens")
    CONTROL_BY_MSGSPEC = _since(17, "control inputs are msgspec structs, refused twice")
    GREETING = _since(10, 'GET / says "SGLang is running"; before, "Ollama is running"')

    # /v1/responses
    RESPONSES = _since(1, "/v1/responses")
    RESPONSES_FAIL = _since(17, "a /v1/responses stream that the engine refuses tells so; before, it is cut")
    RESPONSES_DELTAS = _since(14, "/v1/responses streams text deltas for ordinary models")
    RESPONSES_USAGE = _since(18, "/v1/responses: own usage shape, logprobs, incomplete status")
    RESPONSES_CANCEL = _since(18, "/v1/responses/{id}/cancel gives a response that is over; before, it refuses")
    RESPONSES_FAILED = _since(20, "/v1/responses tell an abort as error, and end by an event of that name")
    RESPONSES_STORE = _since(20, "/v1/responses keeps answers only under --enable-response-store; items have a phase")
    RESPONSES_ENVELOPE = _since(21, "/v1/responses events carry SGLang's own response object; no budget of its own")
    RESPONSES_LOOSE_ITEMS = _since(17, "/v1/responses takes items of any shape")
    RESPONSES_UNKNOWN_MODEL = _since(20, "/v1/responses answers 404 for an unknown model")

    @property
    def span(self) -> Span:
        return self.value


@dataclass(frozen=True, slots=True)
class Traits:
    """Everything that is true of one version."""

    version: Version
    held: frozenset[Trait]

    @classmethod
    def of(cls, version: Version) -> Traits:
        """As installed with the libraries that the version asks for."""
        held = frozenset(trait for trait in Trait if trait.span.holds(version))
        return cls(version, held - {Trait.CANDIDATES_JOINED})

    def beside(self, transformers: int) -> Traits:
        """With another major version of transformers."""
        joined = Trait.CANDIDATES_JOINED
        if transformers <= 4 or not joined.span.holds(self.version):
            return self
        return replace(self, held=self.held | {joined})

    def has(self, trait: Trait) -> bool:
        return trait in self.held

    @property
    def text(self) -> str:
        return ".".join(map(str, self.version))
