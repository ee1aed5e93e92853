// Package tables says what Hugging Face's library thinks of every code point:
// its character classes, lower case, and Unicode's canonical decomposition and
// composition.
//
// The tables are probed from the library by generate.py. Package unicode is
// not used, because its version of Unicode is another one, and neither is
// golang.org/x/text, which follows Go's version and breaks up long runs of
// marks. What text is made of them is package tokenizer's business.
package tables
