#!/usr/bin/env python3
"""The official openai client against `tenon-server serve`, and the examples of a README as they are written.

    python3 tests/server/openai_client.py [--server PATH] [--readme FILE]...

It makes a virtual environment under target/ with the client in it, and runs itself there. The weights of smollm2-135m-instruct
must have been pulled. With --readme, the fenced blocks of FILE that serve the model and that talk to the server are run: those of
`sh` in a shell, those of `python` in the virtual environment.
"""

import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = "smollm2-135m-instruct"
ANSWER = "The capital of France is Paris."
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
CLIENT = "openai==3.57.0"


def environment():
    """Runs this script again in a virtual environment that has the client; returns when it is that one."""
    if os.environ.get("TENON_OPENAI_CLIENT") == CLIENT:
        return
    folder = ROOT / "target" / "openai-client"
    python, done = folder / "bin" / "python", folder / CLIENT
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", CLIENT], check=True)
        done.touch()
    os.environ["TENON_OPENAI_CLIENT"] = CLIENT
    os.execv(python, [str(python), *sys.argv])


class Server:
    """A server on a port of its own."""

    def __init__(self, binary, *flags, command=None):
        command = command or [str(binary), "serve", MODEL, "--port", "0", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"http://[0-9.:]+", line)
            if found:
                self.url = found.group()
                break
        else:
            raise SystemExit(f"the server ended with {self.process.wait()}:\n{''.join(self.log)}")
        # Whatever else it says must not fill the pipe.
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def end(self, number=signal.SIGTERM):
        """Its exit code after a signal."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def raises(kind, status, call, **expected):
    """The error that a call must raise, with these fields."""
    try:
        call()
    except kind as error:
        found = {"status": error.status_code, **{key: getattr(error, key) for key in expected}}
        assert found == {"status": status, **expected}, found
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


class Tests:
    """One method per test; each gets a running server."""

    def __init__(self, server):
        import openai

        self.openai = openai
        self.server = server
        self.client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)

    def chat(self, messages=QUESTION, **more):
        more = {"temperature": 0, "max_tokens": 40, **more}
        return self.client.chat.completions.create(model=MODEL, messages=messages, **more)

    def completion(self, prompt="Once upon a time", **more):
        more = {"temperature": 0, "max_tokens": 24, **more}
        return self.client.completions.create(model=MODEL, prompt=prompt, **more)

    def text(self, **more):
        return self.chat(**more).choices[0].message.content

    def test_chat(self):
        answer = self.chat()
        choice = answer.choices[0]
        assert (choice.message.content, choice.message.role, choice.finish_reason) == (ANSWER, "assistant", "stop"), answer
        assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-") and answer.model == MODEL
        assert abs(answer.created - time.time()) < 60
        usage = answer.usage
        assert usage.prompt_tokens > 7 and usage.completion_tokens == 8, usage
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens

    def test_chat_stream(self):
        stream = self.chat(stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        last = chunks.pop()
        assert last.choices == [] and last.usage == self.chat().usage, last
        assert all(chunk.usage is None and len(chunk.choices) == 1 for chunk in chunks)
        assert chunks[0].choices[0].delta.role == "assistant"
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ANSWER
        reasons = [chunk.choices[0].finish_reason for chunk in chunks]
        assert reasons[-1] == "stop" and not any(reasons[:-1]), reasons

    def test_completions(self):
        answer = self.completion()
        assert answer.object == "text_completion" and answer.choices[0].finish_reason == "length", answer
        assert answer.usage.completion_tokens == 24
        streamed = [chunk.choices[0].text for chunk in self.completion(stream=True)]
        assert "".join(streamed) == answer.choices[0].text and len(streamed) > 10
        assert len(self.completion(max_tokens=None).choices[0].text) < len(answer.choices[0].text), "16 tokens by default"

    def test_messages(self):
        parts = [{"type": "text", "text": "What is the capital "}, {"type": "text", "text": "of France?"}]
        assert self.text(messages=[{"role": "user", "content": parts}]) == ANSWER
        system = [{"role": "system", "content": "Answer in one word."}]
        developer = [{"role": "developer", "content": "Answer in one word."}]
        first, second = (self.chat(messages=role + QUESTION) for role in (system, developer))
        assert first.choices[0].message.content == second.choices[0].message.content
        assert first.usage == second.usage
        history = [*QUESTION, self.chat().choices[0].message, {"role": "user", "content": "And of Italy?"}]
        assert "Rome" in self.text(messages=history)

    def test_stop(self):
        for stop in [" Paris", ["zzz", " is Par"], ["France is", "capital of France"]]:
            stops = [stop] if isinstance(stop, str) else stop
            cut = min(ANSWER.index(s) for s in stops if s in ANSWER)
            answer = self.chat(stop=stop)
            assert answer.choices[0].message.content == ANSWER[:cut], (stop, answer)
            assert answer.choices[0].finish_reason == "stop"
            streamed = "".join(chunk.choices[0].delta.content or "" for chunk in self.chat(stop=stop, stream=True))
            assert streamed == ANSWER[:cut], (stop, streamed)

    def test_limits(self):
        for limit in [{"max_tokens": 3}, {"max_tokens": None, "max_completion_tokens": 3}]:
            answer = self.chat(**limit)
            assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("length", 3), answer

    def test_seed(self):
        story = [{"role": "user", "content": "Tell me about a dragon."}]
        warm = lambda seed: self.text(messages=story, temperature=1.5, seed=seed)
        assert warm(1) == warm(1)
        assert warm(1) != warm(2)
        assert self.text(seed=1, top_p=0.1) == self.text(seed=2) == ANSWER

    def test_logprobs(self):
        answer = self.chat(logprobs=True, top_logprobs=3)
        entries = answer.choices[0].logprobs.content
        assert b"".join(bytes(entry.bytes) for entry in entries).decode() == ANSWER
        for entry in entries:
            best = entry.top_logprobs[0]
            assert len(entry.top_logprobs) == 3 and (best.token, best.logprob) == (entry.token, entry.logprob), entry
            assert entry.logprob <= 0 and entry.top_logprobs[1].logprob <= entry.logprob
        streamed = []
        for chunk in self.chat(logprobs=True, top_logprobs=3, stream=True):
            if chunk.choices[0].logprobs:
                streamed += chunk.choices[0].logprobs.content
        assert streamed == entries
        choice = self.completion(logprobs=2, max_tokens=4).choices[0]
        lists = choice.logprobs
        assert "".join(lists.tokens) == choice.text and lists.text_offset[0] == 0, choice
        assert [len(x) for x in (lists.token_logprobs, lists.top_logprobs, lists.text_offset)] == [4, 4, 4]

    def test_errors(self):
        bad, missing = self.openai.BadRequestError, self.openai.NotFoundError
        raises(bad, 400, lambda: self.chat(temperature=3), param="temperature", type="invalid_request_error")
        raises(bad, 400, lambda: self.chat(n=2), param="n", code="unsupported_parameter")
        raises(bad, 400, lambda: self.chat(messages=[]), param="messages")
        raises(bad, 400, lambda: self.chat(top_logprobs=3), param="top_logprobs")
        raises(bad, 400, lambda: self.chat(extra_body={"top_pp": 1}), param="top_pp", code="unknown_parameter")
        raises(bad, 400, lambda: self.chat(stop=[""], stream=True), param="stop[0]")
        image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
        raises(bad, 400, lambda: self.chat(messages=[{"role": "user", "content": image}]), param="messages[0].content[0]")
        long = raises(bad, 400, lambda: self.completion("word " * 9000), code="context_length_exceeded", param="prompt")
        assert re.search(r"holds 8192 tokens.*has 9\d{3}", long.message), long.message
        raises(bad, 400, lambda: self.completion(echo=True), param="echo")
        raises(missing, 404, lambda: self.client.chat.completions.create(model="gpt-4", messages=QUESTION), code="model_not_found")
        raises(missing, 404, lambda: self.client.embeddings.create(model=MODEL, input="x"), code="not_found")
        large = lambda: self.completion("x" * (9 << 20))
        raises(self.openai.APIStatusError, 413, large, code="request_too_large")

    def test_models(self):
        assert [model.id for model in self.client.models.list()] == [MODEL]
        assert self.client.models.retrieve(MODEL).owned_by == "tenon"
        raises(self.openai.NotFoundError, 404, lambda: self.client.models.retrieve("other"), param="model")
        with urllib.request.urlopen(f"{self.server.url}/health") as answer:
            assert answer.status == 200

    def test_concurrent_requests_equal_sequential_ones(self):
        """More requests than run at a time, of different lengths, streamed and not: texts and log-probabilities are bit-equal."""
        subjects = ["France", "Italy", "a cat", "the number seven", "rain", "Python", "the sea", "bread", "time", "a bridge"]

        def ask(i):
            messages = [{"role": "user", "content": f"Say something about {subjects[i]}." + " Please." * (7 * i)}]
            more = {"messages": messages, "max_tokens": 12 + 3 * i, "logprobs": True}
            if i % 2:
                choices = [chunk.choices[0] for chunk in self.chat(stream=True, **more)]
                entries = [entry for choice in choices if choice.logprobs for entry in choice.logprobs.content]
                return "".join(choice.delta.content or "" for choice in choices), [e.logprob for e in entries]
            choice = self.chat(**more).choices[0]
            return choice.message.content, [entry.logprob for entry in choice.logprobs.content]

        alone = [ask(i) for i in range(len(subjects))]
        with concurrent.futures.ThreadPoolExecutor(len(subjects)) as pool:
            assert list(pool.map(ask, range(len(subjects)))) == alone

    def test_clients_that_leave_make_room(self):
        story = [{"role": "user", "content": "Count from one to ten thousand."}]
        for _ in range(12):
            stream = self.chat(messages=story, max_tokens=4000, stream=True)
            next(iter(stream))
            stream.close()
        assert self.text() == ANSWER


def test_a_full_queue_is_a_rate_limit(binary):
    """Two at a time and one that waits: of six, three are refused at once, with the time after which to try again."""
    import openai

    server = Server(binary, "--max-sequences", "2", "--queue", "1", "--context", "512")
    try:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)
        ask = lambda: client.completions.create(model=MODEL, prompt="Once", temperature=0, max_tokens=100, stream=True)
        streams = [ask() for _ in range(3)]
        for _ in range(3):
            error = raises(openai.RateLimitError, 429, ask, code="queue_full")
            assert error.response.headers["retry-after"] == "1"
        texts = ["".join(chunk.choices[0].text for chunk in stream) for stream in streams]
        assert texts[0] == texts[1] == texts[2] != "", texts
        assert server.end() == 0
    finally:
        server.kill()


def test_sigterm_finishes_what_runs(binary, number=signal.SIGTERM):
    import openai

    server = Server(binary)
    try:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)
        more = {"model": MODEL, "messages": QUESTION, "temperature": 0, "max_tokens": 60}
        story = {**more, "messages": [{"role": "user", "content": "Tell me a long story."}]}
        stream = iter(client.chat.completions.create(stream=True, **story))
        next(stream)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            whole = pool.submit(lambda: client.chat.completions.create(**more))
            time.sleep(0.2)
            server.process.send_signal(number)
            time.sleep(0.1)
            try:
                client.chat.completions.create(**more)
                raise AssertionError("a request after the signal was served")
            except (openai.APIConnectionError, openai.InternalServerError):
                pass
            chunks = list(stream)
            assert chunks[-1].choices[0].finish_reason in ("stop", "length")
            assert whole.result().choices[0].message.content == ANSWER
        assert server.process.wait(timeout=60) == 0
    finally:
        server.kill()


def test_sigint_does_too(binary):
    test_sigterm_finishes_what_runs(binary, signal.SIGINT)


def test_a_second_signal_ends_at_once(binary):
    import openai

    server = Server(binary)
    try:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)
        # Raw counting goes on for thousands of tokens, which no machine computes within the pause below.
        count = ", ".join(str(n) for n in range(1, 20)) + ","
        stream = client.completions.create(model=MODEL, prompt=count, temperature=0, max_tokens=4000, stream=True)
        next(iter(stream))
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert server.process.poll() is None
        started = time.monotonic()
        assert server.end() == 128 + signal.SIGTERM
        assert time.monotonic() - started < 2
    finally:
        server.kill()


def test_missing_weights_name_the_command(binary):
    empty = {**os.environ, "TENON_HOME": str(ROOT / "target" / "no-weights-here")}
    run = subprocess.run([binary, "serve", MODEL, "--port", "0"], capture_output=True, text=True, env=empty)
    assert run.returncode == 1 and f"\n    tenon-server pull {MODEL}\n" in run.stderr, run


def test_a_taken_port_is_told(binary):
    server = Server(binary)
    try:
        port = server.url.rsplit(":", 1)[1]
        run = subprocess.run([binary, "serve", MODEL, "--port", port], capture_output=True, text=True)
        assert run.returncode == 1 and f"cannot listen on port {port} of 127.0.0.1" in run.stderr, run
        assert server.end() == 0
    finally:
        server.kill()


def run_examples(binary, readme):
    """Runs the fenced blocks of a README that serve and that talk to a server, as they are written."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", Path(readme).read_text(), re.MULTILINE | re.DOTALL)
    serve = [text for language, text in blocks if language == "sh" and f"tenon-server serve {MODEL}" in text]
    talk = [(language, text) for language, text in blocks if "http://127.0.0.1:8080" in text]
    assert len(serve) == 1 and {language for language, _ in talk} == {"sh", "python"}, (serve, talk)
    command = serve[0].replace("target/release/tenon-server", str(binary))
    server = Server(binary, command=["bash", "-c", f"exec {command}"])
    try:
        for language, text in talk:
            run = ["bash", "-euo", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
            done = subprocess.run([*run, text], capture_output=True, text=True, cwd=ROOT, timeout=120)
            assert done.returncode == 0 and ANSWER in done.stdout, f"{text}\n{done}"
        assert server.end() == 0
    finally:
        server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=ROOT / "target" / "release" / "tenon-server", help="the binary to test")
    parser.add_argument("--readme", action="append", default=[], help="a file whose examples to run")
    arguments = parser.parse_args()
    environment()

    binary = Path(arguments.server).resolve()
    server = Server(binary)
    tests = Tests(server)
    todo = [(name, getattr(tests, name)) for name in dir(Tests) if name.startswith("test_")]
    own = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    todo += [(name, lambda test=test: test(binary)) for name, test in own]
    todo += [(f"examples of {readme}", lambda readme=readme: run_examples(binary, readme)) for readme in arguments.readme]
    failed = 0
    try:
        for name, test in todo:
            started = time.monotonic()
            try:
                test()
                print(f"ok      {name} ({time.monotonic() - started:.1f} s)", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
        if server.end() != 0:
            failed += 1
            print(f"FAILED  the server ended with {server.process.returncode}\n{''.join(server.log)}")
    finally:
        server.kill()
    print(f"{len(todo) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
