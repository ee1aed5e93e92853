#!/usr/bin/env python3
"""Writes generated.go: what the PyPI package tokenizers thinks of every code point.

    python3 generate.py        # needs: pip install tokenizers

Every property is probed through the library's public functions, never taken
from a Unicode table: the library's parts were each made from a Unicode version
of their own, and none is the version of Go's tables.
"""

import os
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def regex_class(pattern):
    """The code points that the pattern matches alone, by the library's regular expressions."""
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    inside = set(POINTS)
    for start in range(0, len(POINTS), 1 << 16):
        part = POINTS[start : start + (1 << 16)]
        for _, (a, b) in split.pre_tokenize_str("".join(map(chr, part))):
            inside.difference_update(part[a:b])
    return inside


def bert_pre_tokenizer():
    """White space and punctuation, by where BertPreTokenizer cuts."""
    space, punctuation = set(), set()
    pre = pre_tokenizers.BertPreTokenizer()
    for start in range(0, len(POINTS), 1 << 14):
        part = POINTS[start : start + (1 << 14)]
        missing = set(part)
        for word, (a, b) in pre.pre_tokenize_str("".join("a" + chr(c) + "a" for c in part)):
            if b - a == 1 and a % 3 == 1:
                punctuation.add(part[a // 3])
            for i in range(a, b):
                if i % 3 == 1:
                    missing.discard(part[i // 3])
        space |= missing
    return space, punctuation


def bert_normalizer():
    """Removed and white space by clean_text, Chinese, lower case, Mn, by BertNormalizer's four steps one at a time."""

    def step(**on):
        args = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
        return normalizers.BertNormalizer(**(args | on)).normalize_str

    clean, chinese, strip, lower = step(clean_text=True), step(handle_chinese_chars=True), step(strip_accents=True), step(lowercase=True)
    removed, space, cjk, mn, lowered = set(), set(), set(), set(), {}
    for c in POINTS:
        s = "a" + chr(c) + "b"
        t = clean(s)
        if t == "ab":
            removed.add(c)
        elif t == "a b" and c != 0x20:
            space.add(c)
        elif t != s:
            sys.exit(f"clean_text makes {t!r} of {s!r}")
        t = chinese(s)
        if t == "a " + chr(c) + " b":
            cjk.add(c)
        elif t != s:
            sys.exit(f"handle_chinese_chars makes {t!r} of {s!r}")
        if strip(s) == "ab":
            mn.add(c)
        t = lower(s)
        if t != s:
            lowered[c] = t[1:-1]
    return removed, space, cjk, mn, lowered


def decompositions():
    """Canonical decompositions, but those of Hangul, which are arithmetic."""
    nfd = normalizers.NFD().normalize_str
    out = {}
    for c in POINTS:
        t = nfd(chr(c))
        if 0xAC00 <= c < 0xAC00 + 11172:
            i = c - 0xAC00
            want = chr(0x1100 + i // 588) + chr(0x1161 + i % 588 // 28) + (chr(0x11A7 + i % 28) if i % 28 else "")
            if t != want:
                sys.exit(f"NFD of the syllable {c:X} is {t!r}")
        elif t != chr(c):
            out[c] = t
    return out


def classes(decomposed):
    """Canonical combining classes, numbered by their order: two marks swap exactly if the first one's number is greater."""
    nfd = normalizers.NFD().normalize_str

    def swap(a, b):
        return nfd("a" + chr(a) + chr(b)) == "a" + chr(b) + chr(a) and a != b

    low, high = 0x334, 0x345  # the lowest class and the highest
    marks = [c for c in POINTS if c not in decomposed and (c == low or c == high or swap(c, low) or swap(high, c))]
    ordered = []  # one mark of each class, ascending
    number = {}
    members = []
    for c in marks:
        lo, hi = 0, len(ordered)  # the first class that is not below c's
        while lo < hi:
            mid = (lo + hi) // 2
            if swap(c, ordered[mid]):
                lo = mid + 1
            else:
                hi = mid
        if lo < len(ordered) and not swap(ordered[lo], c):
            members[lo].append(c)
        else:
            ordered.insert(lo, c)
            members.insert(lo, [c])
    for i, group in enumerate(members):
        for c in group:
            number[c] = i + 1
    return number


def compositions(decomposed):
    """Pairs that NFC joins, but those of Hangul."""
    nfc = normalizers.NFC().normalize_str
    out = {}
    for c, d in decomposed.items():
        if nfc(chr(c)) != chr(c):
            continue  # excluded from composition
        a, b = nfc(d[:-1]), d[-1]
        if len(a) != 1:
            sys.exit(f"the composition of {c:X} has no pair: {a!r}")
        if nfc(a + b) != chr(c):
            sys.exit(f"{a!r} and {b!r} do not compose to {c:X}")
        out[(ord(a), ord(b))] = c
    return out


def single_word():
    """Word characters and white space of the patterns that added tokens are checked with."""
    t = Tokenizer(models.WordLevel({"U": 0}, "U"))
    t.add_tokens([AddedToken("X", single_word=True, normalized=False), AddedToken("Y", rstrip=True, normalized=False)])
    x, y = t.token_to_id("X"), t.token_to_id("Y")
    word, space = set(), set()
    for start in range(0, len(POINTS), 1 << 14):
        part = POINTS[start : start + (1 << 14)]
        for c, e in zip(part, t.encode_batch([chr(c) + "X" for c in part], add_special_tokens=False)):
            if x not in e.ids and chr(c) != "X":
                word.add(c)
        for c, e in zip(part, t.encode_batch(["Y" + chr(c) for c in part], add_special_tokens=False)):
            if e.ids == [y] and e.offsets[0] == (0, 2):
                space.add(c)
    word.add(ord("X"))
    return word, space


def ranges(name, doc, points):
    points = sorted(points)
    runs = []
    for c in points:
        if runs and runs[-1][1] == c - 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    words = ["{0x%X, 0x%X}," % (a, b) for a, b in runs]
    return lines(f"// {name} {doc}: {len(points)} code points.\nvar {name} = [][2]rune{{\n", words)


def lines(head, words):
    out, line = head, "\t"
    for w in words:
        if len(line) + len(w) > 118:
            out += line.rstrip() + "\n"
            line = "\t"
        line += w + " "
    return out + line.rstrip() + "\n}\n\n" if words else out + "}\n\n"


def text(s):
    return '"' + "".join("\\u%04x" % ord(c) if ord(c) < 0x10000 else "\\U%08x" % ord(c) for c in s) + '"'


def main():
    letter, number, space = regex_class(r"\p{L}"), regex_class(r"\p{N}"), regex_class(r"\s")
    bert_space, bert_punctuation = bert_pre_tokenizer()
    removed, cleaned, cjk, mn, lowered = bert_normalizer()
    decomposed = decompositions()
    number_of = classes(decomposed)
    composed = compositions(decomposed)
    word, word_space = single_word()
    folded = {k: sorted(c for c in regex_class("(?i:%s)" % k)) for k in "strevmld"}
    for k, v in folded.items():
        want = sorted([ord(k), ord(k.upper())] + ([0x17F] if k == "s" else []))
        if v != want:
            sys.exit(f"(?i:{k}) matches {v}, not {want}: package tokenizer's contractions say otherwise")

    out = "// Code generated by generate.py from the PyPI package tokenizers %s; DO NOT EDIT.\n\npackage tables\n\n" % tokenizers.__version__
    out += "// Version is the version of the PyPI package tokenizers that these tables were made from.\nconst Version = \"%s\"\n\n" % tokenizers.__version__
    out += ranges("letters", "are \\p{L} of the split patterns", letter)
    out += ranges("numbers", "are \\p{N} of the split patterns", number)
    out += ranges("spaces", "are \\s of the split patterns", space)
    out += ranges("bertSpaces", "are where BertPreTokenizer cuts and drops", bert_space)
    out += ranges("bertPunctuation", "are the words of one character of BertPreTokenizer", bert_punctuation)
    out += ranges("cleanRemoved", "are removed by clean_text", removed)
    out += ranges("cleanSpaces", "become a space by clean_text", cleaned)
    out += ranges("chinese", "get spaces around them by handle_chinese_chars", cjk)
    out += ranges("accents", "are removed by strip_accents", mn)
    out += ranges("words", "are \\w of the check for single words", word)
    out += ranges("wordSpaces", "are \\s of lstrip and rstrip", word_space)
    out += lines(
        "// lowered has what lowercase makes of a code point: %d code points.\nvar lowered = []mapping{\n" % len(lowered),
        ["{0x%X, %s}," % (c, text(t)) for c, t in sorted(lowered.items())],
    )
    out += lines(
        "// decomposed has the canonical decompositions, but Hangul's: %d code points.\nvar decomposed = []mapping{\n" % len(decomposed),
        ["{0x%X, %s}," % (c, text(t)) for c, t in sorted(decomposed.items())],
    )
    out += lines(
        "// composed has the pairs that NFC joins, but Hangul's: %d pairs.\nvar composed = [][3]rune{\n" % len(composed),
        ["{0x%X, 0x%X, 0x%X}," % (a, b, c) for (a, b), c in sorted(composed.items())],
    )
    runs = []
    for c, k in sorted(number_of.items()):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == k:
            runs[-1][1] = c
        else:
            runs.append([c, c, k])
    out += lines(
        "// classes has the canonical combining classes of first to last, numbered by their order: %d code points.\nvar classes = [][3]rune{\n"
        % len(number_of),
        ["{0x%X, 0x%X, %d}," % tuple(r) for r in runs],
    )
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generated.go")
    with open(path, "w", encoding="ascii", newline="\n") as f:
        f.write(out.rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
