"""Ray Data over a running server: a column of texts, whose values are extracted batch by batch by `/v1/extract`.

On a Ray cluster, `STRUCTGEN_URL` is a server that all machines reach: one on each (`http://127.0.0.1:8080`), or a balancer.
"""

import json
import urllib.request

import pyarrow
import ray

from checks import API_KEY, BASE_URL, TEXT, check, run

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}},
    "required": ["name", "city"],
}
TEXTS = [TEXT, "Ada Lovelace lives in London.", "Jo Lund, from Bergen, called.", "Ines Roth moved to Porto."] * 25


def extracted(batch: pyarrow.Table) -> pyarrow.Table:
    """The batch with the values of its texts, and what was wrong with those that have none."""
    texts = batch.column("text").to_pylist()
    request = urllib.request.Request(
        f"{BASE_URL}/extract",
        json.dumps({"schema": SCHEMA, "texts": texts}).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {API_KEY}"},
    )
    with urllib.request.urlopen(request, timeout=600) as reply:
        items = json.load(reply)["data"]
    # Items come in the order of their texts.
    errors = [it["error"]["message"] if "error" in it else None for it in items]
    batch = batch.append_column("error", pyarrow.array(errors, pyarrow.string()))
    for key in SCHEMA["properties"]:
        values = [it["value"][key] if "value" in it else None for it in items]
        batch = batch.append_column(key, pyarrow.array(values, pyarrow.string()))
    return batch


def rows(texts: list[str], batch: int) -> list[dict]:
    table = ray.data.from_arrow(pyarrow.table({"id": range(len(texts)), "text": texts}))
    found = table.map_batches(extracted, batch_format="pyarrow", batch_size=batch, compute=ray.data.TaskPoolStrategy(size=2))
    return sorted(found.take_all(), key=lambda row: row["id"])


@check
def a_column_of_texts_becomes_columns_of_values():
    found = rows(TEXTS, 16)
    assert [it["id"] for it in found] == list(range(len(TEXTS)))
    assert all(it["name"] and it["city"] and it["error"] is None for it in found), found[:4]
    # A row's values do not depend on what it shares a batch with.
    assert found == rows(TEXTS, 7)


@check
def a_text_that_is_refused_has_its_error_in_its_row():
    found = rows(["Ada Lovelace lives in London.", "", "Jo Lund, from Bergen, called."], 3)
    assert found[0]["name"] and found[2]["name"]
    assert found[1]["error"] or found[1]["name"] is not None, found[1]


ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning")
ray.data.DataContext.get_current().enable_progress_bars = False
run()
