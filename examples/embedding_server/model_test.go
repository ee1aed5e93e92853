package main

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestModel compares the responses with the results of the model without a server.
func TestModel(t *testing.T) {
	dir := os.Getenv("GPK_MINILM")
	if dir == "" {
		t.Skip("NOT run: GPK_MINILM names no folder of all-MiniLM-L6-v2")
	}
	m, _, err := load(config{model: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	h := newServer(m, fakeConfig).handler()
	texts := []string{"A man is eating food.", "x", strings.Repeat("Two men pushed carts through the woods. ", 100)}
	want, err := m.Encoder.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, _ := post(t, h, fmt.Sprintf(`{"model":"fake","input":[%q,%q,%q],"dimensions":384}`, texts[0], texts[1], texts[2]))
	if status != http.StatusOK {
		t.Fatal(status, answer)
	}
	for i, d := range answer["data"].([]any) {
		v := d.(map[string]any)["embedding"].([]any)
		cosine := 0.0
		for j := range want[i] {
			cosine += v[j].(float64) * float64(want[i][j])
		}
		if len(v) != 384 || math.Abs(cosine-1) > 1e-4 {
			t.Errorf("text %d: %d numbers, cosine %v", i, len(v), cosine)
		}
	}
	if n := answer["usage"].(map[string]any)["prompt_tokens"]; n != float64(8+3+m.MaxTokens()) {
		t.Errorf("%v tokens", n)
	}
	status, answer, _ = post(t, h, fmt.Sprintf(`{"model":"fake","input":[%d]}`, m.Vocabulary()))
	if status != http.StatusBadRequest {
		t.Error(status, answer)
	}
}
