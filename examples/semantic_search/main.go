// Command semantic_search finds the sentences of a corpus that mean most nearly what a
// query says.
//
//	go run ./examples/semantic_search all-MiniLM-L6-v2 "What do animals eat?"
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn/bert"
)

var corpus = []string{
	"A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby.",
	"A man is riding a horse.", "A woman is playing the violin.", "Two men pushed carts through the woods.",
	"A monkey is playing drums.", "A cheetah is running behind its prey.",
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: semantic_search MODEL QUERY ...")
	}
	if err := search(os.Stdout, os.Args[1], os.Args[2:], 3); err != nil {
		log.Fatal(err)
	}
}

// search prints the k sentences nearest to each query. Embeddings have length 1, so that
// their products are the cosines of the angles between them.
func search(w io.Writer, model string, queries []string, k int) error {
	e, err := bert.Load(model)
	if err != nil {
		return err
	}
	defer e.Close()
	rows, err := e.Embed(context.Background(), append(slices.Clone(corpus), queries...))
	if err != nil {
		return err
	}
	all, n := gpk.FromSlice(slices.Concat(rows...), len(rows), e.Size()), len(corpus)
	cosines, places := all.Slice(0, n, len(rows)).MatMul(all.Slice(0, 0, n).T()).TopK(k, 1)
	for i, q := range queries {
		found, err := gpk.ToSlice[int64](places.Slice(0, i, i+1))
		if err != nil {
			return err
		}
		fmt.Fprintln(w, q, cosines.Slice(0, i, i+1))
		for _, at := range found {
			fmt.Fprintln(w, "  ", corpus[at])
		}
	}
	return nil
}
