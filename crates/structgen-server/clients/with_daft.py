"""Daft's `prompt`, unchanged, against a running server: a column of texts, over responses (its default) and over chat
completions."""

import os

import daft
from daft.ai.openai.provider import OpenAIProvider
from daft.functions import prompt
from openai import OpenAI
from pydantic import BaseModel

from checks import API_KEY, BASE_URL, TEXT, check, run

MODEL = os.environ.get("STRUCTGEN_MODEL") or OpenAI(base_url=BASE_URL, api_key=API_KEY).models.list().data[0].id
provider = OpenAIProvider(base_url=BASE_URL, api_key=API_KEY)
TEXTS = [TEXT, "Ada Lovelace lives in London.", "Jo Lund, from Bergen, called."] * 4


class Person(BaseModel):
    name: str
    city: str


def person(**options) -> daft.Expression:
    return prompt(daft.col("text"), return_format=Person, provider=provider, model=MODEL, **options)


@check
def a_column_of_texts_becomes_values():
    # One query: Daft 0.7.26 hangs now and then in a later query of the same process, with every request answered.
    frame = daft.from_pydict({"text": TEXTS})
    frame = frame.with_columns({"responses": person(), "chat": person(use_chat_completions=True)})
    found = frame.to_pydict()
    assert len(found["responses"]) == len(TEXTS)
    assert all(it["name"] and it["city"] for it in found["responses"]), found
    assert found["responses"] == found["chat"]


run()
