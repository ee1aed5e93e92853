// Package tables has the properties that Hugging Face's library gives to every code point:
// its character classes, lower case, and Unicode's canonical decomposition and
// composition.
//
// The script generate.py reads the tables from the library. Package unicode is
// not used, because it has another version of Unicode. Package golang.org/x/text is not used either:
// it follows Go's version and breaks up long runs of
// marks. Package tokenizer applies the tables to text.
package tables
