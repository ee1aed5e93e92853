// Package bert computes embeddings of texts with models of BERT's kind (Devlin et al.,
// 2018), from the folder in which they are published for sentence-transformers.
//
//	e, err := bert.Load("all-MiniLM-L6-v2", bert.WithDType(gpk.BFloat16))
//	defer e.Close()
//	vectors, err := e.Embed(ctx, []string{"A man is eating food."})
//
// The model computes texts without padding: its time follows the number of tokens. Neither the
// order of the texts nor the texts beside it change an embedding by more than the rounding of
// its type. On a GPU a pass is recorded as a graph the second time that its shape is used, with
// the numbers of tokens and of texts rounded up, and is one launch from then on.
//
// What belongs here: the configuration, the weights' names and the forward pass of BERT.
// Layers are in package nn, and tokenizers in nn/tokenizer.
package bert
