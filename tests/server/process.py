"""What the process of a server does as a whole: a full queue, keys, signals, a port that is taken. Each test has a server of its own."""

import concurrent.futures
import os
import signal
import subprocess
import time

from harness import ANSWER, BARD, QUESTION, ROOT, SMOL as MODEL, Server, raises

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


def test_keys(binary):
    import openai

    with Server(binary, model=BARD, env={"TENON_API_KEY": "the-key-of-a-test"}) as server:
        client = lambda key: openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=60)
        assert [model.id for model in client("the-key-of-a-test").models.list()] == [BARD]
        raises(openai.AuthenticationError, 401, lambda: client("another").models.list())
        raises(openai.AuthenticationError, 401, lambda: client("another").completions.create(model=BARD, prompt="x"))
        assert server.get("/health")[0] == 200 and server.get("/debug/plan")[0] == 401
        assert server.end() == 0


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
