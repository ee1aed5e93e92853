package nn

import "github.com/gpk-go/gpk"

// Positions returns the position of each of total rows in its sequence, Int32 [total]. Each
// sequence has the positions 0, 1, …. offsets, Int32 [batch+1], holds the first row of each
// sequence. Other types are ErrDType. One call serves all layers of a model: see
// (*MultiHeadAttention).ForwardAt.
func Positions(offsets *gpk.Array, total int) *gpk.Array {
	if err := offsets.Err(); err != nil {
		return failed("nn.Positions", err, offsets)
	}
	rows := gpk.Arange(gpk.Int32, total).To(offsets.Device())
	column := rows.Unsqueeze(1)
	return rows.Sub(gpk.Where(offsets.Le(column), offsets, 0).Max(1))
}
