"""The official `openai` package for Python, unchanged, against a running server."""

import json
import math
import os
import re

import openai
from openai import OpenAI
from pydantic import BaseModel

from checks import API_KEY, BASE_URL, TEXT, check, run

client = OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0)
MODEL = os.environ.get("STRUCTGEN_MODEL") or client.models.list().data[0].id


class Contact(BaseModel):
    name: str
    phone: str
    city: str | None


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}},
    "required": ["name", "city"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}
MESSAGES = [{"role": "user", "content": TEXT}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "save_person",
            "description": "Saves a person",
            "parameters": SCHEMA,
            "strict": True,
        },
    },
    {
        "type": "function",
        "function": {
            "name": "dial",
            "parameters": {
                "type": "object",
                "properties": {"phone": {"type": "string"}},
                "required": ["phone"],
                "additionalProperties": False,
            },
        },
    },
]


def person(text: str) -> dict:
    value = json.loads(text)
    assert set(value) == {"name", "city"}, value
    assert all(isinstance(it, str) for it in value.values()), value
    return value


@check
def models_are_listed_and_found():
    model = client.models.retrieve(MODEL)
    assert model.id == MODEL and model.object == "model" and model.owned_by
    assert MODEL in [it.id for it in client.models.list()]


@check
def a_chat_answers_in_text():
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_completion_tokens=8)
    assert answer.object == "chat.completion" and answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage.completion_tokens <= 8
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


@check
def a_response_format_holds():
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, response_format=FORMAT)
    person(answer.choices[0].message.content)
    assert answer.choices[0].finish_reason == "stop"
    assert answer.system_fingerprint


@check
def any_json_is_a_response_format():
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, response_format={"type": "json_object"}, max_tokens=60
    )
    assert isinstance(json.loads(answer.choices[0].message.content), dict)


@check
def a_type_is_parsed():
    answer = client.chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Contact)
    assert isinstance(answer.choices[0].message.parsed, Contact)


@check
def json_is_complete_at_max_tokens():
    schema = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "note", "schema": schema}}
    for most in range(12, 40, 3):
        answer = client.chat.completions.create(
            model=MODEL, messages=MESSAGES, response_format=wanted, max_tokens=most, temperature=1, seed=most
        )
        assert answer.usage.completion_tokens <= most
        assert "note" in json.loads(answer.choices[0].message.content)


@check
def a_budget_that_is_too_small_is_refused_before_the_first_token():
    try:
        client.chat.completions.create(model=MODEL, messages=MESSAGES, response_format=FORMAT, max_tokens=1)
    except openai.BadRequestError as error:
        assert error.param in ("max_tokens", "max_completion_tokens"), error.param
        assert any(character.isdigit() for character in error.message), error.message
    else:
        raise AssertionError("it was accepted")


@check
def a_stream_equals_the_whole_answer():
    whole = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, response_format=FORMAT, temperature=0
    )
    text, reasons, usage, roles = "", [], [], []
    chunks = client.chat.completions.create(
        model=MODEL,
        messages=MESSAGES,
        response_format=FORMAT,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in chunks:
        assert chunk.object == "chat.completion.chunk"
        if chunk.usage:
            assert chunk.choices == []
            usage.append(chunk.usage)
            continue
        choice = chunk.choices[0]
        roles += [choice.delta.role] if choice.delta.role else []
        reasons += [choice.finish_reason] if choice.finish_reason else []
        text += choice.delta.content or ""
    assert text == whole.choices[0].message.content
    assert roles == ["assistant"] and reasons == ["stop"]
    assert [it.completion_tokens for it in usage] == [whole.usage.completion_tokens]


@check
def the_stream_helper_sees_typed_events():
    kinds = set()
    with client.chat.completions.stream(model=MODEL, messages=MESSAGES, response_format=Contact) as stream:
        for event in stream:
            kinds.add(event.type)
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds, kinds
    assert isinstance(final.choices[0].message.parsed, Contact)


@check
def a_required_tool_is_called():
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, tools=TOOLS, tool_choice="required", parallel_tool_calls=False
    )
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert call.id and call.type == "function" and call.function.name in ("save_person", "dial")
    assert isinstance(json.loads(call.function.arguments), dict)


@check
def a_named_tool_is_called():
    answer = client.chat.completions.create(
        model=MODEL,
        messages=MESSAGES,
        tools=TOOLS,
        tool_choice={"type": "function", "function": {"name": "save_person"}},
    )
    (call,) = answer.choices[0].message.tool_calls
    assert call.function.name == "save_person"
    person(call.function.arguments)


@check
def a_tool_call_is_streamed():
    names, arguments, reasons = [], "", []
    chunks = client.chat.completions.create(
        model=MODEL,
        messages=MESSAGES,
        tools=TOOLS,
        tool_choice={"type": "function", "function": {"name": "save_person"}},
        stream=True,
    )
    for chunk in chunks:
        choice = chunk.choices[0]
        reasons += [choice.finish_reason] if choice.finish_reason else []
        for call in choice.delta.tool_calls or []:
            assert call.index == 0
            names += [call.function.name] if call.function.name else []
            arguments += call.function.arguments or ""
    assert names == ["save_person"]
    assert reasons in (["tool_calls"], ["stop"]), reasons
    person(arguments)


@check
def a_conversation_with_results_of_tools_goes_on():
    call = {"id": "call_1", "type": "function", "function": {"name": "dial", "arguments": '{"phone":"0606300391"}'}}
    messages = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "busy"},
        {"role": "user", "content": TEXT},
    ]
    answer = client.chat.completions.create(model=MODEL, messages=messages, response_format=FORMAT)
    person(answer.choices[0].message.content)


@check
def no_tool_is_called_where_none_is_allowed():
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, tools=TOOLS, tool_choice="none", max_tokens=8
    )
    assert not answer.choices[0].message.tool_calls


@check
def several_answers_have_their_indices():
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, response_format=FORMAT, n=3, temperature=1.5, seed=3
    )
    assert [it.index for it in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        person(choice.message.content)
    texts = ["", "", ""]
    for chunk in client.chat.completions.create(
        model=MODEL, messages=MESSAGES, response_format=FORMAT, n=3, temperature=1.5, seed=3, stream=True
    ):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == [it.message.content for it in answer.choices]


@check
def a_seed_decides():
    def draw(seed: int) -> str:
        answer = client.chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=24, temperature=1.5, seed=seed
        )
        return answer.choices[0].message.content

    assert draw(5) == draw(5)
    assert len({draw(seed) for seed in range(5)}) > 1


@check
def log_probabilities_are_listed():
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, response_format=FORMAT, logprobs=True, top_logprobs=3, temperature=0
    )
    content = answer.choices[0].logprobs.content
    assert len(content) == answer.usage.completion_tokens
    text = b"".join(bytes(it.bytes or []) for it in content).decode()
    assert text.startswith(answer.choices[0].message.content), text
    for token in content:
        assert token.logprob <= 0 and len(token.top_logprobs) <= 3
        assert sum(math.exp(it.logprob) for it in token.top_logprobs) < 1.001
    assert any(it.top_logprobs for it in content)


@check
def a_stream_lists_the_same_log_probabilities():
    asked = dict(
        model=MODEL, messages=MESSAGES, response_format=FORMAT, logprobs=True, top_logprobs=2, temperature=0
    )
    whole = client.chat.completions.create(**asked).choices[0].logprobs.content
    streamed = []
    for chunk in client.chat.completions.create(**asked, stream=True):
        if chunk.choices and chunk.choices[0].logprobs:
            streamed += chunk.choices[0].logprobs.content
    assert [it.token for it in streamed] == [it.token for it in whole]
    assert all(abs(a.logprob - b.logprob) < 1e-3 for a, b in zip(streamed, whole))


@check
def a_stop_string_ends_the_answer():
    def write(stop: list[str] | None) -> tuple[str, str]:
        answer = client.chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=24, temperature=1.2, seed=1, stop=stop
        )
        return answer.choices[0].message.content, answer.choices[0].finish_reason

    whole, _ = write(None)
    stop = whole[len(whole) // 2 :][:3]
    text, reason = write([stop])
    assert text == whole[: whole.index(stop)] and reason == "stop"


@check
def extra_constraints_hold():
    for outputs, pattern in [({"choice": ["red", "green"]}, r"red|green"), ({"regex": "[0-9]{3}"}, r"[0-9]{3}")]:
        answer = client.chat.completions.create(
            model=MODEL, messages=MESSAGES, extra_body={"structured_outputs": outputs}
        )
        assert re.fullmatch(pattern, answer.choices[0].message.content)


@check
def a_report_is_given_on_request():
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, response_format=FORMAT, extra_body={"structgen": {"report": True}}
    )
    report = answer.choices[0].model_extra["structgen"]["report"]
    assert {it["pointer"] for it in report["fields"]} == {"/name", "/city"}


@check
def unknown_fields_are_refused_by_name():
    try:
        client.chat.completions.create(model=MODEL, messages=MESSAGES, extra_body={"colour": "red"})
    except openai.BadRequestError as error:
        assert error.param == "colour" and "colour" in error.message
    else:
        raise AssertionError("it was accepted")


@check
def an_unknown_model_is_not_found():
    try:
        client.chat.completions.create(model="no-such-model", messages=MESSAGES)
    except openai.NotFoundError as error:
        assert error.code == "model_not_found", error.code
    else:
        raise AssertionError("it was accepted")


@check
def an_invalid_schema_is_refused_with_its_place():
    schema = {"type": "object", "properties": {"a": {"type": "strin"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    try:
        client.chat.completions.create(model=MODEL, messages=MESSAGES, response_format=wanted)
    except openai.BadRequestError as error:
        assert "/properties/a" in f"{error.param} {error.message}", error
    else:
        raise AssertionError("it was accepted")


@check
def a_bare_prompt_is_completed():
    answer = client.completions.create(model=MODEL, prompt=["One", "Two"], max_tokens=4, logprobs=2)
    assert answer.object == "text_completion" and [it.index for it in answer.choices] == [0, 1]
    assert len(answer.choices[0].logprobs.tokens) <= 4
    text = "".join(it.choices[0].text for it in client.completions.create(model=MODEL, prompt="One", max_tokens=4, stream=True, temperature=0))
    whole = client.completions.create(model=MODEL, prompt="One", max_tokens=4, temperature=0)
    assert text == whole.choices[0].text


RESPONSE_FORMAT = {"format": {"type": "json_schema", "name": "person", "strict": True, "schema": SCHEMA}}


@check
def a_response_holds_its_format():
    response = client.responses.create(model=MODEL, input=TEXT, text=RESPONSE_FORMAT)
    assert response.object == "response" and response.status == "completed"
    person(response.output_text)
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


@check
def a_response_is_parsed():
    response = client.responses.parse(model=MODEL, input=TEXT, text_format=Contact)
    assert isinstance(response.output_parsed, Contact)


@check
def a_response_streams_typed_events():
    events = list(client.responses.create(model=MODEL, input=TEXT, text=RESPONSE_FORMAT, stream=True, temperature=0))
    kinds = [it.type for it in events]
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    for kind in (
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ):
        assert kind in kinds, kind
    numbers = [it.sequence_number for it in events]
    assert numbers == list(range(len(numbers)))
    text = "".join(it.delta for it in events if it.type == "response.output_text.delta")
    assert text == events[-1].response.output_text
    person(text)


@check
def the_stream_helper_parses_responses():
    with client.responses.stream(model=MODEL, input=TEXT, text_format=Contact) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_response().output_parsed, Contact)


@check
def a_response_calls_tools():
    tools = [{"type": "function", "name": "save_person", "parameters": SCHEMA, "strict": True}]
    response = client.responses.create(model=MODEL, input=TEXT, tools=tools, tool_choice="required")
    (call,) = [it for it in response.output if it.type == "function_call"]
    assert call.name == "save_person" and call.call_id
    person(call.arguments)
    kinds = [it.type for it in client.responses.create(model=MODEL, input=TEXT, tools=tools, tool_choice="required", stream=True)]
    assert "response.function_call_arguments.delta" in kinds and "response.function_call_arguments.done" in kinds


@check
def responses_are_kept_continued_and_deleted():
    first = client.responses.create(model=MODEL, input=TEXT, text=RESPONSE_FORMAT)
    assert client.responses.retrieve(first.id).output_text == first.output_text
    second = client.responses.create(
        model=MODEL, input=TEXT, text=RESPONSE_FORMAT, previous_response_id=first.id, instructions="Be brief."
    )
    assert second.previous_response_id == first.id
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
    except openai.NotFoundError:
        pass
    else:
        raise AssertionError("it is still there")
    unkept = client.responses.create(model=MODEL, input=TEXT, text=RESPONSE_FORMAT, store=False)
    try:
        client.responses.retrieve(unkept.id)
    except openai.NotFoundError:
        pass
    else:
        raise AssertionError("it was kept")


@check
def a_client_that_leaves_disturbs_nobody():
    stream = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=64, stream=True)
    next(iter(stream))
    stream.close()
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, response_format=FORMAT)
    person(answer.choices[0].message.content)


run()
