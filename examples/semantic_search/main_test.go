package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	dir := os.Getenv("GPK_MINILM")
	if dir == "" {
		t.Skip("NOT run: GPK_MINILM names no folder of all-MiniLM-L6-v2")
	}
	var out bytes.Buffer
	if err := search(&out, dir, []string{"Someone eats pasta.", "A cat hunts a mouse."}, 2); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 7 || !strings.Contains(lines[1], "eating") || !strings.Contains(lines[2], "eating") || !strings.Contains(lines[4], "cheetah") {
		t.Errorf("%s", &out)
	}
}
