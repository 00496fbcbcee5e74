#!/usr/bin/env python3
"""The examples of README.md that serve a model and talk to it, as they are written.

    python3 tests/server/readme.py [--server PATH] [--readme FILE]

The one block of `sh` that serves is started; every block that names the server's address is run: those of `sh` in a shell, those of
`python` in a virtual environment with the official clients. The weights of smollm2-135m-instruct must have been pulled.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import harness
from harness import BINARY, ROOT, SMOL, Server

# What an example must print, by what stands in it; the first that fits counts.
EXPECTED = [
    ("tool_choice=", lambda said: said.startswith("get_weather ") and json.loads(said.split(" ", 1)[1])["unit"] in ("celsius", "fahrenheit")),
    ("json_schema", lambda said: all(f"'{key}': '" in said for key in ("capital", "continent"))),
    ("anthropic", lambda said: said.strip() == "The capital of France is Paris."),
    ("openai", lambda said: said.strip() == "The capital of France is Paris."),
    ("curl", lambda said: json.loads(said)["choices"][0]["message"]["content"] == "The capital of France is Paris."),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=BINARY, help="the binary to test")
    parser.add_argument("--readme", default=ROOT / "README.md", help="the file whose examples to run")
    arguments = parser.parse_args()
    harness.environment()

    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", Path(arguments.readme).read_text(), re.MULTILINE | re.DOTALL)
    serve = [text for language, text in blocks if language == "sh" and f"tenon-server serve {SMOL}" in text]
    talk = [(language, text) for language, text in blocks if "http://127.0.0.1:8080" in text]
    assert len(serve) == 1, serve
    shown = [next(mark for mark, _ in EXPECTED if mark in text) for _, text in talk]
    assert sorted(shown) == sorted(mark for mark, _ in EXPECTED), f"an example of each kind, and these are there: {shown}"
    command = serve[0].replace("target/release/tenon-server", str(Path(arguments.server).resolve()))

    def example(mark, language, text):
        run = ["bash", "-euo", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run([*run, text], capture_output=True, text=True, cwd=ROOT, timeout=120)
        assert done.returncode == 0 and dict(EXPECTED)[mark](done.stdout), f"{text}\n{done}"
        print(f"        {done.stdout.strip()[:160]}")

    with Server(None, command=["bash", "-c", f"exec {command}"]) as server:
        todo = [(f"example with {mark}", lambda m=mark, b=block: example(m, *b)) for mark, block in zip(shown, talk)]
        good = harness.run(todo)
        assert server.end() == 0, "".join(server.log)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
