#!/usr/bin/env python3
"""Many short requests on bard-mla, whole and streamed, among clients that leave, send half, or send nonsense.

    python3 tests/server/soak.py [--server PATH] [--requests N] [--seconds N] [--seed N] [--clients N]

Afterwards nothing may have been lost: each answer that was waited for has come, and is the one that a server without a crowd gave;
what /metrics counted is what the clients count; and memory, pages, slots, snapshots and sockets are back where they began. It ends
with 1 where one of these does not hold, and when it takes longer than --seconds.
"""

import argparse
import asyncio
import collections
import json
import random
import sys
import time
from pathlib import Path

import harness
from harness import BARD, BINARY, Server

# Memory that a process may have more than before: what an allocator keeps of the busiest moment that it has seen.
MORE_MEMORY = 24 << 20
# Seconds for one answer.
PATIENCE = 120
BEGINNINGS = ["ROMEO:\n", "JULIET:\nO ", "First Citizen:\nBefore we", "KING HENRY:\nWhat, ", "The sea ", "Enter a messenger.\n", "ACT II\n", "x"]
# A prefix of more than a chunk of 256 tokens, which requests share: this model's prompts are cut at no other place.
SHARED = "All:\nSpeak, speak. You are all resolved rather to die than to famish? Resolved, resolved. " * 14

# What a client does, and how often of a hundred requests or so.
KINDS = {
    "whole": 30,
    "whole, n": 6,
    "whole, list of prompts": 3,
    "sampled": 6,
    "stream": 20,
    "stream, n": 3,
    "two in one write": 4,
    "tokenize": 2,
    "get": 3,
    "leaves midway": 10,
    "leaves before the answer": 6,
    "leaves within the body": 5,
    "leaves within the head": 2,
    "no JSON": 4,
    "wrong field": 4,
    "no chat format": 1,
    "no route": 2,
    "wrong method": 1,
    "deep nesting": 1,
    "not UTF-8": 1,
    "too large": 0.2,
}
# Kinds whose answer is an error, with its status.
REFUSED = {"no JSON": 400, "wrong field": 400, "no chat format": 400, "no route": 404, "wrong method": 405, "deep nesting": 400, "not UTF-8": 400, "too large": 413}


class Lost(Exception):
    """An answer that did not come, or not as it must be."""


class Connection:
    """One connection of HTTP/1.1, which is opened when it is needed."""

    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    async def open(self):
        if self.writer is None or self.writer.is_closing() or self.reader.at_eof():
            self.close()
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None

    async def send(self, data):
        await self.open()
        self.writer.write(data)
        await self.writer.drain()

    async def head(self):
        """Status and headers."""
        line = await self.reader.readline()
        if not line.startswith(b"HTTP/1.1 "):
            raise Lost(f"the connection ended before an answer, with {line!r}")
        headers = {}
        while (field := (await self.reader.readline()).strip()):
            name, _, value = field.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return int(line.split()[1]), headers

    async def chunks(self):
        """The chunks of a body."""
        while True:
            size = int((await self.reader.readline()).strip() or b"-1", 16)
            if size < 0:
                raise Lost("the connection ended within an answer")
            data = await self.reader.readexactly(size + 2)
            if size == 0:
                return
            yield data[:-2]

    async def answer(self):
        """Status and body."""
        status, headers = await self.head()
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        else:
            body = await self.reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return status, body


def head(method, path, length=None, more=""):
    size = "" if length is None else f"content-type: application/json\r\ncontent-length: {length}\r\n"
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{size}{more}\r\n".encode()


def post(path, body, more=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head("POST", path, len(data), more) + data


def events(body):
    """The chunks of a stream that came to its end."""
    lines = [line[6:] for line in body.decode().split("\n\n") if line.startswith("data: ")]
    if not lines or lines[-1] != "[DONE]":
        raise Lost(f"a stream ended with {body[-200:]!r}")
    chunks = [json.loads(line) for line in lines[:-1]]
    for chunk in chunks:
        if "error" in chunk:
            raise Lost(f"a stream failed: {chunk}")
    return chunks


class Soak:
    """The clients, and what they count."""

    def __init__(self, port, seed):
        self.port, self.random = port, random.Random(seed)
        self.kinds = collections.Counter()
        self.sent = 0
        self.answered = collections.Counter()
        self.left = 0
        self.finished = collections.Counter()
        self.prompt_tokens = self.completion_tokens = 0
        self.left_answers = self.left_tokens = 0
        self.lost = []
        self.expected = {}

    def body(self, **more):
        rng = self.random
        prompt = rng.choice(BEGINNINGS)
        if rng.random() < 0.4:
            prompt = SHARED[: rng.choice([64, 200, len(SHARED)])] + prompt
        return {"model": BARD, "prompt": prompt, "max_tokens": rng.choice([1, 2, 4, 8, 12, 20]), "temperature": 0, **more}

    def plan(self, requests):
        """What each request is, all of it from the seed."""
        rng, kinds = self.random, list(KINDS)
        todo = []
        for kind in rng.choices(kinds, [KINDS[kind] for kind in kinds], k=requests):
            body = self.body()
            if kind == "whole, n" or kind == "stream, n":
                body["n"] = rng.choice([2, 3])
            if kind == "whole, list of prompts":
                body["prompt"] = [body["prompt"], rng.choice(BEGINNINGS)]
            if kind == "sampled":
                body |= {"temperature": 1.0, "seed": rng.randrange(1 << 30), "top_k": 40, "stop": ["\n\n"]}
            if kind.startswith("stream") or kind == "leaves midway":
                body |= {"stream": True, "stream_options": {"include_usage": True}}
            if kind.startswith("leaves"):
                body["max_tokens"] = rng.choice([30, 200])
            todo.append((kind, body, rng.random()))
        return todo

    async def reference(self):
        """The text of each greedy request, from a server that computes nothing else."""
        connection = Connection(self.port)
        for prompt in BEGINNINGS:
            for prefix in (0, 64, 200, len(SHARED)):
                await connection.send(post("/v1/completions", {"model": BARD, "prompt": SHARED[:prefix] + prompt, "max_tokens": 20, "temperature": 0}))
                status, body = await connection.answer()
                if status != 200:
                    raise Lost(f"{status}: {body!r}")
                self.expected[SHARED[:prefix] + prompt] = json.loads(body)["choices"][0]["text"]
        connection.close()

    def count(self, body, status, said):
        """Takes a whole answer into the books, and checks it."""
        self.answered[status] += 1
        if status != 200:
            if status != 429:
                raise Lost(f"{status} for {body}: {said!r}")
            return
        if body.get("stream"):
            chunks = events(said)
            usage = chunks.pop()["usage"]
            choices = collections.defaultdict(lambda: {"text": "", "finish_reason": None})
            for choice in (choice for chunk in chunks for choice in chunk["choices"]):
                choices[choice["index"]]["text"] += choice["text"]
                choices[choice["index"]]["finish_reason"] = choice["finish_reason"]
            choices = [choices[i] for i in range(len(choices))]
        else:
            answer = json.loads(said)
            usage, choices = answer["usage"], answer["choices"]
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        n = body.get("n", 1)
        if len(choices) != n * len(prompts):
            raise Lost(f"{len(choices)} choices for {body}")
        for i, choice in enumerate(choices):
            self.finished[choice["finish_reason"]] += 1
            if body["temperature"] == 0 and not self.expected[prompts[i // n]].startswith(choice["text"]):
                raise Lost(f"{choice['text']!r} for {body}, which alone gives {self.expected[prompts[i // n]]!r}")
        self.prompt_tokens += usage["prompt_tokens"]
        self.completion_tokens += usage["completion_tokens"]

    async def one(self, connection, kind, body, chance):
        """One request, or the two of a pipeline; `chance` says where it breaks off."""
        path, more = "/v1/completions", "connection: close\r\n" if chance < 0.1 else ""
        whole = post(path, body, more)
        if kind == "leaves within the head":
            # No request has arrived.
            await connection.send(whole[: int(len(head("POST", path)) * chance)])
            connection.close()
        elif kind == "leaves within the body":
            self.sent += 1
            self.left += 1
            start = whole.index(b"\r\n\r\n") + 4
            await connection.send(whole[: start + int((len(whole) - start - 1) * chance)])
            await asyncio.sleep(chance * 0.02)
            connection.close()
        elif kind in ("leaves midway", "leaves before the answer"):
            self.sent += 1
            self.left += 1
            self.left_answers += 1
            self.left_tokens += body["max_tokens"]
            await connection.send(whole)
            if kind == "leaves midway":
                status, _ = await connection.head()
                if status == 200:
                    events = connection.chunks()
                    for _ in range(1 + int(chance * 6)):
                        await anext(events)
                elif status != 429:
                    raise Lost(f"{status} for {body}")
            else:
                await asyncio.sleep(chance * 0.05)
            connection.close()
        elif kind in REFUSED:
            self.sent += 1
            request = self.refused(kind, body)
            # Many clients write a body behind its head, and an error may be known before it is there.
            start = request.index(b"\r\n\r\n") + 4 if chance < 0.5 else 0
            await connection.send(request[:start])
            await asyncio.sleep(0.002 if start else 0)
            await connection.send(request[start:])
            status, said = await connection.answer()
            self.answered[status] += 1
            if status != REFUSED[kind] or "error" not in json.loads(said):
                raise Lost(f"{kind}: {status} {said[:200]!r}")
        elif kind == "two in one write":
            self.sent += 2
            await connection.send(post(path, body) + post(path, body, more))
            for _ in range(2):
                self.count(body, *await connection.answer())
        elif kind == "get":
            self.sent += 1
            await connection.send(head("GET", "/v1/models" if chance < 0.5 else "/health"))
            status, _ = await connection.answer()
            self.answered[status] += 1
        elif kind == "tokenize":
            self.sent += 1
            await connection.send(post("/tokenize", {"model": BARD, "prompt": body["prompt"]}))
            status, said = await connection.answer()
            self.answered[status] += 1
            if status != 200 or json.loads(said)["count"] < 1:
                raise Lost(f"{status} {said!r}")
        else:
            self.sent += 1
            await connection.send(whole)
            self.count(body, *await connection.answer())

    def refused(self, kind, body):
        """A request that is answered with an error."""
        text = json.dumps(body)
        match kind:
            case "no JSON":
                return post("/v1/completions", text[:-1].encode())
            case "wrong field":
                return post("/v1/completions", {**body, "temperature": "hot"})
            case "no chat format":
                return post("/v1/chat/completions", {"model": BARD, "messages": [{"role": "user", "content": "x"}]})
            case "no route":
                return post("/v1/complete_that", body)
            case "wrong method":
                return head("GET", "/v1/completions")
            case "deep nesting":
                return post("/v1/completions", b'{"prompt":' + b"[" * 5000 + b"]" * 5000 + b"}")
            case "not UTF-8":
                return post("/v1/completions", text.encode().replace(b'"prompt": "', b'"prompt": "\xff\xfe'))
            case "too large":
                return post("/v1/completions", {**body, "prompt": "x" * (9 << 20)})

    async def client(self, todo):
        connection = Connection(self.port)
        while todo:
            kind, body, chance = todo.pop()
            self.kinds[kind] += 1
            try:
                await asyncio.wait_for(self.one(connection, kind, body, chance), PATIENCE)
            except Exception as error:
                self.lost.append(f"{kind}: {type(error).__name__}: {error}")
                connection.close()
        connection.close()

    async def run(self, requests, clients):
        todo = self.plan(requests)
        await asyncio.gather(*(self.client(todo) for _ in range(clients)))


def held(metrics):
    """What the server holds."""
    names = {
        "running": "tenon_sequences_running", "waiting": "tenon_sequences_waiting", "pages": "tenon_cache_pages_used",
        "sockets": "process_open_fds", "connections": "tenon_http_connections", "memory": "process_resident_memory_bytes",
    }
    return {what: metrics.sum(name) for what, name in names.items()}


def settled(server):
    """What the server holds when nobody asks it for anything but this."""
    server.idle()
    harness.wait(lambda: server.metrics().sum("tenon_http_connections") <= 1, 30, lambda: "connections are still open")
    return server.metrics()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=BINARY, help="the binary to test")
    parser.add_argument("--requests", type=int, default=10_000, help="how many requests (default: 10000)")
    parser.add_argument("--seconds", type=int, default=300, help="how long it may take (default: 300)")
    parser.add_argument("--seed", type=int, default=7, help="what the requests are drawn from (default: 7)")
    parser.add_argument("--clients", type=int, default=32, help="how many at a time (default: 32)")
    arguments = parser.parse_args()

    binary = Path(arguments.server).resolve()
    with Server(binary, "--max-sequences", "8", "--context", "1024", "--queue", "64", "--log-level", "error", model=BARD) as server:
        port = int(server.url.rsplit(":", 1)[1])
        # What grows with the first requests only, such as buffers and threads, is there before anything is measured.
        warm = Soak(port, arguments.seed + 1)
        asyncio.run(warm.reference())
        asyncio.run(warm.run(max(200, arguments.requests // 20), arguments.clients))
        before = settled(server)

        soak = Soak(port, arguments.seed)
        soak.expected = warm.expected
        started = time.monotonic()
        try:
            asyncio.run(asyncio.wait_for(soak.run(arguments.requests, arguments.clients), arguments.seconds))
        except TimeoutError:
            sys.exit(f"not done after {arguments.seconds} s: {sum(soak.kinds.values())} of {arguments.requests} requests")
        took = time.monotonic() - started
        after = settled(server)
        good = report(soak, warm, before, after, took)
        assert server.end() == 0, "".join(server.log)
        said = [line for line in server.log if "ERROR" in line or "panicked" in line]
        if said:
            print("the server wrote:", *said[:10], sep="\n")
    sys.exit(0 if good and not said else 1)


def report(soak, warm, before, after, took):
    """Prints what happened and what must hold; whether it does."""
    rows = []

    def check(what, holds, told):
        rows.append((what, told, "ok" if holds else "NO"))

    def moved(name, **labels):
        return int(after.sum(name, **labels) - before.sum(name, **labels))

    print(f"{sum(soak.kinds.values())} requests in {took:.1f} s\n")
    for kind in KINDS:
        print(f"    {soak.kinds[kind]:>6}  {kind}")
    check("answers that did not come or were wrong", not soak.lost, f"{len(soak.lost)}")

    # The scrapes of /metrics are the only requests that are not the clients'; theirs have the route `/metrics`.
    served = moved("tenon_http_requests_total") - moved("tenon_http_requests_total", route="/metrics")
    check("requests that arrived", served == soak.sent, f"{served} counted, {soak.sent} sent")
    slack = 0
    statuses = sorted({int(status) for status in after.by("tenon_http_requests_total", "status")} | set(soak.answered))
    for status in statuses:
        counted = moved("tenon_http_requests_total", status=str(status)) - moved("tenon_http_requests_total", status=str(status), route="/metrics")
        left = counted - soak.answered[status]
        slack += left
        # Only those that left may have any other outcome than the one that the clients saw.
        check(f"status {status}", left >= 0 and (left == 0 or status in (200, 400, 408, 429, 499)), f"{counted} counted: {soak.answered[status]} read, {left} left alone")
    check("requests whose client left", slack == soak.left, f"{slack} counted, {soak.left} left")

    ended = {reason: moved("tenon_answers_total", reason=reason) for reason in after.by("tenon_answers_total", "reason")}
    for reason in ("stop", "length"):
        more = ended.get(reason, 0) - soak.finished[reason]
        check(f"answers that ended by {reason}", 0 <= more <= soak.left_answers, f"{ended.get(reason, 0)} counted: {soak.finished[reason]} read, {more} left alone")
    others = set(ended) - {"stop", "length", "cancelled"}
    check("answers that failed", not sum(ended[reason] for reason in others), str({reason: ended[reason] for reason in others}))
    unseen = sum(ended.values()) - sum(soak.finished.values())
    check("answers that nobody waited for", 0 <= unseen <= soak.left_answers, f"{unseen}, of {soak.left_answers} requests")
    tokens = moved("tenon_generated_tokens_total")
    more = tokens - soak.completion_tokens
    check("tokens generated", 0 <= more <= soak.left_tokens, f"{tokens} counted: {soak.completion_tokens} read, {more} of at most {soak.left_tokens} left alone")

    old, new = held(before), held(after)
    for what in ("running", "waiting", "pages"):
        check(f"{what} sequences" if what != "pages" else "pages in use", new[what] == old[what] == 0, f"{old[what]:.0f}, then {new[what]:.0f}")
    for what in ("sockets", "connections"):
        check(what, new[what] <= old[what], f"{old[what]:.0f}, then {new[what]:.0f}")
    hits = moved("tenon_prefix_hit_tokens_total")
    check("tokens found in the cache", hits > 0, str(hits))
    # What nobody uses is kept for later prompts, and all of these begin alike.
    for what, name in (("pages that hold prefixes", "tenon_cache_pages_cached"), ("snapshots", "tenon_snapshots_used")):
        then, now = before.sum(name), after.sum(name)
        check(what, now == then, f"{then:.0f}, then {now:.0f}")
    grown = (new["memory"] - old["memory"]) / (1 << 20)
    check("memory", new["memory"] - old["memory"] <= MORE_MEMORY, f"{old['memory'] / (1 << 20):.1f} MiB, then {new['memory'] / (1 << 20):.1f} ({grown:+.1f})")

    print()
    width = max(len(what) for what, _, _ in rows)
    for what, told, holds in rows:
        print(f"    {holds:<3} {what:<{width}}  {told}")
    print(f"\n    {soak.completion_tokens / took:.0f} tokens read per second, {sum(soak.kinds.values()) / took:.0f} requests per second")
    for line in [*warm.lost[:5], *soak.lost[:20]]:
        print(f"    lost: {line[:300]}")
    return all(holds == "ok" for _, _, holds in rows) and not warm.lost


if __name__ == "__main__":
    main()
