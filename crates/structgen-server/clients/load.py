"""Many clients at once against a running server: throughput, times to the first token and between tokens, memory.

    python3 load.py --url http://127.0.0.1:8080 --clients 200 --seconds 600 --pid $(pgrep -x structgen)

Each client sends one request after another, of a mix of kinds: short and long extractions, streams, streams that are left in the
middle, and free text. A reply that is neither an answer nor a stated refusal (429 or 503 with an error object) is an error, and the
exit code is then 1. Needs nothing but Python.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from urllib.parse import urlparse

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "city": {"type": ["string", "null"]},
        "age": {"type": "integer"},
        "topics": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "required": ["name", "city", "age", "topics"],
}
SENTENCES = [
    "Mara Vogel is 41 and lives in Bremen.",
    "She met Jonas Weber, 36, at the station in Utrecht.",
    "They talked about bridges, bread and the weather.",
    "The train left at half past nine from platform 4.",
    "Tickets were 17.50 euros each, and the seats were taken.",
]


class Figures:
    def __init__(self):
        self.kinds = {}
        self.refused = 0
        self.errors = {}
        self.tokens = 0
        self.first = []
        self.between = []

    def done(self, kind):
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def error(self, what):
        self.errors[what] = self.errors.get(what, 0) + 1


def request(kind, draw, most, model, plain):
    long = kind == "long"
    text = " ".join(draw.choices(SENTENCES, k=40 if long else draw.randint(1, 4)))
    body = {"messages": [{"role": "user", "content": text}]}
    if model:
        body["model"] = model
    if kind == "free":
        body["max_tokens"] = draw.choice([8, 32, 64])
    elif not plain:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "person", "schema": SCHEMA},
        }
    if most:
        body["max_tokens"] = min(most, body.get("max_tokens", most))
    if kind in ("stream", "leave"):
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


async def send(url, key, body, figures, kind, draw):
    """One request on a connection of its own."""
    data = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {url.netloc}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(data)}\r\nconnection: close\r\n"
        )
        if key:
            head += f"authorization: Bearer {key}\r\n"
        started = time.monotonic()
        writer.write(head.encode() + b"\r\n" + data)
        await writer.drain()
        status = int((await reader.readline()).split()[1])
        while (await reader.readline()).strip():
            pass
        if status in (429, 503):
            figures.refused += 1
            await asyncio.sleep(0.5)
            return
        if status != 200:
            figures.error(f"status {status}")
            return
        if body.get("stream"):
            await read_stream(reader, started, figures, kind, draw, "response_format" in body)
        else:
            reply = json.loads(await reader.read())
            figures.tokens += reply["usage"]["completion_tokens"]
            if "response_format" in body:
                json.loads(reply["choices"][0]["message"]["content"])
        figures.done(kind)
    finally:
        writer.close()


async def read_stream(reader, started, figures, kind, draw, is_json):
    leave_after = draw.randint(1, 6) if kind == "leave" else None
    last, chunks, text, ended = started, 0, "", False
    while line := await reader.readline():
        if not line.startswith(b"data: "):
            continue
        if line.strip() == b"data: [DONE]":
            ended = True
            break
        chunk = json.loads(line[6:])
        if "error" in chunk:
            figures.error(f"in a stream: {chunk['error'].get('code')}")
            return
        now = time.monotonic()
        if usage := chunk.get("usage"):
            figures.tokens += usage["completion_tokens"]
        for choice in chunk["choices"]:
            if piece := choice["delta"].get("content"):
                (figures.between if chunks else figures.first).append(now - last)
                last, chunks, text = now, chunks + 1, text + piece
        if leave_after and chunks >= leave_after:
            return
    if not ended:
        figures.error("a stream without an end")
    elif is_json:
        json.loads(text)


async def client(number, args, url, figures, until):
    draw = random.Random(number)
    kinds = ["short"] * 4 + ["stream"] * 3 + ["leave"] * 2 + ["long", "free"]
    while time.monotonic() < until:
        kind = draw.choice(kinds)
        try:
            await send(url, args.key, request(kind, draw, args.max_tokens, args.model, args.plain), figures, kind, draw)
        except Exception as error:  # Whatever it is, it is counted.
            figures.error(f"{type(error).__name__}: {error}")
            await asyncio.sleep(0.2)


def resident(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        return None


async def watch(pid, seconds, samples):
    for _ in range(20):
        await asyncio.sleep(seconds / 20)
        samples.append(resident(pid))


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000 if values else float("nan")


async def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--key")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--max-tokens", type=int, help="for models that do not end by themselves")
    parser.add_argument("--model", help="for servers that do not know a model by themselves")
    parser.add_argument("--plain", action="store_true", help="free text alone, for a comparison with servers that know no constraints")
    parser.add_argument("--pid", type=int, help="the server's process, whose memory is shown")
    args = parser.parse_args()
    url, figures, memory = urlparse(args.url), Figures(), []
    started = time.monotonic()
    until = started + args.seconds
    jobs = [client(number, args, url, figures, until) for number in range(args.clients)]
    if args.pid:
        jobs.append(watch(args.pid, args.seconds, memory))
    await asyncio.gather(*jobs)
    took = time.monotonic() - started
    total = sum(figures.kinds.values())
    print(f"{args.clients} clients, {took:.0f} s: {total} requests done {figures.kinds}, {figures.refused} refused")
    print(f"{total / took:.1f} requests/s, {figures.tokens / took:.0f} tokens/s of answers that were read to their ends")
    for name, values in (("first token", figures.first), ("between tokens", figures.between)):
        shown = ", ".join(f"p{int(share * 100)} {quantile(values, share):.0f}" for share in (0.5, 0.9, 0.99))
        print(f"{name}, ms: {shown} ({len(values)} values)")
    if memory:
        print("resident memory, MB: " + " ".join("?" if it is None else f"{it:.0f}" for it in memory))
    print(f"errors: {figures.errors or 'none'}")
    return 1 if figures.errors else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
