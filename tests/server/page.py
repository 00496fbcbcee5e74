#!/usr/bin/env python3
"""The page at `/` in a real browser.

    python3 tests/server/page.py [--server PATH] [--only TEXT]

Chromium and its driver must be installed (Debian: chromium, chromium-driver), and the weights of smollm2-135m-instruct pulled.
Screenshots are written to target/page/.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

import harness
from harness import BARD, BINARY, ROOT, SMOL, Server, wait

SHOTS = ROOT / "target" / "page"
TOOLS = [{"type": "function", "function": harness.tool("get_weather")}]
# Answers the page's next requests with these chunks, one read of the body for each, and keeps what was asked.
MOCK = """
const [answers, pause] = arguments;
window.asked = [];
const real = window.fetch;
window.fetch = async (path, options) => {
  if (!path.startsWith("/v1/")) return real(path, options);
  window.asked.push(JSON.parse(options.body));
  const chunks = answers.shift();
  if (chunks.status) return new Response(JSON.stringify(chunks.body), { status: chunks.status });
  const encoder = new TextEncoder();
  return new Response(new ReadableStream({
    async pull(controller) {
      const chunk = chunks.shift();
      if (chunk === undefined) return controller.close();
      await new Promise((resolve) => setTimeout(resolve, pause));
      controller.enqueue(encoder.encode(chunk));
    },
  }));
};
"""


def event(delta, finish=None, **more):
    """An event of a chat completion's stream."""
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}], **more})}\n\n"


class Browser:
    """A headless browser, and what it was asked to load."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.size(1280, 860)

    def size(self, width, height):
        """The size of what is seen; a window would not become as narrow as a phone."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})

    def scheme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def open(self, server):
        self.driver.get(f"{server.url}/")
        self.until(lambda: self.text("#empty") and "Loading" not in self.text("#empty"))

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def text(self, css):
        """The text of the last such element; nothing where there is none."""
        return self.driver.execute_script("return [...document.querySelectorAll(arguments[0])].at(-1)?.textContent ?? ''", css)

    def script(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def fill(self, css, value):
        """Puts a value into a field as typing it would."""
        self.script("const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change'))", css, value)

    def say(self, words):
        self.find("#text").send_keys(words)
        self.find("#send").click()

    def is_running(self):
        return not self.script("return document.getElementById('stop').hidden")

    def until(self, done, within=60):
        def why():
            return f"the page shows: {self.text('#empty')} {self.text('#log')}"
        wait(done, within, why)

    def answered(self):
        self.until(lambda: not self.is_running() and self.text(".assistant footer"))

    def shot(self, name):
        self.driver.save_screenshot(str(SHOTS / f"{name}.png"))

    def clean(self, server, allowed=()):
        """Nothing went wrong in the console, and nothing was asked of any other host."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        assert all(any(part in line for part in allowed) for line in said), said
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        foreign = [url for url in urls if not url.startswith((server.url + "/", "data:", "blob:", "chrome:", "about:"))]
        assert urls and not foreign, (foreign, urls)


class Bard:
    """With a model that has no chat format and goes on with texts."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server

    def test_text_streams_in(self):
        page = self.browser
        page.open(self.server)
        assert page.script("return getComputedStyle(document.getElementById('tools')).display !== 'none' && document.getElementById('tools').offsetParent === null")
        page.fill("#temperature", "0")
        page.fill("#max_tokens", "400")
        page.script("window.sizes = new Set(); new MutationObserver(() => sizes.add(document.querySelector('.assistant .text')?.textContent.length ?? 0)).observe(document.getElementById('log'), { subtree: true, childList: true, characterData: true })")
        page.say("ROMEO:\nWhat light".split("\n")[0])
        page.answered()
        assert page.script("return sizes.size") > 20, "the text came in one piece"
        assert "400 tokens" in page.text(".assistant footer") and "cut" in page.text(".assistant footer")
        first = page.text(".assistant .text")
        # An empty message goes on where the text ended, which is what the server says of the whole of it.
        page.fill("#max_tokens", "16")
        page.script("document.querySelector('#composer').requestSubmit()")
        page.until(lambda: len(page.all(".assistant footer")) == 2)
        asked = {"model": BARD, "prompt": "ROMEO:" + first, "temperature": 0, "max_tokens": 16}
        assert page.text(".assistant .text") == post(self.server, "/v1/completions", asked)["choices"][0]["text"]
        page.clean(self.server)

    def test_stop_midway_frees_the_server(self):
        page = self.browser
        page.open(self.server)
        page.fill("#max_tokens", "1900")
        before = self.server.metrics().sum("tenon_generated_tokens_total")
        page.say("ROMEO:")
        page.until(lambda: len(page.text(".assistant .text")) > 20)
        page.find("#stop").click()
        page.until(lambda: not page.is_running())
        self.server.idle(within=10)
        assert "stopped" in page.text(".assistant footer") and page.find("#send").is_displayed()
        generated = self.server.metrics().sum("tenon_generated_tokens_total") - before
        assert 0 < generated < 1900, f"{generated} tokens were generated although the page stopped"
        page.find("#new").click()
        assert page.all("#log > *") == [] and page.find("#empty").is_displayed()
        page.clean(self.server)

    def test_facts(self):
        page = self.browser
        page.open(self.server)
        plan = json.loads(self.server.get("/debug/plan")[2])
        facts = page.text("#facts")
        for value in (BARD, plan["deployment"]["target"], plan["deployment"]["kv_cache_dtype"], "Nothing of the spec is overridden"):
            assert value in facts, facts
        assert f"{plan['deployment']['context']:,} tokens" in facts, facts
        shown = {row.find_element("css selector", "th").text for row in page.all("#facts tr")}
        assert shown == {pool["pool"] for pool in plan["memory"]["pools"] if pool["bytes"]}, shown

    def test_errors_are_text(self):
        page = self.browser
        page.open(self.server)
        page.fill("#temperature", "7")
        page.say("<b>bold</b>")
        page.until(lambda: page.all("#log .fault"))
        assert "temperature" in page.text("#log .fault"), page.text("#log .fault")
        assert page.script("return document.getElementById('text').value") == "<b>bold</b>", "what was not sent can be sent again"
        page.fill("#temperature", "0")
        page.fill("#max_tokens", "4")
        page.find("#send").click()
        page.answered()
        assert page.text(".user .text") == "<b>bold</b>" and page.all("#log b") == []
        page.clean(self.server, allowed=["400 (Bad Request)"])

    def test_headers(self):
        status, headers, _ = self.server.get("/")
        assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in headers["content-security-policy"] and "unsafe" not in headers["content-security-policy"]
        assert self.server.get("/", **{"if-none-match": headers["etag"]})[0] == 304
        page = self.browser
        page.open(self.server)
        refused = page.script("const s = document.createElement('script'); s.textContent = 'window.inline = 1'; document.head.append(s); return window.inline")
        assert refused is None, "an inline script ran"
        page.driver.get_log("browser")


class Smol:
    """With a model that converses and calls tools."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server

    def test_conversation(self):
        page = self.browser
        page.open(self.server)
        page.fill("#temperature", "0")
        page.fill("#max_tokens", "40")
        page.say("What is the capital of France?")
        page.answered()
        assert page.text(".assistant .text") == "The capital of France is Paris.", page.text("#log")
        page.say("And of Italy?")
        page.until(lambda: len(page.all(".assistant footer")) == 2)
        assert "Rome" in page.text(".assistant .text")
        # A page of the cache holds 64 tokens: the third prompt begins with as many of the second and its answer.
        page.say("And of Spain?")
        page.until(lambda: len(page.all(".assistant footer")) == 3)
        assert "cached" in page.text(".assistant footer"), "the third prompt begins like the second"
        page.shot("light")
        page.scheme("dark")
        page.shot("dark")
        page.scheme("light")
        page.clean(self.server)

    def test_forced_tool_call_and_its_result(self):
        page = self.browser
        page.open(self.server)
        page.fill("#temperature", "0")
        page.fill("#max_tokens", "80")
        page.fill("#tools", "[{]")
        assert "no JSON" in page.text("#tools-fault")
        page.fill("#tools", json.dumps(TOOLS, indent=2))
        assert page.text("#tools-fault") == ""
        page.fill("#tool_choice", "required")
        page.say("What is the weather in Paris?")
        page.answered()
        assert page.text(".call .name") == "get_weather", page.text("#log")
        arguments = json.loads(page.text(".call pre"))
        assert set(arguments) == {"city", "unit"} and arguments["unit"] in ("celsius", "fahrenheit"), arguments
        page.shot("tool-call")
        page.fill("#tool_choice", "none")
        page.fill(".call textarea", '{"temperature": 21, "sky": "clear"}')
        page.find(".results button").click()
        page.until(lambda: len(page.all(".assistant footer")) == 2)
        assert page.text(".result .name") == "Result of get_weather" and page.text(".assistant:last-child .text")
        page.scheme("dark")
        page.shot("tool-result-dark")
        page.scheme("light")
        page.clean(self.server)

    def test_reasoning_is_folded_and_calls_stream(self):
        """What no model this small does, from a stream that is cut in odd places."""
        page = self.browser
        page.open(self.server)
        name = {"name": "get_weather", "arguments": ""}
        whole = "".join([
            ": keep-alive\n\n",
            event({"role": "assistant", "reasoning_content": "Two cities, "}),
            event({"reasoning_content": "so two calls: ☀."}),
            event({"content": "I look <i>it</i> up."}),
            event({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": name}]}),
            event({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": "Par'}}]}),
            event({"tool_calls": [{"index": 0, "function": {"arguments": 'is"}'}}]}).replace("\n", "\r\n"),
            event({"tool_calls": [{"index": 1, "id": "call_b", "type": "function", "function": {**name, "arguments": '{"city": "Rome"}'}}]}),
            event({}, "tool_calls"),
            'data: {"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 41, "prompt_tokens_details": {"cached_tokens": 64}}}\n\n',
            "data: [DONE]\n\n",
        ])
        pieces = [whole[i : i + 7] for i in range(0, len(whole), 7)]
        last = [event({"content": "Sunny in both."}, "stop"), "data: [DONE]\n\n"]
        busy = {"status": 429, "body": {"error": {"message": "no place", "param": None}}}
        page.script(MOCK, [pieces, busy, last], 1)
        page.fill("#tools", json.dumps(TOOLS))
        page.say("Weather in Paris and Rome?")
        page.answered()
        assert page.text(".reasoning .text") == "Two cities, so two calls: ☀." and not page.find(".reasoning .text").is_displayed()
        assert page.text(".assistant > .text") == "I look <i>it</i> up." and page.all("#log i") == []
        calls = page.script("return [...document.querySelectorAll('.call pre')].map((e) => JSON.parse(e.textContent).city)")
        assert calls == ["Paris", "Rome"], calls
        assert "64 of them cached" in page.text(".assistant footer")
        page.find(".reasoning summary").click()
        assert page.find(".reasoning .text").is_displayed()
        page.shot("reasoning-and-calls")
        for field, value in zip(page.all(".call textarea"), ("sun", "more sun")):
            field.send_keys(value)
        page.find(".results button").click()
        page.until(lambda: page.all("#log .fault"))
        assert "no place" in page.text("#log .fault") and page.find(".results button").is_displayed(), "results can be sent again"
        page.find(".results button").click()
        page.until(lambda: page.text(".assistant:last-child .text") == "Sunny in both.")
        sent = page.script("return window.asked.at(-1).messages")
        assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"], sent
        assert [call["id"] for call in sent[1]["tool_calls"]] == [m["tool_call_id"] for m in sent[2:]] == ["call_a", "call_b"]
        assert [m["content"] for m in sent[2:]] == ["sun", "more sun"] and sent[1]["content"] == "I look <i>it</i> up."
        page.clean(self.server)

    def test_every_cut_of_a_stream_reads_the_same(self):
        page = self.browser
        page.open(self.server)
        cuts = page.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            (async () => {
              const { events } = await import("/page/sse.js");
              const text = ": c\\r\\n\\r\\nevent: x\\r\\ndata: a\\r\\ndata:  b\\r\\n\\r\\ndata: ü☀\\n\\ndata\\n\\nid: 1\\n\\ndata:c\\r\\rdata: lost";
              const bytes = new TextEncoder().encode(text);
              const read = async (cut) => {
                const parts = [bytes.slice(0, cut), bytes.slice(cut)].filter((part) => part.length);
                const found = [];
                for await (const data of events(new Response(new ReadableStream({ start(c) { parts.forEach((p) => c.enqueue(p)); c.close(); } })))) found.push(data);
                return JSON.stringify(found);
              };
              const all = new Set();
              for (let cut = 0; cut <= bytes.length; cut += 1) all.add(await read(cut));
              done([...all]);
            })();
        """)
        assert cuts == [json.dumps(["a\n b", "ü☀", "", "c"], ensure_ascii=False, separators=(",", ":"))], cuts

    def test_narrow_screen(self):
        page = self.browser
        try:
            page.size(390, 780)
            page.open(self.server)
            page.fill("#temperature", "0")
            page.fill("#max_tokens", "60")
            page.say("Name three trees.")
            page.answered()
            wide = page.script("return document.documentElement.scrollWidth")
            assert wide <= 390, f"the page is {wide} wide"
            page.shot("narrow")
            assert not page.find("#side").is_displayed()
            page.find("#toggle").click()
            assert page.find("#side").is_displayed() and page.find("#toggle").get_attribute("aria-expanded") == "true"
            page.scheme("dark")
            page.shot("narrow-settings-dark")
            page.scheme("light")
            assert page.script("return document.documentElement.scrollWidth") <= 390
            page.clean(self.server)
        finally:
            page.size(1280, 860)


def test_key(browser, binary):
    """A server with a key: the page says so, takes the key, and keeps it for this tab."""
    with Server(binary, model=BARD, env={"TENON_API_KEY": "a-key-of-the-test"}) as server:
        browser.open(server)
        assert "API key" in browser.text("#empty"), browser.text("#empty")
        browser.fill("#key", "a-key-of-the-test")
        browser.until(lambda: browser.text("#model") == BARD)
        browser.open(server)
        assert browser.text("#model") == BARD
        kept = browser.script("return [Object.values(sessionStorage), Object.values(localStorage), document.cookie]")
        assert kept == [["a-key-of-the-test"], [], ""], kept
        browser.clean(server, allowed=["401 (Unauthorized)"])


def post(server, path, body):
    """The answer of a route."""
    import urllib.request

    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=BINARY, help="the binary to test")
    parser.add_argument("--only", default="", help="only tests whose name has this in it")
    arguments = parser.parse_args()
    harness.environment()
    missing = [tool for tool in ("chromium", "chromedriver") if not shutil.which(tool)]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}; Debian has them as chromium and chromium-driver")
    SHOTS.mkdir(parents=True, exist_ok=True)
    binary = Path(arguments.server).resolve()
    browser = Browser()
    try:
        with Server(binary, model=BARD) as bard, Server(binary, "--context", "2048") as smol:
            todo = harness.tests_of(Bard(browser, bard)) + harness.tests_of(Smol(browser, smol))
            todo.append(("test_key", lambda: test_key(browser, binary)))
            good = harness.run(todo, arguments.only)
            ended = [server.end() for server in (bard, smol)]
            assert ended == [0, 0], ended
    finally:
        browser.driver.quit()
    print(f"screenshots: {SHOTS.relative_to(ROOT)}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
