"""Random templates with what Jinja2 renders for them, as cases for tests/jinja.rs.

    python differential.py --count 2000 --seed 1 > cases.json                 # needs jinja2 3.1.6
    python differential.py --templates FOLDER --count 500 > cases.json        # mutated parts of real templates as well
    TENON_JINJA_CASES=cases.json cargo test -p tenon-formats --test jinja -- --ignored

The environment is the one that Hugging Face transformers builds for chat templates.
"""

import argparse
import json
import pathlib
import random
import re
import signal
import sys
from datetime import datetime

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime(2026, 7, 4, 12, 0, 0)

CONTEXT = {
    "n": None, "t": True, "f": False, "i": 3, "z": 0, "neg": -7, "x": 2.5, "whole": 4.0, "tiny": 1e-07, "big": 12345678901234567890,
    "huge": 1e16, "s": "Hello, World!", "e": "", "sp": "  two words \n", "u": "Grüße ß 世界 'q' \"d\" \\ \n\t<&>", "num": "42", "flt": "3.7",
    "l": [3, 1, 2], "el": [], "ls": ["b", "A", "c", "a"], "mixed": [1, "1", None, True, 2.0, [1], {"k": 1}],
    "d": {"b": 1, "a": "two", "items": "F", "keys": None, "n": {"deep": [1, {"x": "y"}]}}, "ed": {},
    "rows": [{"name": "x", "v": 2, "g": "A"}, {"name": "y", "v": 1, "g": "b"}, {"name": "Z", "v": 3, "g": "a"}],
    "messages": [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "Hi <&> \"there\""},
        {"role": "assistant", "content": None, "reasoning_content": "why\nnot", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1, "b": [True, None, 1.0], "c": "é'"}}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "{\"r\": 1}"},
        {"role": "user", "content": [{"type": "text", "text": "part"}, {"type": "image"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {
        "type": "object", "properties": {"a": {"type": "integer"}, "items": {"type": "string", "enum": ["p", "q"]}}, "required": ["a"]}}}],
    "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
}


class Generation(Extension):
    """`{% generation %}` as a block that changes nothing."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    @jinja2.pass_eval_context
    def _body(self, _context, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return env


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *choices):
        return self.r.choice(choices)

    def name(self):
        return self.r.choice([*CONTEXT, "missing", "v", "loop"])

    def text(self):
        return self.pick("''", "'a'", "', '", "'x y'", "\"it's\"", "'\\n'", "'l'", "'%s'", "'A'", "' '", "'\\u00e9'", "'o' 'k'", "'World'")

    def number(self):
        return self.pick("0", "1", "2", "-1", "3", "10", "1.5", "0.0", "1e3", "-2.5", "7", "1_000", "100")

    def literal(self):
        return self.pick(self.text, self.number, lambda: self.pick("none", "true", "False", "[]", "{}", "()", "(1,)", "[1, 'a']", "{'a': 1, 'b': none}"))()

    def expr(self, depth=3):
        if depth <= 0:
            return self.pick(self.name, self.name, self.literal)()
        e = lambda: self.expr(depth - 1 - self.r.randrange(2))
        kinds = [
            self.name, self.literal, lambda: self.binary(e), lambda: self.binary(e), lambda: self.lookup(e), lambda: self.lookup(e),
            lambda: self.method(e), lambda: self.method(e), lambda: self.filter(e), lambda: self.filter(e), lambda: self.filter(e),
            lambda: self.test(e), lambda: f"({e()} if {e()} else {e()})", lambda: f"[{e()}, {e()}]", lambda: f"({e()}, {e()})",
            lambda: f"{{'a': {e()}, {self.text()}: {e()}}}", lambda: f"(not {e()})", lambda: f"(-{e()})",
            lambda: f"range({self.number()})", lambda: f"dict(a={e()})", lambda: f"namespace(a={e()}).a",
        ]
        return self.r.choice(kinds)()

    def binary(self, e):
        op = self.pick("+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "+", "~", "%", "**")
        if op == "*":
            return f"({e()} * {self.pick('2', '3', '0', '-1', 'i', 'x')})"
        if op == "**":
            return f"({self.number()} ** {self.pick('2', '0', '-1', '0.5')})"
        if self.r.random() < 0.1:
            return f"({e()} {self.pick('<', '==', '<=')} {e()} {self.pick('<', '!=', 'in')} {e()})"
        return f"({e()} {op} {e()})"

    def lookup(self, e):
        base = self.pick(self.name, e)()
        return base + self.pick(
            ".a", ".items", ".name", ".role", ".content", "['items']", "['a']", "[0]", "[-1]", "[1:]", "[::-1]", "[:2]", "[-2:]", "[1:3:2]",
            "[5]", ".n.deep", "[i]", "[s]", ".0", "[::2]", "[:-1]", ".tool_calls", ".foo", "[none]", "['keys']", "[n]", "[x]", "[0].name")

    def method(self, e):
        base = self.pick(self.name, lambda: "s", lambda: "u", lambda: "d", lambda: "l", e, self.text)()
        if not re.match(r"^[\w\[('\"{]", base):
            base = f"({base})"
        a, n = self.text, self.number
        return base + self.pick(
            ".upper()", ".lower()", ".title()", ".capitalize()", ".swapcase()", ".strip()", f".strip({a()})", f".lstrip({a()})",
            f".rstrip({a()})", ".split()", f".split({a()})", f".split({a()}, {n()})", f".rsplit({a()}, 1)", ".splitlines()", ".splitlines(true)",
            f".startswith({a()})", f".endswith({a()})", f".startswith(({a()}, {a()}))", f".replace({a()}, {a()})", f".replace({a()}, {a()}, 1)",
            f".find({a()})", f".rfind({a()})", f".index({a()})", f".count({a()})", ".isdigit()", ".isalpha()", ".isalnum()", ".isupper()",
            ".islower()", ".isspace()", ".istitle()", f".partition({a()})", f".rpartition({a()})", ".zfill(5)", ".center(9)", ".ljust(8, '*')",
            ".rjust(8)", f".join({e()})", f".removeprefix({a()})", f".removesuffix({a()})", ".items()", ".keys()", ".values()", ".get('a')",
            ".get('q', 1)", f".get({e()})", ".copy()", f".append({e()})", ".pop()", f".index({e()})", f".count({e()})", f".format({e()})",
            ".update({})", ".items()|list", ".keys()|list", ".values()|list", ".casefold()", ".expandtabs(4)", ".isascii()", ".foo()")

    def filter(self, e):
        base = self.pick(self.name, lambda: self.pick("rows", "l", "ls", "d", "s", "u", "messages", "mixed"), e)()
        a = self.text
        name = self.pick(*sorted(CONTEXT))
        return f"({base}|" + self.pick(
            "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)", "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "length", "count",
            "upper", "lower", "title", "capitalize", "trim", f"trim({a()})", "string", "int", "int(5)", "int(default=7)", "float", "float(1.5)",
            "abs", "round", "round(1)", "round(1, 'floor')", "round(method='ceil')", "list", "first", "last", "reverse", "reverse|list", "sort",
            "sort(reverse=true)", "sort(attribute='v')", "sort(attribute='name', case_sensitive=true)", "sort(case_sensitive=true)", "unique|list",
            "min", "max", "sum", "sum(attribute='v')", "sum(start=1.5)", f"join({a()})", "join", "join(', ', attribute='name')",
            f"default({e()})", f"default({a()}, true)", f"d({a()})", f"replace({a()}, {a()})", "items|list", "dictsort", "dictsort(by='value')",
            "dictsort(reverse=true)", "map('upper')|list", "map(attribute='name')|list", "map(attribute='q', default='-')|list", "map('length')|list",
            "map('default', 'z')|list", "select|list", "select('string')|list", "select('defined')|list", "reject|list", "reject('none')|list",
            "selectattr('name')|list", "selectattr('v', 'gt', 1)|list", "selectattr('role', 'equalto', 'user')|list", "rejectattr('v', '==', 1)|list",
            "selectattr('content', 'string')|map(attribute='content')|list", "groupby('g')", "groupby('g')|list", "groupby('v')|first", "batch(2)|list",
            "batch(2, 'x')|list", "slice(2)|list", "slice(2, 0)|list", "indent", "indent(2)", "indent(2, true)", "indent(first=true, blank=true)",
            "center(11)", "format(1)", f"format({e()}, 2)", "truncate(5)", "truncate(8, true)", "truncate(9, false, '!', 0)", "wordcount",
            "urlencode", "escape", "e", "safe", "safe + '<'", "forceescape", "striptags", "xmlattr", "filesizeformat", "attr('a')",
            "attr('items')", "wordwrap(5)", f"map('replace', {a()}, '-')|list", "map('tojson')|join(',')", "select('in', l)|list",
            "selectattr('function.name', 'defined')|list", "map(attribute='function.name')|first", "bool", "zip", "map('int')|sum",
            "items", "map('upper')", "batch(2)", "unique|length", f"join({name})") + ")"

    def test(self, e):
        return f"({e()} is {self.pick('', 'not ')}" + self.pick(
            "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "sequence", "iterable",
            "callable", "odd", "even", "divisibleby 2", "divisibleby(3)", "lower", "upper", f"eq {self.literal()}", f"in {self.name()}",
            f"sameas {self.literal()}", "escaped", f"gt({self.number()})", f"ne({e()})", "filter", "test", f"lessthan {self.number()}") + ")"

    def stmt(self, depth=2):
        e = lambda: self.expr(self.r.randrange(1, 4))
        l, r = self.pick("{%", "{%", "{%-", "{%+"), self.pick("%}", "%}", "-%}", "+%}")
        tag = lambda text: f"{self.pick(l, '{%')} {text} {self.pick(r, '%}')}"
        out = lambda: self.pick("{{", "{{", "{{-") + f" {e()} " + self.pick("}}", "}}", "-}}")
        if depth <= 0:
            return self.pick(out, out, lambda: self.pick("\n", " ", "text\n", "  ", "a", "{# c #}", "{#- c -#}\n"))()
        body = lambda: "".join(self.stmt(depth - 1) for _ in range(self.r.randrange(1, 3)))
        loop = lambda: self.pick("{{ loop.index }}", "{{ loop.first }}{{ loop.last }}", "{{ loop.length }}", "{{ loop.cycle('a', 'b') }}",
                                 "{{ loop.previtem }}", "{{ loop.nextitem is defined }}", "{{ loop.changed(v) }}", "{{ loop.revindex0 }}",
                                 "{% if loop.index > 2 %}{% break %}{% endif %}", "{% if v %}{% continue %}{% endif %}", "{{ loop.depth }}", "")
        kinds = [
            out, out, out, lambda: self.pick("\n", "  \n", "text", " a ", "\n  ") + self.stmt(depth - 1),
            lambda: tag(f"if {e()}") + body() + tag("endif"),
            lambda: tag(f"if {e()}") + body() + tag(f"elif {e()}") + body() + tag("else") + body() + tag("endif"),
            lambda: tag(f"for v in {e()}") + loop() + "{{ v }}," + body() + tag("endfor"),
            lambda: tag(f"for v in {self.pick('l', 'ls', 'd', 'rows', 's', 'messages', 'mixed', 'range(3)', 'd.items()', 'rows|map(attribute=' + chr(39) + 'v' + chr(39) + ')')}") + loop() + loop() + "{{ v }}" + tag("else") + "none" + tag("endfor"),
            lambda: tag("for k, v in d|items") + "{{ k }}={{ v }};" + tag("endfor"),
            lambda: tag(f"for k, v in {e()}") + "{{ k }}={{ v }};" + tag("endfor"),
            lambda: tag(f"for v in l if {e()}") + loop() + "{{ v }}" + tag("endfor"),
            lambda: tag(f"set v = {e()}") + body() + "{{ v }}",
            lambda: tag(f"set v, w = {e()}") + "{{ v }}{{ w }}",
            lambda: tag("set v") + body() + tag("endset") + "[{{ v }}]",
            lambda: tag("set v | upper | trim") + body() + tag("endset") + "[{{ v }}]",
            lambda: tag(f"set ns = namespace(a={e()}, b=0)") + tag("for v in l") + tag("set ns.b = ns.b + v") + tag("endfor") + "{{ ns.a }}{{ ns.b }}",
            lambda: tag(f"macro m(a, b={e()})") + "({{ a }}|{{ b }})" + body() + tag("endmacro") + f"{{{{ m({e()}) }}}}{{{{ m({e()}, b={self.literal()}) }}}}",
            lambda: tag("macro m(a)") + "<{{ caller() }}{{ a }}>" + tag("endmacro") + tag(f"call m({self.literal()})") + body() + tag("endcall"),
            lambda: tag("macro m()") + "<{{ caller(1) }}>" + tag("endmacro") + tag("call(v) m()") + "{{ v }}" + body() + tag("endcall"),
            lambda: tag(f"filter {self.pick('upper', 'trim', 'indent(2)', 'replace(' + self.text() + ', ' + self.text() + ')', 'length')}") + body() + tag("endfilter"),
            lambda: tag(f"with v = {e()}") + body() + "{{ v }}" + tag("endwith"),
            lambda: tag("raw") + "{{ x }} {% if %}\n" + tag("endraw"), lambda: tag("generation") + body() + tag("endgeneration"),
            lambda: "{{ raise_exception('no ' ~ " + e() + ") }}", lambda: "{{ strftime_now('%Y-%m-%d %H') }}",
            lambda: tag("for v in [1, [2, [3]]] recursive") + "{% if v is iterable %}{{ loop(v) }}{% else %}{{ v }}:{{ loop.depth0 }};{% endif %}" + tag("endfor"),
        ]
        return self.r.choice(kinds)()

    def template(self):
        if self.r.random() < 0.55:
            return "{{ " + self.expr(self.r.randrange(1, 4)) + " }}"
        return "".join(self.stmt(self.r.randrange(1, 3)) for _ in range(self.r.randrange(1, 4)))

    def mutated(self, source):
        """A real template with its conversation's words changed, or with an expression of it replaced."""
        tags = list(re.finditer(r"\{\{.*?\}\}|\{%.*?%\}", source, re.S))
        tag = self.r.choice(tags)
        inside = tag.group()
        words = list(re.finditer(r"\b(messages|message|tools|tool|content|role|not|and|or|loop\.\w+|\w+\.\w+|true|false|none|'[^']*'|\d+)\b", inside))
        if not words:
            return source
        word = self.r.choice(words)
        other = self.pick(self.name, self.literal, lambda: self.expr(1), lambda: word.group() + "|string", lambda: f"({word.group()})|length")()
        inside = inside[: word.start()] + other + inside[word.end():]
        return source[: tag.start()] + inside + source[tag.end():]


class Timeout(Exception):
    pass


def on_alarm(*_):
    raise Timeout


def reference(env, template):
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        return {"rendered": env.from_string(template).render(**json.loads(json.dumps(CONTEXT)))}
    except Timeout:
        return None
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--templates", type=pathlib.Path, help="a folder of .jinja files, parts of which are mutated")
    arguments = parser.parse_args()
    signal.signal(signal.SIGALRM, on_alarm)
    env, generator = environment(), Generator(arguments.seed)
    real = [path.read_text() for path in sorted(arguments.templates.glob("*.jinja"))] if arguments.templates else []
    cases = []
    while len(cases) < arguments.count:
        template = generator.mutated(generator.r.choice(real)) if real else generator.template()
        result = reference(env, template)
        # Addresses differ between two runs of the reference itself.
        if result is None or re.search(r" at 0x[0-9a-f]+", json.dumps(result)):
            continue
        cases.append({"id": f"random-{arguments.seed}-{len(cases)}", "template": template, **result})
    json.dump({"context": CONTEXT, "now": NOW.isoformat(), "cases": cases}, sys.stdout, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
