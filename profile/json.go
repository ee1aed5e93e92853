package profile

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the report as one JSON object, with the figures of Summary under
// "summary". A figure that was not measured is absent. ReadJSON reads the object.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := writable("WriteJSON", r != nil, w); err != nil {
		return err
	}
	file := struct {
		Report
		Summary Summary `json:"summary"`
	}{*r, r.Summary()}
	file.Format = Format
	file.Devices, file.Operations = orEmpty(r.Devices), orEmpty(r.Operations) // [], not null
	if err := json.NewEncoder(w).Encode(file); err != nil {
		return fmt.Errorf("profile: writing JSON: %w", err)
	}
	return nil
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
