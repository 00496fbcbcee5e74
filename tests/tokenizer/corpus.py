#!/usr/bin/env python3
"""Writes corpus.jsonl: lines of text on which tokenizers disagree, each a JSON string or {"repeat": text, "times": n}."""

import json
import random
from pathlib import Path

PROSE = """
The quick brown fox jumps over the lazy dog, doesn't it?
"I can't," she said; "they've gone, we'll see, I'd bet it's theirs."
Call me Ishmael. Some years ago - never mind how long precisely - having little or no money...
Wie froh bin ich, dass ich weg bin! Größe, Maß, Übermut, Straßenbahnhaltestelle.
Les œuvres d'art qu'on a vues hier, c'était déjà l'été, n'est-ce pas ?
El niño comió piñas; ¿cuándo volverá? ¡Qué alegría!
Não há coração que não seja são. Às vezes, à noite, lê-se.
Perché no? L'università è più grande di così.
Zażółć gęślą jaźń, wszyscy święci.
Příliš žluťoučký kůň úpěl ďábelské ódy.
Árvíztűrő tükörfúrógép.
Flygande bäckasiner söka hwila på mjuka tuvor.
Kæmi ný öxi hér, ykist þjófum nú bæði víl og ádrepa.
Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul'da ışık.
Съешь ещё этих мягких французских булок, да выпей чаю.
Щастям б'ється чорна їжа, ґанок.
Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, τι λέτε;
שלום עולם, איך אתה? דג סקרן שט בים.
السلام عليكم ورحمة الله وبركاته، كيف حالك؟
یک روز آفتابی بود؛ می‌خواهم بروم.
नमस्ते दुनिया, आप कैसे हैं? क्षत्रिय ज्ञान।
আমার সোনার বাংলা, আমি তোমায় ভালোবাসি।
வணக்கம் உலகம், எப்படி இருக்கிறீர்கள்?
నమస్కారం ప్రపంచం, మీరు ఎలా ఉన్నారు?
ನಮಸ್ಕಾರ, ಹೇಗಿದ್ದೀರಾ?
സുഖമാണോ? മലയാളം ഒരു ഭാഷയാണ്.
สวัสดีชาวโลก วันนี้อากาศดีมาก
ສະບາຍດີ ຊາວໂລກ
မင်္ဂလာပါ ကမ္ဘာလောက
សួស្តី​ពិភពលោក
გამარჯობა მსოფლიო, როგორ ხარ?
Բարեւ աշխարհ, ինչպե՞ս ես։
ሰላም ልዑል፣ እንዴት ነህ?
བཀྲ་ཤིས་བདེ་ལེགས།
你好，世界！今天天气怎么样？我们去吃饭吧。
繁體中文：龍、龜、鬱、靈。
日本語のテキストです。カタカナとひらがな、漢字も「混ぜる」。
안녕하세요 세계! 오늘 날씨가 좋네요.
ㄱㄴㄷ ㅏㅑㅓ 한글 자모
Tiếng Việt có dấu: ngã, hỏi, sắc, huyền, nặng.
Saluton mondo! Ĉu vi parolas Esperanton? Ĝis, ŝi, ĵus.
Habari za dunia? Sawubona mhlaba.
ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ
Ꝏ ǆ ǅ Ǆ ﬁ ﬂ ß ẞ ŉ ſtraße
""".strip().split("\n")

CODE = '''
def f(x: int) -> int:\n    """Doc."""\n    return x ** 2 if x > 0 else -x  # comment
for (int i = 0; i < n; ++i) {\n\tsum += a[i] * b[i];\n}
fn main() -> Result<(), Box<dyn Error>> { let v: Vec<u8> = vec![0xFF; 16]; println!("{v:?}"); Ok(()) }
const add = (a, b) => a + b; // `template ${add(1, 2)}`
<div class="a b" id='c'>\n  <p>Hello &amp; bye&nbsp;</p>\n</div>
SELECT * FROM users WHERE id IN (1, 2, 3) AND name LIKE '%o''r%' ORDER BY created_at DESC;
{"key": [1, 2.5e-10, null, true], "nested": {"a\\\\n": "\\u00e9"}}
#!/bin/sh\nset -euo pipefail\nfor f in *.txt; do echo "${f%.txt}" >> out; done
^(?:[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-z]+)*)@\\w+$
\\begin{align} \\frac{\\partial u}{\\partial t} &= \\nabla^2 u \\\\ \\end{align}
mov eax, dword ptr [rbp-0x14]\njne .L2
template <typename T, std::enable_if_t<!std::is_void_v<T>>* = nullptr> T&& g(T&& t);
if __name__ == "__main__":\n        main(sys.argv[1:])\n\n\n
@decorator\nclass HTTPServerFactoryV2(BaseXMLParser):\n  pass
let re = /[^\\s\\p{L}\\p{N}]+[\\r\\n]*/gu;
a.b->c::d|>e<=>f!=g===h&&i||j??k?.l;
    \t  mixed indentation\n\t    and more\n
diff --git a/x b/x\n@@ -1,3 +1,4 @@\n-old\n+new
x = y if z else w; lambda: (yield)
# Title\n\n## Sub-title\n\n* item *one*\n* item **two**\n\n```py\nprint('hi')\n```\n
|a|b|\n|-|-|\n|1|2|
printf("%5.2f%%\\n", 100.0*x/y);
0b1010_1010 0o777 0xDEADBEEF 1_000_000 1e10 .5 5. 1.2.3
'''.strip().split("\n")

EMOJI = """😀 😂 🤣 ❤️ ❤ 👍 👍🏽 🙏🏿 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪 🇺🇸🇯🇵 1️⃣ #️⃣ *️⃣ ☀️ ☃ ✈️ 🧑‍🚀 🫠 🥹 🪿 ⌚ ⏰ ©️ ®
™ 🅰️ ♀️ ♂ 🤷‍♂️ 🤷🏻‍♀️ 👁️‍🗨️ 🧑🏼‍❤️‍💋‍🧑🏿 ➡️ ⬆ ▶ ✅ ❌ ⚠️ 💯 🔥 🎉 ✨ 🦀 🐍 🐧 ☕""".split()

SPACES = [" ", "  ", "   ", "    ", " " * 7, " " * 8, " " * 16, " " * 33, "\t", "\t\t", "\n", "\n\n", "\r\n", "\r", "\n ", " \n", "\t ", "\x0b",
          "\x0c", "\u00a0", "\u2003", "\u2009", "\u202f", "\u3000", "\u2028", "\u2029", "\u0085", "\u1680", "\u200b", "\ufeff", "\u2581",
          "\n\n\n", "\r\n\r\n", "\n\t\n", " \u00a0 "]

NUMBERS = ["0", "7", "42", "123", "1234", "12345", "123456", "1234567", "3.14159", "1,234,567.89", "-17", "+1", "1e-5", "2024-12-31", "23:59:59",
           "192.168.0.1", "0x1F", "50%", "$9.99", "€1.000,00", "1st", "2nd", "3x3", "v1.2.3-rc4", "٠١٢٣٤٥٦٧٨٩", "०१२३४५", "１２３４５", "²³", "½",
           "Ⅷ", "①②③", "𝟙𝟚𝟛", "㊿", "१२३4567", "99999999999999999999", "007", "12ab34", "a1b2c3", "½123", "一二三", "1٢3४5"]

LINKS = ["https://example.com/a/b?c=d&e=%20f#g", "http://user:pw@host.example:8080/~x/", "mailto:someone+tag@example.org", "C:\\Users\\me\\file (1).txt",
         "/usr/local/lib/python3.11/site-packages", "ftp://[2001:db8::1]/", "550e8400-e29b-41d4-a716-446655440000",
         "da39a3ee5e6b4b0d3255bfef95601890afd80709", "SGVsbG8sIFdvcmxkIQ==", "@user #hashtag :smile:", "a@b.c", "www.例え.jp/パス",
         "data:image/png;base64,iVBORw0KGgo=", "git@github.com:o/r.git", "foo_bar-baz.qux", "--flag=value -x", "x86_64-unknown-linux-gnu"]

MARKERS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>",
           "<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "[INST]", "[/INST]", "<<SYS>>", "<|user|>", "<|end|>", "<tool_call>", "<think>",
           "</think>", "<unused0>", "<unused99>", "<0x0A>", "<0xFF>", "<mask>", "<file_sep>", "<repo_name>", "<jupyter_start>", "<table>", "</td>",
           "<h1>", "<|im_end", "im_end|>", "<|im_<|im_end|>end|>", "< |im_end| >", "<|IM_END|>", "<end_of_turn", "[multimodal]", "<start_of_image>",
           "<sentinel:12>", "IMGIMGABCZ", "<abc>", "<abcd>", "bcde", "abc", "[x][xy][xyz]"]

ODD = ["\x00", "\x01", "\x04", "\x1b[31m", "\x7f", "\x80", "\x9f", "\ufffd", "\ufffe", "\uffff", "\U0001fffe", "\U0010ffff", "\ue000", "\uf8ff",
       "\U000f0000", "\u0378", "\U00040000", "e\u0301", "a\u0300\u0316\u0334\u0489", "Z\u0351\u036b\u0343a\u0321\u0353l\u0348g\u0335o", "\u200d", "\u200c",
       "\u200e", "\u202e", "\u2066", "\ufe0f", "\ufe0e", "\U000e0001", "\u00ad", "\u034f", "\u180e", "\u2060", "\u20dd", "\U0001d11e", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "ｆｕｌｌ",
       "\u1100\u1161\u11a8", "각", "か\u3099", "が", "क\u094d\u0937", "ก\u0e33", "\u0627\u0653", "«»‹›„“”‚‘’", "…—–−‐", "¡¿§¶†‡•", "∑∫√∞≠≤≥±×÷", "αβγΔΩ", "←↑→↓↔",
       "░▒▓█", "┌─┐│└┘", "$¢£¥€₹₿", "`~^¨´", "。、！？；：", "「」『』【】", "・ー〜", "،؛؟", "।॥", "·‧∙", "№℃℉", "\u0130\u0131", "\u212a\u212b", "\ud7ff\uf900",
       "\u4e00\u9fa5\u9fff\u3400\u4dbf", "𠀀𪜀𫝀", "ｱｲｳ", "㌔㍿", "⼀⺀", "ㄅㄆㄇ", "ꯍ", "𐍈", "𓀀", "ᚠᛇᚻ"]

WORDS = ["it's", "IT'S", "don't", "DON'T", "we'll", "WE'LL", "they'Re", "I'VE", "o'clock", "'tis", "'S", "'ſ", "rock'n'roll", "dogs'", "'em", "x'y'z", "''s", "'s's",
         "camelCaseWord", "PascalCase", "HTTPServer", "snake_case_name", "kebab-case", "SCREAMING_CASE", "iPhone15Pro", "McDonald", "eBay", "ÉCOLE", "Éclair",
         "ÀÉÎÕÜ", "àéîõü", "МоскваСити", "ΑΒΓαβγ", "naïve", "ǅungla", "ßtraße", "ﬁne", "ABCdef", "abcDEF", "A", "a", "Ab", "aB", "ʰaʷ", "ªº", "ⅷ",
         "hello", "Hello", "HELLO", "the", "The", "THE", "of", "and", "in", "to", "tokenization", "untokenizable", "antidisestablishmentarianism"]

PUNCTUATION = [".", ",", "!", "?", ";", ":", "-", "--", "---", "...", "(", ")", "[", "]", "{", "}", "<", ">", "/", "\\", "|", "*", "**", "&", "^", "%", "$", "#", "@",
               "~", "`", '"', "'", "''", "=", "==", "+", "+=", "_", "!!", "?!", "://", "();", "{}", "[]", "*/", "/*", "<!--", "-->", "=>", "->", "::"]


def unescape(text):
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")


def lines():
    r = random.Random(20240229)
    code = [unescape(line) for line in CODE]

    def some(pools, low, high, joins):
        parts = []
        for _ in range(r.randint(low, high)):
            parts.append(r.choice(r.choice(pools)))
            parts.append(r.choice(joins))
        return "".join(parts)

    close, loose = ["", "", " "], ["", " ", " ", "\n", "  ", "\t"]
    for line in PROSE + code:
        yield line
    yield ""
    yield from (chr(c) for c in range(256))
    yield from EMOJI + SPACES + NUMBERS + LINKS + MARKERS + ODD + WORDS + PUNCTUATION
    for _ in range(240):
        yield some([PROSE], 1, 3, [" ", "\n", "  ", "\n\n", ""])
    for _ in range(180):
        yield some([code, code, WORDS, NUMBERS], 1, 3, ["\n", "\n\n", "\r\n", " ", "\n    ", "\n\t"])
    for _ in range(120):
        yield some([EMOJI, EMOJI, WORDS, SPACES], 1, 8, close)
    for _ in range(220):
        yield some([SPACES, SPACES, WORDS, NUMBERS, PUNCTUATION], 2, 9, ["", "", "", "a", "."])
    for _ in range(150):
        yield some([NUMBERS, NUMBERS, PUNCTUATION, WORDS], 1, 6, close)
    for _ in range(60):
        yield "".join(r.choice("0123456789") for _ in range(r.randint(1, 40))) + r.choice(["", " ", "x", "½", "٣"])
    for _ in range(100):
        yield some([LINKS, LINKS, WORDS], 1, 3, [" ", "\n", ", "])
    for _ in range(200):
        yield some([MARKERS, MARKERS, WORDS, SPACES, PROSE], 1, 6, loose)
    for _ in range(200):
        yield some([ODD, ODD, WORDS, SPACES], 1, 6, close)
    for _ in range(200):
        yield some([WORDS, PUNCTUATION], 2, 10, ["", "", " ", "'", "\n"])
    for _ in range(260):
        yield some([PROSE, code, EMOJI, SPACES, NUMBERS, LINKS, MARKERS, ODD, WORDS, PUNCTUATION], 2, 7, loose)
    for _ in range(60):
        # Characters of every kind side by side, from blocks to which Unicode adds little: versions differ between engines.
        blocks = [(0x20, 0x250), (0x250, 0xD800), (0x10000, 0x10500), (0x1D400, 0x1D800), (0x1F300, 0x1F6C0), (0x20000, 0x2A6D0)]
        yield "".join(chr(r.randrange(*r.choice(blocks))) for _ in range(24))
    for text, times in [("a", 9000), (" ", 9000), ("ab ", 4000), ("\n", 5000), ("1", 7000), ("=", 6000), ("\t", 3000), ("天地玄黃", 2500),
                        ("<|im_end|>", 400), ("The cat's 12 hats.\r\n", 600), ("🇩🇪👍🏽", 1200), ("x\u0301", 4000), ("aB", 4500), (" \n", 3000)]:
        yield {"repeat": text, "times": times}


def main():
    with open(Path(__file__).with_name("corpus.jsonl"), "w", newline="\n") as file:
        for line in lines():
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
