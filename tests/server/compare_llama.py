#!/usr/bin/env python3
"""Throughput of `tenon-server` beside llama.cpp's `llama-server`: one machine, one file of weights, one run.

    python3 tests/server/compare_llama.py --llama PATH/llama-server [--server PATH] [--streams 1,4,16,64] [--runs N] [--json FILE]

Both serve smollm2-135m-instruct from the same GGUF with the same number of threads, and room for as many sequences. Each is asked for
the same greedy streams over the same route, in turns (this, that, that, this), and the one that is not asked is stopped meanwhile.
Prompts differ from each other and from run to run, so that no cache of prefixes helps, and the end of the text is biased away, so that
every stream has the same number of tokens. llama.cpp's sources are in the sdist of llama-cpp-python (vendor/llama.cpp):

    cmake -B build -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF
    cmake --build build --target llama-server
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from harness import BINARY, SMOL, Server

WORDS = "river stone window candle garden winter copper letter harbour music shadow bread mountain silver engine paper".split()
# The two tokens that end a text.
ENDS = {"0": -100, "2": -100}


class Llama:
    """llama.cpp's server."""

    def __init__(self, binary, weights, threads, sequences, context):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [binary, "--model", weights, "--alias", SMOL, "--host", "127.0.0.1", "--port", str(port)]
        command += ["--threads", str(threads), "--threads-batch", str(threads), "--parallel", str(sequences)]
        command += ["--ctx-size", str(sequences * context), "--no-webui"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return
            except (OSError, urllib.error.HTTPError):
                if self.process.poll() is not None or time.monotonic() > until:
                    sys.exit(f"{binary} does not serve: {self.process.poll()}; its command was: {' '.join(map(str, command))}")
                time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()


def prompts(rng, count, words):
    """Texts that begin differently."""
    return [f"{rng.randrange(10**6)} " + " ".join(rng.choice(WORDS) for _ in range(words)) for _ in range(count)]


async def stream(url, prompt, tokens):
    """When each event with text came, from when the request was sent, and the tokens that the usage counts."""
    port = int(url.rsplit(":", 1)[1])
    body = json.dumps({
        "model": SMOL, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "logit_bias": ENDS, "stream": True,
        "stream_options": {"include_usage": True},
    }).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    head = f"POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    sent = time.perf_counter()
    writer.write(head.encode() + body)
    status = (await reader.readline()).split()[1]
    times, counted = [], None
    while line := await reader.readline():
        if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
            continue
        chunk = json.loads(line[6:])
        if chunk.get("choices") and chunk["choices"][0].get("text"):
            times.append(time.perf_counter() - sent)
        counted = (chunk.get("usage") or {}).get("completion_tokens", counted)
    writer.close()
    if status != b"200" or not times or not counted:
        sys.exit(f"{url} answered {status.decode()} with {len(times)} events and {counted} tokens")
    return times, counted


async def measure(url, texts, tokens):
    """One round of as many streams as there are texts."""
    started = time.perf_counter()
    found = await asyncio.gather(*(stream(url, text, tokens) for text in texts))
    took = time.perf_counter() - started
    between = [b - a for times, _ in found for a, b in zip(times, times[1:])]
    return {"tokens": sum(counted for _, counted in found), "seconds": took, "first": [times[0] for times, _ in found], "between": between}


def summary(rounds):
    first = sorted(time for one in rounds for time in one["first"])
    between = [time for one in rounds for time in one["between"]]
    return {
        "tokens_per_second": sum(one["tokens"] for one in rounds) / sum(one["seconds"] for one in rounds),
        "ttft_p50_ms": 1000 * statistics.median(first),
        "ttft_p95_ms": 1000 * first[min(len(first) - 1, round(0.95 * (len(first) - 1)))],
        "inter_token_p50_ms": 1000 * statistics.median(between),
        "tokens": sum(one["tokens"] for one in rounds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama", required=True, help="the binary of llama.cpp's server")
    parser.add_argument("--server", default=BINARY, help="the binary of this one")
    parser.add_argument("--streams", default="1,4,16,64", help="how many at a time (default: 1,4,16,64)")
    parser.add_argument("--runs", type=int, default=2, help="rounds of four for each number (default: 2)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of an answer (default: 64)")
    parser.add_argument("--words", type=int, default=100, help="words of a prompt (default: 100)")
    parser.add_argument("--kv-cache-dtype", default="f32", help="this server's cache; llama.cpp's is f16 (default: f32)")
    parser.add_argument("--json", help="a file for the numbers")
    arguments = parser.parse_args()
    streams = [int(number) for number in arguments.streams.split(",")]
    sequences, context = max(streams), 512

    flags = ["--max-sequences", str(sequences), "--queue", "8", "--context", str(context), "--kv-cache-dtype", arguments.kv_cache_dtype]
    with Server(Path(arguments.server).resolve(), *flags) as tenon:
        plan = json.loads(tenon.get("/debug/plan")[2])
        weights, threads = plan["checkpoint"]["path"], plan["deployment"]["threads"]
        if Path(weights).is_dir():
            weights = str(next(Path(weights).glob("*.gguf")))
        llama = Llama(arguments.llama, weights, threads, sequences, context)
        servers = {"tenon": tenon, "llama": llama}
        try:
            numbers = compare(servers, streams, arguments)
        finally:
            for server in servers.values():
                os.kill(server.process.pid, signal.SIGCONT)
            llama.kill()
    print(f"{SMOL}, {Path(weights).name}, {threads} threads, {arguments.tokens} tokens after {arguments.words} words, greedy\n")
    print("streams                      tenon-server   llama-server   ratio")
    for count in streams:
        ours, theirs = numbers[count]["tenon"], numbers[count]["llama"]
        for key, name, better in [
            ("tokens_per_second", "tokens per second", 1), ("ttft_p50_ms", "first token p50 ms", -1),
            ("ttft_p95_ms", "first token p95 ms", -1), ("inter_token_p50_ms", "between tokens p50 ms", -1),
        ]:
            ratio = (ours[key] / theirs[key]) ** better
            print(f"{count:>3}  {name:<22} {ours[key]:>13.1f} {theirs[key]:>14.1f} {ratio:>7.2f}")
    print("\nA ratio above 1 is in favour of tenon-server: more tokens, or less time.")
    if arguments.json:
        facts = {"model": SMOL, "weights": Path(weights).name, "threads": threads, "tokens": arguments.tokens, "words": arguments.words}
        Path(arguments.json).write_text(json.dumps({**facts, "streams": numbers}, indent=2) + "\n")


def compare(servers, streams, arguments):
    """Numbers of both for each number of streams."""
    rng = random.Random(1)

    def ask(name, texts, tokens):
        for other, server in servers.items():
            os.kill(server.process.pid, signal.SIGCONT if other == name else signal.SIGSTOP)
        return asyncio.run(measure(servers[name].url, texts, tokens))

    numbers = {}
    for name in servers:
        ask(name, prompts(rng, max(streams), arguments.words), 4)
    for count in streams:
        rounds = {name: [] for name in servers}
        for run in range(arguments.runs):
            # Within a round of four both see the same texts; the second pair has others, so that nothing is cached.
            for order in (["tenon", "llama"], ["llama", "tenon"]):
                texts = prompts(rng, count, arguments.words)
                for name in order:
                    rounds[name].append(ask(name, texts, arguments.tokens))
            print(f"{count} streams, round {run + 1} of {arguments.runs}", file=sys.stderr, flush=True)
        numbers[count] = {name: summary(found) for name, found in rounds.items()}
        ours, theirs = (numbers[count][name]["tokens"] for name in servers)
        if ours != theirs:
            print(f"{count} streams: {ours} tokens of one and {theirs} of the other are compared", file=sys.stderr)
    return numbers


if __name__ == "__main__":
    main()
