"""`instructor`, unchanged, against a running server: its modes that use JSON Schema, JSON and tools."""

import os

import instructor
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, Field

from checks import API_KEY, BASE_URL, TEXT, check, run

plain = OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0)
MODEL = os.environ.get("STRUCTGEN_MODEL") or plain.models.list().data[0].id


class Person(BaseModel):
    name: str
    city: str = Field(description="where the person lives")


MESSAGES = [{"role": "user", "content": TEXT}]


def with_mode(mode: instructor.Mode):
    return instructor.from_openai(plain, mode=mode)


def creates(mode: instructor.Mode) -> None:
    found = with_mode(mode).create(model=MODEL, messages=MESSAGES, response_model=Person, max_retries=1)
    assert isinstance(found, Person) and found.name


@check
def tools_give_a_type():
    creates(instructor.Mode.TOOLS)


@check
def json_schema_gives_a_type():
    creates(instructor.Mode.JSON_SCHEMA)


@check
def strict_tools_give_a_type():
    creates(instructor.Mode.TOOLS_STRICT)


@check
def a_type_is_streamed_in_parts():
    client = with_mode(instructor.Mode.JSON_SCHEMA)
    parts = list(client.create_partial(model=MODEL, messages=MESSAGES, response_model=Person))
    assert len(parts) > 1 and parts[-1].name


@check
def several_values_are_streamed():
    client = with_mode(instructor.Mode.TOOLS)
    people = list(client.create_iterable(model=MODEL, messages=MESSAGES, response_model=Person))
    assert all(isinstance(it, Person) for it in people)


@check
def the_raw_answer_comes_with_the_value():
    client = with_mode(instructor.Mode.JSON_SCHEMA)
    found, raw = client.create_with_completion(model=MODEL, messages=MESSAGES, response_model=Person)
    assert isinstance(found, Person) and raw.usage.completion_tokens > 0


@check
async def the_asynchronous_client_works():
    client = instructor.from_openai(
        AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0), mode=instructor.Mode.JSON_SCHEMA
    )
    found = await client.create(model=MODEL, messages=MESSAGES, response_model=Person)
    assert isinstance(found, Person)


run()
