"""Rows per second of a query over 1, 2 and 3 executors, each pinned to a core of its own. Linux, with taskset.

    cargo build --release -p structgen-tables --features cluster
    python3 crates/structgen-tables/examples/cluster_scaling.py target/release/structgen-tables --rows 1200 --rounds 3

Beside rows per second there is, for each executor, the share of the time in which its busiest thread was running or
waiting for its core: near 1, the executor always had work, and what it lacked was the core.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

SCHEMA = {
    "type": "object",
    "required": ["name", "city"],
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}},
}
QUERY = "SELECT id, extract(body, 'contact.json').* FROM 'mails.jsonl'"
NAMES = ["Ruben Keller", "Ada Byron", "Mia Brandt"]
CITIES = ["Utrecht", "London", "Graz", "Oslo"]
PORT = 50550


def mail(row):
    body = f"Mail {row}: my name is {NAMES[row % 3]} and I live in {CITIES[row % 4]}."
    return json.dumps({"id": row, "body": body}) + "\n"


def wanted_to_run(process):
    """Seconds that each thread of a process has been running or waiting for a core."""
    seconds = {}
    for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        running, waiting, _ = (thread / "schedstat").read_text().split()
        seconds[thread.name] = (int(running) + int(waiting)) / 1e9
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    program = str(args.program.resolve())
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    pathlib.Path("contact.json").write_text(json.dumps(SCHEMA))
    pathlib.Path("mails.jsonl").write_text("".join(mail(row) for row in range(args.rows)))

    def start(core, *words):
        return subprocess.Popen(["taskset", "-c", str(core), program, *words], stderr=subprocess.DEVNULL)

    def stop(*processes):
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait()

    def rows_per_second(core, *words):
        begin = time.monotonic()
        command = ["taskset", "-c", str(core), program, "sql", QUERY, *words]
        rows = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        seconds = time.monotonic() - begin
        return rows, seconds, args.rows / seconds

    def load():
        return f"load {os.getloadavg()[0]:.1f}"

    scheduler = start(0, "cluster", "scheduler", "--port", str(PORT))
    try:
        for _ in range(args.rounds):
            here, _, rate = rows_per_second(1, "--workers", "1")
            print(f"no cluster: {rate:.1f} rows/s, {load()}", flush=True)
            for count in (1, 2, 3):
                executors = []
                for core in range(1, count + 1):
                    ports = ["--port", str(PORT + core), "--task-port", str(PORT + 10 + core)]
                    options = ["--scheduler", f"127.0.0.1:{PORT}", "--workers", "1", "--concurrency", "2"]
                    executors.append(start(core, "cluster", "executor", *ports, *options))
                # They load their models.
                time.sleep(5)
                before = [wanted_to_run(executor) for executor in executors]
                there, seconds, rate = rows_per_second(0, "--cluster", f"http://127.0.0.1:{PORT}")
                after = [wanted_to_run(executor) for executor in executors]
                stop(*executors)
                assert there == here, "other rows than without a cluster"
                shares = [
                    max(end[thread] - start_of.get(thread, 0) for thread in end) / seconds
                    for start_of, end in zip(before, after)
                ]
                shares = ", ".join(f"{share:.2f}" for share in shares)
                print(f"{count} executors: {rate:.1f} rows/s, wanted to run {shares}, {load()}", flush=True)
    finally:
        stop(scheduler)


if __name__ == "__main__":
    main()
