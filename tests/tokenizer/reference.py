#!/usr/bin/env python3
"""Writes llama_cpp.txt: what llama.cpp makes of corpus.jsonl, and with --vocabularies the two small vocabularies as well.

Needs the Python packages llama-cpp-python and gguf. Real vocabularies are given as NAME=PATH; what is not given keeps its row.

Each row of llama_cpp.txt is a case (or several that are equal, with commas), the number of its ids, and six hexadecimal digits for
every line of the corpus: the low 24 bits of FNV-1a over the ids, four bytes each. The ids are those of llama_tokenize with
add_special and parse_special. Rows that end in /pieces have the number of tokens, and six digits for every 256 of them: over the
bytes of llama_token_to_piece with special, and after each their number, four bytes.
"""

import argparse
import ctypes
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import gguf
import llama_cpp

HERE = Path(__file__).parent
NAMES = re.compile(r'"([^"]+)"')
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def corpus():
    for line in (HERE / "corpus.jsonl").read_text().split("\n")[:-1]:
        line = json.loads(line)
        yield line if isinstance(line, str) else line["repeat"] * line["times"]


def word(number):
    return number.to_bytes(4, "little")


def fnv(data):
    hash = 0x811C9DC5
    for byte in data:
        hash = (hash ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{hash & 0xFFFFFF:06x}"


def alphabet():
    """GPT-2's character for every byte."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in visible]
    return [chr(b) if b in visible else chr(256 + others.index(b)) for b in range(256)]


def train(texts, count):
    """Pairs of tokens that occur often, the most frequent first. Texts are not cut into words, so pairs span words: an id then
    shows where a tokenizer does cut. A token is a private character here, so that merging is a replacement."""
    first, names = 0x10000, []
    symbols = {}

    def symbol(name):
        if name not in symbols:
            symbols[name] = chr(first + len(names))
            names.append(name)
        return symbols[name]

    text = "\0".join("".join(map(symbol, t)) for t in texts)
    pairs = []
    while len(pairs) < count:
        counts = Counter(p for p in zip(text, text[1:]) if "\0" not in p)
        used = set()
        for (a, b), n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:40]:
            left, right = names[ord(a) - first], names[ord(b) - first]
            # Two pairs of a round that share a token, or make the same one, are left for the next round.
            if n < 2 or {a, b} & used or left + right in symbols:
                continue
            used |= {a, b}
            pairs.append((left, right))
            text = text.replace(a + b, symbol(left + right))
        if not used:
            break
    return pairs[:count]


def sample():
    texts = [t for t in corpus() if 0 < len(t) < 300]
    return texts[::3]


def bpe():
    """Bytes, pairs that span words, words that no merges lead to, and added tokens that overlap."""
    letters = alphabet()
    spell = lambda text: "".join(letters[b] for b in text.encode())
    merges = train([spell(t) for t in sample()], 3000)
    # One byte that no token stands for.
    tokens = [(c, NORMAL) for c in letters if c != letters[0x04]]
    tokens += [(a + b, NORMAL) for a, b in merges]
    have = {t for t, _ in tokens}
    words = Counter(w for t in corpus() if len(t) < 300 for w in re.findall(r" ?[A-Za-z]+|[0-9]{3}|[^\sA-Za-z0-9]{3}", t))
    words = sorted(spell(w) for w, n in words.items() if n > 3)
    tokens += [(w, NORMAL) for w in words if w not in have][:300]
    tokens += [(t, CONTROL) for t in ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "abc", "[x]"]]
    tokens += [(t, USER_DEFINED) for t in ["<think>", "bcde", "[xyz]", "][", "\t\t", "<h1>"]]
    tokens += [("<|endoftext|>", NORMAL), ("[PAD]", UNUSED)]
    added = {t for t, kind in tokens if kind != NORMAL}
    tokens = [(t, kind) for t, kind in tokens if kind != NORMAL or t not in added]
    write = lambda w, t: (w.add_token_merges([f"{a} {b}" for a, b in merges if "\u0104" not in a + b]))
    return "gpt2", tokens, write


def sentencepiece():
    """Characters that occur often, pairs with scores of which some are equal, bytes, and added tokens that overlap."""
    texts = [t.replace(" ", "\u2581") for t in sample()]
    counts = Counter(c for t in texts for c in t)
    chars = sorted(c for c, n in counts.items() if n > 6 or c == "\u2581")
    merges = train(["".join(c for c in t if c in chars) for t in texts], 2500)
    tokens = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    tokens += [(f"<0x{b:02X}>", BYTE, 0.0) for b in range(256)]
    # Every fourth pair is far stronger than its rank, and threes of the others are equal.
    tokens += [(a + b, NORMAL, -float(i // 3 if i % 4 else (i * 7919) % 97)) for i, (a, b) in enumerate(merges)]
    tokens += [(c, NORMAL, -1e4 - i) for i, c in enumerate(chars)]
    tokens += [(t, CONTROL, 0.0) for t in ["<|im_start|>", "<|im_end|>", "<|end|>", "abc", "[x]"]]
    tokens += [(t, USER_DEFINED, 0.0) for t in ["<think>", "bcde", "[xyz]", "][", "\t\t", "   ", "\n\n"]]
    tokens += [("<|endoftext|>", NORMAL, 0.0), ("[PAD]", UNUSED, 0.0)]
    seen = set()
    tokens = [t for t in tokens if not (t[0] in seen or seen.add(t[0]))]
    return "llama", tokens, lambda w, t: w.add_token_scores([s for _, _, s in t])


def write(path, model, tokens, extra):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list([t[0] for t in tokens])
    writer.add_token_types([t[1] for t in tokens])
    extra(writer, tokens)
    ids = {t[0]: i for i, t in enumerate(tokens)}
    writer.add_bos_token_id(ids["<s>"])
    writer.add_eos_token_id(ids["</s>"])
    return writer


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def variant(source, change):
    """A copy of a small vocabulary with other keys."""
    reader = gguf.GGUFReader(source)
    path = tempfile.mktemp(suffix=".gguf")
    writer = gguf.GGUFWriter(path, "llama")
    values = {k: f for k, f in reader.fields.items() if not k.startswith(("GGUF.", "general.architecture"))}
    for key, field in values.items():
        if key not in change:
            sub = field.types[1] if len(field.types) > 1 else None
            writer.add_key_value(key, field.contents(), field.types[0], sub)
    for key, value in change.items():
        kind = gguf.GGUFValueType.BOOL if isinstance(value, bool) else gguf.GGUFValueType.STRING
        writer.add_key_value(key, value, kind)
    close(writer)
    return path


def piece(llama, id):
    """The bytes of a token. Llama.detokenize loses what is longer than 32."""
    buffer = (ctypes.c_char * 4096)()
    length = llama_cpp.llama_token_to_piece(llama_cpp.llama_model_get_vocab(llama.model), id, buffer, len(buffer), 0, True)
    assert length >= 0
    return bytes(buffer[:length])


def rows_of(case, path, show):
    llama = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    hashes, total = [], 0
    for number, text in enumerate(corpus(), 1):
        ids = llama.tokenize(text.encode(), add_bos=True, special=True)
        hashes.append(fnv(b"".join(map(word, ids))))
        total += len(ids)
        if number in show:
            print(f"{case}, line {number}: {text[:200]!r}\n  {ids[:200]}", file=sys.stderr)
    rows = {case: f"{total} {''.join(hashes)}\n"}
    if "/" not in case or case == "bpe/gpt-2":
        pieces = [piece(llama, id) for id in range(llama.n_vocab())]
        blocks = [b"".join(p + word(len(p)) for p in pieces[i : i + 256]) for i in range(0, len(pieces), 256)]
        rows[f"{case}/pieces"] = f"{len(pieces)} {''.join(map(fnv, blocks))}\n"
    return rows


def pre_names():
    """The names that the engine has."""
    table = (HERE / "../../runtime/engine/src/tokenizer/gguf/pre/names.rs").read_text()
    table = table[table.index("const PRE_TOKENIZERS") :]
    return [n for names in re.findall(r"plain\(\s*&\[(.*?)\]", table, re.S) for n in NAMES.findall(names)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("real", nargs="*", metavar="NAME=PATH", help="a real vocabulary")
    parser.add_argument("--vocabularies", action="store_true", help="write bpe.gguf and sentencepiece.gguf anew")
    parser.add_argument("--only", default="", help="only cases that begin with this")
    parser.add_argument("--show", type=int, nargs="*", default=[], help="lines of the corpus whose ids are printed")
    options = parser.parse_args()
    # A name keeps the callback alive.
    silence = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silence, None)
    if options.vocabularies:
        for name, make in [("bpe", bpe), ("sentencepiece", sentencepiece)]:
            close(write(HERE / f"{name}.gguf", *make()))
    small = {
        "sentencepiece": {},
        "sentencepiece/no-space-prefix": {"tokenizer.ggml.add_space_prefix": False},
        "sentencepiece/phi-3": {"general.name": "Phi-3 mini"},
        "sentencepiece/eos": {"tokenizer.ggml.add_bos_token": False, "tokenizer.ggml.add_eos_token": True},
    } | {f"bpe/{name}": {"tokenizer.ggml.pre": name} for name in pre_names()}
    real = dict(name.split("=", 1) for name in options.real)
    golden = HERE / "llama_cpp.txt"
    rows = {}
    for line in golden.read_text().splitlines(True) if golden.exists() else []:
        cases, row = line.split(" ", 1)
        rows |= dict.fromkeys(cases.split(","), row)
    for case in [*real, *small]:
        if case.startswith(options.only):
            path = real.get(case) or variant(HERE / f"{case.split('/')[0]}.gguf", small[case])
            rows |= rows_of(case, path, options.show)
    equal = {}
    for case in sorted(rows):
        equal.setdefault(rows[case], []).append(case)
    golden.write_text("".join(f"{','.join(cases)} {row}" for row, cases in equal.items()))


if __name__ == "__main__":
    main()
