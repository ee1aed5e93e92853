// Package tokenizer turns text into token ids and back, exactly as Hugging
// Face's library tokenizers does, from the same file tokenizer.json.
//
//	t, err := tokenizer.Load("all-MiniLM-L6-v2")  // the folder of tokenizer.json
//	ids, err := t.Encode("A man is eating food.") // with [CLS] and [SEP]
//	text, err := t.Decode(ids)                    // without them
//	cls, ok := t.Special("[CLS]")
//
// The package supports WordPiece after BertNormalizer and BertPreTokenizer (BERT and
// most models of sentence embeddings); byte-level BPE with the split
// patterns of GPT-2, Llama 3 and Qwen 2, 2.5 and 3; NFC; added tokens with all their options;
// the post-processors TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel
// and sequences of them. A file that asks for anything else is
// gpk.ErrUnsupported, and the error names the field. Nothing is approximated:
// the ids equal those of the library for every code point, and
// the tables of Unicode's properties are the library's (internal/tables), not Go's.
//
// The fields truncation and padding are ignored: nothing is truncated or
// padded. The longest sequence depends on the model, which the caller knows.
//
// A damaged file is ErrFormat, and text that is not UTF-8 is ErrText. A
// file is not trusted: memory is bounded by a multiple of its length. A file that
// contradicts itself is refused, even where the library accepts it. For example, the
// library ignores an added token's id if it is not the next free one.
//
// What belongs here: turning text into ids and back. What does not: training of vocabularies,
// offsets of tokens, pairs of texts, batches and chat templates.
package tokenizer
