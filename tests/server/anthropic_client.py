#!/usr/bin/env python3
"""The official anthropic client against `tenon-server serve`: messages, events, tools, counting and errors.

    python3 tests/server/anthropic_client.py [--server PATH] [--only TEXT]

It makes a virtual environment under target/ with the client in it, and runs itself there. The weights of smollm2-135m-instruct
must have been pulled.
"""

import argparse
import concurrent.futures
import json
import sys
from pathlib import Path

import harness
from harness import ANSWER, BARD, BINARY, QUESTION, SMOL as MODEL, Server, raises

WEATHER, TIME = harness.tool("get_weather", "input_schema"), harness.tool("get_time", "input_schema")
TOOLS = [WEATHER, TIME]


def check_input(block):
    """An input that is valid against the tool's schema."""
    import jsonschema

    schema = {tool["name"]: tool for tool in TOOLS}[block.name]["input_schema"]
    jsonschema.validate(block.input, schema)
    assert block.type == "tool_use" and block.id.startswith("toolu_"), block


class Tests:
    """One method per test; each gets a running server."""

    def __init__(self, server):
        import anthropic
        import openai

        self.anthropic = anthropic
        self.server = server
        self.client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=120)
        self.openai = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)

    def asked(self, messages=QUESTION, temperature=0, **more):
        """Arguments of a request. The client of today has no sampling parameters of its own; the routes take them."""
        body = {"temperature": temperature, **more.pop("extra_body", {})}
        return {"model": MODEL, "messages": messages, "max_tokens": 40, "extra_body": body, **more}

    def message(self, messages=QUESTION, **more):
        return self.client.messages.create(**self.asked(messages, **more))

    def text(self, **more):
        (block,) = self.message(**more).content
        assert block.type == "text", block
        return block.text

    def count(self, messages=QUESTION, **more):
        return self.client.messages.count_tokens(model=MODEL, messages=messages, **more).input_tokens

    def test_message(self):
        message = self.message()
        (block,) = message.content
        assert (block.type, block.text, message.stop_reason, message.role) == ("text", ANSWER, "end_turn", "assistant"), message
        assert message.type == "message" and message.id.startswith("msg_") and message.model == MODEL and message.stop_sequence is None
        read = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
        assert read == self.count() and message.usage.output_tokens == 8, message.usage
        assert message._request_id, "every answer has an id"

    def test_events_make_up_the_message(self):
        whole = self.message()
        events = []
        with self.client.messages.stream(**self.asked()) as stream:
            for event in stream:
                events.append(event.type)
            final = stream.get_final_message()
        (block,) = final.content
        assert (block.type, block.text, final.stop_reason) == ("text", whole.content[0].text, "end_turn"), final
        assert final.usage.output_tokens == whole.usage.output_tokens
        raw = [event for event in self.message(stream=True)]
        kinds = [event.type for event in raw if event.type != "ping"]
        assert kinds[:2] == ["message_start", "content_block_start"], kinds
        assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds
        assert set(kinds[2:-3]) == {"content_block_delta"} and len(kinds) > 9, kinds
        assert "".join(event.delta.text for event in raw if event.type == "content_block_delta") == ANSWER

    def test_system_and_blocks(self):
        system = "Answer in one word."
        blocks = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        assert self.text(system=system) == self.text(system=blocks)
        parts = [{"role": "user", "content": [{"type": "text", "text": QUESTION[0]["content"]}]}]
        assert self.text(messages=parts) == ANSWER
        history = [*QUESTION, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "And of Italy?"}]
        assert "Rome" in self.text(messages=history)
        prefilled = [*QUESTION, {"role": "assistant", "content": "The capital of"}]
        assert self.text(messages=prefilled).startswith(" France is Paris"), self.text(messages=prefilled)

    def test_the_same_prompt_as_the_other_dialect(self):
        """One question, both dialects: the same number of tokens and the same answer."""
        said = self.openai.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=40)
        assert said.choices[0].message.content == self.text() and said.usage.prompt_tokens == self.count()
        functions = [{"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["input_schema"]}} for t in TOOLS]
        said = self.openai.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=1, tools=functions)
        assert said.usage.prompt_tokens == self.count(tools=TOOLS), said.usage

    def test_counting_is_generating(self):
        for more in [{}, {"system": "Be brief."}, {"tools": TOOLS}, {"tools": TOOLS, "tool_choice": {"type": "any"}}, {"tools": TOOLS, "tool_choice": {"type": "none"}}]:
            usage = self.message(max_tokens=2, **more).usage
            assert usage.input_tokens + (usage.cache_read_input_tokens or 0) == self.count(**more), more

    def test_stop(self):
        message = self.message(stop_sequences=[" Paris", "zzz"])
        assert (message.content[0].text, message.stop_reason, message.stop_sequence) == (ANSWER[: ANSWER.index(" Paris")], "stop_sequence", " Paris"), message
        assert self.message(max_tokens=3).stop_reason == "max_tokens"
        events = list(self.message(stop_sequences=[" Paris"], stream=True))
        (delta,) = [event.delta for event in events if event.type == "message_delta"]
        assert (delta.stop_reason, delta.stop_sequence) == ("stop_sequence", " Paris"), delta

    def test_sampling(self):
        story = [{"role": "user", "content": "Tell me about a dragon."}]
        assert self.text(messages=story, temperature=1.0, extra_body={"top_k": 1}) == self.text(messages=story)
        assert self.text(temperature=1.0, extra_body={"top_p": 0.01}) == ANSWER

    def test_forced_tools(self):
        ask = [{"role": "user", "content": "What is the weather in Paris?"}]
        for choice in [{"type": "any", "disable_parallel_tool_use": True}, {"type": "tool", "name": "get_time", "disable_parallel_tool_use": True}]:
            asked = {"messages": ask, "tools": TOOLS, "tool_choice": choice, "max_tokens": 100}
            message = self.message(**asked)
            calls = [block for block in message.content if block.type == "tool_use"]
            assert len(calls) == len(message.content) == 1 and message.stop_reason == "tool_use", message
            for call in calls:
                check_input(call)
                assert choice["type"] == "any" or call.name == "get_time", call
            with self.client.messages.stream(**self.asked(**asked)) as stream:
                pieces = [event for event in stream if event.type == "content_block_delta" and event.delta.type == "input_json_delta"]
                final = stream.get_final_message()
            streamed = [(block.name, block.input) for block in final.content if block.type == "tool_use"]
            assert streamed == [(call.name, call.input) for call in calls] and len(pieces) > 3, "inputs come in pieces"
        # Several, as many as the model likes and as there is room for: the last may be cut.
        several = self.message(messages=ask, tools=TOOLS, tool_choice={"type": "any"}, max_tokens=100)
        calls = [block for block in several.content if block.type == "tool_use"]
        assert calls and several.stop_reason in ("tool_use", "max_tokens"), several
        for call in calls:
            check_input(call)

    def test_tools_over_several_turns(self):
        history = [{"role": "user", "content": "What is the weather in Paris?"}]
        first = self.message(messages=history, tools=TOOLS, tool_choice={"type": "any", "disable_parallel_tool_use": True}, max_tokens=100)
        history.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]})
        (call,) = [block for block in first.content if block.type == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "21 degrees"}]}
        history.append({"role": "user", "content": [result, {"type": "text", "text": "And the time there?"}]})
        auto = self.message(messages=history, tools=TOOLS)
        assert auto.stop_reason in ("end_turn", "max_tokens", "tool_use"), auto
        second = self.message(messages=history, tools=TOOLS, tool_choice={"type": "tool", "name": "get_time"}, max_tokens=100)
        check_input(next(block for block in second.content if block.type == "tool_use"))
        usage = second.usage
        counted = self.count(messages=history, tools=TOOLS, tool_choice={"type": "tool", "name": "get_time"})
        assert usage.input_tokens + (usage.cache_read_input_tokens or 0) == counted
        assert self.text(tools=TOOLS, tool_choice={"type": "none"}) == ANSWER

    def test_cached_prefix(self):
        long = [{"role": "user", "content": "Count: " + " ".join(str(i) for i in range(160)) + ". What is the capital of Italy?"}]
        self.message(messages=long, max_tokens=4)
        usage = self.message(messages=long, max_tokens=4).usage
        assert usage.cache_read_input_tokens >= 64, usage
        assert usage.input_tokens + usage.cache_read_input_tokens == self.count(messages=long), usage

    def test_errors(self):
        bad = self.anthropic.BadRequestError
        for field, call in [
            ("messages", lambda: self.message(messages=[])),
            ("temperature", lambda: self.message(temperature=3)),
            ("max_tokens", lambda: self.message(max_tokens=0)),
            ("top_pp", lambda: self.message(extra_body={"top_pp": 1})),
            ("tool_choice", lambda: self.message(tools=TOOLS, tool_choice={"type": "tool", "name": "other"})),
            ("messages[0]", lambda: self.message(messages=[{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}])),
            ("stop_sequences", lambda: self.message(stop_sequences=[""])),
        ]:
            error = raises(bad, 400, call)
            assert error.body["type"] == "error" and error.body["error"]["type"] == "invalid_request_error", error.body
            assert field in error.body["error"]["message"], (field, error.body)
        long = [{"role": "user", "content": "word " * 9000}]
        assert "8192" in raises(bad, 400, lambda: self.message(messages=long)).body["error"]["message"]
        missing = raises(self.anthropic.NotFoundError, 404, lambda: self.client.messages.create(model="other", messages=QUESTION, max_tokens=4))
        assert missing.body["error"]["type"] == "not_found_error", missing.body
        large = [{"role": "user", "content": "x" * (9 << 20)}]
        error = raises(self.anthropic.APIStatusError, 413, lambda: self.message(messages=large))
        assert error.body["error"]["type"] == "request_too_large", error.body

    def test_models(self):
        assert [model.id for model in self.client.models.list()] == [MODEL]
        assert self.client.models.retrieve(MODEL).type == "model"

    def test_clients_that_leave_make_room(self):
        story = [{"role": "user", "content": "Count from one to ten thousand."}]
        for _ in range(8):
            stream = self.message(messages=story, max_tokens=4000, stream=True)
            for event in stream:
                if event.type == "content_block_delta":
                    break
            stream.close()
        self.server.idle()
        assert self.text() == ANSWER

    def test_many_at_a_time(self):
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            assert set(pool.map(lambda _: self.text(), range(24))) == {ANSWER}


def test_keys(binary):
    import anthropic

    with Server(binary, model=BARD, env={"TENON_API_KEY": "the-key-of-a-test"}) as server:
        client = lambda key: anthropic.Anthropic(base_url=server.url, api_key=key, max_retries=0, timeout=60)
        assert [model.id for model in client("the-key-of-a-test").models.list()] == [BARD]
        ask = lambda: client("another").messages.create(model=BARD, max_tokens=4, messages=QUESTION)
        error = raises(anthropic.AuthenticationError, 401, ask)
        assert error.body["error"]["type"] == "authentication_error", error.body
        assert server.end() == 0


def test_a_full_queue_is_a_rate_limit(binary):
    import anthropic

    with Server(binary, "--max-sequences", "1", "--queue", "1", "--context", "512") as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=120)
        ask = lambda: client.messages.create(model=MODEL, max_tokens=100, messages=QUESTION, stream=True, system="Tell long stories.")
        # The stream of the second begins when the first has ended, so that it is asked for beside it.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(lambda: list(ask())) for _ in range(4)]
            refused = [future.exception() for future in asked if future.exception()]
        assert refused and len(refused) < 4, refused
        for error in refused:
            assert isinstance(error, anthropic.RateLimitError), error
            assert error.body["error"]["type"] == "rate_limit_error" and int(error.response.headers["retry-after"]) >= 1, error.body
        assert server.end() == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=BINARY, help="the binary to test")
    parser.add_argument("--only", default="", help="only tests whose name has this in it")
    arguments = parser.parse_args()
    harness.environment()

    binary = Path(arguments.server).resolve()
    with Server(binary) as server:
        own = [(name, lambda test=test: test(binary)) for name, test in harness.tests_of(globals())]
        good = harness.run(harness.tests_of(Tests(server)) + own, arguments.only)
        server.idle()
        assert server.end() == 0, "".join(server.log)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
