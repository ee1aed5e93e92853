package profile

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the page's files
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
)

//go:embed dashboard/page.html.tmpl
var pageTemplate string

//go:embed dashboard/style.css
var pageStyle string

//go:embed dashboard/page.js
var pageScript string

//go:embed dashboard/timeline.js
var timelineScript string

// HTMLOption is an option of WriteHTML.
type HTMLOption func(*htmlOptions)

type htmlOptions struct {
	before    *Report
	threshold float64
}

// Against adds a comparison with an earlier report, made by Compare with the threshold.
func Against(before *Report, threshold float64) HTMLOption {
	return func(o *htmlOptions) { o.before, o.threshold = before, threshold }
}

// WriteHTML writes the report as one page that needs no other file and no network:
// totals, bottlenecks, advice, time by operation and by span, a timeline of goroutines
// and streams, memory, transfers, and, with Against, a comparison.
//
// A browser that supports Content-Security-Policy runs only the page's own script, and
// loads nothing. Very long reports are truncated: the page states which events, rows and
// tracks it leaves out.
func (r *Report) WriteHTML(w io.Writer, opts ...HTMLOption) error {
	if err := writable("WriteHTML", r != nil, w); err != nil {
		return err
	}
	var o htmlOptions
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("profile: the page's template: %w", err)
	}
	b := bufio.NewWriter(w)
	if err := t.Execute(b, newPage(r, &o)); err != nil {
		return fmt.Errorf("profile: writing HTML: %w", err)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("profile: writing HTML: %w", err)
	}
	return nil
}

// policy returns the page's Content-Security-Policy: it allows the page's script, by its
// hash, and styles, and no loading.
func policy(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
