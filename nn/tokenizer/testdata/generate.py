#!/usr/bin/env python3
"""Makes tokenizers with the PyPI package tokenizers, and what it answers.

    python3 generate.py fixtures             # writes the *.json beside this file
    python3 generate.py compare FOLDER SEED KIND # for TestLibrary: FOLDER/tokenizer.json and FOLDER/cases
    python3 generate.py kinds                # the version and what KIND can be

All text is made here or is Python's own standard library.
"""

import array
import collections
import glob
import json
import os
import random
import struct
import sys
import sysconfig

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST


# Text


def corpus(seed, lines):
    """Lines of made-up words in several scripts, and of made-up code."""
    r = random.Random(seed)
    syllables = [
        ["ba", "ke", "li", "mo", "nu", "ras", "ter", "ing", "ed", "tion", "st", "un", "re", "the", "qu", "xy", "é", "ü", "ño"],
        ["при", "вет", "ка", "ло", "сти", "ов", "мир", "Я", "й"],
        ["αλ", "φα", "ος", "κη", "ά", "Σ"],
        ["中", "文", "字", "日本", "語", "東"],
        ["한", "국", "어", "글", "가"],
        ["سل", "ام", "كت", "اب", "ال"],
        ["שלו", "ם", "ב"],
        ["का", "नम", "स्ते"],
    ]
    out = []
    for _ in range(lines):
        words = []
        for _ in range(r.randint(3, 14)):
            s = syllables[0] if r.random() < 0.7 else r.choice(syllables)
            w = "".join(r.choice(s) for _ in range(r.randint(1, 4)))
            k = r.random()
            if k < 0.1:
                w = w.capitalize()
            elif k < 0.15:
                w = w + r.choice(["'s", "'t", "'re", "'ll", "'S"])
            elif k < 0.2:
                w = str(r.randint(0, 99999))
            elif k < 0.25:
                w = w + r.choice([",", ".", "!", "?", "...", ";"])
            elif k < 0.28:
                w = r.choice(["if (x == %s) {", "return %s;", "\tfor i in range(%s):", "%s->next", "%s[i] += 1"]) % w
            words.append(w)
        out.append(" ".join(words) + r.choice(["", "\n", "\n\n", "\r\n"]))
    return out


def from_ranges(*ranges):
    return lambda r: chr(r.randint(*r.choice(ranges)))


POOLS = [
    from_ranges((0x20, 0x7E)),
    from_ranges((0x61, 0x7A)),
    lambda r: r.choice(" \t\n\r\x0b\x0c\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b\ufeff") * r.randint(1, 3),
    lambda r: r.choice(["  ", "   ", "\n\n", "\r\n", " \n", "\n ", "\t\t", "     "]),
    lambda r: r.choice(["'s", "'T", "'re", "'VE", "'m", "'ll", "'LL", "'d", "'\u017f", "'\u017fa", "''s", " 's", "\u2019s"]),
    lambda r: str(r.randint(0, 10 ** r.randint(1, 9))),
    from_ranges((0xA0, 0x24F)),
    from_ranges((0x300, 0x36F)),
    from_ranges((0x300, 0x36F), (0x483, 0x487), (0x591, 0x5BD), (0x64B, 0x65F), (0x93C, 0x94D), (0xE31, 0xE3A), (0xF71, 0xF84), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x302A, 0x3030), (0x3099, 0x309A), (0xFE20, 0xFE2F), (0x1D165, 0x1D172)),
    from_ranges((0x370, 0x3FF), (0x400, 0x52F), (0x1E00, 0x1FFF)),
    from_ranges((0x590, 0x5FF), (0x600, 0x6FF), (0x200E, 0x200F), (0x202A, 0x202E)),
    from_ranges((0x900, 0x1100)),
    from_ranges((0x1100, 0x11FF), (0x1161, 0x1175), (0x11A7, 0x11C3)),
    from_ranges((0xAC00, 0xD7A3)),
    from_ranges((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2F800, 0x2FA1F)),
    lambda r: r.choice(["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3", "\u200d"]),
    lambda r: r.choice(["\0", "\x01", "\x7f", "\ufffd", "\ufffe", "\ue000", "\U000f0000", "\U0010ffff", "\u0378", "\U000e0041", "\ud7ff"]),
    from_ranges((0x0, 0xD7FF), (0xE000, 0x1FFFF)),
    from_ranges((0xE000, 0x10FFFF)),
    from_ranges((0x2000, 0x2BFF)),
]


def scramble(r, pieces, words):
    out = []
    for _ in range(r.randint(0, 14)):
        k = r.random()
        if k < 0.12:
            out.append(r.choice(pieces))
        elif k < 0.3:
            out.append(r.choice(words))
        else:
            p = r.choice(POOLS)
            for _ in range(r.choice([1, 1, 1, 2, 3, 6])):
                out.append(p(r))
    return "".join(out)


def standard_library():
    """Prose and code: documentation strings and pieces of source files."""
    import ast

    prose, code = [], []
    for path in sorted(glob.glob(os.path.join(sysconfig.get_paths()["stdlib"], "*.py"))):
        try:
            source = open(path, encoding="utf-8").read()
            tree = ast.parse(source)
        except (OSError, ValueError, SyntaxError):
            continue
        for n in ast.walk(tree):
            if isinstance(n, (ast.Module, ast.FunctionDef, ast.ClassDef)):
                d = ast.get_docstring(n)
                if d:
                    prose.append(d)
        lines = source.splitlines(keepends=True)
        for i in range(0, len(lines), 40):
            code.append("".join(lines[i : i + 40]))
    return prose, code


# Tokenizers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ADDED = [
    AddedToken("<left>", lstrip=True, normalized=False),
    AddedToken("<right>", rstrip=True, normalized=False),
    AddedToken("<both>", lstrip=True, rstrip=True, normalized=False, special=True),
    AddedToken("word", single_word=True, normalized=False),
    AddedToken("NORM\u00c9", normalized=True),
    AddedToken("<left>er", normalized=False),
    AddedToken("  ", normalized=False),
    AddedToken("\u4e2d\u6587", normalized=True, single_word=True),
    AddedToken("tail", normalized=True, lstrip=True, rstrip=True),
]


def finish(t, added):
    """The tokenizer as its file makes it, with added tokens."""
    if added:
        t.add_tokens([a for a in ADDED if not a.special])
        t.add_special_tokens([a for a in ADDED if a.special])
    return Tokenizer.from_str(t.to_str())


def pieces_of(lines, size, normalizer, pre):
    """The pieces of words that save most. The library's trainer gives others in every run."""
    words = collections.Counter(w for l in lines for w, _ in pre.pre_tokenize_str(normalizer.normalize_str(l)))
    letters, pieces = collections.Counter(), collections.Counter()
    for w, n in words.items():
        for i in range(min(len(w), 20)):
            letters[w[i] if i == 0 else "##" + w[i]] += n
            for j in range(i + 2, min(len(w), i + 12) + 1):
                pieces[w[i:j] if i == 0 else "##" + w[i:j]] += n * (j - i)
    rank = lambda c: [k for k, _ in sorted(c.items(), key=lambda kv: (-kv[1], kv[0]))]
    out = rank(letters)[: size // 2]
    return out + rank(pieces)[: size - len(out)]


def word_piece(lines, size, added=True, normalizer=None, bert_processing=False, limit=100, cleanup=True):
    normalizer = normalizer or normalizers.BertNormalizer()
    pre = pre_tokenizers.BertPreTokenizer()
    vocab = {k: i for i, k in enumerate(SPECIAL + pieces_of(lines, size, normalizer, pre))}
    m = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=limit))
    m.normalizer, m.pre_tokenizer = normalizer, pre
    m.add_special_tokens(SPECIAL)
    m.decoder = decoders.WordPiece(cleanup=cleanup)
    cls, sep = m.token_to_id("[CLS]"), m.token_to_id("[SEP]")
    if bert_processing:
        m.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    else:
        m.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", cls), ("[SEP]", sep)]
        )
    return finish(m, added)


def bpe(lines, size, pre, normalizer=None, added=True, ignore_merges=False, post=None, alphabet=True, unk=None, fuse=False, decoder=True):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges, unk_token=unk, fuse_unk=fuse))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    special = ["<|begin_of_text|>", "<|end_of_text|>"] + ([unk] if unk else [])
    t.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[unk] if unk else [],
            show_progress=False,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()) if alphabet else [],
        ),
    )
    t.add_special_tokens(special)
    if decoder:
        t.decoder = decoders.ByteLevel()
    begin = t.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", begin)]
    )
    if post == "sequence":
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    elif post == "byte_level":
        t.post_processor = processors.ByteLevel(trim_offsets=True)
    elif post == "roberta":
        t.post_processor = processors.RobertaProcessing(("<|end_of_text|>", t.token_to_id("<|end_of_text|>")), ("<|begin_of_text|>", begin))
    return finish(t, added)


def split(pattern, prefix=False):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)]
    )


def old_merges(t):
    """The same tokenizer with its merges as strings, as older files have them."""
    j = json.loads(t.to_str())
    if "merges" in j["model"]:
        j["model"]["merges"] = ["%s %s" % tuple(m) for m in j["model"]["merges"]]
    return j


def kinds(lines, size, all_of_them):
    out = {
        "wordpiece": lambda: word_piece(lines, size),
        "gpt2": lambda: bpe(lines, size, pre_tokenizers.ByteLevel(add_prefix_space=False), post="byte_level"),
        "llama3": lambda: bpe(lines, size, split(LLAMA3), ignore_merges=True, post="sequence"),
        "qwen2": lambda: bpe(lines, size, split(QWEN2), normalizer=normalizers.NFC()),
    }
    if all_of_them:
        bert = lambda *a: normalizers.BertNormalizer(*a)
        out |= {
            "wordpiece-cased": lambda: word_piece(lines, size, normalizer=bert(True, True, None, False), bert_processing=True, added=False),
            "wordpiece-strip": lambda: word_piece(lines, size, normalizer=bert(True, False, True, False), limit=7, cleanup=False),
            "wordpiece-accents": lambda: word_piece(lines, size, normalizer=bert(False, True, False, True)),
            "wordpiece-unclean": lambda: word_piece(lines, size, normalizer=bert(False, False, True, True), added=False),
            "gpt2-prefix": lambda: bpe(lines, size, pre_tokenizers.ByteLevel(add_prefix_space=True), post="roberta"),
            "gpt2-nfc": lambda: bpe(lines, size, pre_tokenizers.ByteLevel(add_prefix_space=False), normalizer=normalizers.NFC(), added=False, decoder=False),
            "llama3-prefix": lambda: bpe(lines, size, split(LLAMA3, True), post="sequence"),
            "llama3-few-bytes": lambda: bpe(lines[:40], size, split(LLAMA3), alphabet=False, added=False),
            "qwen2-unknown": lambda: bpe(lines[:40], size, split(QWEN2), alphabet=False, unk="<unk>", fuse=True),
            "gpt2-unknown": lambda: bpe(lines[:40], size, pre_tokenizers.ByteLevel(add_prefix_space=False), alphabet=False, unk="<unk>"),
            "whole": lambda: bpe(lines, size, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)),
        }
    return out


# Fixtures

FIXED = [
    "", " ", "  ", "\n", "\r\n", "\0", "a", "A man is eating food.", "Hello, World!", "don't DON'T don'\u017f we'll we'LL I've you're 'tis",
    "a  b   c    d", "tabs\t\there \t x", "line\n\nline\r\n\r\n  line \n x", "trailing   ", "   leading", " \n \n ", "x\u00a0y\u3000z\u2028w",
    "12345678901 3.14159 1,000,000 \u0661\u0662\u0663\u0664 \u00bd\u00b2 \u2167", "for (int i = 0; i < n; i++) { x[i] += 1; }",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd 1\ufe0f\u20e3",
    "\u1112\u1161\u11ab\u1100\u116e\u11a8 \ud55c\uad6d\uc5b4 \u1100 \u1161 \u11a7\u11a8 \uac00\u11a8",
    "e\u0301 \u00e9 e\u0323\u0302 \u1ec7 q\u0307\u0323 \u0041\u030a \u212b \u0344 \u0f73 \u0958", "\u0301\u0301 leading marks",
    "a" + "\u0300" * 40 + "\u0323" * 40, "\u0130stanbul I\u0307 \u1e9e \u03a3\u03a3 \u01c5",
    "\u4e2d\u6587\u5b57\u65e5\u672c\u8a9e \u6771\u4eac \uf900\U0002f800\U00020000", "\u05e9\u05dc\u05d5\u05dd \u0633\u0644\u0627\u0645 \u202eabc\u202c", "\u0645\u064f\u062d\u064e\u0645\u064e\u0651\u062f",
    "\u0e01\u0e33 \u0928\u092e\u0938\u094d\u0924\u0947 \u0f40\u0f71\u0f72", "\ufeffbom \u200bzero \u00adsoft \u2060join", "\ufffd\ufffe\ue000\U000f0000\U0010ffff\u0378\u0c5d",
    "[CLS] in the text [SEP][MASK] [UNK] [PAD]", "<|begin_of_text|>x<|end_of_text|> <|begin_of_text", "a <left> b<left>c  <left>er", "a <right>   b<right>\n\nc", "a  <both>  b<both><both> <right> <left> <both>",
    "word words sword wordword word's word\u0301 (word) _word", "NORM\u00c9 norm\u00e9 NORME\u0301 norme x", "\u4e2d\u6587 x\u4e2d\u6587 \u4e2d\u6587\u5b57", "head  tail  tails TAIL",
    "a" * 99, "a" * 100, "a" * 101, "\u00e9" * 101, "x" * 300, "ab" * 400, " " * 200 + "x", "?!" * 80, "1" * 70, "\r\n" * 50,
    "##ing [##ing] # ## ###", "...!?,;:'\"`~@#$%^&*()_+-=[]{}|\\<>/", "\x01\x02\x7f\x80\x85\x9f", "\u2018quoted\u2019 \u201cquoted\u201d \u2026 \u2014 \u20ac\u00a3\u00a5 \u00ab\u00bb",
]


def fixtures():
    here = os.path.dirname(os.path.abspath(__file__))
    lines = corpus(1, 400)
    r = random.Random(2)
    words = sorted({w for l in lines[:50] for w in l.split()})
    pieces = [a.content for a in ADDED] + SPECIAL + ["<|begin_of_text|>", "<|end_of_text|>"]
    texts = FIXED + [scramble(r, pieces, words) for _ in range(110)] + lines[100:110]
    made = kinds(lines, 480, False)
    for name, make in made.items():
        t = make()
        j = old_merges(t) if name == "gpt2" else json.loads(t.to_str())
        write(os.path.join(here, name, "tokenizer.json"), j, False)
        t = Tokenizer.from_str(json.dumps(j))
        cases = []
        for text in texts:
            ids = t.encode(text).ids
            skipped, special = t.decode(ids), t.decode(ids, skip_special_tokens=False)
            # 0 is the text itself, so that the files are small.
            cases.append([ids, 0 if skipped == text else skipped, 0 if special == text else special])
        for _ in range(12):
            ids = [r.randrange(t.get_vocab_size() + 3) for _ in range(r.randint(1, 12))]
            cases.append([ids, t.decode(ids), t.decode(ids, skip_special_tokens=False)])
        write(os.path.join(here, name, "cases.json"), cases, True)
    write(os.path.join(here, "texts.json"), texts, True)


def write(path, value, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    dump = lambda v: json.dumps(v, ensure_ascii=True, separators=(",", ":"))
    s = "[\n%s\n]" % ",\n".join(map(dump, value)) if rows else dump(value)
    with open(path, "w", encoding="ascii", newline="\n") as f:
        f.write(s + "\n")


# Comparison

def compare(folder, seed, only):
    lines = corpus(seed, 3000)
    words = sorted({w for l in lines[:400] for w in l.split()})
    prose, code = standard_library()
    made = kinds(lines + prose[:300] + code[:100], 3000, True)
    for index, (name, make) in enumerate(made.items()):
        if name != only:
            continue
        t = make()
        r = random.Random(seed * 1000 + index)
        pieces = [a.content for a in ADDED] + SPECIAL + ["<|begin_of_text|>", "<|end_of_text|>"]
        texts = FIXED + [scramble(r, pieces, words) for _ in range(10000)]
        texts += [r.choice(prose)[: r.randint(1, 4000)] for _ in range(2000)]
        texts += [r.choice(code) for _ in range(1000)]
        j = old_merges(t) if index % 2 else json.loads(t.to_str())
        j["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
            json.dump(j, f, ensure_ascii=bool(index % 3))
        with open(os.path.join(folder, "cases"), "wb") as f:
            put(f, t, texts, True)
            for start in range(0, 0x110000, 1 << 15):
                points = [chr(c) for c in range(start, start + (1 << 15)) if not 0xD800 <= c <= 0xDFFF]
                put(f, t, points, False)
                rows = [points[i : i + 32] for i in range(0, len(points), 32)]
                put(f, t, [" ".join("a" + c + "b" for c in row) for row in rows], False)
                put(f, t, [" x".join("'" + c + "e 1" + c + "2 " + c + "\n" + c + " e" + c for c in row) for row in rows], False)
            n = t.get_vocab_size()
            lists = [[r.randrange(n + 5) for _ in range(r.randint(0, 30))] for _ in range(3000)]
            for ids, a, b in zip(lists, t.decode_batch(lists), t.decode_batch(lists, skip_special_tokens=False)):
                record(f, None, ids, None, a, b)


def put(f, t, texts, full):
    ids = [e.ids for e in t.encode_batch_fast(texts)]
    none = [None] * len(texts)
    bare = [e.ids for e in t.encode_batch_fast(texts, add_special_tokens=False)] if full else none
    skipped = t.decode_batch(ids) if full else none
    for x in zip(texts, ids, bare, skipped, t.decode_batch(ids, skip_special_tokens=False)):
        record(f, *x)


def record(f, text, ids, bare, skipped, special):
    """Five fields, each after its length in bytes; a length of 2^32-1 is a field that is not there."""
    out = b""
    for v in text, ids, bare, skipped, special:
        if v is None:
            out += b"\xff\xff\xff\xff"
            continue
        b = v.encode() if isinstance(v, str) else array.array("i", v).tobytes()
        out += struct.pack("<I", len(b)) + b
    f.write(out)


if __name__ == "__main__":
    if sys.argv[1] == "fixtures":
        fixtures()
    elif sys.argv[1] == "compare":
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1] == "kinds":
        print(tokenizers.__version__, *kinds([], 0, True))
