"""`pydantic-ai`, unchanged, against a running server: output by tools and by JSON Schema, streamed and not, over chat
completions and responses."""

import os

from openai import OpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from checks import API_KEY, BASE_URL, TEXT, check, run

MODEL = os.environ.get("STRUCTGEN_MODEL") or OpenAI(base_url=BASE_URL, api_key=API_KEY).models.list().data[0].id
provider = OpenAIProvider(base_url=BASE_URL, api_key=API_KEY)
chat = OpenAIChatModel(MODEL, provider=provider)
responses = OpenAIResponsesModel(MODEL, provider=provider)


class Person(BaseModel):
    name: str
    city: str


async def finds(agent: Agent) -> None:
    result = await agent.run(TEXT)
    assert isinstance(result.output, Person) and result.output.name
    assert result.usage.output_tokens > 0


@check
async def a_tool_gives_the_output():
    await finds(Agent(chat, output_type=ToolOutput(Person)))


@check
async def a_schema_gives_the_output():
    await finds(Agent(chat, output_type=NativeOutput(Person)))


@check
async def a_schema_gives_the_output_of_a_response():
    await finds(Agent(responses, output_type=NativeOutput(Person)))


@check
async def a_tool_gives_the_output_of_a_response():
    await finds(Agent(responses, output_type=ToolOutput(Person)))


@check
async def an_output_is_streamed():
    for model in (chat, responses):
        async with Agent(model, output_type=NativeOutput(Person)).run_stream(TEXT) as result:
            outputs = [output async for output in result.stream_output(debounce_by=None)]
        assert outputs and isinstance(outputs[-1], Person)


@check
async def settings_are_understood():
    agent = Agent(chat, output_type=NativeOutput(Person))
    settings = {"temperature": 0.5, "top_p": 0.9, "seed": 3, "max_tokens": 100, "presence_penalty": 0.1}
    first = await agent.run(TEXT, model_settings=settings)
    second = await agent.run(TEXT, model_settings=settings)
    assert first.output == second.output


run()
