// Package bert computes embeddings of texts with models of BERT's kind (Devlin et al.,
// 2018), from the folder in which they are published for sentence-transformers.
//
//	e, err := bert.Load("all-MiniLM-L6-v2", bert.WithDType(gpk.BFloat16))
//	defer e.Close()
//	vectors, err := e.Embed(ctx, []string{"A man is eating food."})
//
// The model computes texts without padding, so its time is proportional to the number of tokens. Neither the
// order of the texts nor the other texts of a batch change an embedding by more than the rounding of
// its type. On a GPU a forward pass is recorded as a CUDA graph the second time that its shape occurs; the
// numbers of tokens and of texts are rounded up first. From then on a pass of this shape is one launch.
//
// EmbedRanks embeds texts on several ranks, each with an Encoder of its own.
//
// What belongs here: the configuration, the weights' names and the forward pass of BERT.
// Layers are in package nn, and tokenizers in nn/tokenizer.
package bert
