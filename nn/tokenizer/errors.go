package tokenizer

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/expr"
)

var (
	// ErrFormat is the error of a tokenizer.json that is damaged or contradicts itself.
	ErrFormat = errors.New("tokenizer: damaged tokenizer.json")
	// ErrText is the error of a text that is not UTF-8.
	ErrText = errors.New("tokenizer: text is not UTF-8")
	// ErrID is the error of a negative id.
	ErrID = errors.New("tokenizer: negative id")
)

// damaged is ErrFormat at a path.
func damaged(path, format string, args ...any) error {
	return fmt.Errorf("%w: %.400s: %s", ErrFormat, path, fmt.Sprintf(format, args...))
}

// unsupported is gpk.ErrUnsupported with the path and what stands there.
func unsupported(n node) error {
	raw := n.raw
	if len(raw) > 200 {
		raw = append(append([]byte(nil), raw[:200]...), "..."...)
	}
	return fmt.Errorf("tokenizer: %w: %.400s: %s", expr.ErrUnsupported, n.path, raw)
}
