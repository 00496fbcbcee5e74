#!/usr/bin/env python3
"""The official openai client against `tenon-server serve`: every route, every parameter, every class of error.

    python3 tests/server/openai_client.py [--server PATH] [--only TEXT]

It makes a virtual environment under target/ with the client in it, and runs itself there. The weights of smollm2-135m-instruct
must have been pulled.
"""

import argparse
import concurrent.futures
import json
import re
import sys
import time
from pathlib import Path

import harness
import process
from harness import ANSWER, BINARY, QUESTION, SMOL as MODEL, Server, raises

WEATHER, TIME = harness.tool("get_weather"), harness.tool("get_time")
TOOLS = [{"type": "function", "function": WEATHER}, {"type": "function", "function": TIME}]
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["kind", "tall", "quick"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def accumulate(stream):
    """The choices that a stream's chunks make up, and its usage."""
    choices, usage = {}, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            one = choices.setdefault(choice.index, {"content": "", "reasoning": "", "calls": [], "finish": None})
            assert one["finish"] is None, "a choice went on behind its end"
            delta = choice.delta
            one["content"] += delta.content or ""
            one["reasoning"] += getattr(delta, "reasoning_content", None) or ""
            for call in delta.tool_calls or []:
                if call.index == len(one["calls"]):
                    assert call.id and call.type == "function" and call.function.name, call
                    one["calls"].append({"id": call.id, "name": call.function.name, "arguments": "", "pieces": 0})
                one["calls"][call.index]["arguments"] += call.function.arguments or ""
                one["calls"][call.index]["pieces"] += 1
            one["finish"] = choice.finish_reason
    return [choices[i] for i in range(len(choices))], usage


def check_call(name, arguments):
    """Arguments that are valid against the function's schema."""
    import jsonschema

    schema = {"get_weather": WEATHER, "get_time": TIME}[name]["parameters"]
    jsonschema.validate(json.loads(arguments), schema)


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
        raises(bad, 400, lambda: self.chat(n=0), param="n")
        raises(bad, 400, lambda: self.chat(extra_body={"store": True}), param="store", code="unsupported_parameter")
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
        raises(missing, 404, lambda: self.client.embeddings.create(model=MODEL, input="x"), code="not_implemented")
        raises(missing, 404, lambda: self.client.responses.create(model=MODEL, input="x"), code="not_implemented")
        raises(missing, 404, lambda: self.client.get("/nothing", cast_to=object), code="not_found")
        large = lambda: self.completion("x" * (9 << 20))
        raises(self.openai.APIStatusError, 413, large, code="request_too_large")

    def test_models(self):
        assert [model.id for model in self.client.models.list()] == [MODEL]
        assert self.client.models.retrieve(MODEL).owned_by == "tenon"
        raises(self.openai.NotFoundError, 404, lambda: self.client.models.retrieve("other"), param="model")

    def test_other_routes(self):
        for path in ("/health", "/ready"):
            assert self.server.get(path)[0] == 200, path
        plan = json.loads(self.server.get("/debug/plan")[2])
        assert plan["model"] == MODEL and plan["overrides"] == [], plan
        document = json.loads(self.server.get("/openapi.json")[2])
        assert document["openapi"].startswith("3.") and "/v1/chat/completions" in document["paths"], document.keys()
        for path in ("/v1/completions", "/v1/messages", "/v1/messages/count_tokens", "/tokenize", "/detokenize", "/metrics"):
            assert path in document["paths"], f"{path} is not in /openapi.json"

    def test_metrics_count(self):
        """What the metrics tell of one answer is what its usage tells."""
        names = {"prompt_tokens": "tenon_prompt_tokens_total", "completion_tokens": "tenon_generated_tokens_total"}
        self.server.idle()
        before = self.server.metrics()
        usage = self.chat().usage
        self.server.idle()
        after = self.server.metrics()
        for field, name in names.items():
            assert after.sum(name) - before.sum(name) == getattr(usage, field), (name, usage)
        asked = {"route": "/v1/chat/completions", "status": "200"}
        assert after.sum("tenon_http_requests_total", **asked) - before.sum("tenon_http_requests_total", **asked) == 1
        for name in ("tenon_time_to_first_token_seconds", "tenon_inter_token_latency_seconds", "tenon_queue_time_seconds"):
            assert after.sum(f"{name}_count") > before.sum(f"{name}_count"), name
            assert after.has(f"{name}_bucket"), name

    def test_tokenize(self):
        post = lambda path, body: self.client.with_options(base_url=self.server.url).post(path, body=body, cast_to=object)
        found = post("/tokenize", {"model": MODEL, "messages": QUESTION})
        assert found["count"] == len(found["tokens"]) == self.chat().usage.prompt_tokens, found
        with_tools = post("/tokenize", {"model": MODEL, "messages": QUESTION, "tools": TOOLS})
        assert with_tools["count"] == self.chat(tools=TOOLS, max_tokens=1).usage.prompt_tokens
        ids = post("/tokenize", {"model": MODEL, "prompt": "Grüße, 世界"})["tokens"]
        assert post("/detokenize", {"model": MODEL, "tokens": ids})["prompt"] == "Grüße, 世界"

    def test_cached_prefix(self):
        long = [{"role": "user", "content": "Count: " + " ".join(str(i) for i in range(150)) + ". What is the capital of France?"}]
        first, second = (self.chat(messages=long, max_tokens=8) for _ in range(2))
        cached = second.usage.prompt_tokens_details.cached_tokens
        assert 64 <= cached < second.usage.prompt_tokens, second.usage
        assert first.choices[0].message.content == second.choices[0].message.content

    def test_n(self):
        answer = self.chat(n=3, temperature=1.0, seed=7, max_tokens=12)
        texts = [choice.message.content for choice in answer.choices]
        assert [choice.index for choice in answer.choices] == [0, 1, 2] and len(set(texts)) > 1, texts
        again, usage = accumulate(self.chat(n=3, temperature=1.0, seed=7, max_tokens=12, stream=True, stream_options={"include_usage": True}))
        assert [choice["content"] for choice in again] == texts
        assert usage.completion_tokens == answer.usage.completion_tokens and usage.prompt_tokens == answer.usage.prompt_tokens
        assert [choice.message.content for choice in self.chat(n=2).choices] == [ANSWER, ANSWER]

    def test_prompts_in_lists(self):
        prompts = ["Once upon a time", "The sea is"]
        answer = self.completion(prompts)
        assert [choice.index for choice in answer.choices] == [0, 1]
        for prompt, choice in zip(prompts, answer.choices):
            assert self.completion(prompt).choices[0].text == choice.text
        post = lambda body: self.client.with_options(base_url=self.server.url).post("/tokenize", body=body, cast_to=object)
        ids = [post({"model": MODEL, "prompt": prompt})["tokens"] for prompt in prompts]
        assert self.completion(ids).choices[1].text == self.completion(ids[1]).choices[0].text == answer.choices[1].text

    def test_sampling_parameters(self):
        forced = self.chat(extra_body={"logit_bias": {"1": 100}}, max_tokens=2, logprobs=True)
        assert forced.usage.completion_tokens <= 2
        story = [{"role": "user", "content": "Write the word sea ten times."}]
        plain = self.text(messages=story)
        held = self.text(messages=story, frequency_penalty=2.0, presence_penalty=1.0)
        assert plain != held
        warm = {"messages": story, "temperature": 1.5, "seed": 3, "max_tokens": 16}
        assert self.text(extra_body={"min_p": 1.0}, **warm) == self.text(extra_body={"top_k": 1}, **warm) == self.text(messages=story, max_tokens=16)
        assert self.text(messages=story, extra_body={"repetition_penalty": 1.3}) != plain
        only = self.chat(messages=story, max_tokens=1, logprobs=True, top_logprobs=5).choices[0].logprobs.content[0]
        assert len(only.top_logprobs) == 5

    def test_forced_tools(self):
        named = {"type": "function", "function": {"name": "get_time"}}
        for choice in ("required", named):
            asked = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}], "tools": TOOLS, "tool_choice": choice, "parallel_tool_calls": False, "max_tokens": 100}
            answer = self.chat(**asked)
            message = answer.choices[0].message
            assert len(message.tool_calls) == 1 and not message.content, answer
            # The API says `tool_calls` where the model chose, and `stop` where the request named the function.
            expected = "tool_calls" if choice == "required" else "stop"
            assert answer.choices[0].finish_reason == expected, answer
            for call in message.tool_calls:
                check_call(call.function.name, call.function.arguments)
                assert call.id and (choice == "required" or call.function.name == "get_time"), call
            (streamed,), _ = accumulate(self.chat(stream=True, **asked))
            assert [(c["name"], c["arguments"]) for c in streamed["calls"]] == [(c.function.name, c.function.arguments) for c in message.tool_calls]
            assert streamed["finish"] == expected and streamed["calls"][0]["pieces"] > 3, "arguments come in pieces"
            ids = [call["id"] for call in streamed["calls"]]
            assert len(set(ids)) == len(ids)
        # Several, as many as the model likes and as there is room for.
        several = self.chat(messages=QUESTION, tools=TOOLS, tool_choice="required", max_tokens=100).choices[0]
        whole = several.message.tool_calls if several.finish_reason == "tool_calls" else several.message.tool_calls[:-1]
        for call in whole:
            check_call(call.function.name, call.function.arguments)

    def test_tools_over_several_turns(self):
        history = [{"role": "user", "content": "What is the weather in Paris?"}]
        first = self.chat(messages=history, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, max_tokens=100).choices[0].message
        history.append(first.model_dump(exclude_none=True))
        history.append({"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": '{"temperature": 21}'})
        second = self.chat(messages=history, tools=TOOLS, tool_choice="auto")
        assert second.choices[0].finish_reason in ("stop", "length", "tool_calls"), second
        assert second.usage.prompt_tokens > 100
        history.append({"role": "user", "content": "And the time there?"})
        named = {"type": "function", "function": {"name": "get_time"}}
        third = self.chat(messages=history, tools=TOOLS, tool_choice=named, max_tokens=100).choices[0].message
        check_call(third.tool_calls[0].function.name, third.tool_calls[0].function.arguments)
        quiet = self.chat(messages=QUESTION, tools=TOOLS, tool_choice="none").choices[0]
        assert quiet.message.tool_calls is None and quiet.message.content == ANSWER, quiet

    def test_wrong_tools(self):
        bad = self.openai.BadRequestError
        raises(bad, 400, lambda: self.chat(tools=TOOLS, tool_choice={"type": "function", "function": {"name": "other"}}), param="tool_choice.function.name")
        raises(bad, 400, lambda: self.chat(tool_choice="required"), param="tool_choice")
        raises(bad, 400, lambda: self.chat(tools=[TOOLS[0], TOOLS[0]]))
        wrong = {"type": "function", "function": {**WEATHER, "parameters": {"type": "objekt"}}}
        error = raises(bad, 400, lambda: self.chat(tools=[wrong], tool_choice="required"))
        assert "tools" in (error.param or ""), error

    def test_json(self):
        import jsonschema

        ask = [{"role": "user", "content": "Describe a person as JSON."}]
        free = self.chat(messages=ask, response_format={"type": "json_object"}, max_tokens=300)
        # An object may go on for longer than there is room, and then it says so.
        if free.choices[0].finish_reason == "stop":
            assert isinstance(json.loads(free.choices[0].message.content), dict), free
        for strict in (False, True):
            shape = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": strict}}
            answer = self.chat(messages=ask, response_format=shape, max_tokens=200)
            assert answer.choices[0].finish_reason == "stop", answer
            jsonschema.validate(json.loads(answer.choices[0].message.content), PERSON)
            (streamed,), _ = accumulate(self.chat(messages=ask, response_format=shape, max_tokens=200, stream=True))
            assert streamed["content"] == answer.choices[0].message.content
            warm = self.chat(messages=ask, response_format=shape, max_tokens=200, temperature=1.5, seed=5, n=2)
            for choice in warm.choices:
                jsonschema.validate(json.loads(choice.message.content), PERSON)
        broken = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "objekt"}}}
        error = raises(self.openai.BadRequestError, 400, lambda: self.chat(messages=ask, response_format=broken))
        assert "response_format" in error.param, error

    def test_no_reasoning_where_the_model_has_none(self):
        message = self.chat().choices[0].message
        assert getattr(message, "reasoning_content", None) is None, message

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
        self.server.idle()
        assert self.text() == ANSWER


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=BINARY, help="the binary to test")
    parser.add_argument("--only", default="", help="only tests whose name has this in it")
    arguments = parser.parse_args()
    harness.environment()

    binary = Path(arguments.server).resolve()
    with Server(binary) as server:
        own = [(name, lambda test=test: test(binary)) for name, test in harness.tests_of(vars(process))]
        good = harness.run(harness.tests_of(Tests(server)) + own, arguments.only)
        server.idle()
        assert server.end() == 0, "".join(server.log)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
