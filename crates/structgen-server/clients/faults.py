"""Clients that misbehave, against a server with the embedded model: what becomes of each, and of everybody else.

    structgen serve & python3 faults.py --url http://127.0.0.1:8080 --pid $!

While one client asks properly, others leave in mid-stream, read slowly, stop in the middle of a request, send bodies that are too
large and schemas beyond limits, and 10,000 come at once; at last the server is asked to stop while it is under load. A line is
printed for each, and the exit code is 1 where one does not come to what it should. Needs nothing but Python, and as many file
handles as connections (ulimit -n).
"""

import argparse
import asyncio
import collections
import json
import os
import signal
import socket
import sys
import time
from urllib.parse import urlparse

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}


def ask(**fields):
    body = {"messages": [{"role": "user", "content": "Mara Vogel is 41 and lives in Bremen."}]}
    return body | fields


PROPER = ask(response_format={"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}})
LONG = ask(stream=True, ignore_eos=True, max_tokens=2000, temperature=1.5)


class Target:
    def __init__(self, args):
        self.url, self.key = urlparse(args.url), args.key

    def head(self, body, length=None, path="/v1/chat/completions"):
        key = f"authorization: Bearer {self.key}\r\n" if self.key else ""
        length = len(body) if length is None else length
        head = (
            f"POST {path} HTTP/1.1\r\nhost: {self.url.netloc}\r\ncontent-type: application/json\r\n{key}"
            f"content-length: {length}\r\nconnection: close\r\n\r\n"
        )
        return head.encode()

    async def open(self):
        return await asyncio.open_connection(self.url.hostname, self.url.port)

    async def send(self, body, **options):
        """The status and the body of a reply; the status is 0 where there is none."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            reader, writer = await self.open()
        except OSError as error:
            return 0, type(error).__name__
        try:
            writer.write(self.head(data, **options) + data)
            status = int((await reader.readline()).split()[1])
            headers = await reader.readuntil(b"\r\n\r\n")
            if status in (429, 503) and b"retry-after" not in headers.lower():
                return -status, "no retry-after"
            return status, await reader.read()
        except (OSError, IndexError, asyncio.IncompleteReadError) as error:
            return 0, type(error).__name__
        finally:
            writer.close()

    async def metric(self, name):
        reader, writer = await self.open()
        key = f"authorization: Bearer {self.key}\r\n" if self.key else ""
        writer.write(f"GET /metrics HTTP/1.1\r\nhost: x\r\n{key}connection: close\r\n\r\n".encode())
        text = (await reader.read()).decode()
        writer.close()
        return next((int(line.split()[1]) for line in text.splitlines() if line.startswith(name + " ")), None)

    async def settled(self, seconds=60):
        """Whether nothing is left running."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if await self.metric("structgen_running_requests") == 0 and await self.metric("structgen_open_streams") == 0:
                    return True
            except (OSError, IndexError):
                pass
            await asyncio.sleep(0.1)
        return False


async def leave(target, _):
    async def one():
        reader, writer = await target.open()
        data = json.dumps(LONG).encode()
        writer.write(target.head(data) + data)
        for _ in range(12):
            await reader.readline()
        writer.transport.abort()

    before = await target.metric("structgen_cancelled_total")
    for _ in range(10):
        await asyncio.gather(*(one() for _ in range(100)))
    settled = await target.settled()
    return settled, f"1,000 left in mid-stream: {await target.metric('structgen_cancelled_total') - before} cancelled"


async def slow(target, _):
    writers = []
    for _ in range(20):
        # Little is kept for a reader who reads nothing, so that the server notices.
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((target.url.hostname, target.url.port))
        _, writer = await asyncio.open_connection(sock=sock)
        writer.transport.pause_reading()
        data = json.dumps(LONG | {"max_tokens": 4000, "structgen": {"steps": True}}).encode()
        writer.write(target.head(data) + data)
        writers.append(writer)
    started = time.monotonic()
    settled = await target.settled(180)
    took = time.monotonic() - started
    for writer in writers:
        writer.close()
    return settled, f"20 that read nothing: given up after {took:.0f} s"


async def half_open(target, args):
    heads = [b"", b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n", target.head(b"", length=99) + b"{"]
    opened = [await target.open() for _ in range(300)]
    for number, (_, writer) in enumerate(opened):
        writer.write(heads[number % 3])
    started = time.monotonic()

    async def end(reader):
        try:
            return (await asyncio.wait_for(reader.read(), args.patience)).split(b"\r\n")[0].decode() or "closed"
        except OSError:
            return "closed"
        except asyncio.TimeoutError:
            return "open"

    ends = collections.Counter(await asyncio.gather(*(end(reader) for reader, _ in opened)))
    for _, writer in opened:
        writer.close()
    return ends["open"] == 0, f"300 half-open connections: {dict(ends)} within {time.monotonic() - started:.0f} s"


async def too_large(target, _):
    large = json.dumps(ask(user="x" * (8 << 20))).encode()
    statuses = [(await target.send(large))[0] for _ in range(20)]
    return set(statuses) == {413}, f"20 bodies of 8 MiB: {dict(collections.Counter(statuses))}"


async def beyond_limits(target, _):
    deep = {"type": "integer"}
    for _ in range(12):
        deep = {"type": "array", "minItems": 900, "maxItems": 1000, "items": deep, "uniqueItems": True}
    wide = {"type": "object", "properties": {f"k{i}": {"enum": [f"{i}-{j}" for j in range(100)]} for i in range(1000)}}
    texts = []
    for name, schema in (("deep", deep), ("wide", wide)):
        started = time.monotonic()
        format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        status, _ = await target.send(ask(response_format=format, max_tokens=50))
        texts.append(f"{name} {status} in {time.monotonic() - started:.1f} s")
        if status not in (200, 400, 422):
            return False, texts[-1]
    return True, "schemas beyond limits: " + ", ".join(texts)


async def flood(target, args):
    replies = await asyncio.gather(*(target.send(PROPER) for _ in range(args.flood)))
    statuses = collections.Counter(status for status, _ in replies)
    reasons = collections.Counter(str(body) for status, body in replies if status == 0)
    known = all(status in (200, 429, 503) for status in statuses)
    said = f"{args.flood:,} requests at once: {dict(statuses)}{' ' + str(dict(reasons)) if reasons else ''}"
    return known and await target.settled(), said


async def stop(target, args):
    async def stream():
        reader, writer = await target.open()
        data = json.dumps(LONG | {"max_tokens": 300}).encode()
        writer.write(target.head(data) + data)
        await reader.readline()
        text = await reader.read()
        writer.close()
        return text.rstrip(b"0\r\n").endswith(b"[DONE]")

    streams = [asyncio.create_task(stream()) for _ in range(100)]
    await asyncio.sleep(0.5)
    os.kill(args.pid, signal.SIGTERM)
    started = time.monotonic()
    ended = sum(await asyncio.gather(*streams))
    status, _ = await target.send(PROPER)
    while os.path.exists(f"/proc/{args.pid}") and time.monotonic() < started + 60:
        if open(f"/proc/{args.pid}/stat").read().split(")")[1].split()[0] == "Z":
            break
        await asyncio.sleep(0.05)
    said = f"SIGTERM with 100 streams: {ended} ended with [DONE], a new one got {status or 'no connection'}"
    return ended == 100 and status in (0, 503), f"{said}, the process ended after {time.monotonic() - started:.1f} s"


async def neighbour(target, ended, found):
    """A client that asks properly all the time."""
    while not ended.is_set():
        started = time.monotonic()
        status, body = await target.send(PROPER)
        right = status == 200 and json.loads(json.loads(body)["choices"][0]["message"]["content"]).keys() == SCHEMA["properties"].keys()
        found[200 if right else status].append(time.monotonic() - started)
        await asyncio.sleep(0.05)


async def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--key")
    parser.add_argument("--pid", type=int, help="the server's process; with it the server is asked to stop at the end")
    parser.add_argument("--flood", type=int, default=10_000)
    parser.add_argument("--patience", type=float, default=45, help="seconds after which a half-open connection counts as kept")
    args = parser.parse_args()
    target, failed = Target(args), 0
    for fault in (leave, slow, half_open, too_large, beyond_limits, flood):
        ended, found = asyncio.Event(), collections.defaultdict(list)
        beside = asyncio.create_task(neighbour(target, ended, found))
        is_right, said = await fault(target, args)
        ended.set()
        await beside
        # A refusal with Retry-After is an answer; anything else is not.
        is_right &= set(found) <= {200, 429, 503}
        times = sorted(found[200]) or [float("nan")]
        others = {status: len(list) for status, list in found.items() if status != 200}
        print(f"{'ok  ' if is_right else 'FAIL'} {said}; beside it {len(found[200])} answers, median {times[len(times) // 2]:.2f} s, "
              f"longest {times[-1]:.2f} s{f', others {others}' if others else ''}", flush=True)
        failed += not is_right
    if args.pid:
        is_right, said = await stop(target, args)
        print(f"{'ok  ' if is_right else 'FAIL'} {said}")
        failed += not is_right
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
