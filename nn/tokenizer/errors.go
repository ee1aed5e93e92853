package tokenizer

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/expr"
)

var (
	// ErrFormat is the error of a tokenizer.json that is damaged or contradicts itself.
	ErrFormat = errors.New("tokenizer: damaged file")
	// ErrText is the error of a text that is not UTF-8.
	ErrText = errors.New("tokenizer: text is not UTF-8")
	// ErrID is the error of a negative id.
	ErrID = errors.New("tokenizer: negative id")
)

// field returns the beginning of an error message about a path. It is empty for the whole
// file.
func field(path string) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%.400s: ", path)
}

// damaged returns ErrFormat with a path.
func damaged(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s%s", ErrFormat, field(path), fmt.Sprintf(format, args...))
}

// unsupported returns gpk.ErrUnsupported with the path and the value.
func unsupported(n node) error {
	raw := n.raw
	if len(raw) > 200 {
		raw = append(append([]byte(nil), raw[:200]...), "..."...)
	}
	return fmt.Errorf("tokenizer: %w: %s%s", expr.ErrUnsupported, field(n.path), raw)
}
