"""What the tests of the server share: a virtual environment with the clients, a server of one's own, and a list of tests."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = ROOT / "target" / "release" / "tenon-server"
SMOL = "smollm2-135m-instruct"
BARD = "bard-mla"
ANSWER = "The capital of France is Paris."
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
# Two tools; each dialect has its own word for the schema.
CITY = {"type": "string", "maxLength": 20}
SCHEMAS = {
    "get_weather": ("The weather in a city.", {"city": CITY, "unit": {"enum": ["celsius", "fahrenheit"]}}),
    "get_time": ("The time in a city.", {"city": CITY}),
}


def tool(name, schema="parameters"):
    """One of the two tools."""
    description, properties = SCHEMAS[name]
    of_object = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, schema: of_object}


# Everything that any of the tests needs, so that there is one environment.
PACKAGES = ["openai==3.57.0", "anthropic==2.15.0", "jsonschema==4.26.0", "selenium==4.51.0"]


def environment():
    """Runs the script again in a virtual environment under target/ that has the packages; returns when it is that one."""
    wanted = "\n".join(PACKAGES)
    if os.environ.get("TENON_CLIENTS") == wanted:
        return
    folder = ROOT / "target" / "clients"
    python, done = folder / "bin" / "python", folder / "packages.txt"
    if not done.exists() or done.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
        done.write_text(wanted)
    os.environ["TENON_CLIENTS"] = wanted
    os.execv(python, [str(python), *sys.argv])


class Server:
    """A server on a port of its own."""

    def __init__(self, binary, *flags, model=SMOL, command=None, env=None):
        command = command or [str(binary), "serve", model, "--port", "0", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **(env or {})})
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
        # It listens before it has loaded, and says so to those who ask.
        wait(self.is_ready, 120, lambda: f"the server is not ready: {''.join(self.log)}")

    def is_ready(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the server ended with {self.process.returncode}:\n{''.join(self.log)}")
        return self.get("/ready")[0] == 200

    def get(self, path, **headers):
        """Status, headers and text of a route."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def metrics(self):
        """What /metrics tells."""
        return Metrics(self.get("/metrics")[2])

    def idle(self, within=30):
        """Waits until nothing runs and nothing waits."""
        return wait(lambda: self.metrics().is_idle(), within, lambda: f"the server is not idle: {self.metrics().running()}")

    def end(self, number=signal.SIGTERM):
        """Its exit code after a signal."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Metrics:
    """Samples of Prometheus's text format."""

    LINE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
    LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text):
        self.samples = []
        for line in text.splitlines():
            if line.startswith("#") or not line:
                continue
            found = self.LINE.match(line)
            assert found, f"not a sample: {line}"
            self.samples.append((found[1], dict(self.LABEL.findall(found[2] or "")), float(found[3])))

    def sum(self, name, **labels):
        """The sum of a metric's samples that have these labels; 0 where there are none yet."""
        return sum(value for found, has, value in self.samples if found == name and labels.items() <= has.items())

    def by(self, name, label):
        """A metric's sums by the values of a label."""
        sums = {}
        for found, has, value in self.samples:
            if found == name:
                sums[has.get(label)] = sums.get(has.get(label), 0) + value
        return sums

    def has(self, name):
        return any(found == name for found, _, _ in self.samples)

    def running(self):
        names = ("tenon_sequences_running", "tenon_sequences_waiting")
        assert all(map(self.has, names)), f"/metrics does not have all of {names}"
        return {name: self.sum(name) for name in names}

    def is_idle(self):
        return not any(self.running().values())


def wait(done, within, why):
    """Waits until something holds, which it must before a number of seconds."""
    until = time.monotonic() + within
    while not done():
        if time.monotonic() > until:
            raise AssertionError(why())
        time.sleep(0.02)


def raises(kind, status, call, **expected):
    """The error that a call must raise, with these fields."""
    try:
        call()
    except kind as error:
        found = {"status": error.status_code, **{key: getattr(error, key) for key in expected}}
        assert found == {"status": status, **expected}, (found, error)
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def tests_of(thing):
    """Names and functions of the tests of an object or a module's globals."""
    names = thing if isinstance(thing, dict) else {name: getattr(thing, name) for name in dir(thing)}
    return [(name, test) for name, test in names.items() if name.startswith("test_")]


def run(todo, only=""):
    """Runs tests by name, and says what came of it; whether all passed."""
    todo = [(name, test) for name, test in todo if only in name]
    failed = 0
    for name, test in todo:
        started = time.monotonic()
        try:
            test()
            print(f"ok      {name} ({time.monotonic() - started:.1f} s)", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{len(todo) - failed} passed, {failed} failed")
    return failed == 0 and len(todo) > 0
