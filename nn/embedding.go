package nn

import "github.com/gpk-go/gpk"

// Embedding is a table with one row for each token.
type Embedding struct{ Weight *Parameter }

// NewEmbedding returns a table with rows of width features. Its weight is not set.
func NewEmbedding(rows, width int) *Embedding { return &Embedding{NewParameter(rows, width)} }

// Parts implements Module.
func (e *Embedding) Parts() []Part { return []Part{{Name: "weight", Parameter: e.Weight}} }

// Forward returns the rows of ids, Int32 or Int64 of any shape: [..., width]. It is gpk.Take:
// negative ids count from the end, so -1 is the last row. An id outside the table is ErrShape.
func (e *Embedding) Forward(ids *gpk.Array) *gpk.Array { return gpk.Take(e.Weight.Array(), ids, 0) }
